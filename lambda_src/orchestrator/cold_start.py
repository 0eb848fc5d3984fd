"""Keeps the garbage collector out of a cold start."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Generator[None]:
    """Runs what is inside without garbage collection and leaves all that was made there out of later ones.

    Importing botocore and reading its models makes a great many objects and hardly any garbage: looking for some
    takes a tenth of a cold start.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
