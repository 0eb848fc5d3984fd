"""Chunks to write into an index, with vectors that are always the same."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from botocore.credentials import Credentials

from rag.opensearch_http import OpenSearchHttp
from rag.search import IndexedChunk, OpenSearchClient
from tests.standins.aoss import Collection
from tests.standins.signature import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from vector_index.index import index_definition

INDEX = "documents-1"
DIMENSION = 8
Collect = Callable[..., tuple[Collection, OpenSearchClient]]


def unit(seed: int) -> list[float]:
    vector = np.random.default_rng(seed).standard_normal(DIMENSION)
    return [float(number) for number in vector / np.linalg.norm(vector)]


def chunk(key: str, number: int = 0, **changes: Any) -> IndexedChunk:
    fields: dict[str, Any] = {
        "document_key": key, "chunk_number": number, "text": f"chunk {number} of {key}", "revision": "one",
        "model_id": "model", "embedding": unit(hash_of(key) + number), "page": number + 1, "heading": "Heading",
    }  # fmt: skip
    return IndexedChunk(**{**fields, **changes})


def hash_of(key: str) -> int:
    return sum(key.encode()) * 1000


def fill(client: OpenSearchClient, chunks: Sequence[IndexedChunk], generation: str = "NEXTGEN") -> list[str]:
    client.create_index(INDEX, index_definition(DIMENSION, generation))
    ids = [f"{one.document_key}-{one.revision}-{one.chunk_number}" for one in chunks]
    return client.bulk_index(INDEX, chunks, ids if generation == "NEXTGEN" else None)


def client_of(collection: Collection) -> OpenSearchClient:
    """A client that signs with the keys that the stand-in knows."""
    credentials = Credentials(ACCESS_KEY_ID, SECRET_ACCESS_KEY)
    return OpenSearchClient(
        OpenSearchHttp(collection.url, "eu-central-1", credentials), sleep=lambda seconds: None
    )
