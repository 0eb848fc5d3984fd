"""Physical names that the AWS provider makes up where the program gives none. Pure.

Source: pulumi-terraform-bridge `pkg/tfbridge` (AutoName, `__defaults`), pulumi-aws `provider/resources.go` (limits).
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from tests.engine.stub.sdk_types import input_class, input_types
from tests.engine.stub.wire import Values

BUCKET = "aws:s3/bucket:Bucket"
# Where the provider notes which inputs it filled in itself.
DEFAULTS = "__defaults"
DIGITS = 7
LONGEST = 255
LONGEST_BY_TYPE = {BUCKET: 63, "aws:lb/loadBalancer:LoadBalancer": 32, "aws:lb/targetGroup:TargetGroup": 32}


class NameTooLongError(Exception):
    """A made-up name would exceed AWS's limit."""


def name_property(type_token: str) -> str | None:
    """The property that holds the physical name, if the provider names this type."""
    names = input_types(input_class(type_token))
    if type_token == BUCKET:
        return "bucket"
    return "name" if "name" in names and type_token.startswith("aws:") else None


def with_name(type_token: str, name: str, inputs: Values, old: Mapping[str, Any], seed: bytes) -> Values:
    """`inputs` with a physical name: the given one, else the one made up before, else a new one.

    Raises NameTooLongError, as the provider refuses what would be too long.
    """
    key = name_property(type_token)
    if key is None or inputs.get(key) is not None or inputs.get(f"{key}Prefix") is not None:
        return {**inputs, DEFAULTS: []}
    made_up_before = key in old.get(DEFAULTS, ())
    physical = old[key] if made_up_before else _new_name(type_token, name, seed)
    return {**inputs, key: physical, DEFAULTS: [key]}


def _new_name(type_token: str, name: str, seed: bytes) -> str:
    physical = f"{name}-{hashlib.sha256(seed + name.encode()).hexdigest()[:DIGITS]}"
    longest = LONGEST_BY_TYPE.get(type_token, LONGEST)
    if len(physical) > longest:
        raise NameTooLongError(
            f"the name {name} and {DIGITS} digits exceed the {longest} characters of {type_token}"
        )
    return physical.lower() if type_token == BUCKET else physical


def name_is_fixed(type_token: str, inputs: Mapping[str, Any]) -> bool:
    """Whether the program gives the physical name, so that a replacement cannot stand beside the old resource."""
    key = name_property(type_token)
    return key is not None and key in inputs and key not in inputs.get(DEFAULTS, ())
