"""The arithmetic of deadlines, attempts and pauses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.deadline import (
    TIMEOUT_STEPS_SECONDS,
    Attempts,
    Deadline,
    back_off_seconds,
    longest_call_seconds,
    stepped_timeout,
)
from rag.errors import DeadlineError, ThrottledError
from tests.lambda_src.fakes import FakeTime


def test_pauses_double_up_to_eight_seconds() -> None:
    assert [back_off_seconds(retry) for retry in range(6)] == [1, 2, 4, 8, 8, 8]


def test_the_longest_call_is_attempts_times_timeout_plus_pauses() -> None:
    assert longest_call_seconds(20, 1) == 20
    assert longest_call_seconds(20, 3) == 63
    assert longest_call_seconds(10, 6) == 60 + 1 + 2 + 4 + 8 + 8


@pytest.mark.parametrize("attempts", [1, 2, 5, 10])
def test_a_call_never_lasts_longer_than_its_longest_time(attempts: int) -> None:
    time = FakeTime()

    def call(read_timeout_seconds: int) -> None:
        time.sleep(read_timeout_seconds)
        raise ThrottledError("again")

    plan = Attempts(maximum=attempts, read_timeout_seconds=6, retry_on=(ThrottledError,))
    with pytest.raises(ThrottledError):
        plan.run(call, Deadline.of_lambda(None), time.sleep)
    assert time.now <= longest_call_seconds(6, attempts), "the time-outs above are computed from this figure"


def test_a_deadline_counts_down() -> None:
    time = FakeTime()
    deadline = Deadline.after(30, time.clock)
    time.sleep(10)
    assert deadline.remaining_seconds() == 20
    assert deadline.read_timeout_seconds(13) == 13
    assert deadline.read_timeout_seconds(60) == 12, "13 s are left to read; the step below is 12"


def test_a_deadline_is_over_when_only_the_time_for_the_reply_is_left() -> None:
    time = FakeTime()
    deadline = Deadline.after(30, time.clock)
    time.sleep(28)
    deadline.check()
    time.sleep(0.1)
    with pytest.raises(DeadlineError):
        deadline.check()


@given(st.integers(1, 900), st.floats(-10, 2000))
def test_a_read_timeout_is_the_wanted_one_or_the_step_below_what_is_left(wanted: int, left: float) -> None:
    timeout = stepped_timeout(wanted, left)
    assert timeout == wanted <= left or timeout <= left < wanted or timeout == 0 > left - 1
    assert timeout in (0, wanted, *TIMEOUT_STEPS_SECONDS), (
        "each length of time would make a client of its own"
    )
    if left >= 1:
        assert timeout > min(wanted, left) / 2, "much of the time that is left would not be used"
