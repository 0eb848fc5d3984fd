"""Which URNs a resource had before, by its aliases and those of its parents, as the engine works them out.

The rules: https://www.pulumi.com/docs/iac/concepts/resources/options/aliases/, and for children of a component
`inherited_child_alias` in the SDK's pulumi/runtime/resource.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ops.capture.recording import RecordedResource, Recording


@dataclass(frozen=True, kw_only=True)
class Alias:
    """One alias as the program wrote it: a whole `urn`, or the parts that differ; None is what the resource has now.

    `parent` is a URN, "" for none at all.
    """

    urn: str = ""
    name: str | None = None
    type: str | None = None
    parent: str | None = None


Key = tuple[str, str]


class AliasNotes:
    """Sees every resource that the program makes, and keeps its aliases by type and name."""

    def __init__(self) -> None:
        self.found: dict[Key, list[Alias]] = {}

    def note(self, args: Any) -> None:
        """To be registered as a transformation of the stack; it changes nothing."""
        aliases = [alias for item in args.opts.aliases or () if (alias := _read(item))]
        if aliases:
            self.found[args.type_, args.name] = aliases


def _read(item: Any) -> Alias | None:
    """What an alias of the SDK says; a URN that is known only after `up` says nothing here."""
    import pulumi

    if isinstance(item, str):
        return Alias(urn=item)
    if not isinstance(item, pulumi.Alias):
        return None
    parent = item.parent
    if isinstance(parent, pulumi.Resource):
        parent = f"::{parent.pulumi_resource_type}::{parent.pulumi_resource_name}"
    return Alias(
        name=item.name if isinstance(item.name, str) else None,
        type=item.type_ if isinstance(item.type_, str) else None,
        parent="" if parent is None else parent if isinstance(parent, str) else None,
    )


def resolved(recording: Recording, noted: Mapping[Key, list[Alias]]) -> Recording:
    """The recording, in which every resource has the URNs that it may have had before as `aliases`."""
    before: dict[str, list[str]] = {}
    resources = []
    for resource in recording.resources:  # parents come first
        own = noted.get((resource.type, resource.name), [])
        urns = _former_urns(recording, resource, own, before)
        before[resource.urn] = urns
        resources.append(replace(resource, aliases=tuple(urns)))
    return replace(recording, resources=tuple(resources))


def _former_urns(
    recording: Recording, resource: RecordedResource, own: list[Alias], before: Mapping[str, list[str]]
) -> list[str]:
    prefix = f"urn:pulumi:{recording.stack}::{recording.project}::"
    urns = [alias.urn for alias in own if alias.urn]
    for alias in [Alias(), *(alias for alias in own if not alias.urn)]:
        type_token, name = alias.type or resource.type, alias.name or resource.name
        parent = resource.parent if alias.parent is None else _parent(recording, alias.parent)
        urns.append(_urn(prefix, parent, type_token, name))
        for former in before.get(parent or "", []):
            urns.append(_urn(prefix, former, type_token, _renamed(name, parent or "", former)))
    return [urn for urn in dict.fromkeys(urns) if urn != resource.urn]


def _parent(recording: Recording, said: str) -> str | None:
    """The URN of a parent that an alias names by URN or by type and name."""
    if not said.startswith("::"):
        return said or None
    _, type_token, name = said.split("::")
    return next(item.urn for item in recording.resources if (item.type, item.name) == (type_token, name))


def _urn(prefix: str, parent: str | None, type_token: str, name: str) -> str:
    chain = f"{parent.split('::')[2]}$" if parent else ""
    return f"{prefix}{chain}{type_token}::{name}"


def _renamed(name: str, parent: str, former: str) -> str:
    """A child that is named after its parent had the former parent's name."""
    now, then = parent.split("::")[3], former.split("::")[3]
    return then + name.removeprefix(now) if name.startswith(now) else name
