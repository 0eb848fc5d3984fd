"""Marks: which runs serve an event of a document right now.

A run that breaks off leaves things half done, and its message comes back to bring them to an end. But a queue may
hand one message out twice, and then the other run takes the message away when it is done. So every run that serves an
event marks the document before it looks at it; and a run that finds another one's mark when it is done itself does
not take its message away, so that somebody comes back when the other one is over for certain.
"""

import json
import secrets
from dataclasses import dataclass

from ingestion.claims import BusyError, Claims


@dataclass(frozen=True)
class Marks:
    """The marks on documents; how long a run can live is known to `claims`."""

    claims: Claims

    def put(self, document_key: str) -> str:
        """Mark a document for this run; returns the key of the mark."""
        mark = self.claims.store.mark_key(document_key, secrets.token_hex(6))
        self.claims.store.bucket.write(mark, json.dumps({"until": self.claims.latest_end()}).encode())
        return mark

    def drop(self, document_key: str, mark: str) -> None:
        """Take this run's mark away, now that everything is done; raise `BusyError` when there are others."""
        bucket = self.claims.store.bucket
        bucket.delete([mark])
        for other in self.claims.store.marks(document_key):
            stored = bucket.read(other)
            if stored and self.claims.clock() < json.loads(stored.content)["until"]:
                raise BusyError("Another run that serves an event of this document may still be at work.")
            bucket.delete([other])
