"""The whole question-and-answer platform on this machine: stand-ins in this process, the real services in their own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3

from rag.prompt import NO_ANSWER_MARKER
from tests.local.aws import BUCKET, LocalAws, make_resources, serving_aws
from tests.local.environment import (
    ALIAS,
    DIMENSIONS,
    INDEX,
    PROJECT_ROOT,
    api_environment,
    aws_environment,
    ingestion_environment,
    pipeline_environment,
)
from tests.local.mirror import Mirror
from tests.standins.aoss import serving_collection
from tests.standins.bedrock import serving_bedrock
from tests.standins.loopback import leave_proxies
from tests.standins.opensearch_engine import OpenSearchEngine

START_SECONDS = 60
STOP_SECONDS = 15


@dataclass(frozen=True, kw_only=True)
class Options:
    """`opensearch_url` names a real OpenSearch; without one the engine in memory answers. Ports of 0 mean any."""

    folder: Path
    logs: Path
    generation: str = "NEXTGEN"
    opensearch_url: str = ""
    refresh_seconds: float = 1
    api_port: int = 0
    function_port: int = 0
    openai: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Running:
    """Where everything answers."""

    api_url: str
    function_url: str
    aws_url: str
    collection_url: str
    bedrock_url: str
    dead_letter_queue_url: str
    processes: Mapping[str, "subprocess.Popen[bytes]"]
    bucket: str = BUCKET

    def stopped(self) -> list[str]:
        """The services that do not run any more."""
        return [name for name, process in self.processes.items() if process.poll() is not None]


class StartError(Exception):
    """A service did not start; the sentence names it and its log."""


@contextmanager
def running(options: Options) -> Generator[Running]:
    """Everything, with the folder mirrored into the bucket. Nothing is left when the context closes."""
    leave_proxies()
    with ExitStack() as stack:
        engine = _real_engine(options.opensearch_url) if options.opensearch_url else None
        collection = stack.enter_context(
            serving_collection(engine, generation=options.generation, refresh_seconds=options.refresh_seconds)
        )
        bedrock = stack.enter_context(serving_bedrock(NO_ANSWER_MARKER))
        aws_url = stack.enter_context(serving_aws())
        os.environ.update(aws_environment(aws_url, bedrock.url) | pipeline_environment(collection.url))
        for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "BEARER_TOKEN"):
            os.environ.pop(name, None)
        aws = make_resources(aws_url)
        make_index(options)
        services = _services(stack, options, aws)
        stack.enter_context(Mirror(options.folder, _s3(), BUCKET))
        yield Running(
            **services, aws_url=aws_url, collection_url=collection.url, bedrock_url=bedrock.url,
            dead_letter_queue_url=aws.dead_letter_queue_url,
        )  # fmt: skip


def _real_engine(url: str) -> OpenSearchEngine:
    engine = OpenSearchEngine(url)
    try:
        engine.call("DELETE", f"/{INDEX}", b"")  # what an earlier run left
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise StartError(f"No OpenSearch answers at {url}: {type(error).__name__}") from error
    return engine


def make_index(options: Options) -> None:
    """Through the function that a deployment calls."""
    from vector_index.handler import lambda_handler

    event = {
        "tf": {"action": "create"}, "index": INDEX, "alias": ALIAS, "dimension": DIMENSIONS,
        "generation": options.generation, "wait_seconds": 60,
    }  # fmt: skip
    with (options.logs / "vector_index.log").open("w") as log, redirect_stdout(log):
        lambda_handler(event, None)


def free_port(wanted: int) -> int:
    """`wanted` when nobody listens there, else any free one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _services(stack: ExitStack, options: Options, aws: LocalAws) -> dict[str, Any]:
    api_port, function_port = free_port(options.api_port), free_port(options.function_port)
    api_url, function_url = f"http://127.0.0.1:{api_port}", f"http://127.0.0.1:{function_port}"
    ingestion = ingestion_environment(aws, options.generation)
    processes = {
        "event_source": stack.enter_context(_service(options, "event_source", ingestion)),
        "function": stack.enter_context(_service(options, "function", {}, function_port)),
        "api": stack.enter_context(_service(options, "api", api_environment(options.openai), api_port)),
    }
    stack.callback(_end_inputs, processes)  # all at once, so that no service waits for another to end
    for url in (f"{api_url}/healthz", function_url):
        _wait_for(url, processes, options.logs)
    return {"api_url": api_url, "function_url": function_url, "processes": processes}


@contextmanager
def _service(
    options: Options, module: str, environment: Mapping[str, str], *arguments: int
) -> Generator["subprocess.Popen[bytes]"]:
    """A process of its own, which ends when its input does; what it prints goes to a log."""
    with (options.logs / f"{module}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", f"tests.local.{module}", *map(str, arguments)],
            cwd=PROJECT_ROOT, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=log, stderr=log,
            start_new_session=True,  # Ctrl-C is for the parent, which ends the others in their order
        )  # fmt: skip
    try:
        yield process
    finally:
        _end_inputs({module: process})
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _end_inputs(processes: Mapping[str, "subprocess.Popen[bytes]"]) -> None:
    """What tells a service to end."""
    for process in processes.values():
        assert process.stdin is not None
        process.stdin.close()


def _wait_for(url: str, processes: Mapping[str, "subprocess.Popen[bytes]"], logs: Path) -> None:
    end = time.monotonic() + START_SECONDS
    with urllib3.PoolManager(retries=False) as http:
        while time.monotonic() < end:
            if any(process.poll() is not None for process in processes.values()):
                break
            try:
                http.request("GET", url, timeout=5).close()
                return
            except urllib3.exceptions.HTTPError:
                time.sleep(0.05)
    raise StartError(f"{url} does not answer; the services' logs are in {logs}")


def _s3() -> Any:
    import boto3

    return boto3.client("s3")
