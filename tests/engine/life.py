"""The life of a stack: everything that is run on it once, so that many tests can look at it."""

import fcntl
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.engine.engine import Engine
from tests.engine.events import Result
from tests.engine.stub.account import Existing

# The command line and the program of one stack keep about one core busy.
AT_ONCE = 2


@dataclass(frozen=True, kw_only=True)
class Life:
    """The runs in order. `resources` is the state after `up`.

    `destroy` is the plain one, after which the account holds `kept`; `unprotected_destroy` follows it, after every
    protection was taken away, and leaves `left`.
    """

    stack: str
    preview: Result
    up: Result
    resources: list[dict[str, Any]] = field(repr=False)
    second_preview: Result
    refresh: Result
    preview_after_refresh: Result
    destroy: Result
    kept: list[Existing] = field(repr=False)
    unprotected_destroy: Result
    left: list[Existing] = field(repr=False)


def live(pulumi: Path, stack: str) -> Life:
    """Runs one stack from its first preview to its end."""
    with Engine(pulumi, stack) as engine:
        return Life(
            stack=stack,
            preview=engine.preview(),
            up=engine.up(),
            resources=engine.export(),
            second_preview=engine.preview_is_empty(),
            refresh=engine.refresh(),
            preview_after_refresh=engine.preview_is_empty(),
            destroy=engine.destroy(),
            kept=list(engine.account),
            unprotected_destroy=engine.unprotect_and_destroy(),
            left=list(engine.account),
        )


def live_all(pulumi: Path, stacks: Sequence[str]) -> dict[str, Life]:
    """The lives of several stacks, side by side."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(stacks, pool.map(lambda stack: live(pulumi, stack), stacks), strict=True))


def live_once(pulumi: Path, stacks: Sequence[str], shared: Path) -> dict[str, Life]:
    """The lives, run by the first process that asks for them; it leaves them in `shared` for the others."""
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.is_file():
            shared.write_bytes(pickle.dumps(live_all(pulumi, stacks)))
    return pickle.loads(shared.read_bytes())
