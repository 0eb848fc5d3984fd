"""What a change does to the bill: a month before and after, component by component. Pure besides reading the prices."""

from dataclasses import dataclass

from ops.capture.recording import Recording
from ops.cost.estimate import Estimate, estimate
from ops.cost.prices import Prices
from ops.cost.usage import Usage


@dataclass(frozen=True, kw_only=True)
class CostPart:
    """What one component is charged for one thing; each is (idle, busy) USD."""

    component: str
    what: str
    base: tuple[float, float]
    head: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class CostChange:
    """A month of both, what of it differs as it is shown, and what nobody can put a price on: (resource, why).

    `unpriced` is of the head, `unpriced_before` of the base alone.
    """

    base: Estimate
    head: Estimate
    parts: tuple[CostPart, ...]
    unpriced: tuple[tuple[str, str], ...]
    unpriced_before: tuple[tuple[str, str], ...]

    @property
    def not_priced(self) -> int:
        """How many costs have no number on one side or both: with any, the difference is not that of the bill."""
        return len(self.unpriced) + len(self.unpriced_before)


def cents(usd: float) -> float:
    """As it is shown: differences are those of what is shown."""
    return round(usd, 2)


def cost_change(base: Recording, head: Recording) -> CostChange:
    """A month of both. PriceTableError when the prices cannot be read."""
    months = [estimate(recording, Usage(), Prices()) for recording in (base, head)]
    sums = [_sums(month) for month in months]
    nothing = 0.0, 0.0
    parts = [
        CostPart(
            component=key[0], what=key[1], base=sums[0].get(key, nothing), head=sums[1].get(key, nothing)
        )
        for key in {**sums[0], **sums[1]}
    ]
    unpriced = [dict.fromkeys(month.unpriced) for month in months]
    return CostChange(
        base=months[0],
        head=months[1],
        parts=tuple(part for part in parts if _cents(part.base) != _cents(part.head)),
        unpriced=tuple(unpriced[1]),
        unpriced_before=tuple(item for item in unpriced[0] if item not in unpriced[1]),
    )


def _sums(month: Estimate) -> dict[tuple[str, str], tuple[float, float]]:
    sums: dict[tuple[str, str], tuple[float, float]] = {}
    for line in month.lines:
        idle, busy = sums.get((line.component, line.what), (0.0, 0.0))
        sums[line.component, line.what] = idle + line.idle_usd, busy + line.busy_usd
    return sums


def _cents(usd: tuple[float, float]) -> tuple[float, float]:
    return cents(usd[0]), cents(usd[1])
