"""What the Python SDK says of a resource type: its inputs, outputs and nested types."""

import importlib
import inspect
import threading
from functools import cache
from typing import Any

from pulumi import _types

PACKAGES = {"aws": "pulumi_aws", "awsx": "pulumi_awsx", "docker-build": "pulumi_docker_build"}

# The lazy modules of pulumi_aws lose attributes when several threads import them at once.
_importing = threading.RLock()


class UnknownTypeError(Exception):
    """The SDK has no resource of this type."""


def input_class(type_token: str) -> type:
    """The class of a resource's inputs; UnknownTypeError when the SDK has none."""
    # `InitArgs` is the SDK's way out where a nested type has the plain name, as for the versioning of a bucket.
    return _class(type_token, "InitArgs", "Args")


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
    return frozenset(
        names[item.name] for item in parameters if item.name in names and item.default is item.empty
    )


@cache
def output_names(type_token: str) -> frozenset[str]:
    """The camelCase names of a resource's outputs."""
    return frozenset(pulumi_name for _, pulumi_name, _ in _types._py_properties(_class(type_token, "")))


@cache
def _class(type_token: str, *endings: str) -> type:
    package, path, name = type_token.split(":")
    folder = path.split("/")[0]
    with _importing:
        module = importlib.import_module(PACKAGES[package])
        if folder != "index":
            # By attribute only: importing a lazy module by its path would leave it half loaded for everybody else.
            module = getattr(module, "lambda_" if folder == "lambda" else folder, None)
        for ending in endings:
            found = getattr(module, f"{name}{ending}", None)
            if found:
                return found
    raise UnknownTypeError(f"the SDK has no resource {type_token}")
