"""Walks recorded inputs the way a reader would: into lists, JSON texts, base64 and what user data packs. Pure."""

import base64
import binascii
import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ops.boot_files import packed_files, scripts_in
from ops.capture.recording import Secret


def texts(value: Any) -> Iterator[str]:
    """Every text inside `value`: keys left out, base64 decoded, JSON parsed, user data with its packed files."""
    if isinstance(value, Secret):
        yield from texts(value.value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value
        yield from texts(_inner(value))
        yield from _packed(value)


def _inner(value: str) -> Any:
    """What a text carries inside, or None."""
    if value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return None
    # `base64` of a command line breaks its lines.
    packed = "".join(value.split())
    if len(packed) < 16:
        return None
    try:
        return base64.b64decode(packed, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _packed(value: str) -> Iterator[str]:
    """The parts of user data that has several, and the files packed in it; none where no node could unpack them."""
    yield from (script for script in scripts_in(value) if script != value)
    with contextlib.suppress(ValueError):
        yield from packed_files(value).values()
