"""How long our own judges take together on one recording, against making that recording: `make bench`.

A process of its own for each run tells two times of both: the first, with all that has to be imported and read, and
the second, with all of it there.
"""

import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

from ops.capture.program import PROJECT_ROOT, record
from ops.capture.recording import Recording

RUNS = 5
TARGET_RATIO = 0.5
RECORDING = "recording"


def cost(recording: Recording) -> None:
    from ops.cost.estimate import estimate
    from ops.cost.prices import Prices
    from ops.cost.usage import Usage

    estimate(recording, Usage(), Prices())


def policies(recording: Recording) -> None:
    from policies.rules import all_findings

    list(all_findings(recording))


def diagrams(recording: Recording) -> None:
    from ops.diagram.command import PICTURES

    for draw in PICTURES.values():
        draw(recording)


def iam(recording: Recording) -> None:
    from ops.judges.iam import iam_findings

    iam_findings(recording)


def plan_view(recording: Recording) -> None:
    from ops.judges.plan import plan

    plan(recording)


JUDGES: Mapping[str, Callable[[Recording], None]] = {
    "cost": cost,
    "policies": policies,
    "diagrams": diagrams,
    "iam": iam,
    "plan view": plan_view,
}


def laps(stack: str) -> dict[str, float]:
    """Seconds of one recording and of each judge on it."""
    start = time.perf_counter()
    recording = record(stack)
    seconds = {RECORDING: time.perf_counter() - start}
    for name, judge in JUDGES.items():
        start = time.perf_counter()
        judge(recording)
        seconds[name] = time.perf_counter() - start
    return seconds


def ratio(seconds: Mapping[str, float]) -> float:
    """All judges together against the recording."""
    return (sum(seconds.values()) - seconds[RECORDING]) / seconds[RECORDING]


def main(stack: str = "prod") -> None:
    command = [sys.executable, "-m", "benchmarks.judges", stack, "laps"]
    runs = [
        json.loads(subprocess.run(command, cwd=PROJECT_ROOT, check=True, capture_output=True).stdout)
        for _ in range(RUNS)
    ]
    for place, words in enumerate(("first", "again")):
        own = [run[place] for run in runs]
        parts = [f"{name} {1000 * statistics.median(one[name] for one in own):.0f} ms" for name in own[0]]
        print(f"judges on one recording of {stack}, {words}: {', '.join(parts)}")
        median = statistics.median(map(ratio, own))
        print(f"ratio, median of {RUNS} runs: {median:.2f} (target: at most {TARGET_RATIO})")


if __name__ == "__main__":
    if sys.argv[2:] == ["laps"]:
        gc.disable()  # as ops/__main__.py does
        print(json.dumps([laps(sys.argv[1]) for _ in range(2)]))
    else:
        main(*sys.argv[1:])
