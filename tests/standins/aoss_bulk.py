"""A bulk request taken apart, so that single items can be refused before the engine sees the rest."""

import json
from dataclasses import dataclass
from typing import Any, Self


@dataclass
class Entry:
    """One action with its lines as they came; `refusal` is the item of the reply when the engine is not asked."""

    action: str
    target: dict[str, Any]
    lines: list[bytes]
    refusal: dict[str, Any] | None = None

    @property
    def has_id(self) -> bool:
        return self.target.get("_id") is not None

    def refuse(self, status: int, code: str, reason: str) -> None:
        if self.refusal is None:
            self.refusal = {
                "_index": self.target.get("_index", ""),
                "_id": self.target.get("_id", ""),
                "status": status,
                "error": {"type": code, "reason": reason},
            }


@dataclass
class BulkRequest:
    entries: list[Entry]

    @classmethod
    def parse(cls, body: bytes) -> Self | None:
        """None when the body is not what a bulk request is; the engine says so in its own words."""
        lines = body.split(b"\n")
        if lines[-1] != b"":
            return None
        entries: list[Entry] = []
        rest = iter(lines[:-1])
        try:
            for line in rest:
                ((action, target),) = json.loads(line).items()
                document = [] if action == "delete" else [next(rest)]
                entries.append(Entry(action, target or {}, [line, *document]))
        except (ValueError, AttributeError, StopIteration):
            return None
        return cls(entries)

    def accepted_body(self) -> bytes:
        return b"".join(
            line + b"\n" for entry in self.entries if entry.refusal is None for line in entry.lines
        )

    def merged(self, document: dict[str, Any]) -> dict[str, Any]:
        """The engine's reply with the refused items at their places."""
        answered = iter(document.get("items", []))
        items = [{entry.action: entry.refusal} if entry.refusal else next(answered) for entry in self.entries]
        errors = any("error" in outcome for item in items for outcome in item.values())
        return {"took": document.get("took", 0), "errors": errors, "items": items}
