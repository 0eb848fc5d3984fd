"""The HTTP service: `POST /answer` and a health check. uvicorn calls `application` to make it."""

import hmac
import os
import uuid
from collections.abc import Callable

import anyio
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from rag.deadline import Deadline
from rag.errors import PipelineError, QuestionTooLongError, UpstreamTimeoutError
from rag.log import failure_fields, log_event
from rag.pipeline import Result, Services, answer_question
from rag.question import MAX_REQUEST_BYTES, question_from_json
from rag.response import answer_body, answer_fields, error_body
from rag_api.openai_answer import OpenAIAnswerer
from rag_api.settings import ApiSettings


class UnauthorizedError(PipelineError):
    """The request carries no bearer token, or another one than ours."""

    status_code = 401
    code = "unauthorized"
    sentence = "Send the header Authorization: Bearer <token> with the token of this service."


def application() -> FastAPI:
    """The service as its environment describes it."""
    settings = ApiSettings.from_environment(os.environ)
    answerer = OpenAIAnswerer(settings.openai) if settings.openai else None
    return create_app(settings, Services.from_settings(settings.pipeline, answerer))


def create_app(settings: ApiSettings, services: Services) -> FastAPI:
    """The service with the given outside world. It shows no pages about itself: it may stand in the open."""
    app = FastAPI(title="rag-service", openapi_url=None, docs_url=None, redoc_url=None)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Says that the process is alive and asks nobody else: a failing dependency must kill no task."""
        return {"status": "ok"}

    @app.post("/answer")
    async def answer(request: Request) -> JSONResponse:
        """`{"question": ...}` in; answer, sources and request id out, or an error with code and sentence."""
        request_id = uuid.uuid4().hex
        try:
            require_token(request.headers.get("authorization", ""), settings.bearer_token)
            question = question_from_json(await limited_body(request))
            result = await within_deadline(question, settings, services)
        except Exception as error:
            return _failure(error, request_id)
        log_event("answered", request_id=request_id, **answer_fields(result, question))
        return JSONResponse(answer_body(result, request_id))

    return app


def require_token(header: str, token: str) -> None:
    """Raise `UnauthorizedError` unless the header carries the token; an empty token lets everybody in.

    The comparison takes the same time wherever the two differ.
    """
    if token and not hmac.compare_digest(header.encode(), f"Bearer {token}".encode()):
        raise UnauthorizedError("The bearer token is missing or wrong.")


async def limited_body(request: Request) -> bytes:
    """The body, read no further than the limit; raises `QuestionTooLongError` beyond it."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_REQUEST_BYTES:
            raise QuestionTooLongError(f"The request may have at most {MAX_REQUEST_BYTES} bytes.")
    return bytes(body)


async def within_deadline(question: str, settings: ApiSettings, services: Services) -> Result:
    """The pipeline's result, or `UpstreamTimeoutError` when the request's time is over.

    The pipeline runs in a thread and gives up by the same deadline; the caller never waits longer.
    """
    run: Callable[[], Result] = _pipeline_run(question, services, settings.request_timeout_seconds)
    try:
        with anyio.fail_after(settings.request_timeout_seconds):
            return await anyio.to_thread.run_sync(run, abandon_on_cancel=True)
    except TimeoutError:
        raise UpstreamTimeoutError(f"No answer within {settings.request_timeout_seconds} seconds.") from None


def _pipeline_run(question: str, services: Services, seconds: float) -> Callable[[], Result]:
    deadline = Deadline.after(seconds)
    return lambda: answer_question(question, services, deadline)


def _failure(error: Exception, request_id: str) -> JSONResponse:
    status, body = error_body(error, request_id)
    level = "ERROR" if status >= 500 else "WARNING"
    log_event("failed", level=level, request_id=request_id, status=status, **failure_fields(error))
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(body, status_code=status, headers=headers)
