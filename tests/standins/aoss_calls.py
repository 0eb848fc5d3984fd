"""The calls that OpenSearch Serverless has, as far as indexes, documents and aliases go.

From https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-genref.html. What that page allows
for collections of type SEARCH only is left out, and so are templates, pipelines, plugins and agents.
"""

import re

ALLOWED = """
PUT DELETE GET HEAD     /{index}
GET                     /_mapping /_mappings /{index}/_mapping /{index}/_mappings
GET                     /{index}/_setting /{index}/_settings /{index}/_setting/{name} /{index}/_settings/{name}
GET                     /_cat/indices /_resolve/index/{index}
POST PUT                /{index}/_mapping /{index}/_mappings /{index}/_settings
POST                    /_bulk /{index}/_bulk /{index}/_doc
DELETE                  /{index}/_doc/{id}
GET HEAD                /{index}/_doc/{id} /{index}/_source/{id}
GET POST                /_search /{index}/_search /{index}/_count /{index}/_explain/{id}
GET POST                /_analyze /{index}/_analyze /_field_caps /{index}/_field_caps /{index}/_rank_eval
GET                     /_mget /{index}/_mget /{index}/_msearch
POST                    /_aliases
GET                     /_alias /_cat/aliases
GET HEAD                /_alias/{alias} /{index}/_alias/{alias}
POST PUT DELETE         /{index}/_alias/{alias} /{index}/_aliases/{alias}
"""


def _patterns() -> list[tuple[frozenset[str], re.Pattern[str]]]:
    patterns = []
    for line in ALLOWED.strip().splitlines():
        words = line.split()
        methods = frozenset(word for word in words if not word.startswith("/"))
        for path in words[len(methods) :]:
            patterns.append((methods, re.compile(re.sub(r"\{\w+\}", "[^/_][^/]*", path))))
    return patterns


PATTERNS = _patterns()


def is_allowed(method: str, path: str) -> bool:
    return any(method in methods and pattern.fullmatch(path) for methods, pattern in PATTERNS)


def operation_of(method: str, path: str) -> str:
    """A short name for faults to be scripted with: `_search`, `_bulk`, or `PUT` for a call on the index itself."""
    parts = [part for part in path.split("/") if part.startswith("_")]
    return parts[0] if parts else method
