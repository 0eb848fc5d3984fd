"""What the checkpoints tell: lines on the standard error."""

import sys
from contextlib import suppress


def say(text: str) -> None:
    """One line on the standard error; a log that is gone does not end a training run."""
    with suppress(OSError, ValueError):
        print(f"checkpoint: {text}", file=sys.stderr, flush=True)
