"""Whole-process time of the offline preview against its floor, alternating, in one run: `make bench`."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ops.capture.program import PROJECT_ROOT, record
from ops.capture.recording import Secret

RUNS = 9
TARGET_RATIO = 1.5


def seconds(command: list[str]) -> float:
    """How long `command` takes from start to exit; raises when it fails."""
    start = time.perf_counter()
    subprocess.run(command, cwd=PROJECT_ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def _bare(value: Secret) -> Any:
    """A secret's value: nothing of this leaves the machine."""
    return value.value


def main(stack: str = "dev") -> None:
    resources = [
        {"type": item.type, "name": item.name, "inputs": item.inputs}
        for item in record(stack).resources
        if not item.expanded and not item.type.startswith("aiplatform:")
    ]
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder) / "resources.json"
        listing.write_text(json.dumps(resources, default=_bare), encoding="utf-8")
        preview = [sys.executable, "-m", "ops", "preview", "--stack", stack]
        floor = [sys.executable, "-m", "benchmarks.floor", str(listing)]
        seconds(preview), seconds(floor)  # warm the byte code of both
        pairs = [(seconds(preview), seconds(floor)) for _ in range(RUNS)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(mine / other for mine, other in pairs)
    print(f"offline preview of {stack}: {ours:.2f} s; floor ({len(resources)} raw resources): {theirs:.2f} s")
    print(f"ratio, median of {RUNS} pairs: {ratio:.2f} (target: at most {TARGET_RATIO})")


if __name__ == "__main__":
    main(*sys.argv[1:])
