"""What AWS says that instances cost: on demand from the Price List, on spot from the history of EC2."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ops.aws_calls import AwsCallError, told

# The Price List answers in three regions, for all of them. https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html
PRICE_LIST_REGION = "us-east-1"
PRICE_LIST_SOURCE = "AWS Price List API"
SERVICE = "AmazonEC2"
# Linux on shared hardware, nothing installed, running rather than reserved; Capacity Blocks have a market of their own.
FILTERS = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
PRODUCT = "Linux/UNIX"
# EC2 gives, with a start of now, the price in force in each zone; an hour back also covers a clock that is fast.
HISTORY = timedelta(hours=1)
MOST_PAGES = 1000


def on_demand_usd(client: Any, region: str, instance_type: str) -> float | None:
    """USD per hour, or None where AWS lists none. AwsCallError also tells of two different prices."""
    filters = [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in {**FILTERS, "regionCode": region, "instanceType": instance_type}.items()
    ]
    found: set[float] = set()
    with told(f"reading the on-demand price of {instance_type}"):
        for page in pages(client.get_products, {"ServiceCode": SERVICE, "Filters": filters}):
            found |= {usd for product in page.get("PriceList", ()) for usd in _hourly(product, instance_type)}
    if len(found) > 1:
        listed = ", ".join(f"{usd:g}" for usd in sorted(found))
        raise AwsCallError(
            f"AWS lists several on-demand prices of {instance_type} in {region} ({listed} USD per hour), so none is used."
        )
    return found.pop() if found else None


def _hourly(product: Any, instance_type: str) -> Iterator[float]:
    """The prices above zero of one product, which the API gives as JSON in a text. A reserved host has a zero."""
    try:
        document = json.loads(product) if isinstance(product, str) else product
        terms = document.get("terms", {}).get("OnDemand", {}).values()
        dimensions = [dimension for term in terms for dimension in term["priceDimensions"].values()]
        for dimension in dimensions:
            usd = float(dimension["pricePerUnit"].get("USD", "0"))
            if dimension.get("unit") == "Hrs" and 0 < usd < math.inf:
                yield usd
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AwsCallError(
            f"AWS's price list entry of {instance_type} cannot be read ({error}). Try again later."
        ) from error


def spot_usd(
    client: Any, instance_types: Sequence[str], now: datetime | None = None
) -> dict[str, tuple[float, float]]:
    """The lowest and highest zone of each type by the newest price of each zone; a type that no zone sells is left out."""
    start = (now or datetime.now(UTC)) - HISTORY
    arguments = {"InstanceTypes": list(instance_types), "ProductDescriptions": [PRODUCT], "StartTime": start}
    newest: dict[tuple[str, str], tuple[datetime, float]] = {}
    with told("reading spot prices"):
        for page in pages(client.describe_spot_price_history, arguments):
            for item in page.get("SpotPriceHistory", ()):
                _keep_newest(newest, item)
    zones: dict[str, list[float]] = {}
    for (instance_type, _), (_, usd) in newest.items():
        zones.setdefault(instance_type, []).append(usd)
    return {name: (min(prices), max(prices)) for name, prices in sorted(zones.items())}


def _keep_newest(newest: dict[tuple[str, str], tuple[datetime, float]], item: Mapping[str, Any]) -> None:
    try:
        place, day = (item["InstanceType"], item["AvailabilityZone"]), item["Timestamp"]
        usd = float(item["SpotPrice"])
        if not 0 < usd < math.inf:
            raise ValueError("a price is above zero")
    except (KeyError, TypeError, ValueError) as error:
        raise AwsCallError(
            f"An entry of AWS's spot price history cannot be read ({error}): {item.get('InstanceType')} in {item.get('AvailabilityZone')}, price {item.get('SpotPrice')!r}. Try again later."
        ) from error
    if place not in newest or newest[place][0] < day:
        newest[place] = day, usd


def pages(call: Any, arguments: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Every page, also behind an empty one with a token; AWS ends with a token that is missing or empty."""
    token = ""
    for _ in range(MOST_PAGES):
        page = call(**arguments, **({"NextToken": token} if token else {}))
        yield page
        token = page.get("NextToken", "")
        if not token:
            return
    raise AwsCallError(f"AWS's answer has more than {MOST_PAGES} pages. Try again later.")
