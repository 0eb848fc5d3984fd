"""Which URNs a resource may have had before, by its aliases and those of its parent, as the engine works them out. Pure.

The rules: https://www.pulumi.com/docs/iac/concepts/resources/options/aliases/, and for children of a component
`inherited_child_alias` in the SDK's pulumi/runtime/resource.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pulumi.runtime.proto.alias_pb2 import Alias


def former_urns(
    urn: str, parent: str, aliases: Iterable[Any], known: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The other URNs of the resource `urn` below the URN `parent`, "" for none; `known` has those of possible parents.

    `aliases` are those of the registration: a whole URN, or a specification of the parts that differ.
    """
    own = list(aliases)
    urns = [alias.urn for alias in own if alias.urn]
    # Without a part that differs it may still have had a parent of another name.
    for alias in (Alias(), *(alias for alias in own if alias.WhichOneof("alias") == "spec")):
        urns += _of_specification(urn, parent, alias.spec, known)
    return tuple(former for former in dict.fromkeys(urns) if former != urn)


def _of_specification(urn: str, parent: str, said: Any, known: Mapping[str, Sequence[str]]) -> Iterator[str]:
    _, stack, project, types, name = urn.replace("urn:pulumi:", "::", 1).split("::", 4)
    prefix = f"urn:pulumi:{said.stack or stack}::{said.project or project}::"
    type_token, name = said.type or types.rpartition("$")[2], said.name or name
    parent = "" if said.noParent else said.parentUrn or parent
    yield _urn(prefix, parent, type_token, name)
    for former in known.get(parent, ()):
        yield _urn(prefix, former, type_token, _renamed(name, _name(parent), _name(former)))


def _urn(prefix: str, parent: str, type_token: str, name: str) -> str:
    chain = f"{parent.split('::')[2]}$" if parent else ""
    return f"{prefix}{chain}{type_token}::{name}"


def _renamed(name: str, now: str, then: str) -> str:
    """A child that is named after its parent had the former parent's name."""
    return then + name.removeprefix(now) if name.startswith(now) else name


def _name(urn: str) -> str:
    return urn.split("::", 3)[3]
