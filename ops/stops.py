"""Signals that stop a process end what it does as Ctrl-C does, so that it can clear up."""

import signal
from collections.abc import Generator
from contextlib import contextmanager

STOPS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stopped_as_by_ctrl_c() -> Generator[None]:
    """Inside, SIGTERM, by which a container or a machine is stopped, and SIGHUP, by which a terminal is closed or a
    connection lost, raise KeyboardInterrupt. A SIGHUP that `nohup` has switched off stays so. Main thread only."""
    handled = [each for each in STOPS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, signal.default_int_handler) for each in handled}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
