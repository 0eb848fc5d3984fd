"""Cold start, time of its own and memory of the function that answers: `python -m benchmarks.orchestrator`.

Every pair of sides runs alternately in one run against the same loopback services. The LangChain side runs where
`.bench` holds its packages (benchmarks/requirements-langchain.txt).
"""

import contextlib
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.orchestrator_stub import ANSWER, FOUND_TWICE, VECTOR, environment, stub_services

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "lambda_src"
BENCH_PYTHON = ROOT / ".bench" / "bin" / "python"
RUNS = 15
WARM_REQUESTS = 400
TARGET_COLD_RATIO = 1.3
TARGET_OWN_MS = 5
Figures = dict[str, float]


def side(name: str, folder: Path, variables: dict[str, str], python: Path = Path(sys.executable)) -> Figures:
    """What one side measured about itself in a fresh process."""
    command = [str(python), "-m", "benchmarks.orchestrator_side", name, str(folder)]
    env = {"PATH": os.environ["PATH"], **variables}
    run = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
    return json.loads(run.stdout.splitlines()[-1])


def compare(
    ours: Callable[[], Figures], other: Callable[[], Figures], runs: int = RUNS
) -> dict[str, tuple[float, ...]]:
    """Medians of both sides and of the ratio of each pair, by figure. Both have warmed their byte code before."""
    ours(), other()
    pairs = [(ours(), other()) for _ in range(runs)]
    return {
        figure: (
            statistics.median(mine[figure] for mine, _ in pairs),
            statistics.median(theirs[figure] for _, theirs in pairs),
            statistics.median(mine[figure] / theirs[figure] for mine, theirs in pairs),
        )
        for figure in pairs[0][0]
    }


def cold_start(address: str, folder: Path) -> None:
    """Import and first answer against only making the clients: with byte code, and from source as Lambda unpacks it."""
    variables = environment(address)
    print(f"cold start, medians of {RUNS} pairs (target: at most {TARGET_COLD_RATIO} times)")
    for title, sources, more in (
        ("with byte code", SOURCES, {}),
        ("from source", folder, {"PYTHONDONTWRITEBYTECODE": "1"}),
    ):
        measured = compare(
            lambda sources=sources, more=more: side("ours", sources, {**variables, **more}),
            lambda: side("plain", SOURCES, variables),
        )
        _row(f"  {title}: handler / clients alone", measured["ms"], "ms")
        _row("    processor time", measured["cpu_ms"], "ms")


def against_langchain(address: str) -> None:
    """The same request through LangChain, with the search that both know."""
    if not BENCH_PYTHON.exists():
        print("LangChain: not measured, since .bench is not there; make it with\n"
              "  uv venv .bench && uv pip install --python .bench/bin/python -r benchmarks/requirements-langchain.txt")  # fmt: skip
        return
    variables = environment(address, search_mode="vector")
    measured = compare(
        lambda: side("ours", SOURCES, variables, BENCH_PYTHON),
        lambda: side("langchain", ROOT, variables, BENCH_PYTHON),
        runs=5,
    )
    print("the same request through LangChain, medians of 5 pairs")
    _row("  cold start: ours / LangChain", measured["ms"], "ms")
    _row("  peak resident memory", measured["peak_mib"], "MiB")


class InProcess:
    """Bedrock and the vector store without a network: replies as their clients give them."""

    def invoke_model(self, **arguments: Any) -> dict[str, Any]:
        return {"body": io.BytesIO(VECTOR)}

    def converse(self, **arguments: Any) -> dict[str, Any]:
        return json.loads(ANSWER)

    def send(self, method: str, path: str, payload: Any, read_timeout_seconds: int) -> Any:
        from rag.opensearch_http import Reply

        return Reply(200, json.loads(FOUND_TWICE))


def warm(address: str) -> None:
    """Time of one more request: our own code alone, and all of it over loopback."""
    sys.path.insert(0, str(SOURCES))
    from orchestrator.handler import lambda_handler, respond
    from rag.bedrock import BedrockAnswerer
    from rag.pipeline import Services
    from rag.search import OpenSearchClient
    from rag.settings import PipelineSettings

    os.environ.update(environment(address))
    stub: Any = InProcess()
    settings = PipelineSettings.from_environment(os.environ)
    services = Services(
        settings=settings,
        bedrock_client=lambda timeout: stub,
        search=OpenSearchClient(stub),
        answerer=BedrockAnswerer(lambda timeout: stub, settings),
    )
    event = {"query": "How long do cats sleep?"}
    print(f"one more request, medians of {WARM_REQUESTS} (target: at most {TARGET_OWN_MS} ms of its own)")
    own = _median_ms(lambda: respond(event, None, lambda: services))
    print(f"  {'own time, services in the process':44} {own:8.2f} ms")
    whole = _median_ms(lambda: lambda_handler(event, None))
    print(f"  {'with botocore and loopback HTTP':44} {whole:8.2f} ms")


def _median_ms(call: Callable[[], Any]) -> float:
    spent = []
    with contextlib.redirect_stdout(io.StringIO()):
        for _ in range(WARM_REQUESTS):
            start = time.perf_counter()
            reply = call()
            spent.append((time.perf_counter() - start) * 1000)
            assert reply["statusCode"] == 200
    return statistics.median(spent)


def _row(title: str, figures: tuple[float, ...], unit: str) -> None:
    ours, other, ratio = figures
    print(f"{title:46} {ours:8.1f} {unit:3} {other:8.1f} {unit:3} ratio {ratio:.2f}")


def main() -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    with stub_services() as address, tempfile.TemporaryDirectory() as folder:
        fresh = shutil.copytree(SOURCES, Path(folder) / "lambda_src", ignore=ignored)
        cold_start(address, Path(fresh))
        warm(address)
        against_langchain(address)


if __name__ == "__main__":
    main()
