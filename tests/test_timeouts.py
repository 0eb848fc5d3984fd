"""The arithmetic of waiting is exact, and counts with the time-outs that the pipeline really has."""

import pytest

from components import timeouts
from components.config_sections import AnswersConfig, OrchestratorConfig, RagServiceConfig
from components.timeouts import back_off_seconds, request_seconds
from rag import deadline, search
from rag.errors import UnavailableError
from tests.lambda_src.fakes import FakeTime


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(1, 0), (2, 1), (3, 3), (4, 7), (5, 15), (6, 23), (10, 55)]
)
def test_pauses_double_up_to_eight_seconds(attempts: int, seconds: int) -> None:
    assert back_off_seconds(attempts) == seconds


@pytest.mark.parametrize(
    ("read_timeout", "attempts", "seconds"),
    [
        (1, 1, 2 * 1 + 37),
        (20, 2, 2 * (40 + 1) + 37),
        (60, 4, 2 * (240 + 7) + 37),
        (600, 10, 2 * (6000 + 55) + 37),
    ],
)
def test_a_question_takes_two_model_calls_and_a_search(
    read_timeout: int, attempts: int, seconds: int
) -> None:
    assert request_seconds(read_timeout, attempts) == seconds


def test_the_arithmetic_counts_with_the_pipelines_own_numbers() -> None:
    assert timeouts.SEARCH_TIMEOUT_SECONDS == search.SEARCH_READ_TIMEOUT_SECONDS, (
        "a search is cut off by its own caller"
    )
    assert timeouts.LONGEST_BACK_OFF_SECONDS == deadline.LONGEST_BACK_OFF_SECONDS
    assert timeouts.RESERVE_SECONDS == deadline.RESERVE_SECONDS


@pytest.mark.parametrize("attempts", range(1, 11))
def test_the_pipeline_waits_as_long_as_the_arithmetic_says(
    attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    time = FakeTime()

    def call(read_timeout_seconds: int) -> None:
        time.sleep(read_timeout_seconds)
        raise UnavailableError("in the last moment")

    plan = deadline.Attempts(maximum=attempts, read_timeout_seconds=20, retry_on=(UnavailableError,))
    with pytest.raises(UnavailableError):
        plan.run(call, deadline.Deadline.of_lambda(None), time.sleep)
    assert time.now == 20 * attempts + back_off_seconds(attempts), (
        "the ladder and the pipeline wait differently"
    )


def test_the_defaults_leave_a_question_its_time() -> None:
    answers = AnswersConfig()
    needed = request_seconds(answers.bedrock_read_timeout_seconds, answers.bedrock_maximum_attempts)
    service = RagServiceConfig()
    assert needed < OrchestratorConfig().timeout_seconds
    assert (
        needed
        < service.request_timeout_seconds
        < service.alb_idle_timeout_seconds
        < answers.client_timeout_seconds
    )
