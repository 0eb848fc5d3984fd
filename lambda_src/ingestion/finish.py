"""The last steps: a document whose parts are all in the index becomes `indexed`, one that is gone is forgotten."""

from dataclasses import replace

from ingestion.bucket import ConflictError
from ingestion.leftovers import Leftovers, confirm, find_leftovers, part_ids, superseded_ids
from ingestion.manifest import Manifest
from ingestion.tools import Tools


def finish(tools: Tools, manifest: Manifest) -> bool:
    """Whether the document is `indexed` now; False while parts are missing.

    Everything that is not of this revision is deleted. Raises `ConflictError` when another run changed the manifest.
    """
    key = manifest.document_key
    done = tools.store.done_parts(key, manifest.revision)
    if len(done) < manifest.parts:
        return False
    leftovers = find_leftovers(tools, key, manifest)
    old_ids = superseded_ids(tools, key, manifest.superseded)
    new_ids = () if tools.gives_own_ids else tuple(part_ids(tools, key, manifest.revision, done))
    confirm(tools, key, manifest)
    tools.index.bulk_delete(tools.index_name, sorted(old_ids | leftovers.ids))
    indexed = replace(manifest, state="indexed", chunk_ids=new_ids, superseded=())
    tools.store.write_manifest(indexed, manifest)
    tools.store.bucket.delete(leftovers.objects)
    return True


def tidy(tools: Tools, manifest: Manifest) -> None:
    """Delete what broken-off runs left of other revisions than that of an `indexed` document."""
    leftovers = find_leftovers(tools, manifest.document_key, manifest)
    if leftovers.ids or leftovers.objects:
        confirm(tools, manifest.document_key, manifest)
        _delete(tools, leftovers)


def remove(tools: Tools, key: str, manifest: Manifest | None, unreadable_etag: str | None = None) -> None:
    """Delete all that is kept of a document that is gone, or that has become unreadable.

    Raises `ConflictError` when it came back meanwhile.
    """
    if manifest and manifest.state != "removing":
        manifest = tools.store.write_manifest(replace(manifest, state="removing"), manifest)
    leftovers = find_leftovers(tools, key, None)
    if manifest:
        leftovers.ids |= superseded_ids(tools, key, manifest.retired())
    if leftovers.ids or leftovers.objects:
        confirm(tools, key, manifest)
        _delete(tools, leftovers)
    if manifest:
        tools.store.delete_manifest(manifest)
    document = tools.store.look_up(key)
    if document and document.etag != unreadable_etag:
        raise ConflictError("The document was written again while it was being removed.")


def _delete(tools: Tools, leftovers: Leftovers) -> None:
    tools.index.bulk_delete(tools.index_name, sorted(leftovers.ids))
    tools.store.bucket.delete(leftovers.objects)
