"""Faults that a test, or a person who wants to watch one, scripts in advance."""

import json
import threading
from dataclasses import dataclass
from pathlib import Path


class ScriptedFaultError(Exception):
    """AWS refuses, because a script says so."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """The `nth` call of `operation` on `type`, and the `times - 1` calls after it, fail with `message`.

    `operation` is create, read, update or delete; `name` narrows it to one resource of the program.
    """

    operation: str
    type: str
    name: str = ""
    nth: int = 1
    times: int = 1
    message: str = "ThrottlingException: Rate exceeded"


class Faults:
    """The script and how far it has come."""

    def __init__(self) -> None:
        self._calls: dict[Fault, int] = {}
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._calls[fault] = 0

    def load(self, path: Path) -> None:
        """Adds the faults of a JSON file: a list of objects with the fields of `Fault`."""
        for item in json.loads(path.read_text(encoding="utf-8")):
            self.add(Fault(**item))

    def meet(self, operation: str, type_token: str, name: str) -> None:
        """Counts one call; raises ScriptedFaultError if it is one that shall fail."""
        with self._lock:
            for fault in self._calls:
                if (fault.operation, fault.type) == (operation, type_token) and fault.name in ("", name):
                    self._calls[fault] += 1
                    if fault.nth <= self._calls[fault] < fault.nth + fault.times:
                        raise ScriptedFaultError(f"{fault.message} ({operation} {type_token} {name})")
