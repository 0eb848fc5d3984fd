"""Starts ranks as torchrun's agent does: `elastic_agent.py RANKS GRACE_SECONDS COMMAND...`.

Each rank leads a session of its own. As soon as one ends with an error, or this process is sent SIGTERM, SIGINT, SIGHUP
or SIGQUIT, all that are left get SIGTERM, and SIGKILL after the grace; the exit code is 1, whatever theirs were.
(`torch/distributed/elastic/multiprocessing/api.py`: PContext.start, SubprocessContext._poll and ._close.)
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

LOOK_SECONDS = 0.02


class Ended(Exception):
    """A signal came."""


def end(number: int, _frame: object) -> None:
    print("agent was sent", signal.Signals(number).name, flush=True)
    raise Ended


def close(ranks: Sequence[subprocess.Popen[bytes]], grace_seconds: float) -> None:
    for rank in ranks:
        if rank.poll() is None:
            os.killpg(rank.pid, signal.SIGTERM)
    until = time.monotonic() + grace_seconds
    for rank in ranks:
        with suppress(subprocess.TimeoutExpired):
            rank.wait(max(0.0, until - time.monotonic()))
    for rank in ranks:
        if rank.poll() is None:
            print("agent kills a rank", flush=True)
            os.killpg(rank.pid, signal.SIGKILL)
            rank.wait()


def main(ranks: int, grace_seconds: float, command: Sequence[str]) -> int:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, end)
    started = [
        subprocess.Popen(command, env={**os.environ, "RANK": str(rank)}, start_new_session=True)
        for rank in range(ranks)
    ]
    with suppress(Ended):
        while any(rank.poll() is None for rank in started):
            if any(rank.poll() for rank in started):
                break
            time.sleep(LOOK_SECONDS)
    close(started, grace_seconds)
    return int(any(rank.returncode for rank in started))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
