"""`python -m ops images`: pins the newest machine images of a stack in its file, or checks the pins."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi

from components.config_sections import NAMESPACE
from components.machine_images import IMAGE_PARAMETERS
from ops.capture.program import PROJECT_ROOT, record
from ops.capture.recording import Recording
from ops.capture.stack_files import StackFileError, load_stack_config
from ops.preview_text import region_of
from ops.stack_edit import StackEditError, with_mapping

KEY = f"{NAMESPACE}:machineImages"
LOOKUP = "aws:ssm/getParameter:getParameter"
# What makes a recording look up every image that the stack uses: no pins, and nothing taken down.
EVERY_IMAGE: Mapping[str, Any] = {"machineImages": None, "asleep": False}


class ImageLookupError(Exception):
    """AWS did not tell the newest images; the message says why and what to do."""


def main(arguments: Sequence[str]) -> int:
    """0 when the pins are the newest images or have been made so; 1 with `--check` when they are not, or on failure."""
    parser = argparse.ArgumentParser(prog="python -m ops images", description=__doc__)
    parser.add_argument("--stack", required=True, help="the stack, as in Pulumi.<stack>.yaml")
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when newer images exist")
    parser.add_argument("--profile", help="profile of the AWS configuration to use")
    options = parser.parse_args(arguments)
    try:
        return run(options.stack, check=options.check, profile=options.profile)
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (pulumi.RunError, ImageLookupError, StackEditError) as error:
        print(error, file=sys.stderr)
        return 1


def run(stack: str, *, check: bool, profile: str | None = None, root: Path = PROJECT_ROOT) -> int:
    """Compares the pins of `stack` with the newest images, tells each, and writes what is new unless `check`."""
    recording = record(stack, changes=EVERY_IMAGE, root=root)
    names = images_in_use(recording)
    if not names:
        print(f"Stack {stack} uses no machine images.")
        return 0
    pinned = pinned_images(stack, root)
    newest = newest_images(ssm_client(region_of(recording), profile), names)
    changed = {name: image for name, image in newest.items() if pinned.get(name) != image}
    for name, image in newest.items():
        old = f"{pinned.get(name, 'not pinned')} -> " if name in changed else "unchanged "
        print(f"{name}: {old}{image}")
    if changed and not check:
        write_pins(root / f"Pulumi.{stack}.yaml", changed)
    return 1 if changed and check else 0


def images_in_use(recording: Recording) -> list[str]:
    """The images that a stack looks up when none is pinned, sorted."""
    looked_up = {call.arguments.get("name") for call in recording.invokes if call.token == LOOKUP}
    return sorted(name for name, parameter in IMAGE_PARAMETERS.items() if parameter in looked_up)


def pinned_images(stack: str, root: Path) -> Mapping[str, str]:
    """The pins in the stack's file."""
    return json.loads(load_stack_config(root, stack).values.get(KEY, "{}"))


def ssm_client(region: str, profile: str | None) -> Any:
    """A client for the stack's region. ImageLookupError tells of a profile that does not exist."""
    # boto3 takes a quarter of a second to import, which `--help` and a stack without images need not wait for.
    import boto3
    from botocore.exceptions import BotoCoreError

    try:
        return boto3.Session(profile_name=profile, region_name=region).client("ssm")
    except BotoCoreError as error:
        raise ImageLookupError(f"AWS cannot be asked for the newest images: {error}.") from error


def newest_images(client: Any, names: Sequence[str]) -> dict[str, str]:
    """The newest id of each image. ImageLookupError tells what was refused or is not there."""
    from botocore.exceptions import BotoCoreError, ClientError

    parameters = {IMAGE_PARAMETERS[name]: name for name in names}
    region = client.meta.region_name
    try:
        answer = client.get_parameters(Names=sorted(parameters))
    except ClientError as error:
        raise ImageLookupError(_refusal(error.response["Error"], region)) from error
    except BotoCoreError as error:
        raise ImageLookupError(f"AWS cannot be asked for the newest images: {error}.") from error
    missing = ", ".join(sorted(parameters[path] for path in answer.get("InvalidParameters", ())))
    if missing:
        raise ImageLookupError(
            f"AWS publishes no image {missing} in {region}. Use another nodeImage there, or another region."
        )
    found = {parameters[item["Name"]]: item["Value"] for item in answer.get("Parameters", ())}
    return {name: found[name] for name in names}


def _refusal(error: Mapping[str, str], region: str) -> str:
    code = error.get("Code", "")
    if code.startswith("AccessDenied"):
        return f"You may not read the newest images in {region}: allow ssm:GetParameters on parameter/aws/service/*."
    return f"AWS refused to tell the newest images in {region} ({code}): {error.get('Message', '')}"


def write_pins(path: Path, pins: Mapping[str, str]) -> None:
    """Sets `pins` in a stack file; every other byte stays."""
    text = path.read_bytes().decode()
    path.write_bytes(with_mapping(text, KEY, pins).encode())
    print(f"Written to {path.name}.")
