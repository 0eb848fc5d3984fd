"""Whether AWS offers the instance types in the zones in which a stack places its nodes."""

from collections.abc import Iterable, Iterator

from ops.preflight.account import Account, UnansweredError
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, Status, judged
from ops.preflight.nodes import Nodes, all_nodes
from ops.preflight.stack import Stack


def checks(stack: Stack) -> list[Check]:
    """One check for each group of nodes."""
    return [_check(stack, nodes) for nodes in all_nodes(stack)]


def _check(stack: Stack, nodes: Nodes) -> Check:
    def ask(account: Account) -> Iterator[Finding]:
        zones = zones_of(account, stack, nodes.subnet_ids)
        offered = _offered(account, nodes.instance_types)
        for instance_type in nodes.instance_types:
            yield _finding(stack, nodes.name, instance_type, zones, offered.get(instance_type, set()))

    more = () if set(nodes.subnet_ids) <= stack.zones.keys() else ("ec2:DescribeSubnets",)
    return Check(
        what=f"instance types of {nodes.name}", ask=ask, actions=("ec2:DescribeInstanceTypeOfferings", *more)
    )


def _finding(stack: Stack, name: str, instance_type: str, zones: list[str], offered: set[str]) -> Finding:
    """A type that no zone of the group has never starts; one that some have starts there only."""
    here, lacking = offered.intersection(zones), [zone for zone in zones if zone not in offered]
    # A Local Zone, such as us-west-2-lax-1a, is not a zone of the region for a network here.
    elsewhere = sorted(zone for zone in offered.difference(zones) if zone[:-1] == stack.region)
    works = f"{stack.region} offers it in {', '.join(sorted(offered)) or 'no zone at all'}."
    if here:
        note = f"{name} starts none in {', '.join(lacking)}. {works}" if lacking else ""
    else:
        note = f"{name} can never start one. {works}"
    return judged(
        not lacking,
        f"{instance_type} for {name}",
        needed=f"offered in {', '.join(zones)}",
        found=f"offered in {', '.join(sorted(here)) or 'none of them'}",
        detail=note,
        fix="" if here else _fix(stack, name, instance_type, elsewhere),
        otherwise=Status.WARNING if here else Status.FAILED,
    )


def _fix(stack: Stack, name: str, instance_type: str, elsewhere: list[str]) -> str:
    """A zone is added at the end, since networks name their parts by place; without one, another type is needed."""
    if elsewhere and stack.zones:
        place = len(set(stack.zones.values()))
        key = f"ai-platform:availabilityZones[{place}]"
        return f"pulumi config set --stack {stack.name} --path '{key}' {elsewhere[0]}"
    if elsewhere:
        return f"add a subnet in {' or '.join(elsewhere)} to existingSubnets in Pulumi.{stack.name}.yaml"
    return f"take {instance_type} out of {name}, or choose another region"


def zones_of(account: Account, stack: Stack, subnet_ids: Iterable[str]) -> list[str]:
    """The zones of some subnets, sorted; those of an existing VPC are asked for. Raises UnansweredError."""
    foreign = [subnet_id for subnet_id in subnet_ids if subnet_id not in stack.zones]
    known = {**stack.zones, **(subnet_zones(account, foreign) if foreign else {})}
    missing = [subnet_id for subnet_id in foreign if subnet_id not in known]
    if missing:
        raise UnansweredError(f"AWS gives no zone for {', '.join(missing)}")
    return sorted({known[subnet_id] for subnet_id in subnet_ids})


def subnet_zones(account: Account, subnet_ids: Iterable[str]) -> dict[str, str]:
    """The zone of each subnet."""
    wanted = sorted(set(subnet_ids))
    parameters = {"SubnetIds": wanted}
    found = account.once(
        f"subnets {wanted}", lambda: list(account.listed("ec2", "describe_subnets", "Subnets", parameters))
    )
    return {subnet["SubnetId"]: subnet["AvailabilityZone"] for subnet in found}


def _offered(account: Account, instance_types: Iterable[str]) -> dict[str, set[str]]:
    """The zones of the region in which each type is offered."""
    parameters = {
        "LocationType": "availability-zone",
        "Filters": [{"Name": "instance-type", "Values": sorted(set(instance_types))}],
    }
    offered: dict[str, set[str]] = {}
    for row in account.listed("ec2", "describe_instance_type_offerings", "InstanceTypeOfferings", parameters):
        offered.setdefault(row["InstanceType"], set()).add(row["Location"])
    return offered
