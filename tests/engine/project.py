"""A folder that the command line takes for the project: the program is linked, the stack files are copies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ops.capture.program import PROJECT_ROOT

NAMESPACE = "ai-platform"
# What the program reads; the language host of a packaged command line looks for the virtual environment, too.
LINKED = ("__main__.py", "components", "lambda_src", "rag_api", "gpu_node", ".venv")


def make_project(folder: Path, root: Path = PROJECT_ROOT) -> None:
    """Fills `folder`: the command line writes into stack files, and tests change them, so these are copied."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        link = folder / name
        if not link.exists():
            link.symlink_to(root / name)
    for path in (root / "Pulumi.yaml", *root.glob("Pulumi.*.yaml")):
        (folder / path.name).write_bytes(path.read_bytes())


def change_stack_file(folder: Path, stack: str, changes: Mapping[str, Any]) -> None:
    """Sets keys of the project's namespace in a stack file; None takes a key out."""
    path = folder / f"Pulumi.{stack}.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    for key, value in changes.items():
        content["config"][f"{NAMESPACE}:{key}"] = value
    content["config"] = {key: value for key, value in content["config"].items() if value is not None}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
