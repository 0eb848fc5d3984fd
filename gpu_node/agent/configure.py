"""Prints the CloudWatch agent's configuration of this node: the template in agent.json with the node's values in it.

It runs on the node's own Python, 3.9 or newer.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from typing import Any

VALUES = ("FLEET", "NODE_LOG_GROUP")
TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.json")


def configuration(template: str, values: Mapping[str, str], has_nvidia_gpu: bool) -> dict[str, Any]:
    """The template, in which a text such as $FLEET stands for that value, whatever the value holds."""
    known = {f"${name}": values[name] for name in VALUES}

    def filled(item: dict[str, Any]) -> dict[str, Any]:
        return {
            key: known.get(found, found) if isinstance(found, str) else found for key, found in item.items()
        }

    config = json.loads(template, object_hook=filled)
    # The agent's own word for what it reads from nvidia-smi. It knows nothing of Neuron devices.
    if not has_nvidia_gpu:
        del config["metrics"]["metrics_collected"]["nvidia_gpu"]
    return config


if __name__ == "__main__":
    with open(TEMPLATE, encoding="utf-8") as file:
        print(json.dumps(configuration(file.read(), os.environ, bool(shutil.which("nvidia-smi")))))
