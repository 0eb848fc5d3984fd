"""`python -m ops images`: pins the newest machine images of a stack in its file, or checks the pins.

An image past its end of support is refused: it is not written, and a pin of one fails the check.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from components.config_sections import NAMESPACE
from ops.aws_calls import AwsCallError, aws_client
from ops.capture.program import PROJECT_ROOT, record
from ops.capture.recording import Recording
from ops.capture.stack_files import StackFileError, load_stack_config
from ops.command_line import add_json, add_profile, verb_parser
from ops.images.lookup import ImageLookupError, described, newest_images
from ops.images.support import Support, support_of
from ops.preview_text import region_of
from ops.stack_edit import StackEditError, with_mapping
from ops.whole_file import replace_text

KEY = f"{NAMESPACE}:machineImages"
LOOKUP = "aws:ssm/getParameter:getParameter"
# What makes a recording look up every image that the stack uses: no pins, and nothing taken down.
EVERY_IMAGE: Mapping[str, Any] = {"machineImages": None, "asleep": False}
EXAMPLE = """example:
  python -m ops images --stack prod
  dlami: ami-0aaaaaaaaaaaaaaaa -> ami-0bbbbbbbbbbbbbbbb (made on 2026-11-20, Ubuntu 24.04, supported until 2029-04-30)
  Written to Pulumi.prod.yaml.

Takes ssm:GetParameters on parameter/aws/service/* and ec2:DescribeImages.

exit code: 0 the pins are the newest images or have been made so, 1 refused, failed or (with --check) out of date, 2 wrong usage"""


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One node image: its pin ("" without one), the newest id, and the support of both."""

    name: str
    pinned: str
    newest: str
    pinned_support: Support | None
    newest_support: Support

    @property
    def changes(self) -> bool:
        return self.pinned != self.newest


def main(arguments: Sequence[str]) -> int:
    """0 when the pins are the newest images or have been made so; 1 with `--check` when not, or on a refused image or failure."""
    options = _parser().parse_args(arguments)
    # The SDK takes a quarter of a second to import, which `--help` need not wait for.
    import pulumi

    try:
        return run(options.stack, check=options.check, profile=options.profile, as_json=options.json)
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (pulumi.RunError, AwsCallError, ImageLookupError, StackEditError) as error:
        print(error, file=sys.stderr)
        return 1


def run(
    stack: str,
    *,
    check: bool,
    profile: str | None = None,
    as_json: bool = False,
    root: Path = PROJECT_ROOT,
    make_client: Callable[..., Any] = aws_client,
    today: date | None = None,
) -> int:
    """Compares the pins of `stack` with the newest images, tells each, and writes what is new unless `check`.

    A newest image that is past its end of support is not written, and is a failure either way.
    """
    recording = record(stack, changes=EVERY_IMAGE, root=root)
    pins = read_pins(recording, pinned_images(stack, root), profile, make_client, today or _today())
    changed = {pin.name: pin.newest for pin in pins if pin.changes and not pin.newest_support.refusal}
    written = bool(changed) and not check
    if written:
        write_pins(root / f"Pulumi.{stack}.yaml", changed)
    if as_json:
        document = {"stack": stack, "written": written, "images": [asdict(pin) for pin in pins]}
        print(json.dumps(document, indent=2, default=str))
    else:
        told = [line for pin in pins for line in _lines(pin)] or [f"Stack {stack} uses no machine images."]
        print("\n".join([*told, *([f"Written to Pulumi.{stack}.yaml."] if written else [])]))
    refused = any(pin.newest_support.refusal for pin in pins)
    pins_fail = check and any(pin.changes or _pin_refusal(pin) for pin in pins)
    return int(refused or pins_fail)


def read_pins(
    recording: Recording,
    pinned: Mapping[str, str],
    profile: str | None,
    make_client: Callable[..., Any],
    today: date,
) -> list[Pin]:
    """Every image that the stack uses; asks nobody where there is none. Raises ImageLookupError and AwsCallError."""
    parameters = images_in_use(recording)
    if not parameters:
        return []
    region = region_of(recording)
    newest = newest_images(make_client("ssm", region, profile), parameters)
    known = {name: pinned.get(name, "") for name in parameters}
    asked = {*newest.values(), *known.values()} - {""}
    images = described(make_client("ec2", region, profile), asked)
    return [
        Pin(
            name=name,
            pinned=known[name],
            newest=image_id,
            pinned_support=support_of(images.get(known[name]), today) if known[name] else None,
            newest_support=support_of(images.get(image_id), today),
        )
        for name, image_id in newest.items()
    ]


def images_in_use(recording: Recording) -> dict[str, str]:
    """The images that a stack looks up when none is pinned, sorted, each with its parameter."""
    from components.machine_images import IMAGE_PARAMETERS

    looked_up = {call.arguments.get("name") for call in recording.invokes if call.token == LOOKUP}
    return {name: path for name, path in sorted(IMAGE_PARAMETERS.items()) if path in looked_up}


def pinned_images(stack: str, root: Path) -> Mapping[str, str]:
    """The pins in the stack's file. Raises StackFileError for what does not give an id for each node image."""
    text = load_stack_config(root, stack).values.get(KEY, "{}")
    try:
        pins = json.loads(text)
    except json.JSONDecodeError:
        pins = None
    if isinstance(pins, dict) and all(isinstance(pin, str) for pin in pins.values()):
        return pins
    raise StackFileError(
        f"{KEY} in Pulumi.{stack}.yaml is {text}, which is not an id for each node image. Fix: write it as in {{dlami: ami-0123456789abcdef0}}, or remove it."
    )


def write_pins(path: Path, pins: Mapping[str, str]) -> None:
    """Sets `pins` in a stack file, whole or not at all; every other byte stays."""
    text = path.read_bytes().decode()
    replace_text(path, with_mapping(text, KEY, pins))


def _lines(pin: Pin) -> Iterator[str]:
    old = f"{pin.pinned or 'not pinned'} -> " if pin.changes else "unchanged "
    note = f" ({pin.newest_support.note})" if pin.newest_support.note else ""
    yield f"{pin.name}: {old}{pin.newest}{note}"
    if pin.newest_support.refusal:
        yield f"  REFUSED {pin.newest}: {pin.newest_support.refusal}. Fix: use another nodeImage."
    if _pin_refusal(pin) and pin.changes:
        yield f"  REFUSED the pin {pin.pinned}: {_pin_refusal(pin)}. Fix: run this without --check, then `pulumi up`."


def _pin_refusal(pin: Pin) -> str:
    return pin.pinned_support.refusal if pin.pinned_support else ""


def _today() -> date:
    return datetime.now(UTC).date()


def _parser() -> argparse.ArgumentParser:
    parser = verb_parser("images", __doc__, EXAMPLE)
    parser.add_argument("--stack", required=True, help="the stack, as in Pulumi.<stack>.yaml")
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing; 1 when newer images exist or a pin is past its end of support",
    )
    add_profile(parser)
    add_json(parser)
    return parser
