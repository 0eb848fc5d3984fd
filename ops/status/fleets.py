"""The GPU fleets: how many nodes are in service, and which were lost or could not be started."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import takewhile
from typing import Any

from ops.preflight.account import UnansweredError
from ops.status.sections import NOT_THERE, Area, Deployed, Line, absent, judged, unhealthy

OUTPUT = "gpu_fleets"
LOOK_BACK_HOURS = 24
# Words of a cause that is no decision of the group: EC2 advised to leave, interrupted the node, or it was found gone,
# which may also be somebody who ended it by hand. AWS lists these texts nowhere; docs/real-account.md has how to see them.
LOST = re.compile(
    r"rebalance|interruption|health check indicating it has been terminated or stopped", re.IGNORECASE
)
ENDING = "Terminating EC2 instance"


def area() -> Area:
    actions = ("autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeScalingActivities")
    return Area(title="GPU fleets", actions=actions, read=_read)


def _read(deployed: Deployed) -> Iterator[Line]:
    fleets: Mapping[str, str] | None = deployed.outputs.values.get(OUTPUT)
    if fleets is None:
        raise UnansweredError(
            f"The stack was deployed by a version without the output {OUTPUT}. Fix: run `pulumi up`"
        )
    if fleets:
        yield from _fleets(deployed, fleets)
    else:
        yield absent(NOT_THERE)


def _fleets(deployed: Deployed, fleets: Mapping[str, str]) -> Iterator[Line]:
    """The sizes stand where the activities may not be read."""
    from botocore.exceptions import ClientError

    names = sorted(fleets.values())
    groups = deployed.account.listed(
        "autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", {"AutoScalingGroupNames": names}
    )
    found = {group["AutoScalingGroupName"]: group for group in groups}
    refused = None
    for fleet, name in sorted(fleets.items()):
        if name not in found:
            yield unhealthy(f"{fleet}: there is no group {name} any more. Fix: run `pulumi up`.", fleet=fleet)
            continue
        try:
            activities = _activities(deployed, name)
        except ClientError as error:
            refused, activities = error, None
        yield _line(fleet, found[name], activities)
    if refused:
        raise refused


def _activities(deployed: Deployed, group: str) -> list[Any]:
    """Of the last day; the group tells the newest first, and six weeks of them."""
    since = deployed.now - timedelta(hours=LOOK_BACK_HOURS)
    told = deployed.account.listed(
        "autoscaling", "describe_scaling_activities", "Activities", {"AutoScalingGroupName": group}
    )
    recent = takewhile(lambda activity: activity["StartTime"] >= since, told)
    return list({activity["ActivityId"]: activity for activity in recent}.values())


def _line(fleet: str, group: Any, activities: list[Any] | None) -> Line:
    nodes = group.get("Instances", ())
    serving = sum(_units(node) for node in nodes if node.get("LifecycleState") == "InService")
    wanted, most = group["DesiredCapacity"], group["MaxSize"]
    lost = None if activities is None else sum(is_lost(activity) for activity in activities)
    unit = "units of capacity" if _has_weights(group) else "nodes"
    text = f"{fleet}: {serving} of {wanted} {unit} in service (at most {most}), {'an unknown number' if lost is None else lost} lost in {LOOK_BACK_HOURS} h"
    failure = _failure(activities or []) if serving < wanted else ""
    if failure:
        text += f"; the last start failed: {failure}"
    elif serving < wanted:
        text += f"; {sum(_units(node) for node in nodes) - serving} on the way"
    suspended = sorted(item.get("ProcessName", "") for item in group.get("SuspendedProcesses", ()))
    if suspended:
        text += f"; suspended: {', '.join(suspended)}"
    facts = {
        "nodes": len(nodes),
        "in_service": serving,
        "desired": wanted,
        "maximum": most,
        "lost": lost,
        "suspended": suspended,
    }
    good = not failure and not {"Launch", "Terminate"} & set(suspended)
    return judged(good, text, fleet=fleet, failure=failure, **facts)


def _has_weights(group: Any) -> bool:
    template = group.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {})
    return any("WeightedCapacity" in override for override in template.get("Overrides", ()))


def _units(node: Any) -> int:
    """What a node counts for the group's sizes: 1, or its type's weight where the fleet has `weights`."""
    return int(node.get("WeightedCapacity", 1))


def is_lost(activity: Any) -> bool:
    """Whether an activity ends a node that EC2 took, or that was found gone."""
    return activity.get("Description", "").startswith(ENDING) and bool(LOST.search(activity.get("Cause", "")))


def _failure(activities: list[Any]) -> str:
    """Why the newest start failed; "" when it did not."""
    starts = (item for item in activities if not item.get("Description", "").startswith(ENDING))
    newest = next(starts, None)
    if newest is None or newest.get("StatusCode") not in ("Failed", "Cancelled"):
        return ""
    return " ".join(str(newest.get("StatusMessage") or newest["StatusCode"]).split())
