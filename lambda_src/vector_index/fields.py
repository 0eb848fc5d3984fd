"""Reads the fields of an event and tells everything that is wrong with them at once."""

import re
from typing import Any

from vector_index.waiting import VectorIndexError

INDEX_NAME = re.compile(r"[a-z][a-z0-9_-]{0,127}")


class EventFields:
    """Typed access to an event of any shape. A fault is noted and a placeholder returned; `finish` raises with all."""

    def __init__(self, event: Any) -> None:
        self._fields: dict[str, Any] = event if isinstance(event, dict) else {}
        self._known: set[str] = set()
        self._faults: list[str] = []

    def fault(self, sentence: str) -> None:
        """Note a fault that the caller found."""
        self._faults.append(sentence)

    def value(self, name: str) -> Any:
        """The field as it is, None when it is not there."""
        self._known.add(name)
        return self._fields.get(name)

    def name(self, field: str) -> str:
        """The name of an index or of an alias."""
        value = self.value(field)
        if isinstance(value, str) and INDEX_NAME.fullmatch(value):
            return value
        self.fault(f"{field} is {value!r}, it must be a lower-case name such as documents-1")
        return ""

    def choice(self, field: str, *allowed: str) -> str:
        """One of `allowed`."""
        value = self.value(field)
        if value not in allowed:
            self.fault(f"{field} is {value!r}, it must be {' or '.join(allowed)}")
        return str(value)

    def whole_number(self, field: str, lowest: int, highest: int, default: int | None = None) -> int:
        """A whole number between `lowest` and `highest`. JSON may carry one as 512.0."""
        value = self.value(field)
        if value is None and default is not None:
            return default
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and lowest <= value <= highest and value == int(value):
            return int(value)
        self.fault(f"{field} is {value!r}, it must be a whole number from {lowest} to {highest}")
        return lowest

    def refuse_others(self) -> None:
        """Note a fault for every field that nobody asked for: it may be a misspelt one."""
        for field in sorted(map(str, self._fields.keys() - self._known)):
            self.fault(f"there is no field {field}")

    def finish(self, what: str) -> None:
        """Raise one `VectorIndexError` that names every fault; do nothing when there is none."""
        if self._faults:
            raise VectorIndexError(f"{what} is not usable: {'; '.join(self._faults)}.")
