"""What the steps of ingestion work with in one run."""

from dataclasses import dataclass, field

from ingestion.claims import Claims
from ingestion.embedder import Embedder
from ingestion.manifest import Manifest, own_ids
from ingestion.messages import Queue
from ingestion.settings import IngestionSettings
from ingestion.store import DocumentStore
from rag.errors import UnavailableError
from rag.search import OpenSearchClient


@dataclass(frozen=True, kw_only=True)
class Tools:
    """Made anew for every run: `claims` and `embedder` know the time that the run has."""

    settings: IngestionSettings
    store: DocumentStore
    index: OpenSearchClient
    queue: Queue
    claims: Claims
    embedder: Embedder
    _index_names: list[str] = field(default_factory=list, init=False)

    @property
    def gives_own_ids(self) -> bool:
        """Whether the ids of chunks are ours to give; vector collections of CLASSIC refuse that."""
        return self.settings.collection_generation == "NEXTGEN"

    @property
    def index_name(self) -> str:
        """The index behind the alias. All is written to it by its own name, so a manifest can record where.

        The alias is moved only while no run is at work (ops/reindex), so one look at it is enough for a run.
        """
        if not self._index_names:
            alias = self.settings.pipeline.index_alias
            targets = self.index.alias_targets(alias)
            if len(targets) != 1:
                raise UnavailableError(f"The alias {alias} names {len(targets)} indexes, it must name one.")
            self._index_names.append(targets[0])
        return self._index_names[0]

    def is_current(self, manifest: Manifest) -> bool:
        """Whether the document's manifest still names this revision, and not to remove it."""
        found = self.store.read_manifest(manifest.document_key)
        return found is not None and found.revision == manifest.revision and found.state != "removing"

    def ids_to_write(self, document_key: str, revision: str, numbers: range) -> list[str] | None:
        """The ids for new chunks; None where the collection gives them."""
        return own_ids(document_key, revision, numbers) if self.gives_own_ids else None
