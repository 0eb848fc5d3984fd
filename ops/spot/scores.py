"""How likely a spot request is to be fulfilled in each zone: EC2's placement scores, from 1 to 10."""

from collections.abc import Mapping, Sequence
from typing import Any

from ops.aws_calls import AwsCallError, error_code, is_denied, told

PERMISSION = "ec2:GetSpotPlacementScores"
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-placement-score.html
FEWEST_TYPES = 3
FEW_TYPES = f"With fewer than {FEWEST_TYPES} instance types EC2 scores every zone low; compare the zones only with each other."


def placement_scores(
    client: Any, instance_types: Sequence[str], region: str, capacity: int, zones: Mapping[str, str]
) -> dict[str, int]:
    """The score of each zone, by its name, for so many instances of any of the types in that zone alone.

    `zones` has the names of the zones by their ids, as far as they are known. Raises AwsCallError.
    """
    asked = {
        "InstanceTypes": list(instance_types),
        "TargetCapacity": capacity,
        "SingleAvailabilityZone": True,
        "RegionNames": [region],
    }
    found = _rows(client, asked)
    scores = {
        row["AvailabilityZoneId"]: row["Score"]
        for row in found
        if row.get("AvailabilityZoneId") and row.get("Score")
    }
    names = _names(client, zones, scores)
    return {names.get(zone_id, zone_id): score for zone_id, score in scores.items()}


def _rows(client: Any, asked: Mapping[str, Any]) -> list[Any]:
    from botocore.exceptions import ClientError

    with told("reading the placement scores"):
        try:
            pages = client.get_paginator("get_spot_placement_scores").paginate(**asked)
            return [row for page in pages for row in page.get("SpotPlacementScores", ())]
        except ClientError as error:
            reason = _reason(error, asked["TargetCapacity"])
            if reason:
                raise AwsCallError(reason) from error
            raise


def _reason(error: Any, capacity: int) -> str:
    """What to do about a refusal; "" for one that speaks for itself."""
    code = error_code(error)
    if is_denied(error):
        return f"You may not read placement scores. Fix: allow {PERMISSION} on *."
    if code.startswith("MaxConfigLimitExceeded"):
        return (
            "AWS gives no placement scores for new questions just now: the account has asked for too many combinations of types, "
            "capacity and region within 24 hours. Fix: ask again for one that was asked for today, or wait a day."
        )
    if "TargetCapacity" in code or "LimitExceeded" in code:
        return (
            f"AWS gives no placement scores for {capacity} instances: the limit follows what the account has used on spot lately ({code}). "
            "Fix: ask for fewer with --capacity."
        )
    return ""


def _names(client: Any, zones: Mapping[str, str], scores: Mapping[str, int]) -> dict[str, str]:
    """EC2 scores zones by id; names that the prices did not tell are asked for."""
    missing = sorted(set(scores) - set(zones))
    if not missing:
        return dict(zones)
    try:
        with told("reading the names of the zones"):
            filters = [{"Name": "zone-id", "Values": missing}]
            rows = client.describe_availability_zones(Filters=filters).get("AvailabilityZones", ())
    except AwsCallError:
        # The ids themselves say enough.
        return dict(zones)
    return {**zones, **{row["ZoneId"]: row["ZoneName"] for row in rows}}
