"""What the Python SDK says of a resource type: its inputs, outputs and nested types."""

import importlib
import inspect
import re
import threading
from functools import cache
from types import ModuleType
from typing import Any

from pulumi import _types

PACKAGES = {"aws": "pulumi_aws", "awsx": "pulumi_awsx", "docker-build": "pulumi_docker_build"}

# The lazy modules of pulumi_aws lose attributes when several threads import them at once.
_importing = threading.RLock()


class UnknownTypeError(Exception):
    """The SDK has no resource of this type."""


def input_class(type_token: str) -> type:
    """The class of a resource's inputs; UnknownTypeError when the SDK has none."""
    module, name = _module_of(type_token)
    return getattr(module, f"{name}Args")


def input_types(cls: type) -> dict[str, Any]:
    """The inputs of an input class by their camelCase names, with their types."""
    with _importing:
        return _input_types(cls)


@cache
def _input_types(cls: type) -> dict[str, Any]:
    return _types.input_type_types(cls)


@cache
def required_inputs(cls: type) -> frozenset[str]:
    """The camelCase names of the inputs that have no default."""
    names = _types.input_type_py_to_pulumi_names(cls)
    parameters = inspect.signature(cls.__init__).parameters.values()
    return frozenset(names[item.name] for item in parameters if item.name in names and item.default is item.empty)


@cache
def output_names(type_token: str) -> frozenset[str]:
    """The camelCase names of a resource's outputs."""
    module, name = _module_of(type_token)
    return frozenset(pulumi_name for _, pulumi_name, _ in _types._py_properties(getattr(module, name)))


@cache
def _module_of(type_token: str) -> tuple[ModuleType, str]:
    package, path, name = type_token.split(":")
    folder = path.split("/")[0]
    parts = [PACKAGES[package], *([] if folder == "index" else [_folder(folder)]), _snake(name)]
    with _importing:
        try:
            return importlib.import_module(".".join(parts)), name
        except ModuleNotFoundError as error:
            raise UnknownTypeError(f"the SDK has no resource {type_token}") from error


def _folder(name: str) -> str:
    return f"{name}_" if name == "lambda" else name


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
