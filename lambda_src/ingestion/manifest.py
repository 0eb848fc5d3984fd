"""What the lake records of one document in the index: which revision of it, in how many chunks and parts."""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from rag.errors import PipelineError

# What names a revision: see `Ingestion._begin`.
REVISION = re.compile("[0-9a-f]{12}")
State = Literal["indexing", "indexed", "removing"]


class ManifestError(PipelineError):
    """A manifest that this version cannot read; trying again does not help."""

    code = "manifest"


@dataclass(frozen=True, kw_only=True)
class Superseded:
    """A revision that was replaced, with all that is needed to delete its chunks from the index."""

    revision: str
    chunks: int
    parts: int
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """`revision` is new each time a document is begun to be indexed; `index` is the index behind the alias then.

    `fingerprint` stands for the document's content and the way it is cut; with `model_id`, `dimensions` and `index`
    it tells whether anything is to be done. `chunk_ids` are kept where the collection gives them (CLASSIC), once all
    are there. `version` is the ETag of the manifest object.
    """

    document_key: str
    document_etag: str
    fingerprint: str
    state: State
    revision: str
    model_id: str
    dimensions: int
    index: str
    chunks: int
    parts: int
    chunks_per_part: int
    chunk_ids: tuple[str, ...] = ()
    superseded: tuple[Superseded, ...] = ()
    version: str = ""

    def part_numbers(self, part: int) -> range:
        """The numbers of the chunks in a part."""
        first = part * self.chunks_per_part
        return range(first, min(first + self.chunks_per_part, self.chunks))

    def retired(self) -> tuple[Superseded, ...]:
        """All revisions to be deleted once another one takes this one's place."""
        own = Superseded(
            revision=self.revision, chunks=self.chunks, parts=self.parts, chunk_ids=self.chunk_ids
        )
        return (*self.superseded, own)

    def to_json(self) -> bytes:
        """The content of the manifest object."""
        fields = asdict(self)
        del fields["version"]
        return json.dumps(fields).encode()

    @classmethod
    def from_json(cls, content: bytes, version: str) -> Self:
        """The inverse of `to_json`; raises `ManifestError`."""
        try:
            fields: dict[str, Any] = json.loads(content)
            fields["chunk_ids"] = tuple(fields["chunk_ids"])
            fields["superseded"] = tuple(map(_superseded, fields["superseded"]))
            return cls(**fields, version=version)
        except (ValueError, KeyError, TypeError) as error:
            raise ManifestError(
                "The document's manifest is damaged or of another version: delete the manifest object and copy the "
                "document onto itself, which indexes it anew."
            ) from error


def _superseded(fields: dict[str, Any]) -> Superseded:
    fields["chunk_ids"] = tuple(fields["chunk_ids"])
    return Superseded(**fields)


def fingerprint(document_etag: str, chunk_tokens: int, overlap_tokens: int, extractor_version: int) -> str:
    """The same for the same content cut in the same way."""
    parts = [document_etag.strip('"'), chunk_tokens, overlap_tokens, extractor_version]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def own_ids(document_key: str, revision: str, numbers: Iterable[int]) -> list[str]:
    """The ids of chunks where the collection takes ours (NEXTGEN): they follow from key, revision and number."""
    digest = hashlib.sha256(document_key.encode()).hexdigest()
    return [f"{digest}-{revision}-{number}" for number in numbers]
