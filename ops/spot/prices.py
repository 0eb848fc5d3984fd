"""Spot prices of instance types in the zones of a region, as EC2 has told them."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ops.aws_calls import AwsCallError, error_code, is_denied, told

PRODUCT = "Linux/UNIX"
PERMISSION = "ec2:DescribeSpotPriceHistory"
# Keys of an account that has not switched a region on are unknown there.
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
REGION_IS_OFF = ("AuthFailure", "OptInRequired")


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One type in one zone. `changes` are the times at which the price changed and the new price, oldest first.

    Prices are USD an hour. The zone's id, such as euc1-az2, means the same zone to every account; "" where not told.
    """

    instance_type: str
    zone: str
    zone_id: str
    changes: tuple[tuple[datetime, float], ...]

    @property
    def latest(self) -> float:
        return self.changes[-1][1]

    def history(self, start: datetime, end: datetime, points: int) -> list[float | None]:
        """The price at the end of each of `points` equal parts of a time; None before it was first told."""
        step = (end - start) / points
        return [self._at(start + step * (point + 1)) for point in range(points)]

    def _at(self, when: datetime) -> float | None:
        known = [price for changed, price in self.changes if changed <= when]
        return known[-1] if known else None


@dataclass(frozen=True)
class PriceHistory:
    """All offers, and how many rows held no price."""

    offers: tuple[Offer, ...]
    bad_rows: int


def read_offers(client: Any, instance_types: Sequence[str], now: datetime, days: int) -> PriceHistory:
    """The prices of the last `days` days; EC2 also tells the one that was in force before. Raises AwsCallError."""
    asked = {
        "InstanceTypes": list(instance_types),
        "ProductDescriptions": [PRODUCT],
        "StartTime": now - timedelta(days=days),
        "EndTime": now,
    }
    rows = list(_rows(client, asked))
    good = [(row, price) for row in rows if (price := _price(row)) is not None]
    return PriceHistory(tuple(_offers(good)), len(rows) - len(good))


def _rows(client: Any, asked: dict[str, Any]) -> Iterator[Any]:
    from botocore.exceptions import ClientError

    with told("reading the spot prices"):
        try:
            for page in client.get_paginator("describe_spot_price_history").paginate(**asked):
                yield from page.get("SpotPriceHistory", ())
        except ClientError as error:
            code = error_code(error)
            if is_denied(error):
                raise AwsCallError(f"You may not read spot prices. Fix: allow {PERMISSION} on *.") from error
            if code == "InvalidParameterValue":
                names = ", ".join(asked["InstanceTypes"])
                raise AwsCallError(
                    f"EC2 does not know all of the instance types {names} in this region. Fix: check their names."
                ) from error
            if code in REGION_IS_OFF:
                region = client.meta.region_name
                raise AwsCallError(
                    f"EC2 of {region} does not take these credentials ({code}). Fix: check them, and that the account has "
                    f"the region: aws account get-region-opt-status --region-name {region}"
                ) from error
            raise


def _price(row: Any) -> float | None:
    """A price that EC2 gives as text; None for what is no price, or a row that does not say of what it is."""
    try:
        price = float(row["SpotPrice"])
        row["InstanceType"], row["AvailabilityZone"], row["Timestamp"]
    except (KeyError, TypeError, ValueError):
        return None
    return price if 0 < price < math.inf else None


def _offers(rows: Iterable[tuple[Any, float]]) -> list[Offer]:
    changes: dict[tuple[str, str], dict[datetime, float]] = {}
    ids: dict[str, str] = {}
    for row, price in rows:
        # Pages overlap, so that a row may come twice.
        changes.setdefault((row["InstanceType"], row["AvailabilityZone"]), {})[row["Timestamp"]] = price
        ids.setdefault(row["AvailabilityZone"], row.get("AvailabilityZoneId", ""))
    return [
        Offer(instance_type=name, zone=zone, zone_id=ids[zone], changes=tuple(sorted(found.items())))
        for (name, zone), found in changes.items()
    ]
