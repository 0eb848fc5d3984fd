"""What one run of the program registered: the single description that previews, judges and tests read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Unknown:
    """A value that only AWS can tell, as in a first preview."""

    def __str__(self) -> str:
        return "(known after up)"


@dataclass(frozen=True)
class Secret:
    """A value that the program marked as secret; it is never shown."""

    value: Any = field(repr=False)

    def __str__(self) -> str:
        return "[secret]"


@dataclass(frozen=True, kw_only=True)
class RecordedResource:
    """One registration, as the engine would see it.

    Property names are the provider's (camelCase). `inputs` holds plain JSON values besides `Unknown` and `Secret`;
    an archive is a mapping of its paths. `expanded` marks a child that a remote component makes by itself: the
    program did not register it. `position` is the place in the source, which gives siblings a stable order.
    """

    urn: str
    type: str
    name: str
    parent: str | None
    custom: bool = True
    remote: bool = False
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    dependencies: frozenset[str] = frozenset()
    property_dependencies: Mapping[str, frozenset[str]] = field(default_factory=dict)
    provider: str = ""
    protect: bool = False
    retain_on_delete: bool = False
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    delete_before_replace: bool = False
    aliases: tuple[str, ...] = ()
    id: str = ""
    expanded: bool = False
    position: tuple[str, int] = ("", 0)


@dataclass(frozen=True, kw_only=True)
class RecordedInvoke:
    """One function that the program called: a look-up in AWS during a preview."""

    token: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Everything that one run registered, in the order of the source: parents first, siblings by position and name.

    `registered_outputs` maps the URN of each component to what it registered as its outputs; a component that never
    did is absent.
    """

    project: str
    stack: str
    resources: tuple[RecordedResource, ...]
    invokes: tuple[RecordedInvoke, ...]
    registered_outputs: Mapping[str, Mapping[str, Any]]
    exports: Mapping[str, Any]
    warnings: tuple[str, ...] = ()

    def of_type(self, type_token: str) -> list[RecordedResource]:
        """The resources of one type, in order."""
        return [resource for resource in self.resources if resource.type == type_token]

    def one(self, type_token: str, name: str | None = None) -> RecordedResource:
        """The only resource of a type (and name); LookupError says what there is instead."""
        found = [item for item in self.of_type(type_token) if name is None or item.name == name]
        if len(found) != 1:
            there = ", ".join(item.name for item in self.of_type(type_token)) or "none"
            raise LookupError(f"wanted one {type_token} {name or ''}, found {len(found)}; there are: {there}")
        return found[0]

    def children(self, urn: str | None) -> Iterator[RecordedResource]:
        """The direct children of a resource; None gives those of the stack itself."""
        return (resource for resource in self.resources if resource.parent == urn)

    def by_urn(self, urn: str) -> RecordedResource:
        """The resource with this URN; KeyError when there is none."""
        for resource in self.resources:
            if resource.urn == urn:
                return resource
        raise KeyError(urn)
