"""Which properties of a resource differ, and from what to what. Secrets are compared and never shown. Pure."""

import json
import os.path
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ops.capture.recording import Secret
from ops.diff.contents import is_file
from ops.diff.matching import Pair, with_texts
from ops.diff.node_files import changed_lines, node_files
from ops.preview_clauses import shorten, shown

NOT_SET = "(not set)"
# What the program tells the engine about a resource; the words are those of the program.
OPTIONS = ("protect", "retain_on_delete", "ignore_changes", "replace_on_changes", "delete_before_replace")
LONGEST_SHOWN = 80
SHOWN_FILES = 4
# Of a text of many lines only its length is shown.
LONG_TEXT = 400

# What made-up names and ids are shown by, as `ops.diff.matching.names_in` tells it.
Names = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One property. `path` is such as `policy.Statement[0].Action`; `old` and `new` are words for people."""

    path: str
    old: str
    new: str


def changes_of(pair: Pair, names: tuple[Names, Names] = ({}, {})) -> list[Change]:
    """What differs between the two, by path; a change that the program tells the engine to ignore is none.

    `names` are those of either side.
    """
    before, after = (dict(leaves(side.inputs)) for side in (pair.base, pair.head))
    paths = [path for path in differing(before, after) if not is_named(path, pair.head.ignore_changes)]
    files = [path for path in paths if is_file(before.get(path)) or is_file(after.get(path))]
    values = [path for path in paths if path not in files]
    return [
        *_value_changes(values, before, after, names),
        *_file_changes(files, before, after),
        *_option_changes(pair),
    ]


def differences(old: Any, new: Any, names: tuple[Names, Names]) -> list[Change]:
    """What differs between two values of any kind, such as the exports of a stack."""
    before, after = dict(leaves(old)), dict(leaves(new))
    return list(_value_changes(differing(before, after), before, after, names))


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


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value by its path. A list of plain values is one, JSON in a text is looked into, nothing is left out."""
    value = _parsed(value)
    if isinstance(value, Mapping) and value and not is_file(value):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    elif path and value is not None:
        yield path, value


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The paths at which two sets of `leaves` differ, sorted."""
    return [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]


def _parsed(value: Any) -> Any:
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


def lies_in(path: str, root: str) -> bool:
    """Whether `path` is `root` or a part of it."""
    return path == root or path.startswith((f"{root}.", f"{root}["))


def _value_changes(
    paths: Iterable[str], before: Mapping[str, Any], after: Mapping[str, Any], names: tuple[Names, Names]
) -> Iterator[Change]:
    """A value that is a secret on one side is shown on neither: whoever hides it now must not find it in a report."""
    secrets = [path for side in (before, after) for path, value in side.items() if _holds_secret(value)]
    for path in paths:
        hidden = any(lies_in(path, root) for root in secrets)
        inside = [
            node_files(side.get(path), known) for side, known in zip((before, after), names, strict=True)
        ]
        if all(inside) and not hidden:
            yield from (
                Change(path=f"{path} {file}", old=old or "-", new=new or "-")
                for file, old, new in changed_lines(*inside)
            )
            continue
        old, new = (
            _words(side.get(path), known, hidden) for side, known in zip((before, after), names, strict=True)
        )
        yield _shortened(path, old, new)


def _words(value: Any, names: Names, hidden: bool) -> str:
    if value is None:
        return NOT_SET
    if hidden:
        return "[secret]" if _holds_secret(value) else "(not shown)"
    return with_texts(shown(value), names) or '""'


def _holds_secret(value: Any) -> bool:
    return isinstance(value, Secret) or (isinstance(value, list) and any(map(_holds_secret, value)))


def _shortened(path: str, old: str, new: str) -> Change:
    """Long values from where they differ, and very long ones by their length."""
    texts = [old, new]
    if any(len(text) > LONG_TEXT for text in texts) and NOT_SET not in texts:
        texts = [f"a text of {len(text):,} characters" for text in texts]
    elif any(len(text) > LONGEST_SHOWN for text in texts):
        texts = _where_they_differ(old, new)
    if texts[0] == texts[1]:
        texts[1] = f"another {texts[1].removeprefix('a ')}"
    return Change(path=path, old=texts[0], new=texts[1])


def _where_they_differ(old: str, new: str) -> list[str]:
    """Both from a little before the first difference."""
    start = max(0, len(os.path.commonprefix([old, new])) - LONGEST_SHOWN // 4)
    return [f"{'…' if start else ''}{shorten(text[start:], LONGEST_SHOWN)}" for text in (old, new)]


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
