"""Property values as they cross the wire, and as plain Python. Pure."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct  # ty: ignore[missing-module-member]  # made at run time
from pulumi.runtime import rpc

UNKNOWN = rpc.UNKNOWN
SIGNATURE = rpc._special_sig_key
RESOURCE_SIGNATURE = rpc._special_resource_sig

Values = dict[str, Any]


def from_struct(struct: Any) -> Values:
    """A mapping of plain values; whole numbers become int, since every number crosses as a double."""
    return _whole(json_format.MessageToDict(struct))


def to_struct(values: Mapping[str, Any]) -> Any:
    """The message for `values`; None is left out at the top, as the engine does."""
    struct = Struct()
    struct.update({key: value for key, value in values.items() if value is not None})
    return struct


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value


def flat(value: Any, path: str = "") -> Values:
    """The leaves of `value` by property path, such as `ingress[0].port`; empty collections and assets are leaves."""
    if isinstance(value, dict) and value and SIGNATURE not in value:
        items = [(_member(path, key), item) for key, item in value.items()]
    elif isinstance(value, list) and value:
        items = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    else:
        return {path: value}
    return {leaf: found for below, item in items for leaf, found in flat(item, below).items()}


def _member(path: str, key: str) -> str:
    if not key.replace("_", "").replace("-", "").isalnum():
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key
