"""How a frozen dataclass is read from stack configuration: typed values, allowed ranges, and faults that say how to mend them.

Nothing here knows the platform; `components/config.py` declares the keys.
"""

import difflib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Section = TypeVar("Section")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing wrong with the configuration, told to the person who typed it.

    `related` names further keys the judgement rests on: when one of those is itself faulty, this fault is noise.
    """

    key: str
    value: str | None
    allowed: str
    fix: str
    related: tuple[str, ...] = ()

    def __str__(self) -> str:
        found = f"{self.key} is not set" if self.value is None else f"{self.key} = {self.value}"
        return f"{found}: {self.allowed}. Fix: {self.fix}."


def fault(key: str, value: Any, allowed: str, fix: str, *related: str) -> Fault:
    """A fault with its value shown as it would be typed; an empty value counts as not set."""
    empty = value in ("", ())
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return Fault(key=key, value=None if empty else shown, allowed=allowed, fix=fix, related=related)


@dataclass(frozen=True)
class Allowed:
    """A condition on one value, with the words that describe it."""

    text: str
    accepts: Callable[[Any], bool]
    choices: tuple[str, ...] = ()


def between(low: int, high: int, unit: str = "") -> Allowed:
    """A whole number from `low` to `high`, both included."""
    return Allowed(f"must be {low} to {high} {unit}".rstrip(), lambda value: low <= value <= high)


def one_of(*choices: Any) -> Allowed:
    """One of a short list."""
    words = tuple(str(choice) for choice in choices)
    return Allowed(f"must be one of {', '.join(words)}", lambda value: value in choices, words)


def matching(pattern: str, text: str) -> Allowed:
    """Text that matches `pattern` from end to end."""
    compiled = re.compile(pattern)
    return Allowed(f"must be {text}", lambda value: compiled.fullmatch(value) is not None)


def each(rule: Allowed) -> Allowed:
    """A list whose items all satisfy `rule`."""
    text = f"every item {rule.text}"
    return Allowed(text, lambda items: all(rule.accepts(item) for item in items), rule.choices)


def optional(rule: Allowed) -> Allowed:
    """Empty, or what `rule` accepts."""
    return Allowed(f"{rule.text}, or empty", lambda value: value == "" or rule.accepts(value), rule.choices)


ANYTHING = Allowed("", lambda value: True)


def setting(key: str, default: Any = MISSING, allowed: Allowed = ANYTHING) -> Any:
    """Declares a dataclass field that is read from the configuration key `key`; without `default` it is required."""
    metadata = {"key": key, "allowed": allowed}
    if default is MISSING:
        return field(metadata=metadata)
    if isinstance(default, Mapping):
        return field(default_factory=lambda: default, metadata=metadata)
    return field(default=default, metadata=metadata)


def default_of(item: Field[Any]) -> Any:
    """A setting's default; MISSING when it is required."""
    return item.default if item.default_factory is MISSING else item.default_factory()


@dataclass(frozen=True)
class Source:
    """Values as they were typed, and the prefix under which their faults are reported."""

    values: Mapping[str, Any]
    prefix: str

    def show(self, key: str) -> str | None:
        """The typed value as text for a message; None when it is absent."""
        if key not in self.values:
            return None
        value = self.values[key]
        plain = isinstance(value, str) and value.isprintable() and value != ""
        text = value if plain else json.dumps(value, default=str)
        return text if len(text) <= 120 else text[:117] + "..."


def settings_of(cls: Any) -> dict[str, Field[Any]]:
    """The configuration keys of a dataclass, in the order of its fields."""
    return {item.metadata["key"]: item for item in fields(cls) if "key" in item.metadata}


def read_section(cls: type[Section], source: Source, faults: list[Fault]) -> Section | None:
    """Builds `cls` from its keys in `source`; every fault is added to `faults`.

    A faulty optional value is replaced by its default, so that the rest can still be judged. None when a required
    value is missing or faulty.
    """
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    complete = True
    for key, item in settings_of(cls).items():
        found = _read_setting(key, item, hints[item.name], source, faults)
        if found is not MISSING:
            values[item.name] = found
        elif default_of(item) is MISSING:
            complete = False
    return cls(**values) if complete else None


def unknown_key_faults(source: Source, known: Collection[str]) -> list[Fault]:
    """A fault for each key that is not known, naming the nearest one that is."""
    faults = []
    for key in sorted(set(source.values) - set(known)):
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        fix = f"did you mean {near[0]}" if near else f"remove it; known keys: {', '.join(sorted(known))}"
        faults.append(
            Fault(key=f"{source.prefix}{key}", value=source.show(key), allowed="is not a known key", fix=fix)
        )
    return faults


