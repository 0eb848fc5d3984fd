"""Whether the Capacity Blocks that fleets live on are there, are large enough, and lie in a zone of the fleet."""

from collections.abc import Iterator
from typing import Any

from ops.capture.recording import RecordedResource
from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, judged
from ops.preflight.nodes import GROUP
from ops.preflight.offerings import zones_of
from ops.preflight.stack import Stack, resource_id

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
# A block that was paid for, begun or not.
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html
USABLE_STATES = ("active", "scheduled")
FIND_BLOCK = "ec2 describe-capacity-block-offerings --instance-type {} --instance-count {} --capacity-duration-hours 24"


def checks(stack: Stack) -> list[Check]:
    """One check for each fleet on a Capacity Block."""
    templates = {resource_id(template): template for template in stack.of_type(TEMPLATE)}
    pairs = [
        (group, templates[group.inputs["launchTemplate"]["id"]])
        for group in stack.of_type(GROUP)
        if group.inputs.get("launchTemplate")
    ]
    return [_check(stack, group, template) for group, template in pairs]


def _check(stack: Stack, group: RecordedResource, template: RecordedResource) -> Check:
    target = template.inputs["capacityReservationSpecification"]["capacityReservationTarget"]
    block_id, instance_type = str(target["capacityReservationId"]), str(template.inputs["instanceType"])
    subnet_ids, count = tuple(group.inputs["vpcZoneIdentifiers"]), int(group.inputs["maxSize"])
    what = f"Capacity Block {block_id} for {group.name}"

    def ask(account: Account) -> Iterator[Finding]:
        zones = zones_of(account, stack, subnet_ids)
        block = _block(account, block_id)
        yield judged(
            _fits(block, instance_type, count, zones),
            what,
            needed=f"active or scheduled, {count} x {instance_type} in {' or '.join(zones)}",
            found=_described(block) if block else "none",
            fix=f"{account.command(FIND_BLOCK.format(instance_type, count))}; then put the new block's id into capacityBlockReservationId",
        )

    actions = ("ec2:DescribeCapacityReservations", "ec2:DescribeSubnets")
    return Check(what=what, ask=ask, actions=actions)


def _block(account: Account, block_id: str) -> Any:
    """The reservation, or None. It is filtered for, since EC2 refuses a call that names an unknown id."""
    parameters = {"Filters": [{"Name": "capacity-reservation-id", "Values": [block_id]}]}
    found = account.listed("ec2", "describe_capacity_reservations", "CapacityReservations", parameters)
    return next((item for item in found if item["CapacityReservationId"] == block_id), None)


def _fits(block: Any, instance_type: str, count: int, zones: list[str]) -> bool:
    return (
        block is not None
        and block["State"] in USABLE_STATES
        and block["InstanceType"] == instance_type
        and block["TotalInstanceCount"] >= count
        and block["AvailabilityZone"] in zones
    )


def _described(block: Any) -> str:
    ends = f", until {block['EndDate']:%Y-%m-%d}" if block.get("EndDate") else ""
    return f"{block['State']}, {block['TotalInstanceCount']} x {block['InstanceType']} in {block['AvailabilityZone']}{ends}"
