"""Finds what is still there of revisions that a document does not have any more.

A revision is named by the manifest before anything else of it is written, and never again once it was replaced. What
is found must not be deleted before the manifest was read once more and has not changed: then all of it is older.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ingestion.bucket import ArchivedError, ConflictError
from ingestion.manifest import Manifest, Superseded, own_ids
from ingestion.store import PartObject, chunks_key
from ingestion.tools import Tools


@dataclass
class Leftovers:
    """Chunks in the index by id, and objects by key."""

    ids: set[str] = field(default_factory=set)
    objects: list[str] = field(default_factory=list)


def find_leftovers(tools: Tools, key: str, keep: Manifest | None) -> Leftovers:
    """All that is there of a document except of the revision in `keep`."""
    kept = keep.revision if keep else None
    found = Leftovers()
    for one in tools.store.part_objects(key):
        if _is_over(tools, one, key, kept) if one.is_claim else one.revision != kept:
            found.objects.append(one.key)
    found.objects += [
        chunks_key(key, revision) for revision in tools.store.chunks_revisions(key) if revision != kept
    ]
    found.ids |= set(tools.index.document_ids(tools.index_name, key, not_revision=kept))
    return found


def superseded_ids(tools: Tools, key: str, revisions: Iterable[Superseded]) -> set[str]:
    """The ids of all chunks of replaced revisions; searches do not show the newest ones yet."""
    ids: set[str] = set()
    for one in revisions:
        if tools.gives_own_ids:
            ids |= set(own_ids(key, one.revision, range(one.chunks)))
        else:
            ids |= set(one.chunk_ids or _ids_in_rows(tools, key, one.revision))
    return ids


def confirm(tools: Tools, key: str, manifest: Manifest | None) -> None:
    """Raise `ConflictError` when the document's manifest is not the given one any more."""
    found = tools.store.read_manifest(key)
    if (found and found.version) != (manifest and manifest.version):
        raise ConflictError("The document was changed by another run.")


def part_ids(tools: Tools, key: str, revision: str, parts: Iterable[int]) -> list[str]:
    """The ids in the rows of the given parts, in order. Rows that were archived long ago count as none."""
    ids: list[str] = []
    for part in sorted(parts):
        try:
            rows = tools.store.read_part(key, revision, part) or []
        except ArchivedError:
            rows = []
        ids += [row["id"] for row in rows]
    return ids


def _ids_in_rows(tools: Tools, key: str, revision: str) -> list[str]:
    return part_ids(tools, key, revision, tools.store.done_parts(key, revision))


def _is_over(tools: Tools, one: PartObject, key: str, kept: str | None) -> bool:
    """Whether a claim tells nothing any more. All that was written under it can be found by now.

    While it lasts, its run, or the message that stands for it, will see that the manifest has changed.
    """
    claim = tools.claims.read(key, one.revision, one.part)
    if claim is None or tools.claims.lasts(claim):
        return False
    return one.revision != kept or tools.store.has_part(key, one.revision, one.part)
