"""What a resource is charged for, before the month's sums: the words that the meters of each type speak."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ops.capture.recording import RecordedResource
from ops.cost.index import Index
from ops.cost.prices import Price, Prices
from ops.cost.usage import Usage
from ops.price_table import MONTH_HOURS


@dataclass(frozen=True, kw_only=True)
class Charge:
    """A number of units in an idle and in a busy month, at a price."""

    what: str
    price: Price
    idle: float
    busy: float


@dataclass(frozen=True)
class Free:
    """A resource that costs nothing as it is configured, and why."""

    why: str


@dataclass(frozen=True)
class Unknown:
    """A cost that is there and that nobody can put a number on, and why."""

    why: str


Item = Charge | Free | Unknown
Meter = Callable[[RecordedResource, "Rates"], Iterator[Item]]


@dataclass(frozen=True, kw_only=True)
class Rates:
    """All that a meter needs beside its resource."""

    index: Index
    usage: Usage
    prices: Prices

    def charge(self, service: str, what: str, idle: float, busy: float, words: str = "") -> Item:
        """So many units of what the table of services prices; `words` say more than the table's own."""
        price = self.prices.of(service, what, self.index.region)
        if price is None:
            return Unknown(f"{service} {what} has no price in ops/cost/prices.csv")
        return Charge(what=words or f"{service} {what}", price=price, idle=idle, busy=busy)

    def always(self, service: str, what: str, count: float = 1, words: str = "") -> Item:
        """So many of them in every hour of the month, busy or idle."""
        return self.charge(service, what, count * MONTH_HOURS, count * MONTH_HOURS, words)
