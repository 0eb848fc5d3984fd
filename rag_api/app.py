"""The HTTP service. uvicorn calls `application` to make it."""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from rag.errors import PipelineError
from rag.openai_answer import OpenAIAnswerer
from rag.response import error_body
from rag.services import Services
from rag_api.api import Api, Form
from rag_api.chat import MODEL, read_chat
from rag_api.completions import completion_error, model_list
from rag_api.errors import HTTP_ERRORS, ShuttingDownError
from rag_api.events import HEARTBEAT_SECONDS
from rag_api.lifecycle import Lifecycle
from rag_api.query import read_query, read_streamed_query
from rag_api.readiness import Readiness
from rag_api.settings import ApiSettings

QUERY = Form(route="/v1/query", read=read_query, error_body=error_body)
QUERY_STREAM = Form(route="/v1/query/stream", read=read_streamed_query, error_body=error_body)
CHAT = Form(route="/v1/chat/completions", read=read_chat, error_body=completion_error)


def application() -> FastAPI:
    """The service as its environment describes it."""
    settings = ApiSettings.from_environment(os.environ)
    answerer = None
    if settings.openai:
        pipeline = settings.pipeline
        answerer = OpenAIAnswerer(settings.openai, pipeline.answer_max_tokens, pipeline.answer_temperature)
    services = Services.from_settings(settings.pipeline, answerer)
    # A client takes long to make: this is done before the first question, and before the port is open.
    services.bedrock_client(settings.pipeline.bedrock_read_timeout_seconds)
    return create_app(settings, services)


def create_app(
    settings: ApiSettings, services: Services, heartbeat_seconds: float = HEARTBEAT_SECONDS
) -> FastAPI:
    """The service with the given outside world. It shows no pages about itself: it may stand in the open.

    Metrics go to the log in CloudWatch's embedded metric format, which the tasks' log driver carries: there is no
    `/metrics`, since nothing would scrape it.
    """
    lifecycle = Lifecycle()
    api = Api(settings, services, lifecycle, heartbeat_seconds)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with lifecycle.run():
            yield
        api.workers.close()

    app = FastAPI(
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Its log of failures would hold the requests' texts.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False},
    )
    _add_questions(app, api)
    _add_checks(app, api, Readiness(lambda: services.search.count(settings.pipeline.index_alias)), lifecycle)
    app.add_exception_handler(HTTPException, _unrouted(api))
    return app


def _add_questions(app: FastAPI, api: Api) -> None:
    @app.post("/v1/query")
    async def query(request: Request) -> Response:
        """`{"query": ...}` in; answer, sources, usage and request id out."""
        return await api.ask(request, QUERY)

    @app.post("/v1/query/stream")
    async def query_stream(request: Request) -> Response:
        """The same as server-sent events, while the answer is made."""
        return await api.ask(request, QUERY_STREAM)

    @app.post("/v1/chat/completions")
    async def chat_completions(request: Request) -> Response:
        """OpenAI's form, plain and streamed, for chat front ends and SDKs."""
        return await api.ask(request, CHAT)


def _add_checks(app: FastAPI, api: Api, readiness: Readiness, lifecycle: Lifecycle) -> None:
    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Says that the process is alive and asks nobody else: a failing dependency must kill no task."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz(request: Request) -> Response:
        """200 when the vector store replies and the server is not about to stop, else 503. For people and scripts.

        It wants the token: a question to a vector store that sleeps wakes it up, which costs.
        """
        exchange = api.exchange(request, "/readyz", error_body)
        try:
            api.require_caller(request)
        except PipelineError as error:
            return exchange.failure(error)
        if lifecycle.is_stopping:
            return exchange.failure(ShuttingDownError("The server was told to stop."))
        is_ready = await readiness.is_ready()
        body = {"status": "ready" if is_ready else "unready", "vector_store": is_ready}
        return exchange.reply(body, 200 if is_ready else 503)

    @app.get("/v1/models")
    async def models(request: Request) -> Response:
        """The one model of the service, which chat front ends ask for before they show it."""
        exchange = api.exchange(request, "/v1/models", completion_error)
        try:
            api.require_caller(request)
        except PipelineError as error:
            return exchange.failure(error)
        return exchange.reply(model_list(MODEL))


def _unrouted(api: Api) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Errors that FastAPI itself raises, such as a path that does not exist, in the form of ours."""

    async def handle(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        exchange = api.exchange(request, "", error_body)
        response = exchange.failure(HTTP_ERRORS.get(status, PipelineError)())
        for name, value in (getattr(error, "headers", None) or {}).items():
            response.headers[name] = value
        return response

    return handle
