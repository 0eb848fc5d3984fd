"""Turns what the engine shows a policy pack into a recording, so that the same rules judge it. Pure.

Nothing of pulumi-policy is imported: its environment is not the program's.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ops.capture.recording import RecordedResource, Recording, Unknown


class Options(Protocol):
    """`pulumi_policy.PolicyResourceOptions`, as far as it is read."""

    protect: bool
    ignore_changes: Sequence[str]
    aliases: Sequence[str]


class EngineResource(Protocol):
    """`pulumi_policy.PolicyResource`, as far as it is read."""

    resource_type: str
    props: Mapping[str, Any]
    urn: str
    name: str
    opts: Options
    provider: Any
    parent: Any
    dependencies: Sequence[Any]
    property_dependencies: Mapping[str, Sequence[Any]]


def recording_of(resources: Iterable[EngineResource], unknown_error: type[Exception]) -> Recording:
    """The recording that the rules read; `unknown_error` is what an unknown property raises when it is read."""
    found = tuple(_recorded(item, unknown_error) for item in resources)
    urn_parts = found[0].urn.split("::") if found else []
    return Recording(
        project=urn_parts[1] if urn_parts else "",
        stack=urn_parts[0].rpartition(":")[2] if urn_parts else "",
        resources=found,
        invokes=(),
        registered_outputs={},
        exports={},
    )


def _recorded(item: EngineResource, unknown_error: type[Exception]) -> RecordedResource:
    properties = _plain(item.props, unknown_error)
    # The engine shows a stack policy outputs, which a provider fills from the inputs.
    return RecordedResource(
        urn=item.urn,
        type=item.resource_type,
        name=item.name,
        parent=item.parent.urn if item.parent else None,
        # A component has no provider that makes it.
        custom=item.provider is not None or item.resource_type.startswith("pulumi:providers:"),
        inputs=properties,
        outputs=properties,
        dependencies=frozenset(other.urn for other in item.dependencies),
        property_dependencies={
            key: frozenset(other.urn for other in others)
            for key, others in item.property_dependencies.items()
        },
        provider=f"{item.provider.urn}::" if item.provider else "",
        protect=bool(item.opts.protect),
        ignore_changes=tuple(item.opts.ignore_changes),
        aliases=tuple(item.opts.aliases),
    )


def _plain(value: Any, unknown_error: type[Exception]) -> Any:
    """A property without the wrapper that refuses to give unknown values."""
    if isinstance(value, Mapping):
        return {key: _item(value, key, unknown_error) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_item(value, index, unknown_error) for index in range(len(value))]
    # Every number crosses the wire as a double.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _item(holder: Any, key: Any, unknown_error: type[Exception]) -> Any:
    try:
        return _plain(holder[key], unknown_error)
    except unknown_error:
        return Unknown()
