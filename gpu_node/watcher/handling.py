"""Which signals a process handles: the kernel's answer, in /proc."""

from __future__ import annotations

from signal import Signals

PROC = "/proc"
# The first is what Docker puts into a container that asks for an init process.
INITS = ("docker-init", "tini", "dumb-init")


def handles(pid: int, signal: Signals) -> bool:
    """Whether a signal to this process reaches a handler. One that does not would end the process, or do nothing.

    The init of a container hands signals on to the process that it started. It takes them without any handler, and
    waits for them in a way that shows none of them as blocked: hence it is known by its name.
    """
    about = _status(pid)
    if about.get("Name") in INITS:
        children = _children(pid)
        about = _status(children[0]) if children else {}
    return bool(int(about.get("SigCgt", "0"), 16) >> (signal - 1) & 1)


def start_ticks(pid: int) -> int:
    """When a process started, in clock ticks since boot; with the pid it names one process for ever.

    Raises OSError when there is none. proc(5): field 22, counted behind the command's name, which may hold anything.
    """
    with open(f"{PROC}/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def _status(pid: int) -> dict[str, str]:
    try:
        with open(f"{PROC}/{pid}/status", encoding="utf-8", errors="replace") as file:
            return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    except OSError:
        return {}


def _children(pid: int) -> list[int]:
    try:
        with open(f"{PROC}/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []
