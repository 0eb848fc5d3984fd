"""The service for a process of its own: its model says that it was asked and goes on when a line comes in."""

import os
import sys
from collections.abc import Iterator

from fastapi import FastAPI

from rag.answers import Answer, Prompt
from rag_api.app import create_app
from rag_api.settings import ApiSettings
from tests.rag_api.scene import ANSWER, ENVIRONMENT, Outside

ASKED = "the model was asked"


def _wait_for_a_line() -> None:
    print(ASKED, flush=True)
    os.read(sys.stdin.fileno(), 1)


def _pieces(prompt: Prompt) -> Iterator[str | Answer]:
    yield "They"
    _wait_for_a_line()
    yield " sleep."
    yield ANSWER


def application() -> FastAPI:
    """What uvicorn's `--factory` calls."""
    settings = ApiSettings.from_environment(ENVIRONMENT)
    return create_app(settings, Outside(streams=_pieces).services(settings))
