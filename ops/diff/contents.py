"""What is in the files that a recording names, so that a changed function or image is seen as a change."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ops.capture.recording import RecordedResource, Recording

IMAGES = ("awsx:ecr:Image", "docker-build:index:Image")
# The folder of installed libraries: the names in it tell the lock file, and the lock file the content.
BUNDLES = ".bundles/"
COPIED = re.compile(
    r"^\s*(?:COPY|ADD)\s+(?!.*--from=)(?:--\S+\s+)*(.+?)\s+\S+\s*$", re.MULTILINE | re.IGNORECASE
)


def with_contents(recording: Recording, root: Path) -> Recording:
    """The recording, in which each file has its `sha256` beside its path, and an image the files that it copies."""
    return replace(recording, resources=tuple(_with_contents(item, root) for item in recording.resources))


def is_file(value: Any) -> bool:
    """Whether a value of a recording stands for a file or a folder of files."""
    return isinstance(value, Mapping) and "file" in value and value.keys() <= {"file", "sha256"}


def _with_contents(resource: RecordedResource, root: Path) -> RecordedResource:
    inputs = {key: _told(value, root) for key, value in resource.inputs.items()}
    if resource.type in IMAGES and isinstance(inputs.get("dockerfile"), str):
        context = root / str(inputs.get("context") or ".")
        inputs["files"] = {
            path.relative_to(root).as_posix(): _file(path, root)
            for path in _copied(context, root / inputs["dockerfile"])
        }
    return replace(resource, inputs=inputs)


def _told(value: Any, root: Path) -> Any:
    if is_file(value):
        path = root / value["file"]
        return value if value["file"].startswith(BUNDLES) or not path.exists() else _file(path, root)
    if isinstance(value, Mapping):
        return {key: _told(item, root) for key, item in value.items()}
    return [_told(item, root) for item in value] if isinstance(value, list) else value


def _file(path: Path, root: Path) -> dict[str, str]:
    digest = hashlib.sha256()
    for file in _files(path):
        digest.update(f"{file.relative_to(path)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    place = path.relative_to(root) if path.is_relative_to(root) else path
    return {"file": place.as_posix(), "sha256": digest.hexdigest()}


def _files(path: Path) -> Iterator[Path]:
    """The files in a folder in one order, or the file itself; caches of byte code are made by running the tests."""
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from sorted(
            file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts
        )


def _copied(context: Path, dockerfile: Path) -> Iterator[Path]:
    """The Dockerfile and the files that it takes over from its context."""
    if not dockerfile.is_file():
        return
    yield dockerfile
    for sources in COPIED.findall(dockerfile.read_text(encoding="utf-8")):
        for source in sources.split():
            yield from _files(context / source)
