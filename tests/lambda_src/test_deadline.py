"""The arithmetic of deadlines, attempts and pauses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.deadline import (
    CONNECT_ADDRESSES,
    CONNECT_TIMEOUT_SECONDS,
    TIMEOUT_STEPS_SECONDS,
    Attempts,
    Deadline,
    back_off_seconds,
    stepped_timeout,
)
from rag.errors import DeadlineError, PipelineError, ThrottledError
from tests.lambda_src.fakes import FakeTime


def test_pauses_double_up_to_eight_seconds() -> None:
    assert [back_off_seconds(retry) for retry in range(6)] == [1, 2, 4, 8, 8, 8]


@settings(deadline=None)
@given(
    st.floats(0, 200),
    st.integers(1, 60),
    st.integers(1, 10),
    st.integers(1, CONNECT_ADDRESSES),
    st.booleans(),
)
def test_attempts_leave_a_second_of_the_deadline_however_long_each_of_them_takes(
    seconds: float, read_timeout: int, attempts: int, addresses: int, connects: bool
) -> None:
    time = FakeTime()
    deadline = Deadline.after(seconds, time.clock)

    def call(read_timeout_seconds: int) -> None:
        """The last address takes the connection in the last moment, or none does."""
        time.sleep(addresses * CONNECT_TIMEOUT_SECONDS + read_timeout_seconds * connects)
        raise ThrottledError("again")

    plan = Attempts(maximum=attempts, read_timeout_seconds=read_timeout, retry_on=(ThrottledError,))
    with pytest.raises(PipelineError):
        plan.run(call, deadline, time.sleep)
    assert deadline.remaining_seconds() >= min(1, seconds), "nobody would be told what went wrong"


def test_a_deadline_counts_down() -> None:
    time = FakeTime()
    deadline = Deadline.after(30, time.clock)
    time.sleep(10)
    assert deadline.remaining_seconds() == 20
    assert deadline.read_timeout_seconds(11) == 11
    assert deadline.read_timeout_seconds(60) == 12, "of 20 s, 12 are left to read"


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
