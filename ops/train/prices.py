"""What an hour of a run's nodes costs: as the person says, or else by the dated table of instance prices."""

from ops.instance_prices import InstancePrice, nearest_price
from ops.train.costs import Prices
from ops.train.runs import Run
from ops.train.stack import TrainingStack


def prices_of(run: Run, stack: TrainingStack, given: Prices) -> Prices:
    """`given`, with what it lacks from the table where the run's nodes can be of one type only.

    Of spot prices that of the dearest zone is taken.
    """
    if given.spot is not None and given.on_demand is not None:
        return given
    # A job over several nodes takes the first type for all of them.
    types = stack.instance_types[:1] if run.nodes > 1 else stack.instance_types
    if len(types) != 1:
        several = f"the nodes may be any of {', '.join(types)}, whose prices differ" if types else ""
        return Prices(spot=given.spot, on_demand=given.on_demand, source=several)
    price = nearest_price(types[0], stack.region)
    if price is None:
        return given
    parts = _from_table(price, spot=given.spot is None, on_demand=given.on_demand is None)
    return Prices(
        spot=price.spot_maximum_usd_hour if given.spot is None else given.spot,
        on_demand=price.on_demand_usd_hour if given.on_demand is None else given.on_demand,
        source=f"{types[0]} in {price.region}, {' and '.join(parts)}" if parts else "",
    )


def _from_table(price: InstancePrice, *, spot: bool, on_demand: bool) -> list[str]:
    """Which prices are from the table, with the day on which each was read."""
    found = []
    if spot and price.spot_maximum_usd_hour is not None:
        found.append(f"spot {price.spot_maximum_usd_hour:g} USD an hour (read on {price.spot_read_on})")
    if on_demand and price.on_demand_usd_hour is not None:
        found.append(
            f"on-demand {price.on_demand_usd_hour:g} USD an hour (read on {price.on_demand_read_on})"
        )
    return found
