"""A training run, executed: every way that it can go, on a scripted AWS Batch."""

import json
import logging
from typing import Any

import pytest

from components.config_gpu_sections import TrainingConfig
from components.training_states import MOST_LOOKS, look_seconds, run_definition
from training_runs import (
    HOST_LOST,
    INPUT,
    JOB_DEFINITION,
    ON_DEMAND,
    ROLE,
    RUNNING,
    SAVED,
    SPOT,
    SUCCEEDED,
    USER_ERROR,
    WAITING,
    Execution,
    ScriptedBatch,
    ended,
    execute,
    failed,
    step_functions,
)

# https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
MOST_EVENTS = 25_000
CONFIG = TrainingConfig(run_hours=2, capacity_wait_minutes=5)
DEFINITION = run_definition(CONFIG, "aws")


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """The interpreter logs every failure at length, expected ones too."""
    caplog.set_level(logging.CRITICAL, logger="moto")


def run(*jobs: list[dict[str, Any]], **options: Any) -> tuple[Execution, ScriptedBatch]:
    batch = ScriptedBatch(list(jobs), **options)
    return execute(DEFINITION, batch), batch


def test_a_run_that_is_not_interrupted_is_one_job_on_spot() -> None:
    execution, batch = run([WAITING, RUNNING, RUNNING, SUCCEEDED])

    assert execution.status == "SUCCEEDED", execution.cause
    assert batch.submitted == [{"jobName": "run-1", "jobQueue": SPOT, "jobDefinition": JOB_DEFINITION}], (
        "overrides would be refused by jobs over several nodes"
    )
    assert not batch.terminated


@pytest.mark.parametrize("interruption", [SAVED, HOST_LOST], ids=["saved", "host lost"])
def test_an_interrupted_job_is_submitted_again_to_spot(interruption: dict[str, Any]) -> None:
    execution, batch = run([RUNNING, interruption], [RUNNING, SUCCEEDED])

    assert execution.status == "SUCCEEDED", "an interruption would end the run"
    assert batch.queues == ["spot", "spot"]


def test_many_interruptions_lead_to_on_demand() -> None:
    execution, batch = run([HOST_LOST], [RUNNING, SAVED], [RUNNING, SUCCEEDED])

    assert execution.status == "SUCCEEDED"
    assert batch.queues == ["spot", "spot", "on-demand"], "a run might never end"


def test_a_run_is_submitted_so_often_and_not_for_ever() -> None:
    execution, batch = run(*[[SAVED] for _ in range(9)])

    assert (execution.status, execution.error) == ("FAILED", "InterruptedTooOften")
    assert batch.queues == ["spot", "spot", "on-demand", "on-demand", "on-demand"]


def test_without_spot_capacity_a_run_goes_on_with_on_demand_once_its_job_has_ended() -> None:
    execution, batch = run([WAITING], [*[WAITING] * 20, RUNNING, SUCCEEDED])

    assert execution.status == "SUCCEEDED"
    assert batch.queues == ["spot", "on-demand"], "the run would wait for spot for ever"
    assert batch.terminated == [{"jobId": "job-1", "reason": "No capacity within 5 minutes."}], (
        "both jobs would run and write the same checkpoints, or on-demand would be given up too"
    )
    looks_until_given_up = CONFIG.capacity_wait_minutes * 60 // look_seconds(CONFIG.run_hours)
    assert batch.looks == looks_until_given_up + 2 + 22, "the wait is another than configured"


def test_each_job_has_the_whole_wait_for_capacity() -> None:
    execution, batch = run([*[WAITING] * 4, HOST_LOST], [*[WAITING] * 4, RUNNING, SUCCEEDED])

    assert execution.status == "SUCCEEDED"
    assert batch.queues == ["spot", "spot"], "a long run would leave spot for waits that were over long ago"


def test_short_waits_of_many_attempts_are_no_lack_of_capacity() -> None:
    execution, batch = run([*[WAITING, WAITING, RUNNING] * 6, SUCCEEDED])

    assert execution.status == "SUCCEEDED"
    assert batch.queues == ["spot"] and not batch.terminated, "a long run would pay on-demand for nothing"


def test_a_job_that_found_capacity_at_the_last_moment_is_waited_for() -> None:
    execution, batch = run([*[WAITING] * 6, RUNNING, SUCCEEDED], [SUCCEEDED], ended=SUCCEEDED)

    assert execution.status == "SUCCEEDED"
    assert batch.queues == ["spot"], "the run would be done twice"


def test_a_given_up_job_that_saved_its_work_goes_on_with_on_demand() -> None:
    saved = failed("No capacity within 5 minutes.", 75, isTerminated=True)
    execution, batch = run([WAITING], [SUCCEEDED], ended=saved)

    assert execution.status == "SUCCEEDED"
    assert batch.queues == ["spot", "on-demand"]


@pytest.mark.parametrize("exit_code", [1, 137, 139])
def test_an_error_of_the_job_itself_ends_the_run(exit_code: int) -> None:
    reason = "Essential container in task exited"
    execution, batch = run([RUNNING, failed(reason, exit_code)], [SUCCEEDED])

    assert (execution.status, execution.error, execution.cause) == ("FAILED", "JobFailed", reason)
    assert batch.queues == ["spot"], "a broken job would be paid for again and again"


def test_a_container_that_never_started_ends_the_run() -> None:
    execution, batch = run([failed("Task failed to start")], [SUCCEEDED])

    assert (execution.error, execution.cause) == ("JobFailed", "Task failed to start")