def _read_setting(key: str, item: Field[Any], hint: Any, source: Source, faults: list[Fault]) -> Any:
    """The parsed value, or MISSING when it is absent or faulty."""
    name = source.prefix + key
    if key not in source.values:
        if default_of(item) is MISSING:
            faults.append(Fault(key=name, value=None, allowed="is required", fix=_fix(key, item, source)))
        return MISSING
    before = len(faults)
    try:
        value = _parse(source.values[key], hint, name, faults)
    except (ValueError, TypeError, RecursionError):
        wanted = f"must be {_describe(hint)}"
        faults.append(Fault(key=name, value=source.show(key), allowed=wanted, fix=_fix(key, item, source)))
        return MISSING
    if len(faults) > before:
        return MISSING
    allowed: Allowed = item.metadata["allowed"]
    if not allowed.accepts(value):
        fault = Fault(key=name, value=source.show(key), allowed=allowed.text, fix=_fix(key, item, source))
        faults.append(fault)
        return MISSING
    return value


def _fix(key: str, item: Field[Any], source: Source) -> str:
    choices = item.metadata["allowed"].choices
    typed = str(source.values.get(key, ""))
    near = difflib.get_close_matches(typed, choices, n=1)
    if near:
        return f"did you mean {near[0]}"
    if default_of(item) is MISSING:
        return f"set {source.prefix}{key}"
    return f"change it, or remove it to use the default {shown_default(item)}"


def shown_default(item: Field[Any]) -> str:
    """A field's default as a person would type it."""
    return json.dumps(as_typed(default_of(item)))


def as_typed(value: Any) -> Any:
    """A setting's value as the plain JSON that a person would type; keys left at their default are left out."""
    if isinstance(value, tuple):
        return [as_typed(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    if not is_dataclass(value):
        return value
    typed = {key: getattr(value, item.name) for key, item in settings_of(type(value)).items()}
    defaults = {key: default_of(item) for key, item in settings_of(type(value)).items()}
    return {key: as_typed(found) for key, found in typed.items() if found != defaults[key]}


def _parse(raw: Any, hint: Any, name: str, faults: list[Fault]) -> Any:
    """Turns a typed value (text from the CLI, or JSON from inside a list) into `hint`; raises ValueError otherwise."""
    if get_origin(hint) is tuple:
        return _parse_items(_loaded(raw, list), get_args(hint)[0], name, faults)
    if get_origin(hint) is Mapping:
        return _parse_mapping(_loaded(raw, dict), get_args(hint)[1])
    if hint is bool:
        return _parse_boolean(raw)
    if hint is int:
        return _parse_integer(raw)
    if hint is str and isinstance(raw, str):
        return raw
    raise ValueError(name)


def _loaded(raw: Any, wanted: type) -> Any:
    value = json.loads(raw) if isinstance(raw, str) else raw
    if not isinstance(value, wanted):
        raise ValueError(raw)
    return value


def _parse_boolean(raw: Any) -> bool:
    if raw in (True, "true"):
        return True
    if raw in (False, "false"):
        return False
    raise ValueError(raw)


def _parse_integer(raw: Any) -> int:
    """Whole numbers only: 1.5, 1e3, True and digits of other scripts are refused."""
    if isinstance(raw, bool) or not re.fullmatch(r"-?[0-9]{1,18}", str(raw)):
        raise ValueError(raw)
    return int(raw)


def _parse_mapping(raw: dict[str, Any], hint: type) -> Mapping[str, Any]:
    if hint is int:
        return {key: _parse_integer(value) for key, value in sorted(raw.items())}
    if not all(isinstance(value, str) for value in raw.values()):
        raise ValueError(raw)
    return dict(sorted(raw.items()))


def _parse_items(raw: list[Any], hint: Any, name: str, faults: list[Fault]) -> tuple[Any, ...]:
    """The items of a list; a nested settings object reports its own faults under `name[index].`."""
    if hint is str:
        if not all(isinstance(item, str) for item in raw):
            raise ValueError(name)
        return tuple(raw)
    items = []
    for index, entry in enumerate(raw):
        if not isinstance(entry, dict):
            raise ValueError(name)
        source = Source(values=entry, prefix=f"{name}[{index}].")
        faults.extend(unknown_key_faults(source, settings_of(hint)))
        items.append(read_section(hint, source, faults))
    return tuple(items)


def _describe(hint: Any) -> str:
    names = {bool: "true or false", int: "a whole number", str: "text"}
    if get_origin(hint) is tuple:
        return "a list of texts" if get_args(hint)[0] is str else "a list of objects"
    if get_origin(hint) is Mapping:
        return f"an object whose values are {'whole numbers' if get_args(hint)[1] is int else 'texts'}"
    return names.get(hint, "text")
