"""Where objects go on this machine: no key may name a place outside of the folder, nor two the same file."""

import os
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """An object and the file that it becomes."""

    key: str
    path: Path
    length: int


@dataclass
class Targets:
    """The files to have, and the keys that cannot be files, each with its reason."""

    files: list[Target] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    markers: int = 0


def targets_in(folder: Path, prefix: str, objects: Mapping[str, int]) -> Targets:
    """Gives every object below `prefix` its file below `folder`.

    A key that ends in / without any bytes is another tool's mark for a folder, and is counted only.
    """
    found = Targets()
    root = folder.resolve()
    folders = {above for key in objects for above in _folders_of(key[len(prefix) :])}
    taken: dict[str, str] = {}
    for key, length in sorted(objects.items()):
        name = _composed(key, prefix)
        if key.endswith("/") and not length:
            found.markers += 1
            continue
        fault = path_fault(name) or _place_fault(root, name)
        if key[len(prefix) :] in folders:
            fault = fault or "another key uses this name as a folder"
        twin = taken.setdefault(name.casefold(), key)
        if twin != key and (_composed(twin, prefix) == name or ignores_case(folder)):
            fault = fault or f"it would be the same file as {twin}"
        if fault:
            found.failures.append((key, fault))
        else:
            found.files.append(Target(key, root / name, length))
    return found


def _composed(key: str, prefix: str) -> str:
    """The rest of a key, with each accent and its letter as one character (NFC)."""
    return unicodedata.normalize("NFC", key[len(prefix) :])


def path_fault(name: str) -> str:
    """Why the rest of a key cannot be a path below a folder, or ""."""
    if name.startswith("/") or os.path.isabs(name) or os.path.splitdrive(name)[0]:
        return "it is an absolute path"
    if "\0" in name or (os.sep != "/" and os.sep in name):
        return "it holds a character that no file name may"
    if any(part in ("", ".", "..") for part in name.split("/")):
        return "a part of it is empty, . or .., which leads elsewhere"
    return ""


def ignores_case(folder: Path) -> bool:
    """Whether the file system takes two spellings for one name; told by the folder's own name, or the nearest above."""
    for place in (folder.resolve(), *folder.resolve().parents):
        other = place.with_name(place.name.swapcase()) if place.name else place
        if place.exists() and other.name != place.name:
            return other.exists() and other.samefile(place)
    return False


def _folders_of(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _place_fault(root: Path, name: str) -> str:
    """A link that is here already must not lead out of the folder, nor may a folder be in the way."""
    path = root / name
    if path.is_dir():
        return "a folder of that name is here"
    if not path.parent.resolve().is_relative_to(root):
        return "a link here leads out of the folder"
    return ""
