"""From an HTTP request to its reply, the same way for every form of question."""

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol

from fastapi import Request, Response

from rag.pipeline import stream_answer
from rag.question import Question
from rag.results import Result
from rag.services import Services
from rag_api.answering import answer
from rag_api.errors import ShuttingDownError
from rag_api.events import HEARTBEAT_SECONDS, Encoder, EventStream, Part
from rag_api.exchange import ErrorBody, Exchange
from rag_api.lifecycle import Lifecycle
from rag_api.requests import Bodies, request_id_of, require_token
from rag_api.settings import ApiSettings
from rag_api.workers import Workers


class Asked(Protocol):
    """A question as it was read from a request."""

    @property
    def question(self) -> Question: ...
    @property
    def wants_stream(self) -> bool: ...

    def body(self, result: Result, request_id: str) -> dict[str, Any]:
        """The reply's JSON object."""
        ...

    def encoder(self, request_id: str) -> Encoder:
        """What writes the reply as events."""
        ...


@dataclass(frozen=True, kw_only=True)
class Form:
    """One form of question: `read` takes the body and raises `QuestionError`."""

    route: str
    read: Callable[[bytes], Asked]
    error_body: ErrorBody


class Api:
    """Holds every request to the same order: token, room, body, question, answer. Nothing is raised."""

    def __init__(
        self,
        settings: ApiSettings,
        services: Services,
        lifecycle: Lifecycle,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.workers = Workers(settings.maximum_concurrency)
        # Some are read while every place is taken, so that a place that gets free is not left empty.
        self._bodies = Bodies(2 * settings.maximum_concurrency)
        self._settings = settings
        self._services = services
        self._lifecycle = lifecycle
        self._heartbeat_seconds = heartbeat_seconds

    async def ask(self, request: Request, form: Form) -> Response:
        """The reply to a question: an answer, a stream, or a failure in the form's own words."""
        self._lifecycle.enter()
        exchange = self.exchange(request, form.route, form.error_body)
        try:
            self.require_caller(request)
            self._require_room()
            asked = form.read(await self._bodies.read(request, exchange.remaining_seconds()))
            if asked.wants_stream:
                return self._stream(request, exchange, asked)
            result = await answer(request, exchange, asked.question, self._services, self.workers)
        except asyncio.CancelledError:
            # The server's grace after SIGTERM is over.
            return exchange.failure(ShuttingDownError("The server stopped before the answer was there."))
        except Exception as error:
            return exchange.failure(error)
        exchange.answered(result, asked.question)
        return exchange.reply(asked.body(result, exchange.request_id))

    def exchange(self, request: Request, route: str, error_body: ErrorBody) -> Exchange:
        """What is known of a request when it arrives."""
        settings = self._settings
        return Exchange(
            request_id=request_id_of(request),
            route=route,
            seconds=settings.request_timeout_seconds,
            error_body=error_body,
            answer_model_id=settings.openai.model if settings.openai else settings.pipeline.answer_model_id,
            embedding_model_id=settings.pipeline.embedding_model_id,
        )

    def require_caller(self, request: Request) -> None:
        """Raise unless the caller has the token."""
        require_token(request, self._settings.bearer_token)

    def _require_room(self) -> None:
        """Refuse before the body is read; the place itself is taken when there is a question to answer."""
        if self._lifecycle.is_stopping:
            raise ShuttingDownError("The server was told to stop.")
        self.workers.require_place()

    def _stream(self, request: Request, exchange: Exchange, asked: Asked) -> EventStream:
        def parts(nobody_waits: Callable[[], bool]) -> Generator[Part]:
            return stream_answer(asked.question, self._services, exchange.deadline, nobody_waits)

        return EventStream(
            parts,
            request,
            exchange,
            asked.question,
            asked.encoder(exchange.request_id),
            self.workers,
            self._heartbeat_seconds,
        )
