"""The floor of the offline preview: the same imports, and as many raw resources of the same types on the same monitor.

Run as `python -m benchmarks.floor FILE`, where FILE lists the resources as JSON: type, name and inputs.
"""

import gc
import importlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws  # noqa: F401  the program imports it too
import pulumi_awsx  # noqa: F401

from ops.capture.program import record_program
from ops.capture.stack_files import StackConfig

# Where a module of the provider is called otherwise in Python, because its name is a keyword or stands alone.
PYTHON_MODULES = {"aws:lambda": "lambda_", "aws:index": ""}


def resource_class(type_token: str) -> Any:
    """The SDK's class for a type token such as `aws:s3/bucket:Bucket`."""
    package, module, name = type_token.split(":")
    folder = module.split("/")[0]
    folder = PYTHON_MODULES.get(f"{package}:{folder}", folder)
    return getattr(importlib.import_module(f"pulumi_{package}.{folder}".rstrip(".")), name)


def snake(key: str) -> str:
    """The Python name of a property."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", key).lower()


def _sdk_value(key: str, value: Any) -> Any:
    """A recorded input as the SDK takes it: only archives have a form of their own."""
    if key != "code":
        return value
    return pulumi.AssetArchive({path: pulumi.FileAsset(item["file"]) for path, item in value.items()})


def register(resources: list[dict[str, Any]]) -> None:
    """Registers the resources one after the other, without anything of ours."""
    for resource in resources:
        if resource["type"].startswith("pulumi:"):
            pulumi_aws.Provider(resource["name"], region="eu-central-1")
        else:
            inputs = {snake(key): _sdk_value(key, value) for key, value in resource["inputs"].items()}
            resource_class(resource["type"])(resource["name"], **inputs)


def main() -> None:
    resources = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    config = StackConfig(project="floor", values={}, secret_keys=())
    recording = record_program(lambda: register(resources), config, "floor")
    registered = [resource for resource in recording.resources if not resource.expanded]
    print(f"{len(registered)} resources")
    assert len(registered) == len(resources), "the floor must register as many resources as the program"
    assert pulumi.get_stack() == "floor"


if __name__ == "__main__":
    # The same shell as the preview's own, ops/__main__.py.
    gc.disable()
    main()
    sys.stdout.flush()
    os._exit(0)
