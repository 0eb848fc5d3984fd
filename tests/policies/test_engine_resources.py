"""What the engine shows a policy pack is judged as the recording is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ops.capture.recording import RecordedResource, Recording, Unknown
from policies.engine_resources import Options, recording_of
from policies.rules import findings
from recordings import previewed
from tests.policies.planting import changed, found, inputs
from tests.policies.plants import INGRESS


class NotKnown(Exception):
    """Stands for what pulumi-policy raises when an unknown property is read."""


class Guarded(Mapping[str, Any]):
    """Stands for pulumi-policy's wrapper: reading an unknown property raises, and numbers are doubles."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        if isinstance(value, Unknown):
            raise NotKnown(key)
        return _guarded(value)

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _guarded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Guarded(value)
    if isinstance(value, list):
        return [_guarded(item) for item in value]
    return float(value) if type(value) is int else value


@dataclass
class ShownOptions:
    protect: bool
    ignore_changes: Sequence[str] = ()
    aliases: Sequence[str] = ()


@dataclass
class Provider:
    urn: str


@dataclass
class Shown:
    """One `pulumi_policy.PolicyResource`."""

    resource_type: str
    props: Mapping[str, Any]
    urn: str
    name: str
    opts: Options
    provider: Any
    parent: Any = None
    dependencies: Sequence[Any] = ()
    property_dependencies: Mapping[str, Sequence[Any]] = field(default_factory=dict)


def _shown(recording: Recording) -> list[Shown]:
    """A recording as the engine shows it: with references between its resources."""
    by_urn = {item.urn: _one(item) for item in recording.resources}
    for item in recording.resources:
        shown = by_urn[item.urn]
        shown.parent = by_urn.get(item.parent or "")
        shown.dependencies = [by_urn[urn] for urn in item.dependencies if urn in by_urn]
        shown.property_dependencies = {
            key: [by_urn[urn] for urn in urns if urn in by_urn]
            for key, urns in item.property_dependencies.items()
        }
    return list(by_urn.values())


def _one(item: RecordedResource) -> Shown:
    provider = Provider(item.provider.rpartition("::")[0]) if item.provider else None
    return Shown(item.type, Guarded(item.inputs), item.urn, item.name, ShownOptions(item.protect), provider)


def test_what_the_engine_shows_of_a_stack_breaks_no_rule(platform: Recording) -> None:
    assert findings(recording_of(_shown(platform), NotKnown)) == []


def test_what_the_engine_shows_in_a_preview_breaks_no_rule() -> None:
    assert findings(recording_of(_shown(previewed("prod")), NotKnown)) == []


def test_a_fault_is_found_in_what_the_engine_shows(prod: Recording) -> None:
    opened = changed(prod, INGRESS, "network-endpoints", inputs(cidrIpv4="0.0.0.0/0"))
    (item,) = findings(recording_of(_shown(opened), NotKnown))
    assert (item.rule, item.urn) == ("open-ingress", prod.one(INGRESS, "network-endpoints").urn)
    assert found(opened)["open-ingress"] == [item], "the pack and `ops lint` would disagree"


def test_a_recording_from_the_engine_keeps_what_rules_read(prod: Recording) -> None:
    again = recording_of(_shown(prod), NotKnown)
    assert (again.project, again.stack) == (prod.project, prod.stack)
    for before, after in zip(prod.resources, again.resources, strict=True):
        assert (before.urn, before.protect, before.parent) == (after.urn, after.protect, after.parent)
        assert before.inputs == after.inputs, before.name
