"""`python -m ops preview`: what `pulumi up` would build, told from one recording of the program."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ops.capture.program import record
from ops.capture.recording import RecordedResource, Recording, Secret, Unknown
from ops.capture.stack_files import StackFileError
from ops.command_line import add_json, verb_parser
from ops.cost.estimate import estimate
from ops.cost.prices import Prices
from ops.cost.usage import Usage
from ops.preview_text import counts, region_of, render
from ops.price_table import PriceTableError

EXAMPLES = """examples:
  python -m ops preview                              # the stack dev
  python -m ops preview --stack prod --json

exit code: 0 previewed, 1 the configuration has faults, 2 wrong usage"""


def main(arguments: Sequence[str]) -> int:
    """Prints the preview; 1 when the configuration has faults, all of them then being on standard error."""
    parser = verb_parser("preview", __doc__, EXAMPLES)
    parser.add_argument("--stack", default="dev", help="the stack, as in Pulumi.<stack>.yaml (default: dev)")
    add_json(parser)
    options = parser.parse_args(arguments)
    # The SDK takes a quarter of a second to import, which `--help` need not wait for.
    import pulumi

    try:
        recording = record(options.stack)
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except pulumi.RunError as error:
        print(error, file=sys.stderr)
        return 1
    print(
        as_json(recording)
        if options.json
        else f"{render(recording, colour=wants_colour())}\n\n{cost_line(recording)}"
    )
    return 0


def cost_line(recording: Recording) -> str:
    """What the stack costs in a month, and which verb shows how."""
    try:
        month = estimate(recording, Usage(), Prices())
    except PriceTableError as error:
        return str(error)
    about, missing = ("at least", f" ({month.not_priced} not priced)") if month.not_priced else ("about", "")
    return (
        f"Costs {about} {month.idle_usd:,.0f} USD a month idle, {month.busy_usd:,.0f} busy{missing}: "
        f"python -m ops cost --stack {recording.stack}"
    )


def wants_colour() -> bool:
    """Whether a person reads this on a terminal and has not asked for plain text (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def as_json(recording: Recording) -> str:
    """The recording with sorted keys; a secret is `[secret]`, a value that only AWS can tell is null."""
    document = {
        "project": recording.project,
        "stack": recording.stack,
        "region": region_of(recording),
        "counts": counts(recording),
        "resources": [_resource(resource) for resource in recording.resources],
        "exports": _json_value(recording.exports),
        "warnings": list(recording.warnings),
        "lookups": [
            {"token": call.token, "arguments": _json_value(call.arguments)} for call in recording.invokes
        ],
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False)


def _resource(resource: RecordedResource) -> dict[str, Any]:
    return {
        "urn": resource.urn,
        "type": resource.type,
        "name": resource.name,
        "parent": resource.parent,
        "component": not resource.custom,
        "inputs": _json_value(resource.inputs),
        "dependencies": sorted(resource.dependencies),
        "protect": resource.protect,
        "retainOnDelete": resource.retain_on_delete,
        "ignoreChanges": list(resource.ignore_changes),
        "expanded": resource.expanded,
    }


def _json_value(value: Any) -> Any:
    if isinstance(value, Unknown):
        return None
    if isinstance(value, Secret):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return value
