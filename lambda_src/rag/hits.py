"""What a search found, read without trust in what was stored."""

from typing import Any

from rag.opensearch_http import Reply
from rag.passages import Passage
from rag.search_errors import accepted, complete
from rag.well_formed import well_formed

Hit = dict[str, Any]


def hits_of(reply: Reply) -> list[Hit]:
    """The hits of a search that reached the whole index. Raises what its refusal or its failed shards mean."""
    document = accepted(reply, "Searching").document
    complete(document, "Searching")
    return document.get("hits", {}).get("hits", [])


def passage(hit: Hit, score: float) -> Passage:
    """The passage of a hit, whatever wrote it: a field that is missing or of another kind counts as empty."""
    return Passage(
        text=_text(hit, "text"),
        document_key=_text(hit, "document_key"),
        chunk_number=chunk_number(hit),
        score=score,
        page=_whole(hit, "page"),
        heading=_text(hit, "heading"),
    )


def chunk_number(hit: Hit) -> int:
    """The number of the chunk, 0 where none was stored."""
    return _whole(hit, "chunk_number") or 0


def score_of(hit: Hit) -> float:
    """The score that the search itself gave, 0 where it gave none."""
    score = hit.get("_score")
    return float(score) if isinstance(score, int | float) else 0.0


def _text(hit: Hit, field: str) -> str:
    value = _stored(hit, field)
    return well_formed(value) if isinstance(value, str) else ""


def _whole(hit: Hit, field: str) -> int | None:
    value = _stored(hit, field)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _stored(hit: Hit, field: str) -> Any:
    return (hit.get("_source") or {}).get(field)
