"""The conditions under which some properties replace: what the provider's plan looks at besides the property. Pure.

Each is called with all inputs before and after the change, by their camelCase names.
"""

from collections.abc import Callable, Mapping
from typing import Any

# The provider's `isUpdatableAllocationStrategy` in internal/service/batch.
UPDATABLE_STRATEGIES = ("BEST_FIT_PROGRESSIVE", "SPOT_CAPACITY_OPTIMIZED", "SPOT_PRICE_CAPACITY_OPTIMIZED")

Inputs = Mapping[str, Any]


def not_updatable(old: Inputs, new: Inputs) -> bool:
    """A compute environment that Batch cannot update: another role than its own, or an old allocation strategy."""
    roles = [inputs.get("serviceRole") or "" for inputs in (old, new)]
    strategies = [_compute(inputs).get("allocationStrategy", "").upper() for inputs in (old, new)]
    own_role = all(not role or ":role/aws-service-role/batch." in role for role in roles)
    return not own_role or not all(strategy in UPDATABLE_STRATEGIES for strategy in strategies)


def not_updatable_nodes(old: Inputs, new: Inputs) -> bool:
    """A compute environment of EC2 instances that Batch cannot update."""
    return not_updatable(old, new) and not _compute(new).get("type", "").upper().startswith("FARGATE")


def _compute(inputs: Inputs) -> Mapping[str, Any]:
    return inputs.get("computeResources") or {}


def invoked_on_create_only(old: Inputs, new: Inputs) -> bool:
    """An invocation that runs only when it is made, which is the default."""
    return new.get("lifecycleScope", "CREATE_ONLY") == "CREATE_ONLY"


def gave_ipv6_addresses(old: Inputs, new: Inputs) -> bool:
    """A subnet that gave its interfaces IPv6 addresses."""
    return old.get("assignIpv6AddressOnCreation") is True


def not_to_default_tenancy(old: Inputs, new: Inputs) -> bool:
    """Any change of tenancy but from dedicated to default."""
    return old.get("instanceTenancy") != "dedicated" or new.get("instanceTenancy", "default") != "default"


def not_an_interface(old: Inputs, new: Inputs) -> bool:
    """An endpoint that is no interface endpoint; the default is a gateway endpoint."""
    return new.get("vpcEndpointType", "Gateway") != "Interface"


def private_and_counted(old: Inputs, new: Inputs) -> bool:
    """A private NAT gateway with a number of secondary addresses."""
    return new.get("connectivityType") == "private" and new.get("secondaryPrivateIpAddressCount") is not None


def had_expected_owner(old: Inputs, new: Inputs) -> bool:
    """A bucket's expected owner was given before: the own account may be added in place."""
    return bool(old.get("expectedBucketOwner"))


def fewer_secondary_ips(old: Inputs, new: Inputs) -> bool:
    """A network load balancer that gets fewer secondary addresses."""
    counts = [inputs.get("secondaryIpsAutoAssignedPerSubnet") or 0 for inputs in (old, new)]
    return _is_network(new) and counts[1] < counts[0]


def first_or_last_security_group(old: Inputs, new: Inputs) -> bool:
    """A network load balancer that gets its first security group or loses its last."""
    return _is_network(new) and bool(old.get("securityGroups")) != bool(new.get("securityGroups"))


def no_more_subnets(old: Inputs, new: Inputs) -> bool:
    """A network load balancer whose subnets change other than by additions."""
    return _is_network(new) and len(new.get("subnets") or ()) <= len(old.get("subnets") or ())


def subnet_mapping_moved(old: Inputs, new: Inputs) -> bool:
    """A load balancer that does more than get mappings; one that is no network load balancer may lose some, too."""
    if new.get("loadBalancerType") == "gateway":
        return False
    before, after = list(old.get("subnetMappings") or ()), list(new.get("subnetMappings") or ())
    only_added = len(after) > len(before) and all(mapping in after for mapping in before)
    only_removed = len(after) < len(before) and all(mapping in before for mapping in after)
    return not only_added and (_is_network(new) or not only_removed)


def _is_network(inputs: Inputs) -> bool:
    return inputs.get("loadBalancerType") == "network"


CONDITIONS: Mapping[str, Callable[[Inputs, Inputs], bool]] = {
    condition.__name__: condition
    for condition in (
        fewer_secondary_ips,
        first_or_last_security_group,
        gave_ipv6_addresses,
        had_expected_owner,
        invoked_on_create_only,
        no_more_subnets,
        not_an_interface,
        not_to_default_tenancy,
        not_updatable,
        not_updatable_nodes,
        private_and_counted,
        subnet_mapping_moved,
    )
}
