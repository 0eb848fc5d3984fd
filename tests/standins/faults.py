"""Faults that a stand-in answers with instead of its real reply, as scripted by a test."""

import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong with one call. Without a status the call is only late, or its stream is cut.

    `operation` is the call that is meant, any when empty. `code` is the name of the error in the service's own words.
    """

    operation: str = ""
    status: int | None = None
    code: str = ""
    message: str = "scripted by a test"
    delay_seconds: float = 0
    cut_after_events: int | None = None


class Faults:
    """Each fault is used once, in the order in which they were added."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault, times: int = 1) -> None:
        with self._lock:
            self._waiting += [fault] * times

    def clear(self) -> None:
        with self._lock:
            self._waiting.clear()

    def take(self, operation: str) -> Fault | None:
        """The next fault for `operation`, after its delay."""
        with self._lock:
            fault = next((one for one in self._waiting if one.operation in ("", operation)), None)
            if fault:
                self._waiting.remove(fault)
        if fault and fault.delay_seconds:
            time.sleep(fault.delay_seconds)
        return fault
