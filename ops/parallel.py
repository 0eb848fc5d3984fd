"""The same call for many items at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(call: Callable[[Item], Result], items: Iterable[Item], workers: int) -> list[Result]:
    """The results in the order of `items`. The first error, Ctrl-C too, drops what was not begun."""
    pool = ThreadPoolExecutor(workers)
    try:
        return list(pool.map(call, items))
    finally:
        # What is under way ends by itself: nobody waits for it after Ctrl-C.
        pool.shutdown(wait=False, cancel_futures=True)
