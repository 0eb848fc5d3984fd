"""A training run, executed: every way that it can go, on a scripted AWS Batch."""

import json
import logging
from typing import Any

import pytest

from components.config_gpu_sections import TrainingConfig
from components.training_pace import (
    MOST_CHECKS,
    MOST_LOOKS,
    check_seconds,
    look_seconds,
    looks_to_a_check,
)
from components.training_states import TRIES_TO_END, RunParts, run_definition
from training_runs import (
    HOST_LOST,
    INPUT,
    JOB_DEFINITION,
    NODES,
    ON_DEMAND,
    PROGRESS_FUNCTION,
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
CONFIG = TrainingConfig(run_hours=1, capacity_wait_minutes=5, stale_minutes=12)
LOOKS_IN_A_RUN = CONFIG.run_hours * 3600 // look_seconds(CONFIG.run_hours)
TAGS = {"Project": "ai-platform", "Stack": "dev", "Owner": "platform-team"}
PARTS = RunParts(partition="aws", tags=TAGS, progress_function_arn=PROGRESS_FUNCTION)
DEFINITION = run_definition(CONFIG, PARTS)
EXITED = "Essential container in task exited"


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
    assert batch.submitted == [
        {"jobName": "run-1-1", "jobQueue": SPOT, "jobDefinition": JOB_DEFINITION, "tags": TAGS}
    ], "overrides would be refused by jobs over several nodes"
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
    assert batch.terminated == [{"jobId": "job-1", "reason": "The run is not done after 1 hours."}], (
        "the job would go on, and be paid for"
    )
    assert batch.looks == LOOKS_IN_A_RUN + 1


def test_a_job_that_fits_on_no_node_ends_the_run_and_says_why() -> None:
    reason = "Canceled by JobStateTimeLimit action due to reason: MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"
    cancelled = failed(reason, isCancelled=True)
    execution, batch = run([WAITING, cancelled], [SUCCEEDED])

    assert (execution.error, execution.cause) == ("NoNodeFits", reason), "nobody would learn what to mend"
    assert batch.queues == ["spot"]


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
    execution, batch = run([RUNNING, SAVED], [SUCCEEDED], refused={1, 3, 5, 6, 8, 11})

    assert execution.status == "SUCCEEDED", "a moment's failure of AWS Batch would leave the job alone"
    assert batch.queues == ["spot", "spot"]


def test_each_submission_has_a_name_of_its_own() -> None:
    _, batch = run([HOST_LOST], [SAVED], [SUCCEEDED])

    names = [call["jobName"] for call in batch.submitted]
    assert names == ["run-1-1", "run-1-2", "run-1-3"], (
        "a job of an earlier submission would be taken for the one that was lost sight of"
    )


def test_a_job_whose_submission_timed_out_is_adopted() -> None:
    execution, batch = run([RUNNING, SAVED], [RUNNING, SUCCEEDED], lost={1, 2})

    assert execution.status == "SUCCEEDED"
    assert len(batch.submitted) == 2, "two jobs would train the same run, and write the same checkpoints"


def test_a_job_of_another_name_is_not_adopted() -> None:
    batch = ScriptedBatch([[RUNNING], [SUCCEEDED]])
    batch.submitted.append({"jobName": "RUN-1-1", "jobQueue": SPOT})
    execution = execute(DEFINITION, batch)

    assert execution.status == "SUCCEEDED", "the run would watch another run's job, and never have its own"
    assert [call["jobName"] for call in batch.submitted] == ["RUN-1-1", "run-1-1"]


def test_a_run_whose_job_is_refused_fails_and_says_why() -> None:
    execution, batch = run([SUCCEEDED], refuses={"SubmitJob"})

    assert (execution.status, execution.error) == ("FAILED", "NotSubmitted") and not batch.submitted
    assert "no (" in execution.cause, "the person would not learn the reason"
    assert batch.asked[-1] == "ListJobs", "the last try may have made a job that nobody would watch"
    assert 1 < batch.asked.count("SubmitJob") < 10


def test_nothing_is_submitted_while_nobody_knows_what_there_is() -> None:
    execution, batch = run([SUCCEEDED], refuses={"ListJobs"})

    assert execution.status == "FAILED" and not batch.submitted, "there might be two jobs of one run"


def test_looks_that_fail_are_only_looks() -> None:
    blind = set(range(4, 40))
    execution, batch = run([RUNNING, SUCCEEDED], refused=blind)

    assert execution.status == "SUCCEEDED", "the job would go on without anybody watching"
    assert batch.looks == 2


def test_looks_that_fail_do_not_prolong_a_wait_or_end_one() -> None:
    execution, batch = run([WAITING], [SUCCEEDED], refused={5, 6, 9, 10})

    assert execution.status == "SUCCEEDED"
    assert batch.queues == ["spot", "on-demand"], "a wait for capacity would start again after each failure"
    waits = CONFIG.capacity_wait_minutes * 60 // look_seconds(CONFIG.run_hours)
    assert batch.looks == waits + 3


def test_a_run_ends_in_time_though_no_look_succeeds() -> None:
    execution, batch = run([RUNNING], refuses={"DescribeJobs"})

    assert (execution.status, execution.error) == ("FAILED", "TimedOut")
    assert len(batch.terminated) == 1, "the job would go on, and be paid for"


def test_a_job_that_is_not_found_is_looked_for_again() -> None:
    execution, _ = run([{}, RUNNING, SUCCEEDED])
    assert execution.status == "SUCCEEDED", "a path into an empty list would end the run"


def test_spot_is_given_up_once_aws_batch_lets_it() -> None:
    waits = CONFIG.capacity_wait_minutes * 60 // look_seconds(CONFIG.run_hours)
    calls_before = 3 + waits
    refused = set(range(calls_before + 1, calls_before + 4))
    execution, batch = run([WAITING], [SUCCEEDED], refused=refused)

    assert execution.status == "SUCCEEDED", "a run that could not leave spot would end, and its job would not"
    assert batch.queues == ["spot", "on-demand"]


def test_a_job_that_cannot_be_ended_is_told_again() -> None:
    calls_before = 2 + LOOKS_IN_A_RUN + 1
    refused = set(range(calls_before + 1, calls_before + 4))
    definition = run_definition(CONFIG, RunParts(partition="aws", tags=TAGS))
    batch = ScriptedBatch([[RUNNING]], refused=refused)
    execution = execute(definition, batch)

    assert (execution.status, execution.error) == ("FAILED", "TimedOut")
    assert len(batch.terminated) == 1 and batch.asked.count("TerminateJob") == 4
    assert batch.looks == LOOKS_IN_A_RUN + 2


def test_a_job_that_can_never_be_ended_is_told_of() -> None:
    execution, batch = run([RUNNING], refuses={"TerminateJob"})

    assert (execution.status, execution.error) == ("FAILED", "NotEnded")
    assert "train stop" in execution.cause, "nobody would know that a job is still paid for"
    assert batch.looks == LOOKS_IN_A_RUN + 1 + TRIES_TO_END


def test_the_main_node_tells_how_a_job_over_several_nodes_ended() -> None:
    parent = {"status": "FAILED", **NODES}
    for main_node, error, queues in (
        (SAVED, "", ["spot", "spot"]),
        (HOST_LOST, "", ["spot", "spot"]),
        (USER_ERROR, "JobFailed", ["spot"]),
        (failed("Job attempt duration exceeded timeout", 75), "TimedOut", ["spot"]),
        (None, "JobFailed", ["spot"]),
    ):
        execution, batch = run([parent], [SUCCEEDED], main_node=main_node)
        assert execution.error == error, "a saved interruption would end a run over several nodes"
        assert batch.queues == queues


def test_a_job_over_several_nodes_that_somebody_ended_is_not_submitted_again() -> None:
    execution, batch = run([{"status": "FAILED", "isTerminated": True, **NODES}], main_node=SAVED)
    assert execution.error == "Stopped" and batch.queues == ["spot"]


@pytest.mark.parametrize(
    ("job", "main_node", "cause"),
    [
        ({"status": "FAILED"}, None, "AWS Batch gives no reason"),
        ({"status": "FAILED", "container": {}}, None, "AWS Batch gives no reason"),
        ({"status": "FAILED", **NODES}, USER_ERROR, EXITED),
        ({"status": "FAILED", **NODES}, {"status": "FAILED"}, "AWS Batch gives no reason"),
        ({"status": "FAILED", "statusReason": "enough", **NODES}, USER_ERROR, "enough"),
    ],
)
def test_a_job_that_failed_without_a_word_ends_the_run_all_the_same(
    job: dict[str, Any], main_node: dict[str, Any] | None, cause: str
) -> None:
    execution, _ = run([job], main_node=main_node)

    assert execution.error == "JobFailed", "a path to what is not there would end the run as a fault of ours"
    assert execution.cause.startswith(cause)


def test_the_log_of_a_running_job_is_looked_into_from_time_to_time() -> None:
    every = looks_to_a_check(CONFIG)
    execution, batch = run([*[RUNNING] * (every * 3 + 1), SUCCEEDED])

    assert execution.status == "SUCCEEDED"
    assert every > 1 and len(batch.checked) == 3, "a job without progress would raise no alarm"
    assert batch.checked[0]["run"] == "run-1"
    (job,) = batch.checked[0]["jobs"]
    assert (job["JobId"], job["Status"], job["StartedAt"]) == ("job-1", "RUNNING", 5000)
    assert job["Container"]["LogStreamName"] == "training/default/1"


def test_a_job_that_waits_is_not_looked_into() -> None:
    _, batch = run([*[WAITING] * 4, *[WAITING, WAITING, RUNNING] * 10, SUCCEEDED])
    assert not batch.checked, "the alarm would know nothing of a job that has only just started"


def test_of_a_job_over_several_nodes_the_main_node_is_looked_into() -> None:
    parent = {"status": "RUNNING", **NODES}
    main = {"status": "RUNNING", "startedAt": 7000, "container": {"logStreamName": "main"}}
    execution, batch = run([*[parent] * (looks_to_a_check(CONFIG) + 1), SUCCEEDED], main_node=main)

    assert execution.status == "SUCCEEDED"
    ((job,),) = [check["jobs"] for check in batch.checked]
    assert job["JobId"] == "job-1#0", "no other node saves checkpoints"


@pytest.mark.parametrize(
    "options",
    [
        {"answer": {"StatusCode": 200, "FunctionError": "Unhandled"}},
        {"refused": set(range(4 + looks_to_a_check(CONFIG), 5 + looks_to_a_check(CONFIG)))},
    ],
    ids=["the function fails", "the main node is not found"],
)
def test_a_check_that_fails_never_disturbs_the_run(options: dict[str, Any]) -> None:
    every = looks_to_a_check(CONFIG)
    parent = {"status": "RUNNING", **NODES}
    execution, batch = run([*[parent] * (2 * every + 1), SUCCEEDED], main_node=RUNNING, **options)

    assert execution.status == "SUCCEEDED" and batch.queues == ["spot"]
    assert batch.looks == 2 * every + 2, "a failure would be repeated at every look"


def test_without_a_bound_no_log_is_looked_into() -> None:
    definition = run_definition(CONFIG, RunParts(partition="aws", tags=TAGS))
    batch = ScriptedBatch([[*[RUNNING] * 60, SUCCEEDED]])

    assert execute(definition, batch).status == "SUCCEEDED" and not batch.checked
    assert "lambda" not in json.dumps(definition)


def test_the_longest_run_stays_below_the_most_events_of_an_execution() -> None:
    """Of looks, checks and submissions each the dearest kind."""

    def events(*jobs: list[dict[str, Any]], **options: Any) -> int:
        return len(run(*jobs, **options)[0].events)

    nodes, every = {"status": "RUNNING", **NODES}, looks_to_a_check(CONFIG)
    start = events([SUCCEEDED])
    a_look = max((events([look] * 4 + [SUCCEEDED]) - start) / 4 for look in (nodes, WAITING))
    more_for_a_check = (
        events([nodes] * (every + 1) + [SUCCEEDED], main_node=RUNNING) - start - a_look * (every + 1)
    )
    a_submission = events([{"status": "FAILED", **NODES}], [SUCCEEDED], main_node=SAVED) - start
    most_submissions, for_failed_calls = 50, 1500

    longest = TrainingConfig(run_hours=672, stale_minutes=10)
    assert 672 * 3600 / look_seconds(672) <= MOST_LOOKS
    assert 672 * 3600 / check_seconds(longest) <= MOST_CHECKS
    assert (
        a_look * MOST_LOOKS
        + more_for_a_check * MOST_CHECKS
        + a_submission * most_submissions
        + for_failed_calls
    ) < MOST_EVENTS, "the execution would end and leave its job alone"


@pytest.mark.parametrize(("hours", "seconds"), [(1, 60), (26, 60), (27, 61), (168, 378), (672, 1512)])
def test_a_job_is_looked_at_every_minute_or_as_often_as_its_run_allows(hours: int, seconds: int) -> None:
    assert look_seconds(hours) == seconds


@pytest.mark.parametrize(
    ("hours", "minutes", "seconds"), [(2, 60, 900), (2, 10, 180), (168, 60, 1512), (672, 1440, 22680)]
)
def test_a_log_is_read_a_few_times_within_the_bound_or_as_often_as_the_run_allows(
    hours: int, minutes: int, seconds: int
) -> None:
    assert check_seconds(TrainingConfig(run_hours=hours, stale_minutes=minutes)) == seconds


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
    choices = [choice["Next"] for choice in [*state.get("Choices", []), *state.get("Catch", [])]]
    return [*choices, *(state[key] for key in ("Next", "Default") if key in state)]


def test_the_definition_names_the_partition_of_its_stack() -> None:
    text = json.dumps(run_definition(CONFIG, RunParts(partition="aws-cn", tags=TAGS)))
    assert "arn:aws-cn:states:::aws-sdk:batch:submitJob" in text
    assert "arn:aws:" not in text, "AWS would refuse the definition in another partition"


def test_the_definition_follows_the_configuration() -> None:
    config = TrainingConfig(spot_submissions=1, submissions=2, run_hours=2)
    batch = ScriptedBatch([[SAVED], [USER_ERROR]])
    execution = execute(run_definition(config, PARTS), batch)

    assert batch.queues == ["spot", "on-demand"]
    assert execution.error == "JobFailed"
