"""The states of a training run: spot first, on-demand where spot fails, and how it ends. Pure: values in, a definition out.

AWS Batch tries a job again by itself. This machine looks at the job from time to time, and submits it once more where
Batch has given up on something that is not the job's own fault.
"""

import math
from typing import Any

from components.config_gpu_sections import TrainingConfig
from components.training_job import HOST_LOST, INTERRUPTED_EXIT_CODE

# An execution ends at 25,000 events, and each look at the job makes eleven: two for each state, three more for the call.
# https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
MOST_LOOKS = 2000
SHORTEST_WAIT_SECONDS = 60
# What Batch says of an attempt that it has ended for its time.
# https://docs.aws.amazon.com/batch/latest/userguide/job_timeouts.html
ATTEMPT_TIMED_OUT = "*exceeded timeout*"

COUNTS = ("looks", "waits", "submissions")

State = dict[str, Any]


def look_seconds(run_hours: int) -> int:
    """Seconds between two looks at a job: a minute, or more where the looks of a long run would be too many."""
    return max(SHORTEST_WAIT_SECONDS, math.ceil(run_hours * 3600 / MOST_LOOKS))


def run_definition(config: TrainingConfig, partition: str) -> dict[str, Any]:
    """The definition, in the States language with JSONPath.

    An execution is given `name`, `job_definition`, `queue` and `fallback_queue`, the ARNs of two queues, which are
    alike where there is nothing to fall back to. It succeeds, or fails as TimedOut, Stopped, InterruptedTooOften or
    JobFailed.
    """
    states = {
        **_submission(partition),
        **_looks(config, partition),
        "Decide": _decide(config),
        "Judge": _judge(config),
        **_changes_of_course(config, partition),
        **_endings(config),
    }
    return {
        "Comment": "Runs one training job to its end, on spot first.",
        "StartAt": "Begin",
        "States": states,
    }


def _submission(partition: str) -> dict[str, State]:
    values = {f"{key}.$": f"$.{key}" for key in ("name", "job_definition", "queue", "fallback_queue")}
    return {
        "Begin": {
            "Type": "Pass",
            "Parameters": {**values, "counts": dict.fromkeys(COUNTS, 0)},
            "Next": "CountSubmission",
        },
        "CountSubmission": _count("Submit", "submissions", waits=0),
        "Submit": {
            **_call(partition, "submitJob", most_retries=3),
            "Parameters": {
                "JobName.$": "$.name",
                "JobQueue.$": "$.queue",
                "JobDefinition.$": "$.job_definition",
            },
            "ResultSelector": {"id.$": "$.JobId"},
            "ResultPath": "$.job",
            "Next": "Wait",
        },
    }


def _looks(config: TrainingConfig, partition: str) -> dict[str, State]:
    return {
        "Wait": {"Type": "Wait", "Seconds": look_seconds(config.run_hours), "Next": "Look"},
        "Look": {
            **_call(partition, "describeJobs", most_retries=10),
            "Parameters": {"Jobs.$": "States.Array($.job.id)"},
            "ResultSelector": {"job.$": "$.Jobs[0]"},
            "ResultPath": "$.seen",
            "Next": "Decide",
        },
        # A node that was found ends the wait: the short ones of many attempts are no lack of capacity.
        "CountLook": _count("Wait", "looks", waits=0),
        "CountWait": _count("Wait", "looks", "waits"),
    }


def _decide(config: TrainingConfig) -> State:
    """What a look at the job leads to."""
    seconds = look_seconds(config.run_hours)
    waits = {"Variable": "$.seen.job.Status", "StringEquals": "RUNNABLE"}
    has_fallback = {"Not": {"Variable": "$.queue", "StringEqualsPath": "$.fallback_queue"}}
    waited = _at_least("$.counts.waits", math.ceil(config.capacity_wait_minutes * 60 / seconds))
    return {
        "Type": "Choice",
        "Choices": [
            {"Variable": "$.seen.job.Status", "StringEquals": "SUCCEEDED", "Next": "Succeeded"},
            {"Variable": "$.seen.job.Status", "StringEquals": "FAILED", "Next": "Judge"},
            {**_at_least("$.counts.looks", math.ceil(config.run_hours * 3600 / seconds)), "Next": "End"},
            {"And": [waits, has_fallback, waited], "Next": "GiveUpOnCapacity"},
            {**waits, "Next": "CountWait"},
        ],
        "Default": "CountLook",
    }


