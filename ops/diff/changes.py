"""Which properties of a resource differ, and from what to what. Secrets are compared and never shown. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ops.capture.recording import Secret
from ops.diff.contents import is_file
from ops.diff.leaves import by_key, differing, is_named, leaves, lies_in, whole_item
from ops.diff.matching import Pair
from ops.diff.values import NOT_SET, Names, told
from ops.preview_clauses import shorten, shown

# What the program tells the engine about a resource; the words are those of the program.
OPTIONS = ("protect", "retain_on_delete", "ignore_changes", "replace_on_changes", "delete_before_replace")
SHOWN_FILES = 4
LONGEST_ITEM = 200


@dataclass(frozen=True, kw_only=True)
class Change:
    """One property, or one item of a list. `path` is such as `policy.Statement[0].Action` or, of an item that
    something identifies, `environment[LOG_LEVEL].value`; `old` and `new` are words for people, each on one line."""

    path: str
    old: str
    new: str


def changes_of(pair: Pair, names: tuple[Names, Names] = ({}, {})) -> list[Change]:
    """What differs between the two, by path; a change that the program tells the engine to ignore is none.

    `names` are those of either side.
    """
    before, after = (_meant(side.inputs, pair.head.ignore_changes) for side in (pair.base, pair.head))
    paths = differing(before, after)
    files = [path for path in paths if is_file(before.get(path)) or is_file(after.get(path))]
    values = [path for path in paths if path not in files]
    return [
        *_value_changes(values, (before, after), names),
        *_file_changes(files, before, after),
        *_option_changes(pair),
    ]


def differences(old: Any, new: Any, names: tuple[Names, Names]) -> list[Change]:
    """What differs between two values of any kind, such as the exports of a stack."""
    before, after = _meant(old, ()), _meant(new, ())
    return list(_value_changes(differing(before, after), (before, after), names))


def _meant(value: Any, ignored: Iterable[str]) -> dict[str, Any]:
    """What is not ignored, by paths for people; the engine's own count the items of lists."""
    found = zip(leaves(value), leaves(value, labels=by_key), strict=True)
    return {path: item for (place, item), (path, _) in found if not is_named(place, ignored)}


def _value_changes(
    paths: Iterable[str], sides: tuple[Mapping[str, Any], Mapping[str, Any]], names: tuple[Names, Names]
) -> Iterator[Change]:
    """A value that is a secret on one side is shown on neither: whoever hides it now must not find it in a report."""
    secrets = [path for side in sides for path, value in side.items() if _holds_secret(value)]
    items: dict[str, list[Change]] = {}
    for path in paths:
        hidden = any(lies_in(path, root) for root in secrets)
        old, new = (_hidden(side.get(path)) if hidden else side.get(path) for side in sides)
        words = told(old, new, names)
        other = sides[path in sides[0]] if (path in sides[0]) != (path in sides[1]) else None
        root = whole_item(path, other) if other is not None else ""
        change = Change(path=path, old=words[0], new=words[1])
        items.setdefault(root or path, []).append(change)
    for root, found in items.items():
        yield found[0] if found[0].path == root else _item(root, found)


def _item(root: str, found: Iterable[Change]) -> Change:
    """An item of a list that is new, or gone: one change, however many properties it has."""
    parts = {change.path.removeprefix(root).lstrip("."): change for change in found}
    old, new = (
        shorten(", ".join(f"{name} {getattr(change, side)}" for name, change in parts.items()), LONGEST_ITEM)
        for side in ("old", "new")
    )
    if all(change.old == NOT_SET for change in parts.values()):
        return Change(path=root, old=NOT_SET, new=f"added item: {new}")
    return Change(path=root, old=f"removed item: {old}", new=NOT_SET)


def _hidden(value: Any) -> str | None:
    return None if value is None else "[secret]" if _holds_secret(value) else "(not shown)"


def _holds_secret(value: Any) -> bool:
    return isinstance(value, Secret) or (isinstance(value, list) and any(map(_holds_secret, value)))


def _file_changes(paths: list[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """The files of one property together: what matters is that its code is another."""
    by_property: dict[str, list[str]] = {}
    for path in paths:
        by_property.setdefault(re.split(r"[.\[]", path)[0], []).append(path)
    for name, found in by_property.items():
        places = [(after.get(path) or before.get(path) or {}) for path in found]
        names = [str(place.get("file", "")) for place in places if isinstance(place, Mapping)]
        rest = len(names) - SHOWN_FILES
        listed = ", ".join(names[:SHOWN_FILES]) + (f" and {rest} more" if rest > 0 else "")
        yield Change(path=name, old="files", new=f"other content in {listed}")


def _option_changes(pair: Pair) -> Iterator[Change]:
    for option in OPTIONS:
        old, new = (getattr(side, option) for side in (pair.base, pair.head))
        if old != new:
            old, new = (list(value) if isinstance(value, tuple) else value for value in (old, new))
            yield Change(path=option, old=shown(old) or "none", new=shown(new) or "none")
