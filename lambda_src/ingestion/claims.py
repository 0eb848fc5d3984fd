"""Claims: which run works on a part of a document right now, or broke off while it did.

A queue may hand out one message twice, and a run may end at any moment. Before a run writes to the index it creates a
claim object, and it deletes that when nothing more can go wrong. So at most one run at a time writes the chunks of a
part; a message for a part is not done with while another run's claim on it lasts; and where a run broke off, its claim
tells the next one what to clear away. In a collection that gives the ids itself (CLASSIC) there is no other trace of
chunks whose writer did not live to note their ids, for some time not even a search finds them.

A claim lasts as long as its run can live by Lambda's own clock, and until a search would find all that the run wrote.
"""

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isinf

from ingestion.bucket import ConflictError
from ingestion.manifest import Manifest
from ingestion.settings import Generation
from ingestion.store import DocumentStore, claim_key
from rag.errors import PipelineError

# A function of Lambda runs at most this long. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
LONGEST_RUN_SECONDS = 900
# AWS names no figure for CLASSIC vector collections; users report up to a minute until a search finds what was written,
# which is doubled here. Where the ids are ours nothing has to be searched: these seconds are for clocks that differ.
VISIBLE_AFTER_SECONDS: dict[Generation, int] = {"NEXTGEN": 5, "CLASSIC": 120}


class BusyError(PipelineError):
    """Another run may still be at work on the document: the message must come back later."""

    status_code = 503
    code = "busy"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """`until` is in seconds since 1970."""

    document_key: str
    revision: str
    part: int
    run: str
    until: float
    first: int
    chunks: int
    version: str = ""

    @property
    def object_key(self) -> str:
        """Where the claim lies."""
        return claim_key(self.document_key, self.revision, self.part)

    @property
    def numbers(self) -> range:
        """The numbers of the chunks in the part."""
        return range(self.first, self.first + self.chunks)

    def to_json(self) -> bytes:
        """The content of the claim object."""
        fields = {"run": self.run, "until": self.until, "first": self.first, "chunks": self.chunks}
        return json.dumps(fields).encode()


@dataclass(frozen=True, kw_only=True)
class Claims:
    """`clock` gives seconds since 1970, `remaining_seconds` how long this run can live."""

    store: DocumentStore
    generation: Generation
    clock: Callable[[], float]
    remaining_seconds: Callable[[], float]

    def latest_end(self) -> float:
        """When this run is over for certain, and a search finds all that it wrote."""
        left = self.remaining_seconds()
        ends = self.clock() + (LONGEST_RUN_SECONDS if isinf(left) else left)
        return ends + VISIBLE_AFTER_SECONDS[self.generation]

    def take(self, manifest: Manifest, part: int) -> tuple[Claim, bool]:
        """A claim of this run, and whether it follows a run that broke off.

        Raises `BusyError` while another run's claim lasts.
        """
        numbers = manifest.part_numbers(part)
        wanted = Claim(
            document_key=manifest.document_key,
            revision=manifest.revision,
            part=part,
            run=secrets.token_hex(6),
            until=self.latest_end(),
            first=numbers.start,
            chunks=len(numbers),
        )
        found = self.read(manifest.document_key, manifest.revision, part)
        if found and self.lasts(found):
            raise BusyError("Another run is at work on this part of the document.")
        return self._write(wanted, found), found is not None

    def read(self, document_key: str, revision: str, part: int) -> Claim | None:
        """The claim on a part; None when there is none."""
        key = claim_key(document_key, revision, part)
        stored = self.store.bucket.read(key)
        if stored is None:
            return None
        fields = json.loads(stored.content)
        return Claim(
            document_key=document_key,
            revision=revision,
            part=part,
            run=fields["run"],
            until=fields["until"],
            first=fields["first"],
            chunks=fields["chunks"],
            version=stored.etag,
        )

    def lasts(self, claim: Claim) -> bool:
        """Whether the claim's run may still be at work, or what it wrote may not be found yet."""
        return self.clock() < claim.until

    def drop(self, claim: Claim) -> None:
        """End a claim under which everything was brought to its end."""
        self.store.bucket.delete([claim.object_key])

    def break_off(self, claim: Claim) -> None:
        """Let a claim last only until a search finds all that was written under it. The run writes nothing more."""
        seen = self.clock() + (VISIBLE_AFTER_SECONDS["CLASSIC"] if self.generation == "CLASSIC" else 0)
        shorter = replace(claim, until=min(claim.until, seen))
        self.store.bucket.replace(claim.object_key, shorter.to_json(), claim.version)

    def _write(self, wanted: Claim, found: Claim | None) -> Claim:
        bucket = self.store.bucket
        try:
            if found:
                version = bucket.replace(wanted.object_key, wanted.to_json(), found.version)
            else:
                version = bucket.create(wanted.object_key, wanted.to_json())
        except ConflictError:
            # When the reply to a write is lost, its repetition meets what the first one wrote.
            stored = bucket.read(wanted.object_key)
            if stored is None or stored.content != wanted.to_json():
                raise BusyError("Another run began on this part of the document.") from None
            version = stored.etag
        return replace(wanted, version=version)
