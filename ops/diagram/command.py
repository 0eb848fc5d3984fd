"""`python -m ops diagram`: pictures of a stack for mermaid, made from one recording of the program."""

import json
import sys
from collections.abc import Callable, Sequence

from ops.capture.program import PROJECT_ROOT, record
from ops.capture.recording import Recording
from ops.capture.stack_files import StackFileError
from ops.command_line import verb_parser
from ops.diagram import (
    component_diagram,
    data_flow_diagram,
    full_diagram,
    network_diagram,
    permission_diagram,
)
from ops.diagram.page import STACKS, MissingBlock, write

PICTURES: dict[str, Callable[[Recording], str]] = {
    "components": component_diagram,
    "data-flow": data_flow_diagram,
    "network": network_diagram,
    "permissions": permission_diagram,
    "full": full_diagram,
}
EPILOG = """examples:
  python -m ops diagram                             # the components of the stack dev
  python -m ops diagram --stack prod --kind network
  python -m ops diagram --write                     # docs/architecture.md and the README's picture

exit code: 0 done, 1 faults in the configuration, 2 wrong usage
"""


def main(arguments: Sequence[str]) -> int:
    """Prints a picture, or writes those that are kept; 1 for faults in the configuration or a README without its place."""
    parser = verb_parser("diagram", __doc__, EPILOG)
    parser.add_argument("--stack", default="dev", help="the stack, as in Pulumi.<stack>.yaml (default: dev)")
    parser.add_argument(
        "--kind", choices=PICTURES, default="components", help="which picture (default: components)"
    )
    parser.add_argument(
        "--write", action="store_true", help="write the kept pictures anew instead of printing one"
    )
    parser.add_argument(
        "--json", action="store_true", help="print all pictures of the stack as one JSON document"
    )
    options = parser.parse_args(arguments)
    # The SDK takes a quarter of a second to import, which `--help` need not wait for.
    import pulumi

    try:
        if options.write:
            return _write()
        recording = record(options.stack)
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (pulumi.RunError, MissingBlock) as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps({kind: draw(recording) for kind, draw in PICTURES.items()}, indent=2))
    else:
        print(PICTURES[options.kind](recording), end="")
    return 0


def _write() -> int:
    changed = write(PROJECT_ROOT, {stack: record(stack) for stack in STACKS})
    for path in changed:
        print(f"wrote {path.relative_to(PROJECT_ROOT)}")
    if not changed:
        print("The pictures are what the program builds.")
    return 0
