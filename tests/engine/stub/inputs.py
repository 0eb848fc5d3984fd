"""Checks inputs against the SDK's own types, as the real provider checks them against its schema.

The SDK passes misspelt keys of nested mappings through; the real provider refuses them.
"""

import enum
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import pulumi
from pulumi import _types

from tests.engine.stub.sdk_types import input_class, input_types, required_inputs
from tests.engine.stub.wire import SIGNATURE, UNKNOWN


class InputFault(NamedTuple):
    """What is wrong with one property."""

    path: str
    reason: str


def input_faults(type_token: str, inputs: Mapping[str, Any]) -> list[InputFault]:
    """Every unknown or missing key and every value of a wrong type, nested ones included."""
    return list(_object_faults(inputs, input_class(type_token), ""))


def _object_faults(value: Mapping[str, Any], cls: type, path: str) -> Iterator[InputFault]:
    types = input_types(cls)
    for key in sorted(required_inputs(cls) - value.keys()):
        yield InputFault(_below(path, key), "is required")
    for key, item in value.items():
        if key.startswith("__"):
            continue  # the engine's and the provider's own notes
        if key not in types:
            yield InputFault(_below(path, key), f"is not a property; there are {', '.join(sorted(types))}")
        else:
            yield from _value_faults(item, types[key], _below(path, key))


def _value_faults(value: Any, hint: Any, path: str) -> Iterator[InputFault]:
    options = list(_options(hint))
    if value is None or value == UNKNOWN or Any in options:
        return
    if isinstance(value, Mapping):
        yield from _mapping_faults(value, options, path)
    elif isinstance(value, list):
        yield from _list_faults(value, options, path)
    elif not any(_is_scalar(value, option) for option in options):
        yield InputFault(path, f"is {value!r}, which is not {_named(options)}")


def _mapping_faults(value: Mapping[str, Any], options: list[Any], path: str) -> Iterator[InputFault]:
    classes = [option for option in options if isinstance(option, type) and _types.is_input_type(option)]
    mappings = [option for option in options if get_origin(option) in (Mapping, dict)]
    if SIGNATURE in value:
        if not any(
            isinstance(option, type) and issubclass(option, pulumi.Asset | pulumi.Archive)
            for option in options
        ):
            yield InputFault(path, f"is a file, which is not {_named(options)}")
    elif mappings:
        for key, item in value.items():
            yield from _value_faults(item, get_args(mappings[0])[1], f"{path}.{key}")
    elif classes:
        yield from _object_faults(value, classes[0], path)
    else:
        yield InputFault(path, f"is an object, which is not {_named(options)}")


def _list_faults(value: list[Any], options: list[Any], path: str) -> Iterator[InputFault]:
    sequences = [option for option in options if get_origin(option) in (Sequence, list)]
    if not sequences:
        yield InputFault(path, f"is a list, which is not {_named(options)}")
        return
    for index, item in enumerate(value):
        yield from _value_faults(item, get_args(sequences[0])[0], f"{path}[{index}]")


def _options(hint: Any) -> Iterator[Any]:
    """The alternatives of a type; an input may come as an output or awaitable, which never cross the wire."""
    if get_origin(hint) in (Union, UnionType):
        for option in get_args(hint):
            yield from _options(option)
    elif not _is_plumbing(hint):
        yield hint


def _is_plumbing(hint: Any) -> bool:
    origin = get_origin(hint)
    return hint is type(None) or (origin is not None and origin.__name__ in ("Awaitable", "Output"))


def _is_scalar(value: Any, option: Any) -> bool:
    if not isinstance(option, type):
        return False
    if issubclass(option, enum.Enum):
        return value in {member.value for member in option}
    if isinstance(value, bool):
        return option is bool
    return isinstance(value, option) or (option is float and isinstance(value, int))


def _named(options: list[Any]) -> str:
    return " or ".join(getattr(option, "__name__", str(option)) for option in options)


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
