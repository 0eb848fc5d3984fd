"""A spot market as text and as JSON. Pure."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import date

from gpu_node.checkpoint.interval import young_daly_seconds
from ops.advise.spot import NOTICE_SECONDS, per_useful_hour
from ops.instance_prices import age_warning
from ops.progress import duration
from ops.spot.advice import LEAST_LOSSES_PER_HOUR, Advice
from ops.spot.market import LEAST_SAVING, Market
from ops.spot.plot import sparkline
from ops.spot.prices import Offer

PLOT_WIDTH = 32


def as_text(market: Market, *, blocks: bool) -> str:
    """Zones, prices with their history, and how often to save."""
    where = market.where
    who = f" ({', '.join(where.who)})" if where.who else ""
    sections = [
        [f"Spot in {where.region}{who}, {market.end:%Y-%m-%d %H:%M} UTC: {', '.join(where.instance_types)}"],
        ["Zones, the best first:", *_zone_lines(market)],
        [
            f"USD an hour, and the last {(market.end - market.start).days} days:",
            *_offer_lines(market, blocks),
        ],
        ["How often to save:", *_advice_lines(market)],
        [*market.notes, *_age(market)],
        [f"NOT READ {text}" for text in market.unread],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _zone_lines(market: Market) -> Iterator[str]:
    several = len(market.where.instance_types)
    for place, zone in enumerate(market.zones, 1):
        parts = ["not scored" if zone.score is None else f"score {zone.score} of 10"]
        parts.append(f"sells {zone.types} of {several} types")
        if zone.dearer > 0:
            parts.append(f"{zone.dearer:.0%} over the cheapest")
        if zone.best_saving is not None:
            parts.append(
                "spot saves nothing here" if zone.saves_nothing else f"saves up to {zone.best_saving:.0%}"
            )
        yield f"  {place:>2}  {zone.name:<18}  {', '.join(parts)}"


def _offer_lines(market: Market, blocks: bool) -> Iterator[str]:
    width = max((len(offer.instance_type) for offer in market.offers), default=0)
    zone_width = max((len(offer.zone) for offer in market.offers), default=0)
    for offer in market.offers:
        history = offer.history(market.start, market.end, PLOT_WIDTH)
        known = [value for value in history if value is not None]
        span = f"{min(known):.4f} to {max(known):.4f}" if known else "no history"
        yield (
            f"  {offer.instance_type:<{width}}  {offer.zone:<{zone_width}}  {offer.latest:>9.4f}  {_against(market, offer):<22}"
            f"  {sparkline(history, blocks=blocks)}  {span}"
        )
    if not market.offers:
        yield "  EC2 sells none of these types on spot in these zones."
    elif market.not_sold:
        yield f"  Not sold on spot in these zones: {', '.join(market.not_sold)}."


def _against(market: Market, offer: Offer) -> str:
    saving = market.saving(offer)
    if saving is None:
        return "on-demand not known"
    if saving <= -LEAST_SAVING:
        return f"{-saving:.0%} above on-demand"
    return "priced as on-demand" if saving < LEAST_SAVING else f"{saving:.0%} below on-demand"


def _advice_lines(market: Market) -> Iterator[str]:
    for advice in market.advice:
        yield (
            f"  {advice.instance_type}: every {duration(advice.interval_seconds)}, and on each notice; a save takes "
            f"{duration(advice.save_seconds)}, and {advice.useful_share:.1%} of the paid hours stay{_useful_price(market, advice)}"
        )
        yield f"      interruptions: {advice.interruptions.source}"
        if advice.losses_per_hour > advice.market_losses_per_hour:
            calm = young_daly_seconds(advice.save_seconds, advice.market_losses_per_hour)
            yield f"      for the market alone, every {duration(calm)} would do"
    slow = [advice for advice in market.advice if advice.save_seconds > NOTICE_SECONDS]
    counted = (
        f"every interruption, since a save takes longer than the {NOTICE_SECONDS:g} s of a notice"
        if slow
        else "interruptions whose notice is missed (one in ten)"
    )
    yield f"  Losses of a market: {counted}, and faults of the machine."
    yield f"  Programs crash too: as the checkpoint helper does, at least one loss in {1 / LEAST_LOSSES_PER_HOUR:g} h is counted."


def _useful_price(market: Market, advice: Advice) -> str:
    prices = [offer.latest for offer in market.offers if offer.instance_type == advice.instance_type]
    usd = per_useful_hour(min(prices, default=None), advice.useful_share)
    return "" if usd is None else f": {usd:.4f} USD per useful hour"


def _age(market: Market) -> Iterator[str]:
    """Of the on-demand prices: how old they are, and of which region where this one's are not known."""
    elsewhere: dict[tuple[str, date | None], list[str]] = {}
    for name, price in sorted(market.on_demand.items()):
        if price.region != market.where.region and price.on_demand_usd_hour is not None:
            elsewhere.setdefault((price.region, price.on_demand_read_on), []).append(name)
    for (region, read_on), names in elsewhere.items():
        yield f"The on-demand prices of {', '.join(names)} are those of {region}, read on {read_on}."
    # The table's own spot prices are not used here.
    used = [replace(price, spot_minimum_usd_hour=None) for price in market.on_demand.values()]
    warning = age_warning(market.end.date(), used)
    if warning:
        yield warning


def as_json(market: Market) -> str:
    """One document; the order is that of the text."""
    where = market.where
    document = {
        "region": where.region,
        "instance_types": list(where.instance_types),
        "from": market.start.isoformat(),
        "to": market.end.isoformat(),
        "zones": [{**asdict(zone), "saves_nothing": zone.saves_nothing} for zone in market.zones],
        "offers": [_offer(market, offer) for offer in market.offers],
        "not_sold": list(market.not_sold),
        "advice": [asdict(advice) for advice in market.advice],
        "notes": [*market.notes, *_age(market)],
        "unread": list(market.unread),
    }
    return json.dumps(document, indent=2, default=str)


def _offer(market: Market, offer: Offer) -> dict[str, object]:
    price = market.on_demand.get(offer.instance_type)
    return {
        "instance_type": offer.instance_type,
        "zone": offer.zone,
        "zone_id": offer.zone_id,
        "usd_hour": offer.latest,
        "saving": market.saving(offer),
        "on_demand_usd_hour": price.on_demand_usd_hour if price else None,
        "on_demand_region": price.region if price else None,
        "on_demand_read_on": price.on_demand_read_on if price else None,
        "history": [[when.isoformat(), usd] for when, usd in offer.changes],
    }
