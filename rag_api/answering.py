"""A whole answer: the pipeline in a thread, given up when its time is over or its client has gone."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing

from fastapi import Request

from rag.deadline import Deadline
from rag.errors import CallerGoneError, DeadlineError, PipelineError
from rag.pipeline import Services, stream_answer
from rag.question import Question
from rag.results import Result
from rag_api.exchange import Exchange
from rag_api.requests import disconnected
from rag_api.workers import Workers


async def answer(
    request: Request, exchange: Exchange, question: Question, services: Services, workers: Workers
) -> Result:
    """The pipeline's result. Raises a `PipelineError`, `BusyError` at once when no place is free.

    The answer is gathered from the model's stream: when the client leaves or the time is over, that is closed at its
    next event, and no further stage is begun.
    """
    nobody_waits = threading.Event()
    with workers.place() as place:
        job = place.run(lambda: _gathered(question, services, exchange.deadline, nobody_waits.is_set))
        client_left = asyncio.ensure_future(disconnected(request))
        try:
            await asyncio.wait(
                (job, client_left),
                timeout=exchange.remaining_seconds(),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            nobody_waits.set()
            client_left.cancel()
        if job.done():
            return job.result()
        if client_left.done():
            raise CallerGoneError("The client left before it had the answer.")
        raise DeadlineError(f"No answer within {exchange.seconds} seconds.")


def _gathered(
    question: Question, services: Services, deadline: Deadline, nobody_waits: Callable[[], bool]
) -> Result:
    with closing(stream_answer(question, services, deadline, nobody_waits)) as parts:
        for part in parts:
            if isinstance(part, Result):
                return part
    raise PipelineError("The pipeline ended without a result.")
