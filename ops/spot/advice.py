"""How often to save on a spot market, and what an hour of work then costs. Pure."""

import math
import re
from dataclasses import dataclass
from datetime import date

from components.accelerators import find
from gpu_node.checkpoint.interval import SaveInterval, young_daly_seconds
from ops.advise.spot import NOTICE_SECONDS, Market, training_share
from ops.instance_prices import InstancePrice, interruptions_row
from ops.price_table import MONTH_HOURS

HOURS_OF_A_DAY = 24.0
# Of 54 days on 16,384 GPUs, 419 breaks that nobody had planned: https://arxiv.org/abs/2407.21783, section 3.3.4.
FAULTS_PER_ACCELERATOR_HOUR = 419 / (54 * HOURS_OF_A_DAY * 16_384)
# The checkpoint helper's own rate, which has the crashes of the program in it.
LEAST_LOSSES_PER_HOUR = SaveInterval.unannounced_losses_per_hour
# Where nothing bounds the rate: the market that docs/training.md assumes.
ASSUMED = Market()


@dataclass(frozen=True, kw_only=True)
class Interruptions:
    """How often EC2 takes a node back, and where that is from."""

    per_hour: float
    source: str


@dataclass(frozen=True, kw_only=True)
class Advice:
    """How often to save on one type. `losses_per_hour` has only what no notice announces in time.

    It is never below the rate that the checkpoint helper takes for granted, which has the crashes of the program too:
    the `market_losses_per_hour` alone would let a run on a calm market go unsaved for a day. `useful_share` is the part
    of the paid hours that is work which stays done.
    """

    instance_type: str
    interruptions: Interruptions
    market_losses_per_hour: float
    losses_per_hour: float
    save_seconds: float
    interval_seconds: float
    useful_share: float


def advise(
    instance_type: str, price: InstancePrice | None, save_seconds: float, per_day: float | None = None
) -> Advice:
    """`per_day` is the person's own count of interruptions of a node; without one, the table's group is used."""
    interruptions = interruptions_of(price, per_day)
    market_losses = unannounced_losses(instance_type, interruptions.per_hour, save_seconds)
    losses = max(market_losses, LEAST_LOSSES_PER_HOUR)
    interval = young_daly_seconds(save_seconds, losses)
    market = Market(hours_between_interruptions=1 / interruptions.per_hour)
    return Advice(
        instance_type=instance_type,
        interruptions=interruptions,
        market_losses_per_hour=market_losses,
        losses_per_hour=losses,
        save_seconds=save_seconds,
        interval_seconds=interval,
        useful_share=training_share(save_seconds, market, interval),
    )


def unannounced_losses(instance_type: str, interruptions_per_hour: float, save_seconds: float) -> float:
    """Losses an hour: missed notices and faults of the machine. A save that takes longer than the notice misses each."""
    missed = ASSUMED.missed_share if save_seconds <= NOTICE_SECONDS else 1.0
    entry = find(instance_type)
    accelerators = entry.accelerator_count if entry else 1
    return missed * interruptions_per_hour + accelerators * FAULTS_PER_ACCELERATOR_HOUR


def interruptions_of(
    price: InstancePrice | None, per_day: float | None = None, option: str = "--interruptions-per-day"
) -> Interruptions:
    """By the person (with `option`), by the upper end of the table's group, or by assumption where that group has no upper end."""
    if per_day is not None:
        return Interruptions(per_hour=per_day / HOURS_OF_A_DAY, source=f"{per_day:g} a day, as given")
    price = interruptions_row(price)
    group = price.interruptions if price else ""
    share = _upper_share(group)
    if share is not None and price is not None:
        read_on: date | None = price.interruptions_read_on
        return Interruptions(
            per_hour=-math.log(1 - share) / MONTH_HOURS,
            source=f"{group} of instances a month in {price.region} (AWS Spot Advisor, read on {read_on}), taken at the upper end",
        )
    why = f"AWS tells only {group} a month" if group else "the table has no group of this type"
    return Interruptions(
        per_hour=1 / ASSUMED.hours_between_interruptions,
        source=f"{why}, so one every {ASSUMED.hours_between_interruptions:g} h is assumed; {option} takes yours",
    )


def _upper_share(group: str) -> float | None:
    """0.1 of `5-10%` and 0.05 of `<5%`; None of `>20%`, which has no upper end, and of an empty group."""
    found = re.fullmatch(r"(?:<|\d+-)(\d+)%", group)
    share = int(found[1]) / 100 if found else 1.0
    return share if 0 < share < 1 else None
