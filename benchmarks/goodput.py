"""Useful over paid time of trainings on spot nodes, over simulated years: `python -m benchmarks.goodput`.

The question: an interruption every four hours on average, a save of 30 s, one notice in ten missed. Boot, restore,
saves, repeated work and the rest of the two minutes after the save on notice are all paid and lost.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean

from benchmarks.goodput_simulation import Account, Node, Plan, lives, simulate
from gpu_node.checkpoint import young_daly_seconds

YEARS = 10
SEED = 20261202
MEAN_HOURS = 4.0
MISSED_SHARE = 0.1
SAVE_SECONDS = 30.0
# 14 GB, the weights of a 7B model in bf16, at 1.4 GB/s: an assumption about the local NVMe disk.
LOCAL_SAVE_SECONDS = 10.0
JOB_HOURS = 24.0
# Boot -> the goodput to reach.
TARGETS = {300.0: 0.95, 120.0: 0.97}
# g5.2xlarge in us-east-1, USD per hour: on demand from Karpenter's price table of 2026-07-20; spot is 58 % less by
# the Spot Advisor of 2025-06-28, which puts its interruptions at 15 to 20 % a month.
ON_DEMAND_PRICE = 1.212
SPOT_PRICE = 0.509
ADVISOR_SHARE_PER_MONTH = 0.2
MONTH_HOURS = 730.0


def ours(
    mean_hours: float = MEAN_HOURS,
    missed_share: float = MISSED_SHARE,
    save_seconds: float = SAVE_SECONDS,
    local_save_seconds: float | None = None,
) -> Plan:
    """Saves on notice, and at the Young-Daly optimum for what is lost without notice."""
    blocked = save_seconds if local_save_seconds is None else local_save_seconds
    losses_per_hour = missed_share / mean_hours
    return Plan(
        interval_seconds=young_daly_seconds(blocked, losses_per_hour) if losses_per_hour else math.inf,
        blocked_seconds=blocked,
        copy_seconds=0.0 if local_save_seconds is None else save_seconds,
        notice_save_seconds=save_seconds,
    )


def fixed(minutes: float) -> Plan:
    return Plan(interval_seconds=60 * minutes, blocked_seconds=SAVE_SECONDS)


PLANS = {
    "ours, local disk first": ours(local_save_seconds=LOCAL_SAVE_SECONDS),
    "ours, straight to the shared folder": ours(),
    "every 30 minutes": fixed(30),
    "every hour": fixed(60),
    f"none (jobs of {JOB_HOURS:.0f} h)": fixed(math.inf),
}


def node(boot_seconds: float) -> Node:
    return Node(boot_seconds=boot_seconds, restore_seconds=SAVE_SECONDS, job_seconds=JOB_HOURS * 3600)


def years(
    plan: Plan,
    node: Node,
    mean_hours: float = MEAN_HOURS,
    missed_share: float = MISSED_SHARE,
    count: int = YEARS,
) -> list[Account]:
    """The same years of interruptions for every plan."""
    return [
        simulate(lives(mean_hours, missed_share, random.Random(SEED + year)), plan, node)
        for year in range(count)
    ]


def goodput(accounts: list[Account]) -> float:
    return fmean(account.goodput for account in accounts)


def price_cells(share: float) -> str:
    """Effective price of a useful hour, and as a share of the price on demand."""
    if share <= 0:
        return "     none       -"
    price = SPOT_PRICE / share
    return f"{price:9.3f} {price / ON_DEMAND_PRICE:7.0%}"


def comparison(boot_seconds: float) -> Iterator[str]:
    """All plans on nodes that take `boot_seconds` to boot, with what the paid time went into."""
    yield f"Boot {boot_seconds / 60:.0f} min: share of the paid time, mean of {YEARS} years (lowest to highest year)"
    yield f"{'':36} useful                  boot restore   save repeat  leave    USD/h of demand"
    for name, plan in PLANS.items():
        accounts = years(plan, node(boot_seconds))
        spread = [account.goodput for account in accounts]
        lost = " ".join(
            f"{fmean(getattr(account, part) / account.paid for account in accounts):6.2%}"
            for part in ("booting", "restoring", "saving", "repeated", "leaving")
        )
        yield (
            f"{name:36} {fmean(spread):.4f} ({min(spread):.3f}-{max(spread):.3f}) {lost} "
            f"{price_cells(fmean(spread))}"
        )


def verdicts() -> Iterator[str]:
    for boot_seconds, target in TARGETS.items():
        for name in list(PLANS)[:2]:
            reached = goodput(years(PLANS[name], node(boot_seconds)))
            word = "reached" if reached >= target else "MISSED"
            yield f"target {target} with a boot of {boot_seconds / 60:.0f} min, {name}: {reached:.4f}, {word}"


def levers(boot_seconds: float) -> Iterator[str]:
    """What would raise the goodput of ours, local disk first: each alone."""
    plan, base = PLANS["ours, local disk first"], node(boot_seconds)
    today = goodput(years(plan, base))
    local = LOCAL_SAVE_SECONDS
    changes = {
        "no notice missed": goodput(years(replace(plan, interval_seconds=math.inf), base, missed_share=0)),
        "half the boot": goodput(years(plan, replace(base, boot_seconds=boot_seconds / 2))),
        "the node ends itself after the save": goodput(years(plan, replace(base, ends_after_save=True))),
        "half the time of local saves": goodput(years(ours(local_save_seconds=local / 2), base)),
        "half the time of save and restore": goodput(
            years(
                ours(save_seconds=SAVE_SECONDS / 2, local_save_seconds=local),
                replace(base, restore_seconds=SAVE_SECONDS / 2),
            )
        ),
        "types that are interrupted half as often": goodput(
            years(ours(2 * MEAN_HOURS, local_save_seconds=local), base, mean_hours=2 * MEAN_HOURS)
        ),
    }
    yield f"What would raise it (boot {boot_seconds / 60:.0f} min, from {today:.4f})"
    for name, raised in sorted(changes.items(), key=lambda change: -change[1]):
        yield f"  {name:42} {raised - today:+.4f}"


def longest_local_save() -> str:
    """The assumption that the verdict for a short boot hangs on."""
    boot_seconds, target = min(TARGETS.items())
    for seconds in range(1, int(SAVE_SECONDS) + 1):
        if goodput(years(ours(local_save_seconds=seconds), node(boot_seconds))) < target:
            return f"{target} with a boot of {boot_seconds / 60:.0f} min needs local saves below {seconds} s"
    return f"{target} with a boot of {boot_seconds / 60:.0f} min is reached with any local save"


def rates(boot_seconds: float) -> Iterator[str]:
    """Ours at other rates, down to the one that AWS publishes for the type."""
    monthly = -MONTH_HOURS / math.log(1 - ADVISOR_SHARE_PER_MONTH)
    yield f"Ours, local disk first, at other rates (boot {boot_seconds / 60:.0f} min)"
    for hours, name in ((1, "1 h"), (4, "4 h"), (24, "24 h"), (monthly, "20 % of the nodes a month")):
        plan = ours(hours, local_save_seconds=LOCAL_SAVE_SECONDS)
        share = goodput(years(plan, node(boot_seconds), mean_hours=hours))
        minutes = plan.interval_seconds / 60
        yield f"  one interruption in {name:26} {share:.4f}  a save every {minutes:4.0f} min  {price_cells(share)}"


def main() -> None:
    print(
        f"An interruption every {MEAN_HOURS:.0f} h, {MISSED_SHARE:.0%} without notice; a save or a restore of "
        f"{SAVE_SECONDS:.0f} s, {LOCAL_SAVE_SECONDS:.0f} s to the local disk; {SPOT_PRICE} USD/h on spot, "
        f"{ON_DEMAND_PRICE} on demand; seed {SEED}\n"
    )
    for boot_seconds in TARGETS:
        print("\n".join(comparison(boot_seconds)), end="\n\n")
    print("\n".join([*verdicts(), longest_local_save()]), end="\n\n")
    print("\n".join(levers(300)), end="\n\n")
    print("\n".join(rates(300)))


if __name__ == "__main__":
    main()
