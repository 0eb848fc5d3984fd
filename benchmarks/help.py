"""How long `python -m ops --help` takes against a bare `import argparse`, alternating, in one run: `make bench`."""

import statistics
import sys

from benchmarks.preview import seconds

RUNS = 21
TARGET_RATIO = 2.5


def main() -> None:
    ours = [sys.executable, "-m", "ops", "--help"]
    bare = [sys.executable, "-c", "import argparse"]
    seconds(ours), seconds(bare)  # warm the byte code of both
    pairs = [(seconds(ours), seconds(bare)) for _ in range(RUNS)]
    mine, floor = (1000 * statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(one / other for one, other in pairs)
    print(f"ops --help: {mine:.0f} ms; python -c 'import argparse': {floor:.0f} ms")
    print(f"ratio, median of {RUNS} pairs: {ratio:.2f} (target: at most {TARGET_RATIO})")


if __name__ == "__main__":
    main()
