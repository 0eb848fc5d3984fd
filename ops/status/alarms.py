"""The stack's own alarms that are ringing; those by which services scale are not tagged and not shown."""

from collections.abc import Iterator
from typing import Any

from ops.preflight.account import UnansweredError
from ops.status.sections import Area, Deployed, Line, absent, ok, unhealthy

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarms.html
MOST_NAMES = 100


def area() -> Area:
    return Area(title="Alarms", actions=("tag:GetResources", "cloudwatch:DescribeAlarms"), read=_read)


def _read(deployed: Deployed) -> Iterator[Line]:
    names = _own_alarms(deployed)
    if not names:
        yield _none(deployed)
        return
    alarms: dict[str, Any] = {}
    for start in range(0, len(names), MOST_NAMES):
        asked = {"AlarmNames": names[start : start + MOST_NAMES]}
        for alarm in deployed.account.listed("cloudwatch", "describe_alarms", "MetricAlarms", asked):
            alarms[alarm["AlarmName"]] = alarm
    ringing = [alarm for alarm in alarms.values() if alarm.get("StateValue") == "ALARM"]
    for alarm in ringing:
        since = alarm.get("StateTransitionedTimestamp") or alarm.get("StateUpdatedTimestamp")
        how = f"has been ringing since {since:%Y-%m-%d %H:%M}" if since else "is ringing"
        what = alarm.get("AlarmDescription") or alarm.get("StateReason", "")
        yield unhealthy(f"{alarm['AlarmName']} {how}: {what}", alarm=alarm["AlarmName"])
    if not ringing:
        yield ok(f"none of {len(alarms)} is ringing", alarms=len(alarms))


def _none(deployed: Deployed) -> Line:
    """Training and the model server have alarms of their own, so that none at all means that they were not found."""
    with_alarms = [name for name in ("training", "inference_service") if deployed.has(name)]
    if with_alarms:
        raise UnansweredError(
            f"The stack has {' and '.join(with_alarms)}, but no alarm carries its tags Project and Stack. Fix: run `pulumi up`"
        )
    return absent("none in this stack: training and the model server bring them")


def _own_alarms(deployed: Deployed) -> list[str]:
    """The names of the alarms with the stack's tags."""
    asked = {
        "ResourceTypeFilters": ["cloudwatch:alarm"],
        "TagFilters": [
            {"Key": "Project", "Values": [deployed.project]},
            {"Key": "Stack", "Values": [deployed.stack]},
        ],
    }
    found = deployed.account.listed(
        "resourcegroupstaggingapi", "get_resources", "ResourceTagMappingList", asked
    )
    return sorted({item["ResourceARN"].partition(":alarm:")[2] for item in found})
