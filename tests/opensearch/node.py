"""One OpenSearch node on a free port of the loopback interface, with a folder of its own that goes with it."""

import subprocess
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import urllib3

from tests.opensearch.build import BUILT

START_SECONDS = 120
STOP_SECONDS = 20
OPTIONS = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# The published plugin has no native library for Faiss: without a graph its vectors are searched exactly. Searches see
# what was written when the test says so, and not when a second has passed.
EVERY_INDEX = {
    "index_patterns": ["*"],
    "template": {
        "settings": {
            "index.knn.advanced.approximate_threshold": -1,
            "number_of_replicas": 0,
            "refresh_interval": -1,
        }
    },
}


@contextmanager
def running_node() -> Generator[str]:
    """The address of a node that is ready. It ends with the context, and with this process in any case."""
    with tempfile.TemporaryDirectory(prefix="opensearch-") as folder:
        errors = Path(folder) / "errors.log"
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                ["java", *OPTIONS, "-cp", f"{BUILT}/classes:{BUILT}/jars/*", "OneNode", folder],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True,
            )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{_port(process, errors)}"
            _make_ready(url)
            yield url
        finally:
            _stop(process)


def _port(process: "subprocess.Popen[str]", errors: Path) -> int:
    """Waits for the line with the port."""
    watchdog = threading.Timer(START_SECONDS, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("port "):
                return int(line.removeprefix("port "))
    finally:
        watchdog.cancel()
    raise RuntimeError(f"OpenSearch did not start: {errors.read_text(errors='replace')[-2000:]}")


def _make_ready(url: str) -> None:
    with urllib3.PoolManager() as http:
        health = http.request("GET", f"{url}/_cluster/health?wait_for_status=green&timeout={START_SECONDS}s")
        made = http.request("PUT", f"{url}/_index_template/every-index", json=EVERY_INDEX)
    if health.status != 200 or made.status != 200:
        raise RuntimeError(f"OpenSearch is not ready: {health.data!r} {made.data!r}")


def _stop(process: "subprocess.Popen[str]") -> None:
    """The node ends when its input does."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
