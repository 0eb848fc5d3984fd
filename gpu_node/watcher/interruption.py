"""What EC2 announces, told on: a rebalance recommendation is early, an interruption notice is late."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from .announcer import EARLY, LATE, Announcer
from .metadata import Metadata, MetadataError, Notice

log = logging.getLogger("watcher")
Answer = TypeVar("Answer")


class Interruption:
    """One poll of both announcements. Whatever the service answers, the next poll asks again."""

    def __init__(self, metadata: Metadata, announcer: Announcer, tell_people: Callable[[str], None]) -> None:
        self._metadata = metadata
        self._announcer = announcer
        self._tell_people = tell_people
        self._told_people = ""
        self._trouble: dict[str, str] = {}

    def poll(self) -> None:
        """Any action is an end: one that EC2 adds, or hibernation, costs a saved job less than a missed end."""
        notice = self._ask("the interruption notice", self._metadata.notice)
        if notice:
            self._announce_end(notice)
            return
        since = self._ask("the rebalance recommendation", self._metadata.rebalance)
        if since:
            reason = f"EC2 may take this node back soon (rebalance recommendation of {since})"
            self._people(f"{reason}: save your work.", since)
            self._announcer.announce(EARLY, reason)

    def _announce_end(self, notice: Notice) -> None:
        reason = f"EC2 takes this node back at {notice.time} (action {notice.action})"
        self._people(f"{reason}: save your work now.", reason)
        self._announcer.announce(LATE, reason)

    def _people(self, text: str, key: str) -> None:
        if key != self._told_people:
            self._told_people = key
            self._tell_people(text)

    def _ask(self, what: str, question: Callable[[], Answer | None]) -> Answer | None:
        try:
            answer = question()
        except MetadataError as error:
            self._report(what, str(error))
            return None
        self._report(what, "")
        return answer

    def _report(self, what: str, trouble: str) -> None:
        """A line when trouble begins, changes or ends, and not at every poll of an outage."""
        if trouble == self._trouble.get(what, ""):
            return
        self._trouble[what] = trouble
        if trouble:
            log.warning("%s cannot be read, and is asked for again: %s", what, trouble)
        else:
            log.info("%s can be read again", what)
