"""The arithmetic of attempts and pauses."""

import pytest

from rag.deadline import Attempts, Deadline, back_off_seconds, longest_call_seconds
from rag.errors import ThrottledError
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
    assert deadline.read_timeout_seconds(60) == 13
