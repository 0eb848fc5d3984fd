"""The simulation of spot years against sums that can be done by hand, and what it says about our checkpoints."""

import math
import random
from dataclasses import replace

import pytest

from benchmarks import goodput
from benchmarks.goodput_simulation import NOTICE_SECONDS, Account, Life, Node, Plan, lives, simulate

NODE = Node(boot_seconds=300, restore_seconds=30)
FIXED = Plan(interval_seconds=1000, blocked_seconds=50)
NOTICED = replace(FIXED, notice_save_seconds=40)
COPIED = replace(FIXED, copy_seconds=200)
NONE = replace(FIXED, interval_seconds=math.inf)


@pytest.mark.parametrize(
    ("nodes", "plan", "expected"),
    [
        ([Life(200, False)], FIXED, Account(booting=200)),
        ([Life(300 + 3 * 1050 + 700, False)], FIXED, Account(3000, 300, saving=150, repeated=700)),
        ([Life(300 + 1000 + 20, False)], FIXED, Account(booting=300, saving=20, repeated=1000)),
        ([Life(300 + 1050, False)] * 2, FIXED, Account(1000, 600, 30, 70, repeated=1000)),
        ([Life(300 + 1050, False), Life(310, False)], FIXED, Account(1000, 600, 10, 50)),
        ([Life(300 + 1050 + 700 + 120, True)], FIXED, Account(1000, 300, 0, 50, repeated=820)),
        ([Life(300 + 1050 + 700 + 120, True)], NOTICED, Account(1700, 300, 0, 90, leaving=80)),
        # The notice comes while a save is under way: that one is the last.
        ([Life(300 + 1000 + 10 + 120, True)], NOTICED, Account(1000, 300, 0, 50, leaving=80)),
        ([Life(100, True)], NOTICED, Account(booting=100)),
        ([Life(300 + 700 + 120, True)], replace(NOTICED, notice_save_seconds=130),
         Account(booting=300, saving=120, repeated=700)),
        # The second copy is still under way when the node is lost; the first is complete.
        ([Life(300 + 2 * 1050 + 199, False)], COPIED, Account(1000, 300, 0, 100, repeated=1199)),
        ([Life(300 + 2 * 1050 + 200, False)], COPIED, Account(2000, 300, 0, 100, repeated=200)),
        ([Life(300 + 1050 + 100 + 120, True)], replace(COPIED, notice_save_seconds=40),
         Account(1100, 300, 0, 90, leaving=80)),
        ([Life(300 + 9000, False)], NONE, Account(booting=300, repeated=9000)),
    ],
)  # fmt: skip
def test_the_sums_of_short_stories_are_right(nodes: list[Life], plan: Plan, expected: Account) -> None:
    account = simulate(nodes, plan, NODE)
    assert account == expected
    assert account.paid == sum(life.seconds for life in nodes), "paid time is lost from the books"


def test_a_job_that_is_done_stays_done_and_is_not_restored() -> None:
    short = replace(NODE, job_seconds=2500)
    account = simulate([Life(300 + 2 * 2550 + 100, False), Life(1000, False)], NONE, short)
    assert account == Account(5000, 600, 0, 100, repeated=100 + 700)


def test_a_node_that_ends_itself_saves_the_rest_of_the_notice() -> None:
    stays = simulate([Life(3000, True)], NOTICED, NODE)
    ends = simulate([Life(3000, True)], NOTICED, replace(NODE, ends_after_save=True))
    assert (stays.leaving, ends.leaving, stays.useful) == (80, 0, ends.useful)


@pytest.mark.parametrize("plan", [FIXED, NOTICED, COPIED, NONE, *goodput.PLANS.values()])
def test_every_paid_second_is_booked_once(plan: Plan) -> None:
    year = list(lives(1.5, 0.3, random.Random(4)))
    account = simulate(year, plan, replace(NODE, job_seconds=7200))
    assert account.paid == pytest.approx(sum(life.seconds for life in year))
    assert min(vars(account).values()) >= 0


def test_random_years_meet_the_closed_form_of_unannounced_losses() -> None:
    """Segments of work and save that fit into an exponential life: a geometric number, 1 / (exp(rate * length) - 1)."""
    plan, node, hours = (
        Plan(interval_seconds=1800, blocked_seconds=30),
        Node(boot_seconds=300, restore_seconds=0),
        4,
    )
    rate = 1 / (hours * 3600)
    expected = rate * 1800 * math.exp(-rate * 300) / math.expm1(rate * 1830)
    assert goodput.goodput(goodput.years(plan, node, missed_share=1)) == pytest.approx(expected, rel=0.005)


def test_random_years_meet_the_closed_form_of_announced_losses() -> None:
    """Without any save but those on notice, what is left of each life is its time beyond boot, restore and notice."""
    plan = Plan(interval_seconds=math.inf, blocked_seconds=30, notice_save_seconds=30)
    hours, node = 4, Node(boot_seconds=300, restore_seconds=30)
    rate = 1 / (hours * 3600)
    expected = math.exp(-rate * (300 + 30 + NOTICE_SECONDS))
    assert goodput.goodput(goodput.years(plan, node, missed_share=0)) == pytest.approx(expected, rel=0.002)


def test_the_young_daly_interval_is_close_to_the_best() -> None:
    plan, node = goodput.ours(), goodput.node(300)
    best = goodput.goodput(goodput.years(plan, node))
    for factor in (0.4, 2.5):
        other = replace(plan, interval_seconds=plan.interval_seconds * factor)
        assert goodput.goodput(goodput.years(other, node)) < best


@pytest.mark.parametrize(("boot_seconds", "target"), goodput.TARGETS.items())
def test_ours_reaches_the_target_and_beats_the_others(boot_seconds: float, target: float) -> None:
    shares = [
        goodput.goodput(goodput.years(plan, goodput.node(boot_seconds))) for plan in goodput.PLANS.values()
    ]
    assert shares[0] >= target, "too little of the paid time is useful"
    assert shares == sorted(shares, reverse=True)


def test_the_same_seed_gives_the_same_years() -> None:
    assert list(lives(4, 0.1, random.Random(1))) == list(lives(4, 0.1, random.Random(1)))
    assert sum(life.seconds for life in lives(4, 0.1, random.Random(1))) == pytest.approx(365 * 86400)
