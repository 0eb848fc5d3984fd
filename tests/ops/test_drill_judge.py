"""What a drill has shown, judged from what was seen: no client, no clock."""

from typing import Any

import pytest

from ops.drill.judge import Seen, judge, lost_steps, work_ended
from ops.drill.said import Kind, Said
from ops.drill.watch import story
from ops.train.costs import Prices
from ops.train.runs import Attempt, Run

NOTICE = 1000.0
NO_PRICES = Prices()


def attempt(started: float, stopped: float | None, capacity: str = "spot", **more: Any) -> Attempt:
    return Attempt(job_id="job-1", capacity=capacity, started=started, stopped=stopped, **more)


def safe(at: float, step: int) -> Said:
    return Said(at=at, kind=Kind.SAFE, step=step)


def on_the_node(at: float, step: int) -> Said:
    return Said(at=at, kind=Kind.ON_THE_NODE, step=step)


def resumed(at: float, step: int) -> Said:
    return Said(at=at, kind=Kind.RESUMED, step=step)


def seen(*said: Said, goes_on: Said | None = None, **more: Any) -> Seen:
    """An attempt from 100 s that left on notice after 15 s, and unless told otherwise went on from step 50."""
    values: dict[str, Any] = {
        "run": Run(name="run-1", status="RUNNING", error="", cause="", started=0, stopped=None),
        "notice_sent": NOTICE,
        "before": attempt(100, NOTICE + 15, exit_code=75),
        "said_before": said,
        "after": attempt(1300, None),
        "said_after": [goes_on or resumed(1330, 50)],
    }
    return Seen(**{**values, **more})


LOST = attempt(100, 1400, reason="Host EC2 (instance i-1) terminated.")


def test_what_was_saved_on_notice_is_where_work_ended() -> None:
    view = seen(safe(500, 25), safe(1012, 50), last_line_before=1014)
    assert work_ended(view) == 1012
    verdict = judge(view, NO_PRICES)
    assert (verdict.passed, verdict.lost_seconds, verdict.lost_steps) == (True, 0, 0)
    assert verdict.seconds_to_resume == 330
    # Three seconds to leave, and half a minute to begin again.
    assert verdict.paid_seconds_without_work == 33


def test_of_two_saves_on_notice_the_last_one_counts() -> None:
    """The rebalance recommendation that comes along asks for a save too."""
    view = seen(safe(500, 25), safe(1003, 48), safe(1012, 50))
    assert work_ended(view) == 1012
    assert judge(view, NO_PRICES).lost_seconds == 0, (
        "a run that did everything right would seem to have lost work"
    )


def test_the_copy_of_an_earlier_checkpoint_is_no_save_on_notice() -> None:
    view = seen(
        on_the_node(980, 48), safe(1010, 48), before=LOST, last_line_before=1015, goes_on=resumed(1450, 48)
    )
    verdict = judge(view, NO_PRICES)
    assert not verdict.notice_heard, "a run that is deaf to the notice would pass"
    assert verdict.lost_seconds == 140, "the work is as old as the checkpoint, and not as its copy"


def test_work_is_as_old_as_the_first_save_of_its_step() -> None:
    view = seen(on_the_node(900, 48), safe(990, 48), before=LOST, goes_on=resumed(1450, 48))
    assert judge(view, NO_PRICES).lost_seconds == 220, "training goes on while a checkpoint is copied"


def test_a_run_that_leaves_on_notice_with_all_saved_before_has_heard_it() -> None:
    view = seen(safe(999, 50), last_line_before=1013)
    verdict = judge(view, NO_PRICES)
    assert (verdict.notice_heard, verdict.passed, verdict.lost_seconds) == (True, True, 14)


def test_a_lost_host_works_until_it_is_gone_and_not_until_batch_hears_of_it() -> None:
    view = seen(safe(900, 40), before=LOST, last_line_before=1050, goes_on=resumed(1450, 40))
    assert work_ended(view) == NOTICE + 120
    assert work_ended(seen(before=LOST, last_line_before=1130)) == 1130
    early = attempt(100, 1060, reason="Host EC2 (instance i-1) terminated.")
    assert work_ended(seen(before=early, last_line_before=1050)) == 1060


def test_steps_that_nobody_saved_are_estimated_from_the_pace() -> None:
    view = seen(safe(500, 20), safe(900, 40), before=LOST, goes_on=resumed(1450, 40))
    assert lost_steps(view) == 11, "220 seconds at a step in 20 seconds"
    assert lost_steps(seen(safe(900, 40), before=LOST, goes_on=resumed(1450, 40))) is None
    assert lost_steps(seen(before=LOST, goes_on=resumed(1450, 40))) is None


def test_a_checkpoint_that_could_not_be_read_is_lost_work() -> None:
    view = seen(safe(500, 25), safe(1012, 50), goes_on=resumed(1330, 25))
    verdict = judge(view, NO_PRICES)
    assert (verdict.lost_seconds, verdict.lost_steps) == (512, 25)
    assert verdict.faults == ("512 s of work were lost, and less than 60 s may be",)


def test_the_limit_is_a_minute() -> None:
    just_in = seen(safe(500, 25), safe(953, 49), safe(1012, 50), goes_on=resumed(1330, 49))
    assert judge(just_in, NO_PRICES).lost_seconds == 59 and judge(just_in, NO_PRICES).passed
    too_much = seen(safe(500, 25), safe(952, 49), safe(1012, 50), goes_on=resumed(1330, 49))
    assert not judge(too_much, NO_PRICES).passed


def test_work_that_was_resumed_and_not_saved_since_is_as_old_as_its_resumption() -> None:
    view = seen(resumed(130, 20), before=LOST, goes_on=resumed(1450, 20))
    assert judge(view, NO_PRICES).lost_seconds == NOTICE + 120 - 130


@pytest.mark.parametrize(
    ("prices", "usd"),
    [
        (Prices(spot=0.6, on_demand=1.2), (3 * 0.6 + 30 * 1.2) / 3600),
        (Prices(spot=0.6), None),
        (NO_PRICES, None),
    ],
)
def test_the_time_without_work_is_priced_where_it_was_paid(prices: Prices, usd: float | None) -> None:
    view = seen(safe(1012, 50), after=attempt(1300, None, capacity="on-demand"))
    assert judge(view, prices).usd == (pytest.approx(usd) if usd else None)


def test_while_nothing_went_on_nothing_is_said_of_what_was_lost() -> None:
    view = seen(safe(1012, 50), after=None, said_after=())
    verdict = judge(view, NO_PRICES, "the time was up")
    assert verdict.faults == ("the time was up",)
    assert (verdict.lost_seconds, verdict.lost_steps, verdict.usd, verdict.resumed_on) == (
        None,
        None,
        None,
        "",
    )


def test_the_story_is_told_in_its_order() -> None:
    lines = list(story(seen(safe(1012, 50))))
    assert lines == [
        "saved step 50, 12 s after the notice",
        "the attempt ended 15 s after the notice: interrupted, saved",
        "a new attempt runs on spot, 5 min after the notice",
        "goes on from step 50, 6 min after the notice",
    ]
