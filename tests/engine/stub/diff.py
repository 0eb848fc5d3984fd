"""What a change of inputs does: nothing, an update or a replacement. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.engine.replacement_facts import replacing_properties
from tests.engine.stub.naming import name_is_fixed
from tests.engine.stub.wire import SIGNATURE, UNKNOWN, flat

# Parts of an archive that depend on where the project lies, not on what is in it.
HASH = "hash"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The changed properties by path: each one's kind (ADD, DELETE or UPDATE) and whether it replaces."""

    changes: Mapping[str, str]
    replacing: frozenset[str]
    delete_first: bool


def difference(type_token: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Difference:
    """Compares inputs leaf by leaf; the replacement facts say which of them AWS cannot change in place."""
    before, after = _leaves(old), _leaves(new)
    changes = {
        path: "DELETE" if path not in after else "ADD" if path not in before else "UPDATE"
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    }
    facts = replacing_properties(type_token)
    replacing = frozenset(path for path in changes if _replaces(path, facts))
    return Difference(
        changes=changes, replacing=replacing, delete_first=bool(replacing) and name_is_fixed(type_token, new)
    )


def _leaves(inputs: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in inputs.items() if not key.startswith("__") and value is not None}
    leaves = flat(given) if given else {}
    return {path: _identity(value) for path, value in leaves.items()}


def _identity(value: Any) -> Any:
    if isinstance(value, dict) and SIGNATURE in value:
        return value.get(HASH, UNKNOWN)
    return value


def _replaces(path: str, facts: frozenset[str]) -> bool:
    """Whether the property itself or one that it lies in is among the facts; positions in lists do not count."""
    plain = re.sub(r"\[\d+\]", "", path)
    return any(plain == fact or plain.startswith((f"{fact}.", f"{fact}[")) for fact in facts)
