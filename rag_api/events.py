"""Server-sent events: an answer while it is made, with comments that keep the connection open."""

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import Protocol

from fastapi import Request, Response
from fastapi.sse import KEEPALIVE_COMMENT
from starlette.types import Receive, Scope, Send

from rag.errors import CallerGoneError, DeadlineError, PipelineError
from rag.question import Question
from rag.results import Delta, Result, Sources
from rag_api.bridge import ThreadedStream
from rag_api.errors import ShuttingDownError
from rag_api.exchange import Exchange
from rag_api.requests import REQUEST_ID_HEADER, disconnected
from rag_api.workers import Workers

# Well below the idle time of balancers and proxies: 60 seconds for an ALB.
HEARTBEAT_SECONDS = 15.0
# How long the last words of a stream may take on a connection that does not move.
LAST_WORDS_SECONDS = 1.0
HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    # nginx and its kin would hold events back.
    "x-accel-buffering": "no",
}

Part = Sources | Delta | Result


class Encoder(Protocol):
    """Writes the events of one stream in the form that its caller expects."""

    def part(self, part: Part) -> bytes:
        """The event or events for `part`, the last ones for a `Result`."""
        ...

    def failure(self, body: dict[str, object]) -> bytes:
        """The event that tells a failure in the middle of a stream."""
        ...


class EventStream(Response):
    """Sends the parts that `make(nobody_waits)` yields in a thread.

    A failure before the first part is an ordinary error reply with its status; a later one is a last event. The
    reply starts with the first part, or with the first heartbeat where that comes earlier. A client that reads
    slowly slows down the model, one that leaves ends its stream, and none outlives the request's time.
    """

    def __init__(
        self,
        make: Callable[[Callable[[], bool]], Generator[Part]],
        request: Request,
        exchange: Exchange,
        question: Question,
        encoder: Encoder,
        workers: Workers,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        super().__init__(headers={**HEADERS, REQUEST_ID_HEADER: exchange.request_id})
        del self.headers["content-length"]
        self._make = make
        self._request = request
        self._exchange = exchange
        self._question = question
        self._encoder = encoder
        self._workers = workers
        self._heartbeat_seconds = heartbeat_seconds
        self._is_started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the stream to its end; nothing is raised."""
        limit = asyncio.timeout(self._exchange.remaining_seconds())
        try:
            async with limit:
                await self._run(send)
        except TimeoutError as error:
            late = DeadlineError(f"The stream did not end within {self._exchange.seconds} seconds.")
            await self._fail(late if limit.expired() else error, scope, receive, send)
        except asyncio.CancelledError:
            # The server's grace after SIGTERM is over.
            await self._fail(ShuttingDownError("The server stopped before the end."), scope, receive, send)
        except Exception as error:
            await self._fail(error, scope, receive, send)

    async def _run(self, send: Send) -> None:
        with self._workers.place() as place:
            stream: ThreadedStream[Part] = ThreadedStream(self._make, place)
            watch = asyncio.ensure_future(self._interrupt_when_client_leaves(stream))
            try:
                await self._send_parts(stream, send)
            finally:
                stream.close()
                watch.cancel()

    async def _send_parts(self, stream: ThreadedStream[Part], send: Send) -> None:
        result = None
        while parts := await self._next(stream, send):
            await self._write(b"".join(map(self._encoder.part, parts)), send)
            result = _result_in(parts) or result
        if result is None:
            raise PipelineError("The pipeline ended a stream without a result.")
        self._exchange.answered(result, self._question)
        await self._write(b"", send, more=False)

    async def _next(self, stream: ThreadedStream[Part], send: Send) -> list[Part]:
        while True:
            quiet = asyncio.timeout(self._heartbeat_seconds)
            try:
                async with quiet:
                    return await stream.take()
            except TimeoutError:
                # The pipeline's own failure may be one of these too.
                if not quiet.expired():
                    raise
            await self._write(KEEPALIVE_COMMENT, send)

    async def _write(self, data: bytes, send: Send, *, more: bool = True) -> None:
        if not self._is_started:
            self._is_started = True
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": data, "more_body": more})

    async def _interrupt_when_client_leaves(self, stream: ThreadedStream[Part]) -> None:
        await disconnected(self._request)
        stream.interrupt(CallerGoneError("The client left before the end of its stream."))

    async def _fail(self, error: BaseException, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_started:
            await self._exchange.failure(error)(scope, receive, send)
            return
        _, body = self._exchange.failed(error)
        try:
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await self._write(self._encoder.failure(body), send, more=False)
        except TimeoutError:
            # The client reads nothing: the server closes the connection.
            return


def _result_in(parts: Sequence[Part]) -> Result | None:
    return next((part for part in parts if isinstance(part, Result)), None)
