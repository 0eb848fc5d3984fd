"""The values inside of a value by their paths, and which of them differ. Pure."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ops.diff.contents import is_file

# What tells the items of a list apart, the first that each of them has and no two alike.
IDENTIFYING = ("Sid", "sid", "name", "Name", "key", "Key", "id")
LABEL = re.compile(r"[^\[\]\s]+")

Labels = Callable[[Sequence[Any]], Iterable[str]]


def by_position(items: Sequence[Any]) -> list[str]:
    """As the engine counts the items of a list."""
    return [str(number) for number in range(len(items))]


def by_key(items: Sequence[Any]) -> list[str]:
    """By what identifies each item, so that one more does not shift the others; by position where nothing does."""
    for key in IDENTIFYING:
        found = [item.get(key) if isinstance(item, Mapping) else None for item in items]
        labels = [text for text in found if isinstance(text, str) and LABEL.fullmatch(text)]
        if len(set(labels)) == len(items):
            return labels
    return by_position(items)


def leaves(value: Any, path: str = "", labels: Labels = by_position) -> Iterator[tuple[str, Any]]:
    """Every value by its path. A list of plain values is one, JSON in a text is looked into, nothing is left out."""
    value = _parsed(value)
    if isinstance(value, Mapping) and value and not is_file(value):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key), labels)
    elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        for label, item in zip(labels(value), value, strict=True):
            yield from leaves(item, f"{path}[{label}]", labels)
    elif path and value is not None:
        yield path, value


def _parsed(value: Any) -> Any:
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The paths at which two sets of `leaves` differ, sorted."""
    return [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]


def lies_in(path: str, root: str) -> bool:
    """Whether `path` is `root` or a part of it."""
    return path == root or path.startswith((f"{root}.", f"{root}["))


def whole_item(path: str, other: Iterable[str]) -> str:
    """The item of a list around `path` of which `other` paths have nothing, "" where there is none."""
    others = list(other)
    for end in re.finditer(r"\](?=$|[.\[])", path):
        root = path[: end.end()]
        if not any(lies_in(one, root) for one in others):
            return root
    return ""


def is_named(path: str, properties: Iterable[str]) -> bool:
    """Whether `path` is, or lies in, one of the properties that an option such as `ignore_changes` names.

    They may have stars, `*` alone for all (https://www.pulumi.com/docs/iac/concepts/miscellaneous/property-paths/).
    """
    return any(re.match(_pattern(name), path) for name in properties)


def _pattern(name: str) -> str:
    name = re.sub(r"""\[["'](.+?)["']\]""", r".\1", name)
    if name == "*":
        return ""
    return re.escape(name).replace(r"\[\*\]", r"(?:\[\d+\]|\.[^.\[]+)") + r"(?=$|[.\[])"