def _judge(config: TrainingConfig) -> State:
    """What a failed job leads to: another one where it was interrupted, or never found its capacity.

    A job that is stopped, or out of time, may well save its work and exit with 75, so that comes last.
    """
    given_up = {"Not": {"Variable": "$.seen.job.JobQueue", "StringEqualsPath": "$.queue"}}
    stopped = [_present(f"$.seen.job.{flag}", BooleanEquals=True) for flag in ("IsTerminated", "IsCancelled")]
    # The rules of the job definition, asked of the last attempt.
    interrupted = {
        "Or": [
            _present("$.seen.job.StatusReason", StringMatches=HOST_LOST),
            _present("$.seen.job.Container.ExitCode", NumericEquals=int(INTERRUPTED_EXIT_CODE)),
        ]
    }
    submitted_too_often = _at_least("$.counts.submissions", config.submissions)
    leaves_spot = _at_least("$.counts.submissions", config.spot_submissions)
    return {
        "Type": "Choice",
        "Choices": [
            {**given_up, "Next": "CountSubmission"},
            {**_present("$.seen.job.StatusReason", StringMatches=ATTEMPT_TIMED_OUT), "Next": "TimedOut"},
            {"Or": stopped, "Next": "Stopped"},
            {"And": [interrupted, submitted_too_often], "Next": "InterruptedTooOften"},
            {"And": [interrupted, leaves_spot], "Next": "FallBack"},
            {**interrupted, "Next": "CountSubmission"},
        ],
        "Default": "JobFailed",
    }


def _changes_of_course(config: TrainingConfig, partition: str) -> dict[str, State]:
    fall_back = {"Type": "Pass", "InputPath": "$.fallback_queue", "ResultPath": "$.queue"}
    return {
        "FallBack": {**fall_back, "Next": "CountSubmission"},
        "GiveUpOnCapacity": {
            **_termination(partition, f"No capacity within {config.capacity_wait_minutes} minutes."),
            "Next": "FallBackWhenItHasEnded",
        },
        # Two jobs at once would write the same checkpoints.
        "FallBackWhenItHasEnded": {**fall_back, "Next": "CountLook"},
        "End": {
            **_termination(partition, f"The run is not done after {config.run_hours} hours."),
            "Next": "TimedOut",
        },
    }


def _endings(config: TrainingConfig) -> dict[str, State]:
    causes = {
        "TimedOut": f"An attempt took {config.timeout_hours} hours, or the run {config.run_hours}.",
        "Stopped": "Somebody ended the job.",
        "InterruptedTooOften": f"Each of {config.submissions} submissions was interrupted.",
    }
    failures = {name: {"Type": "Fail", "Error": name, "Cause": cause} for name, cause in causes.items()}
    return {
        "Succeeded": {"Type": "Succeed"},
        **failures,
        "JobFailed": {"Type": "Fail", "Error": "JobFailed", "CausePath": "$.seen.job.StatusReason"},
    }


def _count(then: str, *names: str, **values: int) -> State:
    """Adds one to these counts, and sets others."""
    counts: State = {f"{name}.$": f"$.counts.{name}" for name in COUNTS if name not in values}
    for name in names:
        counts[f"{name}.$"] = f"States.MathAdd($.counts.{name}, 1)"
    return {"Type": "Pass", "Parameters": {**counts, **values}, "ResultPath": "$.counts", "Next": then}


def _termination(partition: str, reason: str) -> State:
    call = _call(partition, "terminateJob", most_retries=10)
    return {**call, "Parameters": {"JobId.$": "$.job.id", "Reason": reason}, "ResultPath": None}


def _call(partition: str, action: str, most_retries: int) -> State:
    """A call of Batch.

    Not by the integration that waits for the job's end: it does not tell of a job that finds no capacity, and adds
    overrides of the container, which a job over several nodes refuses.
    """
    again = {"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": most_retries}
    pace = {"IntervalSeconds": 5, "BackoffRate": 2, "MaxDelaySeconds": 300}
    resource = f"arn:{partition}:states:::aws-sdk:batch:{action}"
    return {"Type": "Task", "Resource": resource, "Retry": [{**again, **pace}]}


def _at_least(variable: str, number: int) -> State:
    return {"Variable": variable, "NumericGreaterThanEquals": number}


def _present(variable: str, **comparison: Any) -> State:
    """A comparison that is false, and no error, where there is no such value."""
    return {"And": [{"Variable": variable, "IsPresent": True}, {"Variable": variable, **comparison}]}
