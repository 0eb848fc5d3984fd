"""User data as people read it: its script, and the files that are packed in it. Pure."""

import base64
import binascii
import email
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ops.boot_files import ARCHIVE, packed_files
from ops.capture.recording import RecordedResource, Recording
from policies.secrets import BOOT_TEXTS


def with_boot_texts(recording: Recording) -> Recording:
    """The recording, in which user data is a text, or texts by path where files are packed in it.

    Names and ids then stand in clear in it, to be carried over after a rename and followed after a replacement.
    """
    return replace(recording, resources=tuple(map(_with_boot_texts, recording.resources)))


def _with_boot_texts(resource: RecordedResource) -> RecordedResource:
    texts = {key: _unpacked(resource.inputs[key]) for key in BOOT_TEXTS if key in resource.inputs}
    return replace(resource, inputs={**resource.inputs, **texts}) if texts else resource


def _unpacked(value: Any) -> str | Mapping[str, str] | Any:
    """What is no text stays as it is, and so does an archive that no node could unpack."""
    if not isinstance(value, str):
        return value
    text = _decoded(value)
    try:
        packed = packed_files(text)
    except ValueError:
        return text
    return {**_parts(text), **packed} if packed else text


def _decoded(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, ValueError):
        return text


def _parts(text: str) -> dict[str, str]:
    """The scripts that carry the archives, without these: AWS Batch takes several in one text."""
    scripts = [text]
    if not text.startswith("#!"):
        leaves = [part for part in email.message_from_string(text).walk() if not part.is_multipart()]
        contents = [part.get_payload(decode=True) for part in leaves]
        scripts = [content.decode() for content in contents if isinstance(content, bytes)]
    return {
        f"user data {number}" if number > 1 else "user data": ARCHIVE.sub("", script)
        for number, script in enumerate(scripts, 1)
    }
