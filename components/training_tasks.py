"""The parts that the states of a training run are made of, in the States language with JSONPath. Pure."""

from typing import Any

State = dict[str, Any]

COUNTS = ("looks", "unchecked", "waits", "submissions", "tries")


def count(then: str, *names: str, **values: int) -> State:
    """Adds one to these counts, and sets others."""
    counts: State = {f"{name}.$": f"$.counts.{name}" for name in COUNTS if name not in values}
    for name in names:
        counts[f"{name}.$"] = f"States.MathAdd($.counts.{name}, 1)"
    return {"Type": "Pass", "Parameters": {**counts, **values}, "ResultPath": "$.counts", "Next": then}


def batch_call(partition: str, action: str, most_retries: int) -> State:
    """A call of AWS Batch.

    Not by the integration that waits for the job's end: it does not tell of a job that finds no capacity, and adds
    overrides of the container, which a job over several nodes refuses.
    """
    again = {"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": most_retries}
    pace = {"IntervalSeconds": 5, "BackoffRate": 2, "MaxDelaySeconds": 300}
    resource = f"arn:{partition}:states:::aws-sdk:batch:{action}"
    return {"Type": "Task", "Resource": resource, "Retry": [{**again, **pace}]}


def termination(partition: str, reason: str, otherwise: str) -> State:
    """Ends the job, or goes on with `otherwise`: what could not be ended is still looked at, and ended later."""
    call = batch_call(partition, "terminateJob", most_retries=2)
    parameters = {"JobId.$": "$.job.id", "Reason": reason}
    return {**call, "Parameters": parameters, "ResultPath": None, **whatever_fails(otherwise)}


def whatever_fails(then: str, result_path: str | None = None) -> State:
    """Goes on with another state when all retries have failed; the error goes to `result_path`, or nowhere."""
    return {"Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": result_path, "Next": then}]}


def at_least(variable: str, number: int) -> State:
    return {"Variable": variable, "NumericGreaterThanEquals": number}


def present(variable: str, **comparison: Any) -> State:
    """A comparison that is false, and no error, where there is no such value."""
    return {"And": [{"Variable": variable, "IsPresent": True}, {"Variable": variable, **comparison}]}


def is_present(variable: str) -> State:
    return {"Variable": variable, "IsPresent": True}
