"""A month of one recording in money: idle, and with a stated usage. Pure: prices and usage are given."""

from dataclasses import dataclass
from datetime import date

from ops.capture.recording import RecordedResource, Recording
from ops.cost import network_meters, node_meters, service_meters, storage_meters, task_meters
from ops.cost.charge import Charge, Free, Item, Meter, Rates, Unknown
from ops.cost.free import FREE
from ops.cost.index import Index
from ops.cost.prices import Price, Prices
from ops.cost.usage import Usage

METERS: dict[str, Meter] = {
    **network_meters.METERS,
    **storage_meters.METERS,
    **task_meters.METERS,
    **node_meters.METERS,
    **service_meters.METERS,
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing that one resource is charged for. `quantity` is that of the busy month, in units of the price."""

    component: str
    resource: str
    what: str
    quantity: float
    idle_quantity: float
    price: Price

    @property
    def unit(self) -> str:
        return self.price.unit

    @property
    def price_usd(self) -> float:
        return self.price.price_usd

    @property
    def source(self) -> str:
        return self.price.source

    @property
    def read_on(self) -> date:
        return self.price.read_on

    @property
    def idle_usd(self) -> float:
        return self.idle_quantity * self.price.price_usd

    @property
    def busy_usd(self) -> float:
        return self.quantity * self.price.price_usd


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What one stack costs in a month. `unpriced` has (resource, why) of each cost without a number, `free` of what has none."""

    stack: str
    region: str
    lines: tuple[Line, ...]
    unpriced: tuple[tuple[str, str], ...]
    free: tuple[tuple[str, str], ...]

    @property
    def not_priced(self) -> int:
        """How many costs have no number: where there are any, the sums are the least that it may be."""
        return len(set(self.unpriced))

    @property
    def idle_usd(self) -> float:
        return sum(line.idle_usd for line in self.lines)

    @property
    def busy_usd(self) -> float:
        return sum(line.busy_usd for line in self.lines)

    def by_component(self) -> dict[str, tuple[float, float]]:
        """Idle and busy USD of each component, in the order of the program."""
        sums: dict[str, tuple[float, float]] = {}
        for line in self.lines:
            idle, busy = sums.get(line.component, (0.0, 0.0))
            sums[line.component] = idle + line.idle_usd, busy + line.busy_usd
        return sums


def estimate(recording: Recording, usage: Usage, prices: Prices) -> Estimate:
    """Every resource is in the lines, in `unpriced` or in `free`; a type that nobody knows is unpriced, never free."""
    rates = Rates(index=Index(recording), usage=usage, prices=prices)
    lines: list[Line] = []
    unpriced: list[tuple[str, str]] = []
    free: list[tuple[str, str]] = []
    for resource in recording.resources:
        if not resource.custom and not resource.remote:
            continue
        for item in _items(resource, rates):
            if isinstance(item, Charge):
                lines.append(_line(resource, item, rates.index))
            else:
                (free if isinstance(item, Free) else unpriced).append((resource.name, item.why))
    return Estimate(
        stack=recording.stack,
        region=rates.index.region,
        lines=tuple(lines),
        unpriced=tuple(unpriced),
        free=tuple(free),
    )


def _items(resource: RecordedResource, rates: Rates) -> list[Item]:
    if resource.type in FREE:
        return [Free(FREE[resource.type])]
    meter = METERS.get(resource.type)
    if meter is None:
        return [Unknown(f"no meter for the type {resource.type}")]
    return list(meter(resource, rates)) or [Unknown(f"the meter of {resource.type} found nothing to count")]


def _line(resource: RecordedResource, charge: Charge, index: Index) -> Line:
    return Line(
        component=index.component(resource),
        resource=resource.name,
        what=charge.what,
        quantity=charge.busy,
        idle_quantity=charge.idle,
        price=charge.price,
    )
