"""What the boot script tells the watcher, in a file of NAME=VALUE texts that each end in a NUL: any text fits."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Settings:
    """`targets` is containers or processes; 0 minutes and hours mean never; `started_at` is a Unix time in seconds."""

    targets: str = ""
    metadata_address: str = "169.254.169.254"
    # EC2 user guide, spot interruption notices: ask every 5 seconds.
    poll_seconds: float = 5.0
    processes_folder: str = "/run/interruption/pids"
    terminals_folder: str = "/dev/pts"
    aws_region: str = ""
    idle_minutes: int = 0
    maximum_life_hours: int = 0
    started_at: int = 0


def read_settings(path: str) -> Settings:
    """The settings in the file at `path`; raises ValueError for a name or a value that is none."""
    with open(path, encoding="utf-8") as file:
        given = dict(text.split("=", 1) for text in file.read().split("\0") if text)
    known: dict[str, Any] = {field.name.upper(): field for field in fields(Settings)}
    unknown = sorted(set(given) - set(known))
    if unknown or given.get("TARGETS") not in ("containers", "processes"):
        raise ValueError(f"{path}: TARGETS must be containers or processes; unknown names: {unknown}")
    values: dict[str, Any] = {
        known[name].name: type(known[name].default)(value) for name, value in given.items()
    }
    return Settings(**values)
