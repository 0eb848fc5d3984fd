"""The states of a training run: spot first, on-demand where spot fails, and how it ends. Pure: values in, a definition out.

AWS Batch tries a job again by itself. This machine looks at the job from time to time, and submits it once more where
Batch has given up on something that is not the job's own fault.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.config_gpu_sections import TrainingConfig
from components.job_facts import HOST_LOST, INTERRUPTED_EXIT_CODE
from components.training_pace import look_seconds, looks_in, looks_to_a_check
from components.training_submission import submission_states
from components.training_tasks import (
    State,
    at_least,
    batch_call,
    count,
    is_present,
    present,
    termination,
    whatever_fails,
)

# What Batch says of an attempt that it has ended for its time.
# https://docs.aws.amazon.com/batch/latest/userguide/job_timeouts.html
ATTEMPT_TIMED_OUT = "*exceeded timeout*"
# What it says of a job that no node of the queue could hold, and that it has cancelled for that.
# https://docs.aws.amazon.com/batch/latest/userguide/job_stuck_in_runnable.html
NO_NODE_FITS = "*MISCONFIGURATION:*"
# Looks after a run's time is over, at each of which its job is told to end once more.
TRIES_TO_END = 20
SEEN = "$.seen.jobs[0]"
# A job over several nodes has no container: its outcome is that of the job of its main node, `<id>#0`.
# https://docs.aws.amazon.com/batch/latest/userguide/job-lifecycle.html
MAIN_NODE = "$.seen.main.jobs[0]"
MAIN_NODE_ID = "States.Array(States.Format('{}#0', $.job.id))"


@dataclass(frozen=True, kw_only=True)
class RunParts:
    """What the definition is made of beside the configuration. Without a function no log is looked into."""

    partition: str
    tags: Mapping[str, str]
    progress_function_arn: pulumi.Input[str] | None = None


def run_definition(config: TrainingConfig, parts: RunParts) -> dict[str, Any]:
    """The definition, in the States language with JSONPath.

    An execution is given `name`, `job_definition`, `queue` and `fallback_queue`, the ARNs of two queues, which are
    alike where there is nothing to fall back to. It succeeds, or fails as NotSubmitted, NoNodeFits, TimedOut, NotEnded,
    Stopped, InterruptedTooOften or JobFailed.
    """
    checks = parts.progress_function_arn is not None
    states = {
        **submission_states(parts.partition, parts.tags),
        **_looks(config, parts.partition),
        **(_checks(parts) if checks else {}),
        "Decide": _decide(config, checks),
        "Judge": _judge(config),
        **_changes_of_course(config, parts.partition),
        **_endings(config),
    }
    return {
        "Comment": "Runs one training job to its end, on spot first.",
        "StartAt": "Begin",
        "States": states,
    }


def _looks(config: TrainingConfig, partition: str) -> dict[str, State]:
    return {
        "Wait": {"Type": "Wait", "Seconds": look_seconds(config.run_hours), "Next": "Look"},
        "Look": {
            **_description(partition, "States.Array($.job.id)", most_retries=1),
            "ResultPath": "$.seen",
            "Next": "Decide",
            # A look that failed is only a look: nothing is seen, and the time of the run goes on.
            **whatever_fails("Decide", "$.seen"),
        },
        "LookAtMainNode": {
            **_description(partition, MAIN_NODE_ID, most_retries=10),
            "ResultPath": "$.seen.main",
            "Next": "Judge",
            **whatever_fails("Judge"),
        },
        # A node that was found ends the wait: the short ones of many attempts are no lack of capacity.
        "CountLook": count("Wait", "looks", "unchecked", waits=0),
        "CountWait": count("Wait", "looks", "waits"),
        "CountBlindLook": count("Wait", "looks"),
    }


def _checks(parts: RunParts) -> dict[str, State]:
    """A look into the log of a running job. Whatever fails here is the alarm's loss, and not the run's."""
    return {
        "FindMainNode": {
            **_description(parts.partition, MAIN_NODE_ID, most_retries=0),
            "ResultPath": "$.seen",
            "Next": "CheckProgress",
            **whatever_fails("CountCheck"),
        },
        "CheckProgress": {
            "Type": "Task",
            "Resource": f"arn:{parts.partition}:states:::lambda:invoke",
            "Parameters": {
                "FunctionName": parts.progress_function_arn,
                # Whole, since a path to what a job does not have would end the run, and nothing could catch it.
                "Payload": {"run.$": "$.name", "jobs.$": "$.seen.jobs"},
            },
            "ResultPath": None,
            "Next": "CountCheck",
            **whatever_fails("CountCheck"),
        },
        "CountCheck": count("Wait", "looks", waits=0, unchecked=1),
    }


def _decide(config: TrainingConfig, checks: bool) -> State:
    """What a look at the job leads to."""
    waits = present(f"{SEEN}.Status", StringEquals="RUNNABLE")
    has_fallback = {"Not": {"Variable": "$.queue", "StringEqualsPath": "$.fallback_queue"}}
    waited = at_least("$.counts.waits", looks_in(config.capacity_wait_minutes * 60, config.run_hours))
    failed = present(f"{SEEN}.Status", StringEquals="FAILED")
    most_looks = looks_in(config.run_hours * 3600, config.run_hours)
    running = present(f"{SEEN}.Status", StringEquals="RUNNING")
    due = [running, at_least("$.counts.unchecked", looks_to_a_check(config))]
    to_checks = [
        {"And": [*due, is_present(f"{SEEN}.NodeProperties")], "Next": "FindMainNode"},
        {"And": due, "Next": "CheckProgress"},
    ]
    return {
        "Type": "Choice",
        "Choices": [
            {**present(f"{SEEN}.Status", StringEquals="SUCCEEDED"), "Next": "Succeeded"},
            {"And": [failed, is_present(f"{SEEN}.NodeProperties")], "Next": "LookAtMainNode"},
            {**failed, "Next": "Judge"},
            {**at_least("$.counts.looks", most_looks + TRIES_TO_END), "Next": "NotEnded"},
            {**at_least("$.counts.looks", most_looks), "Next": "End"},
            {"Not": is_present(SEEN), "Next": "CountBlindLook"},
            {"And": [waits, has_fallback, waited], "Next": "GiveUpOnCapacity"},
            {**waits, "Next": "CountWait"},
            *(to_checks if checks else []),
        ],
        "Default": "CountLook",
    }


def _judge(config: TrainingConfig) -> State:
    """What a failed job leads to: another one where it was interrupted, or never found its capacity.

    A job that is stopped, or out of time, may well save its work and exit with 75, so that comes last.
    """
    given_up = {"Not": {"Variable": f"{SEEN}.JobQueue", "StringEqualsPath": "$.queue"}}
    stopped = [present(f"{SEEN}.{flag}", BooleanEquals=True) for flag in ("IsTerminated", "IsCancelled")]
    # The rules of the job definition, asked of the last attempt.
    interrupted = {
        "Or": [
            *_of_job_or_main_node("StatusReason", StringMatches=HOST_LOST),
            *_of_job_or_main_node("Container.ExitCode", NumericEquals=int(INTERRUPTED_EXIT_CODE)),
        ]
    }
    submitted_too_often = at_least("$.counts.submissions", config.submissions)
    leaves_spot = at_least("$.counts.submissions", config.spot_submissions)
    return {
        "Type": "Choice",
        "Choices": [
            {"And": [is_present(f"{SEEN}.JobQueue"), given_up], "Next": "CountSubmission"},
            {"Or": _of_job_or_main_node("StatusReason", StringMatches=ATTEMPT_TIMED_OUT), "Next": "TimedOut"},
            {**present(f"{SEEN}.StatusReason", StringMatches=NO_NODE_FITS), "Next": "NoNodeFits"},
            {"Or": stopped, "Next": "Stopped"},
            {"And": [interrupted, submitted_too_often], "Next": "InterruptedTooOften"},
            {"And": [interrupted, leaves_spot], "Next": "FallBack"},
            {**interrupted, "Next": "CountSubmission"},
            {**is_present(f"{SEEN}.StatusReason"), "Next": "JobFailed"},
            {**is_present(f"{MAIN_NODE}.StatusReason"), "Next": "MainNodeFailed"},
        ],
        "Default": "FailedWithoutReason",
    }


def _changes_of_course(config: TrainingConfig, partition: str) -> dict[str, State]:
    fall_back = {"Type": "Pass", "InputPath": "$.fallback_queue", "ResultPath": "$.queue"}
    no_capacity = f"No capacity within {config.capacity_wait_minutes} minutes."
    too_late = f"The run is not done after {config.run_hours} hours."
    return {
        "FallBack": {**fall_back, "Next": "CountSubmission"},
        "GiveUpOnCapacity": {
            **termination(partition, no_capacity, otherwise="CountWait"),
            "Next": "FallBackWhenItHasEnded",
        },
        # Two jobs at once would write the same checkpoints.
        "FallBackWhenItHasEnded": {**fall_back, "Next": "CountLook"},
        "End": {**termination(partition, too_late, otherwise="CountBlindLook"), "Next": "TimedOut"},
    }


def _endings(config: TrainingConfig) -> dict[str, State]:
    causes = {
        "TimedOut": f"An attempt took {config.timeout_hours} hours, or the run {config.run_hours}.",
        "NotEnded": "The run's time is over and its job could not be ended: `python -m ops train stop` ends it.",
        "Stopped": "Somebody ended the job.",
        "InterruptedTooOften": f"Each of {config.submissions} submissions was interrupted.",
    }
    failures = {name: {"Type": "Fail", "Error": name, "Cause": cause} for name, cause in causes.items()}
    job_failed = {"Type": "Fail", "Error": "JobFailed"}
    return {
        "Succeeded": {"Type": "Succeed"},
        **failures,
        "NoNodeFits": {"Type": "Fail", "Error": "NoNodeFits", "CausePath": f"{SEEN}.StatusReason"},
        "JobFailed": {**job_failed, "CausePath": f"{SEEN}.StatusReason"},
        "MainNodeFailed": {**job_failed, "CausePath": f"{MAIN_NODE}.StatusReason"},
        "FailedWithoutReason": {**job_failed, "Cause": "AWS Batch gives no reason; the job's log may."},
    }


def _description(partition: str, job_ids: str, most_retries: int) -> State:
    """All that Batch knows of a job. A list, since a path into an empty one would end the run."""
    return {
        **batch_call(partition, "describeJobs", most_retries),
        "Parameters": {"Jobs.$": job_ids},
        "ResultSelector": {"jobs.$": "$.Jobs"},
    }


def _of_job_or_main_node(field: str, **comparison: Any) -> list[State]:
    return [present(f"{job}.{field}", **comparison) for job in (SEEN, MAIN_NODE)]
