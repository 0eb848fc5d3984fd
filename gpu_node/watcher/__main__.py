"""The service: polls for as long as the node lives. `python3 -m watcher` in the folder above, settings beside this file."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable

from .announcer import Announcer, one_line
from .interruption import Interruption
from .metadata import Metadata
from .settings import Settings, read_settings

log = logging.getLogger("watcher")


def repeat(
    step: Callable[[], None],
    every_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Runs `step` at this rate for ever: an error that nobody foresaw costs one step, and never the next."""
    while True:
        started_at = clock()
        try:
            step()
        except Exception as error:
            log.error("a step failed, and the next one follows: %s", one_line(error))
        sleep(max(0.0, started_at + every_seconds - clock()))


def main(settings: Settings) -> None:
    poll_of = {"containers": watch_containers, "processes": watch_processes}[settings.targets]
    poll = poll_of(settings)
    log.info("watching for interruptions of this node, every %s s", settings.poll_seconds)
    repeat(poll, settings.poll_seconds)


# A node carries the files of its own kind only, and imports no others.


def watch_containers(settings: Settings) -> Callable[[], None]:
    """The poll of a node whose work comes in containers, where nobody logs in."""
    from .containers import Containers

    return Interruption(Metadata(settings.metadata_address), Announcer(Containers()), log.debug).poll


def watch_processes(settings: Settings) -> Callable[[], None]:
    """The poll of an interactive node, beside which a thread sees to the node's own end."""
    from .node_end import STEP_SECONDS, Limits, NodeEnd, terminate_node
    from .processes import Processes, Terminals

    processes, terminals = Processes(settings.processes_folder), Terminals(settings.terminals_folder)
    processes.open_folder()
    announcer = Announcer(processes)
    limits = Limits(settings.idle_minutes * 60, settings.maximum_life_hours * 3600, settings.started_at)
    # A metadata client of its own: a session token is not shared between threads.
    own = Metadata(settings.metadata_address)
    end = NodeEnd(
        limits,
        announcer,
        terminals.tell,
        terminals.last_input,
        lambda: terminate_node(settings.aws_region, own.instance_id()),
    )
    if limits.idle or limits.life:
        arguments = (lambda: end.step(time.monotonic(), time.time()), STEP_SECONDS)
        threading.Thread(target=repeat, args=arguments, daemon=True).start()
    return Interruption(Metadata(settings.metadata_address), announcer, terminals.tell).poll


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s", stream=sys.stdout)
    main(read_settings(os.path.join(os.path.dirname(os.path.abspath(__file__)), "settings")))
