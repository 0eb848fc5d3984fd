"""Searches and refused calls that both engines must answer alike."""

from typing import Any

from tests.opensearch.chunks import chunk, unit

TEXTS = (
    "The warranty of the kettle lasts three years.",
    "A kettle is a pot for water; the kettle boils it.",
    "Don't pay more than 3.50 for it, e.g. at shop.example.com!",
    "日本語の文 と English words",
    "Straße, naïve café and ÜBER",
    "the the the the the the kettle",
    "snake_case and kebab-case XK-4711-B",
    "",
)
CHUNKS = [
    chunk(f"raw/{number % 3}/{number}.txt", number, text=text, page=None if number % 2 else number)
    for number, text in enumerate(TEXTS)
]
WORDS = ("kettle", "the kettle", "WARRANTY years", "3.50", "shop.example.com", "example", "日本", "don't", "dont",
         "strasse", "straße", "über", "kebab", "snake", "snake_case", "4711", "nothing of it", "")  # fmt: skip
QUERIES: list[dict[str, Any]] = [
    *({"match": {"text": {"query": words}}} for words in WORDS),
    {"match_all": {}},
    {"term": {"document_key": "raw/0/0.txt"}},
    {"term": {"document_key": {"value": "raw/0"}}},
    {"term": {"chunk_number": 3}},
    {"terms": {"document_key": ["raw/0/0.txt", "raw/1/1.txt", "raw/none"]}},
    {"prefix": {"document_key": {"value": "raw/1"}}},
    {"prefix": {"document_key": "raw/*"}},
    {"range": {"chunk_number": {"gte": 2, "lt": 5}}},
    {"exists": {"field": "page"}},
    {"ids": {"values": ["raw/0/0.txt-one-0", "none"]}},
    {"bool": {"filter": [{"term": {"revision": "one"}}], "must_not": [{"term": {"chunk_number": 1}}]}},
    {"bool": {"must_not": [{"term": {"chunk_number": 1}}]}},
    {"bool": {"must": {"match": {"text": "kettle"}}, "filter": {"prefix": {"document_key": "raw/0"}}}},
    {"bool": {"should": [{"match": {"text": "kettle"}}, {"match": {"heading": "heading"}}]}},
    {"bool": {"should": [{"match": {"text": "kettle"}}], "filter": [{"match_all": {}}]}},
    {"bool": {"should": [{"match": {"text": "kettle"}}], "minimum_should_match": 1, "filter": []}},
    {"bool": {}},
    {"knn": {"embedding": {"vector": unit(1), "k": 3}}},
    {"knn": {"embedding": {"vector": unit(1), "k": 3, "filter": {"prefix": {"document_key": "raw/1"}}}}},
    {"knn": {"embedding": {"vector": unit(2), "min_score": 0.9}}},
]  # fmt: skip
REFUSED: list[tuple[str, str, Any]] = [
    ("POST", "/documents-1/_search", {"query": {"knn": {"embedding": {"vector": [1, 2], "k": 3}}}}),
    ("POST", "/documents-1/_search", {"query": {"knn": {"text": {"vector": unit(1), "k": 3}}}}),
    ("POST", "/documents-1/_search", {"query": {"nonsense": {}}}),
    ("POST", "/documents-1/_search", {"nonsense": {}}),
    ("POST", "/documents-1/_search", {"size": 10_001}),
    ("POST", "/none/_search", {}),
    ("POST", "/none/_count", {}),
    ("GET", "/none/_mapping", None),
    ("GET", "/_alias/none", None),
    ("PUT", "/documents-1", {}),
    ("DELETE", "/none", None),
    ("POST", "/_aliases", {"actions": [{"add": {"index": "none", "alias": "a"}}]}),
    ("POST", "/_aliases", {"actions": [{"remove": {"index": "documents-1", "alias": "none"}}]}),
    ("POST", "/_aliases", {"actions": [{"add": {"index": "documents-1", "alias": "documents-1"}}]}),
    ("POST", "/documents-1/_doc", {"embedding": [1, 2]}),
]
