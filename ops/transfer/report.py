"""What a transfer did, for people and for machines."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ops.progress import byte_count
from ops.transfer.sending import Outcome

# So many keys are shown by a dry run; --json has all.
SHOWN = 20


@dataclass
class Report:
    """`verb` is `sent` or `fetched`; `planned` has (key, bytes) of what was to be moved."""

    verb: str
    where: str
    dry_run: bool
    planned: Sequence[tuple[str, int]] = ()
    unchanged: int = 0
    outcome: Outcome = field(default_factory=Outcome)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def code(self) -> int:
        return int(bool(self.outcome.failures) or bool(self.outcome.dropped))

    def tell(self, *, as_json: bool) -> int:
        """Prints it and returns the exit code. Only the first failure is told in full outside of JSON."""
        if as_json:
            print(json.dumps(self._document(), indent=2))
            return self.code
        for note in self.notes:
            print(f"Note: {note}", file=sys.stderr)
        failures = self.outcome.failures
        if failures:
            path, reason = failures[0]
            print(f"FAILED {path}: {reason}", file=sys.stderr)
        print("\n".join(self._lines()))
        return self.code

    def _lines(self) -> list[str]:
        if self.dry_run:
            shown = [f"  {key} ({byte_count(length)})" for key, length in self.planned[:SHOWN]]
            more = len(self.planned) - len(shown)
            rest = [f"  and {more} more"] if more else []
            total = byte_count(sum(length for _, length in self.planned))
            head = f"To be {self.verb}: {len(self.planned)} ({total}); unchanged: {self.unchanged}"
            return [head + self._failed(), *shown, *rest]
        moved = f"{len(self.outcome.done)} {self.verb} ({byte_count(self.outcome.bytes_done)})"
        return [f"{moved} in {self.seconds:.1f} s, {self.unchanged} unchanged{self._failed()}: {self.where}"]

    def _failed(self) -> str:
        failed = f", {len(self.outcome.failures)} failed" if self.outcome.failures else ""
        return failed + (f", {self.outcome.dropped} not begun" if self.outcome.dropped else "")

    def _document(self) -> dict[str, Any]:
        return {
            "where": self.where,
            "dry_run": self.dry_run,
            "planned": [{"key": key, "bytes": length} for key, length in self.planned],
            self.verb: self.outcome.done,
            "bytes": self.outcome.bytes_done,
            "unchanged": self.unchanged,
            "failed": [{"name": name, "reason": reason} for name, reason in self.outcome.failures],
            "not_begun": self.outcome.dropped,
            "notes": self.notes,
            "seconds": round(self.seconds, 3),
        }
