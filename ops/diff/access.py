"""Which permissions a change gives and takes. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ops.capture.recording import Recording
from ops.diagram.words import shortened
from ops.permissions import Permission, permissions
from ops.preview_access import Names

ANYBODY = "anybody"


@dataclass(frozen=True, kw_only=True, order=True)
class Grant:
    """One action on one thing; names are the program's. `verb` is `may` or `must not`."""

    who: str
    verb: str
    action: str
    on: str
    condition: str = ""


def grants(recording: Recording) -> set[Grant]:
    """Every permission of a recording, taken apart, so that a statement that is only written otherwise is the same."""
    names = Names(recording)
    owners = {resource.urn: resource.name for resource in recording.resources}
    return {grant for item in permissions(recording) for grant in _taken_apart(item, names, owners)}


def _taken_apart(item: Permission, names: Names, owners: Mapping[str, str]) -> Iterator[Grant]:
    verb = "may" if item.effect == "Allow" else "must not"
    condition = ", ".join(
        f"{one.operator} {one.key} {' or '.join(sorted(map(names.of, one.values)))}"
        for one in sorted(item.conditions, key=lambda one: (one.operator, one.key))
    )
    whoever = [ANYBODY if name == "*" else names.of(name) for name in item.principals] or [owners[item.urn]]
    if "NotPrincipal" in item.negated:
        whoever = [f"everybody but {', '.join(sorted(whoever))}"]
    actions = list(item.actions) or [f"all that {names.of(item.managed_policy)} allows"]
    if "NotAction" in item.negated:
        actions = [f"everything but {', '.join(sorted(actions))}"]
    things = [names.of(arn) for arn in item.resources] or [_own_thing(item, owners)]
    if "NotResource" in item.negated:
        things = [f"everything but {', '.join(sorted(things))}"]
    for who in whoever:
        for action in actions:
            for thing in things:
                yield Grant(who=who, verb=verb, action=action, on=thing, condition=condition)


def _own_thing(item: Permission, owners: Mapping[str, str]) -> str:
    """A trust policy and a policy without resources speak of what they hang on; a managed policy names its own."""
    return "" if item.managed_policy else owners[item.urn]


def told(found: set[Grant]) -> list[str]:
    """The grants in lines: what one may do with one thing under one condition."""
    lines: dict[tuple[str, str, str, str], list[str]] = {}
    for grant in sorted(found):
        lines.setdefault((grant.who, grant.verb, grant.on, grant.condition), []).append(grant.action)
    return [
        f"{who} {verb} {shortened(actions)}{f' on {thing}' if thing else ''}{f' if {condition}' if condition else ''}"
        for (who, verb, thing, condition), actions in lines.items()
    ]
