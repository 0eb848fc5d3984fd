"""What a change of inputs does: nothing, an update or a replacement. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ops.replacements.facts import replaced_by
from tests.engine.stub.naming import name_is_fixed
from tests.engine.stub.wire import SIGNATURE, Values, flat


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The changed properties by path: each one's kind (ADD, DELETE or UPDATE), and those that replace."""

    changes: Mapping[str, str]
    replacing: frozenset[str]
    delete_first: bool


def difference(type_token: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Difference:
    """Compares inputs leaf by leaf; the replacement facts say which changes AWS cannot make in place."""
    before, after = _given(old), _given(new)
    replaced = replaced_by(type_token, before, after) if type_token.startswith("aws:") else frozenset()
    changes = _changes(flat(before) if before else {}, flat(after) if after else {})
    changes |= dict.fromkeys((path for path in replaced if not _touched(path, changes)), "UPDATE")
    return Difference(
        changes=changes,
        replacing=frozenset(path for path in changes if _touched(path, replaced)),
        delete_first=bool(replaced) and name_is_fixed(type_token, new),
    )


def _given(inputs: Mapping[str, Any]) -> Values:
    """What the program gave; the provider's own notes and nulls are left out, files stand for their content."""
    return {
        key: _content(value)
        for key, value in inputs.items()
        if not key.startswith("__") and value is not None
    }


def _content(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    # A file's path depends on where the project lies, its hash on what is in it.
    return value["hash"] if SIGNATURE in value else {key: _content(item) for key, item in value.items()}


def _changes(before: Values, after: Values) -> dict[str, str]:
    return {
        path: "DELETE" if path not in after else "ADD" if path not in before else "UPDATE"
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    }


def _touched(path: str, others: Mapping[str, Any] | frozenset[str]) -> bool:
    """Whether `path` is one of `others`, lies in one or holds one."""
    return any(path == other or _lies_in(path, other) or _lies_in(other, path) for other in others)


def _lies_in(path: str, root: str) -> bool:
    return path.startswith((f"{root}.", f"{root}["))