def test_an_attempt_that_took_too_long_ends_the_run_though_it_saved_its_work() -> None:
    execution, batch = run([RUNNING, failed("Job attempt duration exceeded timeout", 75)], [SUCCEEDED])

    assert (execution.status, execution.error) == ("FAILED", "TimedOut")
    assert batch.queues == ["spot"], "a job that hangs would be started again and again"


def test_a_run_that_took_too_long_ends_with_its_job() -> None:
    execution, batch = run([RUNNING])

    assert (execution.status, execution.error) == ("FAILED", "TimedOut")
    assert batch.terminated == [{"jobId": "job-1", "reason": "The run is not done after 2 hours."}], (
        "the job would go on, and be paid for"
    )
    assert batch.looks == 2 * 3600 // look_seconds(2) + 1


@pytest.mark.parametrize("flag", ["isTerminated", "isCancelled"])
def test_a_job_that_somebody_ended_is_not_submitted_again_though_it_saved_its_work(flag: str) -> None:
    execution, batch = run([RUNNING, failed("enough", 75, **{flag: True})], [SUCCEEDED])

    assert (execution.status, execution.error) == ("FAILED", "Stopped")
    assert batch.queues == ["spot"], "nobody could stop a run"


def test_a_stopped_execution_submits_nothing_more() -> None:
    batch = ScriptedBatch([[RUNNING, RUNNING, SAVED], [SUCCEEDED]])
    with step_functions(batch) as client:
        arn = client.create_state_machine(name="runs", definition=json.dumps(DEFINITION), roleArn=ROLE)
        execution_arn = arn["stateMachineArn"].replace(":stateMachine:", ":execution:") + ":run-1"
        batch.on_look = lambda number: (
            client.stop_execution(executionArn=execution_arn, cause="enough") if number == 2 else None
        )
        client.start_execution(stateMachineArn=arn["stateMachineArn"], name="run-1", input=json.dumps(INPUT))
        execution = ended(client, execution_arn)

    assert execution.status == "ABORTED"
    assert batch.queues == ["spot"] and batch.looks == 2


def test_without_a_fallback_a_run_waits_for_capacity_and_is_submitted_again_where_it_was() -> None:
    batch = ScriptedBatch([[*[WAITING] * 30, HOST_LOST], [HOST_LOST], [SUCCEEDED]])
    execution = execute(DEFINITION, batch, {**INPUT, "queue": ON_DEMAND})

    assert execution.status == "SUCCEEDED"
    assert batch.queues == ["on-demand"] * 3
    assert not batch.terminated, "a run that asked for on-demand would be given up on"


def test_the_next_run_starts_on_spot_again() -> None:
    for _ in range(2):
        _, batch = run([HOST_LOST], [SAVED], [SUCCEEDED])
        assert batch.queues == ["spot", "spot", "on-demand"]


def test_a_run_outlives_calls_that_fail() -> None:
    execution, batch = run([RUNNING, SAVED], [SUCCEEDED], refused={1, 3, 4, 7})

    assert execution.status == "SUCCEEDED", "a moment's failure of AWS Batch would leave the job alone"
    assert batch.queues == ["spot", "spot"]


def test_a_run_whose_job_is_refused_fails_and_says_why() -> None:
    execution, batch = run([SUCCEEDED], refused=set(range(1, 20)))

    assert execution.status == "FAILED" and not batch.submitted
    assert execution.cause.startswith("no ("), "the person would not learn the reason"


@pytest.mark.parametrize("look", [RUNNING, WAITING], ids=["running", "waiting"])
def test_the_longest_run_stays_below_the_most_events_of_an_execution(look: dict[str, Any]) -> None:
    shorter, longer = (len(run([look] * looks + [SUCCEEDED])[0].events) for looks in (1, 4))
    events_of_a_look = (longer - shorter) / 3
    interrupted_once = len(run([SAVED], [SUCCEEDED])[0].events) - len(run([SUCCEEDED])[0].events)
    most_submissions = 50

    assert 672 * 3600 / look_seconds(672) <= MOST_LOOKS
    assert events_of_a_look * MOST_LOOKS + interrupted_once * most_submissions < MOST_EVENTS, (
        "the execution would end and leave its job alone"
    )


@pytest.mark.parametrize(("hours", "seconds"), [(1, 60), (33, 60), (34, 62), (168, 303), (672, 1210)])
def test_a_job_is_looked_at_every_minute_or_as_often_as_its_run_allows(hours: int, seconds: int) -> None:
    assert look_seconds(hours) == seconds


def test_every_state_can_be_reached_and_leads_somewhere() -> None:
    states = DEFINITION["States"]
    reached, waiting = set(), [DEFINITION["StartAt"]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _next(states[name])
    assert reached == set(states), "a state is never entered, or there is none of that name"
    for name, state in states.items():
        assert state["Type"] in ("Succeed", "Fail") or _next(state), f"a run would be stuck in {name}"


def _next(state: dict[str, Any]) -> list[str]:
    choices = [choice["Next"] for choice in state.get("Choices", [])]
    return [*choices, *(state[key] for key in ("Next", "Default") if key in state)]


def test_the_definition_names_the_partition_of_its_stack() -> None:
    text = json.dumps(run_definition(CONFIG, "aws-cn"))
    assert "arn:aws-cn:states:::aws-sdk:batch:submitJob" in text
    assert "arn:aws:" not in text, "AWS would refuse the definition in another partition"


def test_the_definition_follows_the_configuration() -> None:
    config = TrainingConfig(spot_submissions=1, submissions=2, run_hours=2)
    batch = ScriptedBatch([[SAVED], [USER_ERROR]])
    execution = execute(run_definition(config, "aws"), batch)

    assert batch.queues == ["spot", "on-demand"]
    assert execution.error == "JobFailed"
