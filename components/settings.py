"""Declares settings as fields of frozen dataclasses: key, default, allowed range; and faults that say how to mend them.

Nothing here knows the platform; `components/config_sections.py` declares its keys, `components/settings_reader.py`
reads them.
"""

import difflib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from typing import Any, get_args, get_origin

LONGEST_SHOWN_CHARACTERS = 120
# Shown instead of a value that is, or may be, a secret.
WITHHELD = "[secret]"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing wrong with the configuration, told to the person who typed it on one printable line.

    `related` names keys whose default, which steps in where they are faulty, could cause this fault: it is noise then.
    """

    key: str
    value: str | None
    allowed: str
    fix: str
    related: tuple[str, ...] = ()

    def __str__(self) -> str:
        found = f"{self.key} is not set" if self.value is None else f"{self.key} = {self.value}"
        return _printable(f"{found}: {self.allowed}. Fix: {self.fix}.")


def fault(key: str, value: Any, allowed: str, fix: str, *related: str) -> Fault:
    """A fault with its value shown as it would be typed; an empty value counts as not set."""
    return Fault(
        key=key, value=None if value in ("", ()) else shown(value), allowed=allowed, fix=fix, related=related
    )


def shown(value: Any) -> str:
    """A value as it would be typed, cut where it is long; never raises."""
    plain = isinstance(value, str) and value.isprintable() and value != ""
    try:
        text = value if plain else json.dumps(value, default=str)
    except (ValueError, TypeError, RecursionError):
        text = "a value that cannot be shown"
    return text if len(text) <= LONGEST_SHOWN_CHARACTERS else f"{text[: LONGEST_SHOWN_CHARACTERS - 3]}..."


def nearest(typed: str, known: Collection[str]) -> str | None:
    """The known word that `typed` may be a misspelling of, in whatever case; None where none comes close."""
    folded = {word.lower(): word for word in known}
    close = difflib.get_close_matches(typed.lower(), folded, n=1)
    return folded[close[0]] if close else None


def _printable(text: str) -> str:
    """The text with line ends, control characters and halves of surrogate pairs escaped, so that any terminal takes it."""
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


@dataclass(frozen=True)
class Allowed:
    """A condition on one value, with the words that describe it.

    `item` is a condition on each item of a collection. The value of a `confidential` setting is never shown: what is
    typed there by mistake may be the secret itself.
    """

    text: str
    accepts: Callable[[Any], bool]
    choices: tuple[Any, ...] = ()
    item: "Allowed | None" = None
    confidential: bool = False


def between(low: int, high: int, unit: str = "") -> Allowed:
    """A whole number from `low` to `high`, both included."""
    return Allowed(f"must be {low} to {high} {unit}".rstrip(), lambda value: low <= value <= high)


def never_or(low: int, high: int, unit: str) -> Allowed:
    """0 for never, or a whole number from `low` to `high`, both included."""
    return Allowed(
        f"must be 0 (never) or {low} to {high} {unit}", lambda value: value == 0 or low <= value <= high
    )


def one_of(*choices: Any) -> Allowed:
    """One of a short list."""
    return Allowed(f"must be one of {', '.join(map(str, choices))}", lambda value: value in choices, choices)


def matching(pattern: str, text: str, *, confidential: bool = False) -> Allowed:
    """Text that matches `pattern` from end to end; its classes (digits, word characters) mean ASCII."""
    compiled = re.compile(pattern, re.ASCII)
    return Allowed(
        f"must be {text}", lambda value: compiled.fullmatch(value) is not None, confidential=confidential
    )


def each(rule: Allowed, at_least: int = 0, at_most: int = 1000) -> Allowed:
    """A list of different items, or a mapping, that all satisfy `rule`."""
    count = f"must list {at_least} to {at_most} different items, " if at_least else ""
    return Allowed(
        f"{count}every item {rule.text}", lambda items: at_least <= len(items) <= at_most, item=rule
    )


def optional(rule: Allowed) -> Allowed:
    """Empty, or what `rule` accepts."""
    return replace(
        rule, text=f"{rule.text}, or empty", accepts=lambda value: value == "" or rule.accepts(value)
    )


ANYTHING = Allowed("", lambda value: True)


def setting(key: str, default: Any = MISSING, allowed: Allowed = ANYTHING) -> Any:
    """Declares a dataclass field that is read from the configuration key `key`; without `default` it is required."""
    metadata = {"key": key, "allowed": allowed}
    if default is MISSING:
        return field(metadata=metadata)
    if isinstance(default, Mapping):
        return field(default_factory=lambda: default, metadata=metadata)
    return field(default=default, metadata=metadata)


def settings_of(cls: Any) -> dict[str, Field[Any]]:
    """The configuration keys of a dataclass, in the order of its fields."""
    return {item.metadata["key"]: item for item in fields(cls) if "key" in item.metadata}


def default_of(item: Field[Any]) -> Any:
    """A setting's default; MISSING when it is required."""
    return item.default if item.default_factory is MISSING else item.default_factory()


def shown_default(item: Field[Any]) -> str:
    """A setting's default as a person would type it."""
    return json.dumps(as_typed(default_of(item)))


def as_typed(value: Any) -> Any:
    """A setting's value as the plain JSON that a person would type; keys left at their default are left out."""
    if isinstance(value, tuple):
        return [as_typed(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    if not is_dataclass(value):
        return value
    settings = settings_of(type(value))
    typed = {key: getattr(value, item.name) for key, item in settings.items()}
    return {key: as_typed(found) for key, found in typed.items() if found != default_of(settings[key])}


def describe(hint: Any) -> str:
    """The type of a setting in a person's words."""
    names = {bool: "true or false", int: "a whole number", str: "text"}
    if get_origin(hint) is tuple:
        return "a list of texts" if get_args(hint)[0] is str else "a list of objects"
    if get_origin(hint) is Mapping:
        return f"an object whose values are {'whole numbers' if get_args(hint)[1] is int else 'texts'}"
    return names[hint]


def parse_scalar(raw: Any, hint: Any) -> Any:
    """A typed truth value, whole number or text; raises ValueError for anything else."""
    if hint is bool:
        return _parse_boolean(raw)
    if hint is int:
        return parse_integer(raw)
    if not isinstance(raw, str):
        raise ValueError(type(raw))
    return raw


def parse_json(raw: Any, wanted: type) -> Any:
    """A list or object, as JSON text or already loaded; raises ValueError, or RecursionError for deep nesting."""
    value = json.loads(raw) if isinstance(raw, str) else raw
    if not isinstance(value, wanted):
        raise ValueError(type(value))
    return value


def _parse_boolean(raw: Any) -> bool:
    if raw is True or raw == "true":
        return True
    if raw is False or raw == "false":
        return False
    raise ValueError(type(raw))


def parse_integer(raw: Any) -> int:
    """Whole numbers, in quotes or not, as on the command line; 1.5, 1e3, True and digits of other scripts are refused."""
    if isinstance(raw, bool) or not re.fullmatch(r"-?[0-9]{1,18}", str(raw)):
        raise ValueError(type(raw))
    return int(raw)
