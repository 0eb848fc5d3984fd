"""The service over stand-ins that a test steers, behind a real socket."""

import json
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPResponse
from io import BytesIO
from typing import Any

import uvicorn

from rag.answers import Answer, Prompt
from rag.passages import Filter, Passage
from rag.services import Services
from rag_api.app import create_app
from rag_api.settings import ApiSettings
from tests.lambda_src.fakes import ENVIRONMENT as PIPELINE_ENVIRONMENT

ENVIRONMENT = {
    **PIPELINE_ENVIRONMENT,
    "BEDROCK_MAX_ATTEMPTS": "1",
    "SEARCH_MODE": "vector",
    "CONTEXT_TOKENS": "2000",
    "ANSWER_MAX_TOKENS": "500",
    "ANSWER_PROVIDER": "bedrock",
    "REQUEST_TIMEOUT_SECONDS": "60",
    "MAXIMUM_CONCURRENCY": "4",
}
SETTINGS = ApiSettings.from_environment(ENVIRONMENT)
TOKEN = "s\u00e9cret"
# The longest that anything in these tests may take; none comes near it.
PATIENCE_SECONDS = 20
ANSWER = Answer(text="They sleep.", stop_reason="end_turn", input_tokens=3, output_tokens=2)


def settings(**changes: Any) -> ApiSettings:
    """The settings with changes, such as times that no operator could choose."""
    return replace(SETTINGS, **changes)


def passage(page: int | None = 7) -> Passage:
    """What a search finds."""
    return Passage(text="Cats sleep.", document_key="raw/pdfs/cats.pdf", chunk_number=0, score=0.9, page=page)


def two_pieces(prompt: Prompt) -> Generator[str | Answer]:
    """An answer in two pieces."""
    yield "They"
    yield " sleep."
    yield ANSWER


@dataclass
class Outside:
    """Everything outside the process. `streams` is called in the threads of the service."""

    streams: Callable[[Prompt], Iterator[str | Answer]] = two_pieces
    passages: list[Passage] = field(default_factory=lambda: [passage()])
    embeds: Callable[[], None] = lambda: None
    counts: Callable[[], int] = lambda: 1
    prompts: list[Prompt] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)
    embedded: int = 0

    def invoke_model(self, **arguments: Any) -> dict[str, Any]:
        """The call of Titan."""
        self.embedded += 1
        self.embeds()
        reply = {"embedding": [0.5] * 256, "inputTextTokenCount": 5}
        return {"body": BytesIO(json.dumps(reply).encode())}

    def search(self, *arguments: Any) -> list[Passage]:
        """The call of the vector store."""
        self.filters += [argument for argument in arguments if isinstance(argument, Filter)]
        return self.passages

    def count(self, index: str) -> int:
        """What readiness asks the vector store for."""
        return self.counts()

    def answer(self, prompt: Prompt, read_timeout_seconds: int) -> Answer:
        """Not what the service asks for: such a call goes on when its client has left."""
        raise AssertionError("a whole answer cannot be broken off")

    def stream(self, prompt: Prompt, read_timeout_seconds: int) -> Iterator[str | Answer]:
        """The answer in pieces."""
        self.prompts.append(prompt)
        return self.streams(prompt)

    def services(self, settings: ApiSettings) -> Services:
        """The pipeline's services over this."""
        me: Any = self
        return Services(
            settings=settings.pipeline,
            bedrock_client=lambda timeout: me,
            search=me,
            answerer=me,
            sleep=lambda seconds: None,
        )


@dataclass
class Reply:
    """A reply that was read to its end."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def document(self) -> Any:
        """The JSON in it."""
        return json.loads(self.content)

    @property
    def error(self) -> tuple[int, str]:
        """Status and code of a failure."""
        return self.status, self.document["error"]["code"]


@dataclass
class Served:
    """A running server."""

    port: int

    def request(
        self, method: str, path: str, content: Any = None, headers: dict[Any, Any] | None = None
    ) -> Reply:
        """One request on a connection of its own; `content` is JSON unless it is bytes."""
        with closing(self.connection()) as connection:
            return read(self.send(connection, method, path, content, headers))

    def post(self, path: str, content: Any, headers: dict[Any, Any] | None = None) -> Reply:
        """A POST on a connection of its own."""
        return self.request("POST", path, content, headers)

    def connection(self) -> HTTPConnection:
        """A connection that is not open yet."""
        return HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)

    def send(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        content: Any = None,
        headers: dict[Any, Any] | None = None,
    ) -> HTTPResponse:
        """The reply's status and headers; its body is still to be read."""
        data = content if isinstance(content, bytes | None) else json.dumps(content).encode()
        connection.request(method, path, data, headers or {})
        return connection.getresponse()

    def socket(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)


def read(response: HTTPResponse) -> Reply:
    """A reply read to its end."""
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Reply(response.status, headers, response.read())


@contextmanager
def served(outside: Outside, *, heartbeat_seconds: float = 15, **changes: Any) -> Generator[Served]:
    """The service on a free port of the loopback interface, in a thread of this process."""
    own = settings(**changes)
    app = create_app(own, outside.services(own), heartbeat_seconds)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield Served(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        listener.close()
    assert not thread.is_alive(), "the server did not stop"


def events(content: bytes) -> list[tuple[str, Any]]:
    """Name and JSON of each event; comments are left out, `[DONE]` is kept as a text."""
    found = []
    for block in content.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if "data" in fields:
            data = fields["data"]
            found.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return found


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that another thread does."""
    pause = threading.Event()
    for _ in range(PATIENCE_SECONDS * 200):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError(f"it never happened: {what}")
