"""Reads typed settings out of stack configuration, and tells every fault of a single value."""

import re
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from components.settings import (
    WITHHELD,
    Allowed,
    Fault,
    default_of,
    describe,
    nearest,
    parse_integer,
    parse_json,
    parse_scalar,
    settings_of,
    shown,
    shown_default,
)

Section = TypeVar("Section")

# With more known keys than this, a message names the file that lists them.
LISTED_KEYS = 20
LONGEST_SHOWN_DEFAULT_CHARACTERS = 60
TEXT = f"must be {describe(str)}"
# A key that nobody knows, with such a name, may hold a secret that was meant for Secrets Manager.
CONFIDENTIAL_NAME = re.compile(r"secret|token|password|credential|(api|access|private).?key", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Values as they were typed, and the prefix under which their faults are reported."""

    values: Mapping[str, Any]
    prefix: str


def read_section(cls: type[Section], source: Source, faults: list[Fault]) -> Section:
    """Builds `cls` from its keys in `source`; every fault is added to `faults`.

    A faulty value is replaced by its default, or by a stand-in where it is required, so that the rest can still be
    judged: what comes back is fit for use only when no fault was added.
    """
    hints = get_type_hints(cls)
    values = {
        item.name: _read_setting(key, item, hints[item.name], source, faults)
        for key, item in settings_of(cls).items()
    }
    return cls(**values)


def unknown_key_faults(source: Source, known: Collection[str]) -> list[Fault]:
    """A fault for each key that is not known, naming the nearest one that is."""
    faults = []
    for key in sorted(set(source.values) - set(known)):
        near = nearest(key, known)
        listed = (
            f"known are {', '.join(known)}"
            if len(known) <= LISTED_KEYS
            else "Pulumi.yaml lists the known keys"
        )
        fix = _suggest(near) if near else f"remove it; {listed}"
        name = f"{source.prefix}{key}"
        value = WITHHELD if CONFIDENTIAL_NAME.search(key) else shown(source.values[key])
        faults.append(Fault(key=name, value=value, allowed="is not a known key", fix=fix))
    return faults


def _read_setting(key: str, item: Field[Any], hint: Any, source: Source, faults: list[Fault]) -> Any:
    """The parsed value, or what stands in for it when it is absent or faulty."""
    name = source.prefix + key
    if key not in source.values:
        if default_of(item) is MISSING:
            faults.append(_missing(name, item, hint))
        return _stand_in(item, hint)
    raw = source.values[key]
    before = len(faults)
    try:
        value = _parse(raw, hint, name, faults)
    except (ValueError, RecursionError):
        allowed = f"must be {describe(hint)}"
        faults.append(Fault(key=name, value=_shown(raw, item), allowed=allowed, fix=_fix(raw, hint, item)))
        return _stand_in(item, hint)
    if len(faults) == before:
        faults += _value_faults(name, raw, value, hint, item)
    # A list of objects is kept as it is: its good entries are still to be judged.
    return value if len(faults) == before or _is_list_of_objects(hint) else _stand_in(item, hint)


def _stand_in(item: Field[Any], hint: Any) -> Any:
    """The default, or for a required setting a value of its type."""
    choices = item.metadata["allowed"].choices
    if default_of(item) is not MISSING:
        return default_of(item)
    if choices:
        return choices[0]
    return () if get_origin(hint) is tuple else hint()


def _missing(name: str, item: Field[Any], hint: Any) -> Fault:
    wanted = item.metadata["allowed"].text or f"must be {describe(hint)}"
    return Fault(key=name, value=None, allowed="it is required", fix=f"set it; it {wanted}")


def _value_faults(name: str, raw: Any, value: Any, hint: Any, item: Field[Any]) -> list[Fault]:
    allowed: Allowed = item.metadata["allowed"]
    faults = _item_faults(name, value, allowed.item) if allowed.item else []
    if faults or allowed.accepts(value):
        return faults
    return [Fault(key=name, value=_shown(raw, item), allowed=allowed.text, fix=_fix(raw, hint, item))]


def _shown(raw: Any, item: Field[Any]) -> str:
    return WITHHELD if item.metadata["allowed"].confidential else shown(raw)


def _item_faults(name: str, items: Any, allowed: Allowed) -> list[Fault]:
    """Each item that is not allowed, and each that a list holds a second time."""
    if isinstance(items, Mapping):
        return [_item_fault(f"{name}.{key}", value, allowed.text, allowed.choices)
                for key, value in items.items() if not allowed.accepts(value)]  # fmt: skip
    faults, seen = [], set()
    for index, value in enumerate(items):
        place = f"{name}[{index}]"
        if not allowed.accepts(value):
            faults.append(_item_fault(place, value, allowed.text, allowed.choices))
        elif value in seen:
            faults.append(Fault(key=place, value=shown(value), allowed="is listed twice", fix="remove it"))
        seen.add(value)
    return faults


def _item_fault(name: str, value: Any, allowed: str, choices: tuple[Any, ...] = ()) -> Fault:
    near = _nearest_choice(value, choices)
    if allowed == TEXT and _is_unquoted(value):
        fix = "put it in quotes"
    else:
        fix = _suggest(near) if near is not None else "change it, or remove it"
    return Fault(key=name, value=shown(value), allowed=allowed, fix=fix)


def _fix(raw: Any, hint: Any, item: Field[Any]) -> str:
    choices = item.metadata["allowed"].choices
    near = _nearest_choice(raw, choices)
    if hint is str and _is_unquoted(raw) and not choices:
        return "put it in quotes"
    if near is not None:
        return _suggest(near)
    default = default_of(item)
    if default is MISSING:
        return "change it"
    if default in ("", (), {}):
        return "change it, or remove it"
    text = shown_default(item)
    which = text if len(text) <= LONGEST_SHOWN_DEFAULT_CHARACTERS else "that Pulumi.yaml shows"
    return f"change it, or remove it to use the default {which}"


def _suggest(near: Any) -> str:
    return f"use {near} if that is what you meant"


def _is_unquoted(value: Any) -> bool:
    return isinstance(value, int | float)


def _nearest_choice(raw: Any, choices: tuple[Any, ...]) -> Any:
    """The choice that comes closest: by distance for numbers, the larger of two; by spelling for words."""
    if not choices:
        return None
    if not isinstance(choices[0], int):
        return nearest(str(raw), choices) if isinstance(raw, str) else None
    try:
        number = parse_integer(raw)
    except ValueError:
        return None
    return min(choices, key=lambda choice: (abs(choice - number), -choice))


def _is_list_of_objects(hint: Any) -> bool:
    return get_origin(hint) is tuple and get_args(hint)[0] is not str


def _parse(raw: Any, hint: Any, name: str, faults: list[Fault]) -> Any:
    """Turns a typed value (text from the CLI, or JSON from inside a list) into `hint`; raises ValueError otherwise.

    Faults of single items are added to `faults`.
    """
    if _is_list_of_objects(hint):
        return _parse_objects(parse_json(raw, list), get_args(hint)[0], name, faults)
    if get_origin(hint) is tuple:
        return _parse_texts(parse_json(raw, list), name, faults)
    if get_origin(hint) is Mapping:
        return _parse_mapping(parse_json(raw, dict), get_args(hint)[1], name, faults)
    return parse_scalar(raw, hint)


def _parse_texts(raw: list[Any], name: str, faults: list[Fault]) -> tuple[str, ...]:
    faults += [_item_fault(f"{name}[{index}]", item, TEXT)
               for index, item in enumerate(raw) if not isinstance(item, str)]  # fmt: skip
    return tuple(raw)


def _parse_mapping(raw: dict[str, Any], hint: type, name: str, faults: list[Fault]) -> Mapping[str, Any]:
    """Sorted by key, so that the order of typing changes nothing."""
    parsed = {}
    for key, value in sorted(raw.items()):
        try:
            parsed[key] = parse_scalar(value, hint)
        except ValueError:
            faults.append(_item_fault(f"{name}.{key}", value, f"must be {describe(hint)}"))
    return parsed


def _parse_objects(raw: list[Any], hint: Any, name: str, faults: list[Fault]) -> tuple[Any, ...]:
    """The entries of a list, each reporting its own faults under `name[index].`."""
    entries = []
    for index, entry in enumerate(raw):
        place = f"{name}[{index}]"
        if not isinstance(entry, dict):
            keys = ", ".join(key for key, item in settings_of(hint).items() if default_of(item) is MISSING)
            fix = f"write an object with {keys}, or remove it"
            faults.append(Fault(key=place, value=shown(entry), allowed="must be an object", fix=fix))
            entries.append(read_section(hint, Source(values={}, prefix=""), []))
            continue
        source = Source(values=entry, prefix=f"{place}.")
        faults += unknown_key_faults(source, settings_of(hint))
        entries.append(read_section(hint, source, faults))
    return tuple(entries)
