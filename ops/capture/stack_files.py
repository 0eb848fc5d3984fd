"""Reads `Pulumi.yaml` and a stack file into the configuration that the command line would hand to the program."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


class StackFileError(Exception):
    """A project or stack file is missing or cannot be read; the message names the file and the fix."""


@dataclass(frozen=True, kw_only=True)
class StackConfig:
    """Configuration values as the program receives them: every value is text, lists and objects as JSON."""

    project: str
    values: Mapping[str, str]
    secret_keys: tuple[str, ...]


def load_stack_config(root: Path, stack: str, changes: Mapping[str, Any] | None = None) -> StackConfig:
    """The stack's configuration with the project's defaults applied.

    `changes` replaces keys of the project's namespace, given without it; None removes the key, so that its default
    returns. A secret cannot be decrypted here: its key is marked, its value withheld.
    """
    project_file = _yaml(root / "Pulumi.yaml", "run this from the project's folder")
    stacks = ", ".join(sorted(path.name.split(".")[1] for path in root.glob("Pulumi.*.yaml")))
    stack_file = _yaml(root / f"Pulumi.{stack}.yaml", f"use one of the stacks {stacks}")
    project = project_file["name"]
    typed = {_qualified(key, project): value for key, value in (stack_file.get("config") or {}).items()}
    for key, value in (changes or {}).items():
        typed[f"{project}:{key}"] = value
    for key, entry in (project_file.get("config") or {}).items():
        key = _qualified(key, project)
        if typed.get(key) is None and isinstance(entry, Mapping) and "default" in entry:
            typed[key] = entry["default"]
    secret_keys = tuple(sorted(key for key, value in typed.items() if _is_secure(value)))
    values = {
        key: "[secret]" if key in secret_keys else _as_text(value)
        for key, value in typed.items()
        if value is not None
    }
    return StackConfig(project=project, values=values, secret_keys=secret_keys)


def _yaml(path: Path, fix: str) -> Mapping[str, Any]:
    if not path.is_file():
        raise StackFileError(f"There is no file {path.name}. Fix: {fix}.")
    try:
        # The base loader would keep numbers as text; the safe one types them as the command line does.
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise StackFileError(f"{path.name} is not valid YAML. Fix: {error}.") from error
    if content is not None and not isinstance(content, Mapping):
        raise StackFileError(f"{path.name} must be a mapping. Fix: compare it with Pulumi.dev.yaml.")
    return content or {}


def _qualified(key: str, project: str) -> str:
    return key if ":" in key else f"{project}:{key}"


def _is_secure(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {"secure"}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
