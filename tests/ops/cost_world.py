"""Small recordings and round prices, with which the sums of an estimate can be worked out by hand."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from ops.capture.recording import RecordedResource, Recording
from ops.cost.estimate import Estimate, Line, estimate
from ops.cost.prices import Price, Prices, read_table
from ops.cost.usage import Usage
from ops.instance_prices import InstancePrice

REGION = "eu-central-1"
DAY = date(2026, 11, 1)
# A price of its own for every row of the table: 2, 3, 5 and so on, so that no sum is right by chance.
ROWS = sorted({(price.service, price.what) for price in read_table().values()})


def _primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found


USD = dict(zip(ROWS, map(float, _primes(len(ROWS))), strict=True))
NODES = {
    "g5.xlarge": InstancePrice(
        instance_type="g5.xlarge", region="us-east-1", on_demand_usd_hour=10.0, on_demand_read_on=DAY,
        on_demand_source="list", spot_minimum_usd_hour=3.0, spot_maximum_usd_hour=4.0, spot_read_on=DAY, spot_source="market",
    ),
    "p5.4xlarge": InstancePrice(
        instance_type="p5.4xlarge", region="us-east-1", on_demand_usd_hour=20.0, on_demand_read_on=DAY, on_demand_source="list",
    ),
}  # fmt: skip


def service_price(service: str, what: str, usd: float, region: str = REGION) -> Price:
    return Price(
        service=service, what=what, region=region, unit="unit", price_usd=usd, source="hand", read_on=DAY
    )


PRICES = Prices(
    services={(*row, REGION): service_price(*row, usd) for row, usd in USD.items()},
    instances=lambda name, region: NODES.get(name),
    models={"answers": (6.0, 30.0), "embeds": (7.0, 0.0)}.get,
)


def urn(name: str) -> str:
    return f"urn:pulumi:test::shop::any::{name}"


def resource(type_: str, name: str = "it", **inputs: Any) -> RecordedResource:
    """A recorded resource; `outputs`, `parent` and `depends` (property to names) are no inputs."""
    outputs: Mapping[str, Any] = inputs.pop("outputs", {})
    parent, depends = inputs.pop("parent", None), inputs.pop("depends", {})
    return RecordedResource(
        urn=urn(name),
        type=type_,
        name=name,
        parent=urn(parent) if parent else None,
        custom=not type_.startswith("aiplatform:"),
        inputs=inputs,
        outputs={**inputs, **outputs},
        property_dependencies={key: frozenset(map(urn, names)) for key, names in depends.items()},
    )


def estimated(*resources: RecordedResource, usage: Usage | None = None, prices: Prices = PRICES) -> Estimate:
    provider = resource("pulumi:providers:aws", "aws", region=REGION)
    recording = Recording(
        project="shop", stack="test", resources=(provider, *resources), invokes=(), registered_outputs={}, exports={}
    )  # fmt: skip
    return estimate(recording, usage or Usage(), prices)


def sums(*resources: RecordedResource, usage: Usage | None = None, of: str = "it") -> dict[str, tuple[float, float]]:  # fmt: skip
    """Idle and busy USD of each line of the resource called `of`, to a millionth."""
    lines = [line for line in estimated(*resources, usage=usage).lines if line.resource == of]
    found = {line.what: (round(line.idle_usd, 6), round(line.busy_usd, 6)) for line in lines}
    assert len(found) == len(lines), "two lines of one resource say the same"
    return found


def why_unpriced(*resources: RecordedResource) -> str:
    """The only reason for which something has no price."""
    ((_, why),) = estimated(*resources).unpriced
    return why


def lines_of(found: Estimate, name: str) -> list[Line]:
    return [line for line in found.lines if line.resource == name]
