"""A process of its own that records stacks of one version of the program: `python -m ops.diff.recorder ROOT FILE STACK...`.

The recorder, its made-up answers and its expander are those of the version that is asked, so that only the programs
differ; `__main__.py` and all that it imports are those of ROOT. What was recorded is left in FILE; standard output has a
line for each stack that is done.
"""

import os
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path

from ops.capture.program import PROJECT_ROOT, record
from ops.capture.recording import Recording
from ops.capture.stack_files import StackFileError
from ops.diff.contents import with_contents


def main(arguments: Sequence[str]) -> None:
    """Leaves a Recording for each stack, or a text that says why there is none."""
    root, file, stacks = Path(arguments[0]), Path(arguments[1]), arguments[2:]
    take_modules_of(root)
    # What the program prints goes elsewhere.
    progress = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    found: dict[str, Recording | str] = {}
    for stack in stacks:
        found[stack] = recorded(stack, root)
        print(stack, file=progress)
    with file.open("wb") as results:
        pickle.dump(found, results)


def take_modules_of(root: Path) -> None:
    """From now on the project's packages come from `root`, but for `ops`, which is here already."""
    for name, module in list(sys.modules.items()):
        place = Path(getattr(module, "__file__", None) or "/")
        ours = place.is_relative_to(PROJECT_ROOT) and "site-packages" not in place.parts
        if ours and name.partition(".")[0] not in ("ops", "__main__"):
            del sys.modules[name]
    sys.path[0] = str(root)
    os.chdir(root)


def recorded(stack: str, root: Path) -> Recording | str:
    """What the program at `root` registers as `stack`; the message of its failure where it fails."""
    import pulumi

    try:
        recording = record(stack, root=root)
    except (StackFileError, pulumi.RunError) as error:
        return str(error)
    except Exception as error:  # the program is any code: whatever stops it is what the reader wants to know
        return f"{type(error).__name__}: {error}"
    return with_contents(recording, root)


if __name__ == "__main__":
    main(sys.argv[1:])
