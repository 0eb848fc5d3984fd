"""A recording as the JSON of a Terraform plan, which tools for Terraform read. Pure.

The format: https://developer.hashicorp.com/terraform/internals/json-format
"""

import re
from collections.abc import Mapping
from typing import Any

from ops.capture.recording import RecordedResource, Recording, Secret, Unknown
from ops.judges.plan_names import MAPS, OUTSIDE, PULUMI_ONLY, property_name, terraform_type

PROVIDER = "registry.terraform.io/hashicorp/aws"
ALL_PROTOCOLS = "-1"
ALL_PORTS = {"fromPort": -1, "toPort": -1}


def plan(recording: Recording) -> dict[str, Any]:
    """Every resource of the provider as a resource that is to be created; LookupError for a type without a name."""
    listed = [item for item in recording.resources if not item.type.startswith(OUTSIDE)]
    addresses = {item.urn: _address(item) for item in listed}
    return {
        "format_version": "1.2",
        "terraform_version": "1.9.0",
        "planned_values": {"root_module": {"resources": [_planned(item, addresses) for item in listed]}},
        "resource_changes": [_change(item, addresses) for item in listed],
        "configuration": {
            "provider_config": {"aws": {"name": "aws", "full_name": PROVIDER}},
            "root_module": {"resources": [_configuration(item, addresses) for item in listed]},
        },
    }


def resources_by_address(recording: Recording) -> dict[str, RecordedResource]:
    """The resource behind each address of the plan."""
    return {_address(item): item for item in recording.resources if not item.type.startswith(OUTSIDE)}


def _address(resource: RecordedResource) -> str:
    return f"{terraform_type(resource.type)}.{_label(resource)}"


def _label(resource: RecordedResource) -> str:
    return re.sub(r"[^\w-]", "_", resource.name)


def _planned(resource: RecordedResource, addresses: Mapping[str, str]) -> dict[str, Any]:
    return {**_head(resource, addresses), "schema_version": 0, "values": _values(resource, addresses)}


def _change(resource: RecordedResource, addresses: Mapping[str, str]) -> dict[str, Any]:
    after = _values(resource, addresses)
    change = {"actions": ["create"], "before": None, "after": after, "after_unknown": {}}
    return {**_head(resource, addresses), "change": change}


def _configuration(resource: RecordedResource, addresses: Mapping[str, str]) -> dict[str, Any]:
    """Which properties come from which resources: as with Terraform, their values are known after creation."""
    expressions = {
        _name(key, resource.inputs[key]): {"references": references}
        for key, references in _references(resource, addresses).items()
    }
    return {
        **_head(resource, addresses), "provider_config_key": "aws", "expressions": expressions, "schema_version": 0
    }  # fmt: skip


def _head(resource: RecordedResource, addresses: Mapping[str, str]) -> dict[str, Any]:
    address = addresses[resource.urn]
    return {
        "address": address,
        "mode": "managed",
        "type": address.partition(".")[0],
        "name": _label(resource),
        "provider_name": PROVIDER,
    }


def _references(resource: RecordedResource, addresses: Mapping[str, str]) -> dict[str, list[str]]:
    """What each property refers to, as a whole or somewhere inside."""
    found: dict[str, list[str]] = {}
    for key, urns in sorted(resource.property_dependencies.items()):
        names = sorted(addresses[urn] for urn in urns if urn in addresses)
        if names and key in resource.inputs:
            found[key] = [reference for name in names for reference in (f"{name}.id", name)]
    return found


def _is_reference(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_is_reference(item) for item in value)
    return isinstance(value, str) and value[:1] not in ("{", "[") and "\n" not in value


def _values(resource: RecordedResource, addresses: Mapping[str, str]) -> dict[str, Any]:
    unknown = {key for key in _references(resource, addresses) if _is_reference(resource.inputs[key])}
    return {
        _name(key, value): _value(_name(key, value), value)
        for key, value in sorted({**resource.inputs, **_all_ports(resource.inputs)}.items())
        if key not in unknown | PULUMI_ONLY
    }


def _all_ports(inputs: Mapping[str, Any]) -> dict[str, int]:
    """AWS shows -1 for the ports of a rule for all protocols; a judge takes a rule without ports for a closed one."""
    opens_all = inputs.get("ipProtocol") == ALL_PROTOCOLS and "referencedSecurityGroupId" not in inputs
    return ALL_PORTS if opens_all else {}


def _name(key: str, value: Any) -> str:
    blocks = isinstance(value, list) and any(isinstance(item, Mapping) for item in value)
    return property_name(key, blocks)


def _value(name: str, value: Any) -> Any:
    if isinstance(value, Unknown | Secret):
        return None
    if isinstance(value, Mapping):
        return dict(value) if name in MAPS else [_block(value)]
    if isinstance(value, list):
        return [_block(item) if isinstance(item, Mapping) else _value("", item) for item in value]
    return value


def _block(value: Mapping[str, Any]) -> dict[str, Any]:
    return {_name(key, item): _value(_name(key, item), item) for key, item in sorted(value.items())}
