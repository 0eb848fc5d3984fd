"""The API against a bare FastAPI route that makes the same calls by hand, alternating, in one run.

`python -m benchmarks.api [ROUNDS]`: throughput, latencies and memory at 64 connections, with stand-ins for Bedrock and
OpenSearch that reply after a fixed delay. The delays are short, so that the service's own time counts.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ops.capture.program import PROJECT_ROOT

CONNECTIONS = 64
SECONDS = 4.0
DELAY_MS = 10
ROUNDS = 7
TARGET_RATIO = 0.8
LONGEST_START_SECONDS = 60

Figures = dict[str, float]


@dataclass
class Side:
    """One of the two servers and what was measured of it, a set of figures per round."""

    name: str
    port: int
    pid: int
    rounds: list[Figures] = field(default_factory=list)

    def median(self, figure: str) -> float:
        """The median over the rounds."""
        return statistics.median(figures[figure] for figures in self.rounds)

    def measure(self, seconds: float) -> Figures:
        """One round."""
        before = cpu_seconds(self.pid)
        command = [
            sys.executable,
            "-m",
            "benchmarks.api_load",
            str(self.port),
            str(CONNECTIONS),
            str(seconds),
        ]
        printed = subprocess.run(command, cwd=PROJECT_ROOT, check=True, stdout=subprocess.PIPE).stdout
        figures: Figures = json.loads(printed)
        figures["cpu_ms"] = 1000 * (cpu_seconds(self.pid) - before) / figures["requests"]
        return figures

    def line(self) -> str:
        """The figures as a line of a table."""
        return (
            f"{self.name:<22}{self.median('per_second'):>8.0f}/s   p50 {self.median('p50_ms'):>5.0f} ms   "
            f"p99 {self.median('p99_ms'):>5.0f} ms   {self.median('cpu_ms'):>5.2f} ms of CPU per request   "
            f"{resident_mib(self.pid):>4.0f} MiB resident"
        )


def environment(stubs: int) -> dict[str, str]:
    """What both servers read."""
    return {
        **os.environ,
        "PYTHONPATH": f"{PROJECT_ROOT}:{PROJECT_ROOT / 'lambda_src'}",
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "example",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": f"http://127.0.0.1:{stubs}",
        "OPENSEARCH_ENDPOINT": f"http://127.0.0.1:{stubs + 1}",
        "INDEX_ALIAS": "documents",
        "EMBEDDING_MODEL_ID": "amazon.titan-embed-text-v2:0",
        "EMBEDDING_DIMENSIONS": "1024",
        "ANSWER_MODEL_ID": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "BEDROCK_READ_TIMEOUT_SECONDS": "20",
        "BEDROCK_MAX_ATTEMPTS": "3",
        "RETRIEVAL_COUNT": "5",
        "SEARCH_MODE": "vector",
        "CONTEXT_TOKENS": "6000",
        "ANSWER_MAX_TOKENS": "1024",
        "ANSWER_PROVIDER": "bedrock",
        "REQUEST_TIMEOUT_SECONDS": "120",
        "MAXIMUM_CONCURRENCY": str(CONNECTIONS),
    }


@contextmanager
def process(command: list[str], variables: dict[str, str], port: int) -> Generator[int]:
    """A process that listens on `port`; it ends with the block."""
    with subprocess.Popen(command, cwd=PROJECT_ROOT, env=variables, stdout=subprocess.DEVNULL) as started:
        try:
            end = time.monotonic() + LONGEST_START_SECONDS
            while not listens(port):
                if started.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"{' '.join(command)} did not start")
                time.sleep(0.05)
            yield started.pid
        finally:
            started.kill()


def listens(port: int) -> bool:
    """True when a connection is taken."""
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count: int) -> int:
    """The first of `count` ports in a row that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        first = min(sock.getsockname()[1], 60_000)
    return first if not any(listens(first + number) for number in range(count)) else free_ports(count)


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """The memory that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main(rounds: int = ROUNDS) -> None:
    port = free_ports(4)
    variables = environment(port)
    stub = [sys.executable, "-m", "benchmarks.api_stubs"]
    server = [sys.executable, "-m", "uvicorn", "--no-access-log", "--log-level", "warning", "--port"]
    with ExitStack() as running:
        for number in (port, port + 1):
            running.enter_context(process([*stub, str(number), str(DELAY_MS)], variables, number))
        commands = {
            "rag_api": [*server, str(port + 2), "--factory", "rag_api.app:application"],
            "bare FastAPI route": [*server, str(port + 3), "benchmarks.api_bare:app"],
        }
        sides = [
            Side(name, number, running.enter_context(process(command, variables, number)))
            for number, (name, command) in enumerate(commands.items(), start=port + 2)
        ]
        for side in sides:
            side.measure(1)
        for _ in range(rounds):
            for side in sides:
                side.rounds.append(side.measure(SECONDS))
        report(*sides)


def report(ours: Side, bare: Side) -> None:
    """Print the figures of both and their ratio."""
    print(f"{CONNECTIONS} connections, three calls of {DELAY_MS} ms each per request, one process each")
    print(ours.line(), bare.line(), sep="\n")
    ratios = [
        mine["per_second"] / other["per_second"] for mine, other in zip(ours.rounds, bare.rounds, strict=True)
    ]
    print(
        f"throughput ratio, median of {len(ratios)} pairs: {statistics.median(ratios):.2f} "
        f"(target: at least {TARGET_RATIO}; lowest {min(ratios):.2f}, highest {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
