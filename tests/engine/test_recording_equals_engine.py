"""The recording that previews, judges and tests read is what the engine holds after `up`."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ops.capture.recording import RecordedResource, Recording
from recordings import recorded
from tests.engine.events import STACK
from tests.engine.life import Life

# What the engine and its components add by themselves: the recording holds what the program registers.
ADDED = ("pulumi:providers:", "docker-build:")


class View(NamedTuple):
    """What is compared of a resource."""

    parent: str | None
    protect: bool
    retain_on_delete: bool
    dependencies: frozenset[str]
    property_dependencies: Mapping[str, frozenset[str]]


def _is_added(urn: str, recording: Recording) -> bool:
    kind = urn.split("::")[2].rpartition("$")[2]
    return kind == STACK or (kind.startswith(ADDED) and urn not in {item.urn for item in recording.resources})


def _engine_view(state: Mapping[str, Any], recording: Recording) -> View:
    def kept(urns: list[str] | None) -> frozenset[str]:
        return frozenset(urn for urn in urns or () if not _is_added(urn, recording))

    by_property = {key: kept(urns) for key, urns in (state.get("propertyDependencies") or {}).items()}
    parent = state.get("parent")
    return View(
        parent=None if parent is None or _is_added(parent, recording) else parent,
        protect=bool(state.get("protect")),
        retain_on_delete=bool(state.get("retainOnDelete")),
        dependencies=kept(state.get("dependencies")),
        property_dependencies={key: urns for key, urns in by_property.items() if urns},
    )


def _recorded_view(resource: RecordedResource) -> View:
    return View(
        parent=resource.parent,
        protect=resource.protect,
        retain_on_delete=resource.retain_on_delete,
        dependencies=resource.dependencies,
        # A component of a provider hands its inputs on; the engine registers it without any.
        property_dependencies={} if resource.remote else resource.property_dependencies,
    )


def test_the_recording_has_the_resources_of_the_engine(life: Life) -> None:
    recording = recorded(life.stack)
    on_engine = {state["urn"] for state in life.resources if not _is_added(state["urn"], recording)}
    assert {resource.urn for resource in recording.resources} == on_engine


def test_parents_protection_and_dependencies_are_those_of_the_engine(life: Life) -> None:
    recording = recorded(life.stack)
    states = {state["urn"]: state for state in life.resources}
    differences = {
        resource.urn: (_recorded_view(resource), _engine_view(states[resource.urn], recording))
        for resource in recording.resources
        if _recorded_view(resource) != _engine_view(states[resource.urn], recording)
    }
    assert not differences, (
        f"{len(differences)} resources are recorded wrongly: {next(iter(differences.items()))}"
    )
