"""Engines for the tests of the search code: one in memory, and a real OpenSearch where one is built."""

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any

import pytest

from rag.search import OpenSearchClient
from tests.opensearch.build import MISSING, is_built
from tests.opensearch.chunks import client_of
from tests.opensearch.node import running_node
from tests.standins.aoss import Collection, Engine, serving_collection
from tests.standins.opensearch_engine import OpenSearchEngine
from tests.standins.search_engine import MemoryEngine


@pytest.fixture(scope="session")
def node() -> Generator[OpenSearchEngine]:
    """A real OpenSearch. Without one the tests are skipped, and in CI they fail."""
    if not is_built():
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with running_node() as url:
        engine = OpenSearchEngine(url)
        yield engine
        engine.close()


@pytest.fixture
def opensearch(node: OpenSearchEngine) -> OpenSearchEngine:
    """The real one, without any index."""
    node.call("DELETE", "/_all", b"")
    return node


@pytest.fixture(params=["memory", "opensearch"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn: what holds for the real one holds for the one that stands in for it."""
    return MemoryEngine() if request.param == "memory" else request.getfixturevalue("opensearch")


@pytest.fixture
def collect(engine: Engine) -> Generator[Callable[..., tuple[Collection, OpenSearchClient]]]:
    """Puts a collection in front of the engine and gives it with a client of it."""
    with ExitStack() as stack:

        def open_collection(**settings: Any) -> tuple[Collection, OpenSearchClient]:
            collection = stack.enter_context(serving_collection(engine, **settings))
            return collection, client_of(collection)

        yield open_collection


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not is_built():
        terminalreporter.write_line(f"tests on OpenSearch: {MISSING}")
