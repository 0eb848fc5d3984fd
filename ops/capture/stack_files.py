"""Reads `Pulumi.yaml` and a stack file into the configuration that the command line would hand to the program."""

import json
import re
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
    returns. A secret cannot be decrypted here: its key is marked, its value withheld. Raises StackFileError.
    """
    project_file = _yaml(root / "Pulumi.yaml", "run this from the project's folder")
    stack_file = _yaml(root / f"Pulumi.{stack}.yaml", _known_stacks(root))
    if not isinstance(project_file.get("name"), str):
        raise StackFileError("Pulumi.yaml has no name. Fix: name the project, as in name: ai-platform.")
    project = project_file["name"]
    typed = {
        _qualified(key, project): value for key, value in _config(stack_file, f"Pulumi.{stack}.yaml").items()
    }
    typed |= {_qualified(key, project): value for key, value in (changes or {}).items()}
    for key, entry in _config(project_file, "Pulumi.yaml").items():
        key = _qualified(key, project)
        if typed.get(key) is None and isinstance(entry, Mapping) and "default" in entry:
            typed[key] = entry["default"]
    secret_keys = tuple(sorted(key for key, value in typed.items() if _holds_secret(value)))
    values = {
        key: "[secret]" if key in secret_keys else _as_text(value)
        for key, value in typed.items()
        if value is not None
    }
    return StackConfig(project=project, values=values, secret_keys=secret_keys)


def stacks_of(root: Path) -> list[str]:
    """The stacks that have a file in the folder `root`, by name."""
    return sorted(
        path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in root.glob("Pulumi.*.yaml")
    )


def _known_stacks(root: Path) -> str:
    names = stacks_of(root)
    return f"use one of the stacks {', '.join(names)}" if names else "write one beside Pulumi.yaml"


class CheckedLoader(yaml.SafeLoader):
    """Types values as the command line does, whose YAML library keeps yes, no, dates and 12:30 as text.

    https://github.com/go-yaml/yaml/blob/v3/README.md, section Compatibility.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuses a key that is written twice, as the command line does."""
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        repeated = [key for index, key in enumerate(keys) if key in keys[:index]]
        if repeated:
            raise yaml.MarkedYAMLError(
                problem=f"{repeated[0]} is written twice", problem_mark=node.start_mark
            )
        return super().construct_mapping(node, deep)


_RESOLVED_BY_OURSELVES = {f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "timestamp")}
CheckedLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _RESOLVED_BY_OURSELVES]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
CheckedLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
CheckedLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"^[-+]?(0|[1-9][0-9_]*|0[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+)$"),
    list("-+0123456789"),
)


def _yaml(path: Path, fix: str) -> Mapping[str, Any]:
    if not path.is_file():
        raise StackFileError(f"There is no file {path.name}. Fix: {fix}.")
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), CheckedLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise StackFileError(
            f"{path.name} is not valid YAML: {_one_line(error)}. Fix: correct the file."
        ) from error
    if content is not None and not isinstance(content, Mapping):
        raise StackFileError(f"{path.name} must be a mapping. Fix: compare it with Pulumi.dev.yaml.")
    return content or {}


def _one_line(error: Exception) -> str:
    """What is wrong, and in which line of the file."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return " ".join(str(error).split())
    return f"{getattr(error, 'problem', '')} in line {mark.line + 1}"


def _config(content: Mapping[str, Any], file_name: str) -> Mapping[str, Any]:
    config = content.get("config") or {}
    if not isinstance(config, Mapping):
        raise StackFileError(
            f"config in {file_name} must be a mapping of keys. Fix: compare it with Pulumi.dev.yaml."
        )
    return {str(key): value for key, value in config.items()}


def _qualified(key: str, project: str) -> str:
    return key if ":" in key else f"{project}:{key}"


def _holds_secret(value: Any) -> bool:
    """Whether the value is a secret, or one lies anywhere inside: the command line marks the whole key then."""
    if isinstance(value, Mapping):
        return set(value) == {"secure"} or any(map(_holds_secret, value.values()))
    return isinstance(value, list) and any(map(_holds_secret, value))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
