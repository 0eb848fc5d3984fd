"""The account that all providers of the stub share: what exists, in memory and, if wanted, in a JSON file."""

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.engine.stub.faults import Faults
from tests.engine.stub.wire import Values


@dataclass(kw_only=True)
class Existing:
    """One resource as AWS holds it."""

    type: str
    name: str  # the program's name for it
    key: str  # what tells it apart from others of its type
    id: str
    inputs: Values
    outputs: Values
    objects: list[str] = field(default_factory=list)  # of a bucket


class Account:
    """What exists. Every method is safe to call from several threads.

    With a `path` the account is read from that file and written to it after each change, so that several runs of the
    command line share it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.lock = threading.RLock()
        self.faults = Faults()
        self._path = path
        self._resources: dict[str, Existing] = {}
        self._made: dict[str, int] = {}
        if path and path.is_file():
            self._load(json.loads(path.read_text(encoding="utf-8")))

    def __iter__(self) -> Iterator[Existing]:
        with self.lock:
            return iter(list(self._resources.values()))

    def of_type(self, type_token: str) -> list[Existing]:
        return [resource for resource in self if resource.type == type_token]

    def find(self, type_token: str, key: str) -> Existing | None:
        with self.lock:
            return self._resources.get(f"{type_token} {key}")

    def one(self, type_token: str, name: str = "") -> Existing:
        """The only resource of a type (and program's name); LookupError says what there is instead."""
        found = [item for item in self.of_type(type_token) if name in ("", item.name)]
        if len(found) != 1:
            there = ", ".join(item.name for item in self.of_type(type_token)) or "none"
            raise LookupError(f"wanted one {type_token} {name}, found {len(found)}; there are: {there}")
        return found[0]

    def next_number(self, type_token: str, name: str) -> int:
        """How many resources of this type and name there have ever been, the next one included."""
        with self.lock:
            key = f"{type_token} {name}"
            self._made[key] = self._made.get(key, 0) + 1
            return self._made[key]

    def put(self, resource: Existing) -> None:
        with self.lock:
            self._resources[f"{resource.type} {resource.key}"] = resource
            self._save()

    def remove(self, resource: Existing) -> None:
        """Deletes it; also for tests, as somebody else would: the next refresh finds it gone."""
        with self.lock:
            self._resources.pop(f"{resource.type} {resource.key}", None)
            self._save()

    def change(self, type_token: str, name: str = "", **outputs: Any) -> None:
        """Changes properties (camelCase) from outside of Pulumi, as autoscaling or a person would."""
        with self.lock:
            self.one(type_token, name).outputs.update(outputs)
            self._save()

    def add_object(self, key: str, name: str = "") -> None:
        """Puts an object into the bucket that the program calls `name`."""
        with self.lock:
            self.one("aws:s3/bucket:Bucket", name).objects.append(key)
            self._save()

    def _load(self, content: dict[str, Any]) -> None:
        self._made = content["made"]
        for item in content["resources"]:
            self._resources[f"{item['type']} {item['key']}"] = Existing(**item)

    def _save(self) -> None:
        if self._path:
            content = {"made": self._made, "resources": [asdict(item) for item in self._resources.values()]}
            self._path.write_text(json.dumps(content, indent=1), encoding="utf-8")
