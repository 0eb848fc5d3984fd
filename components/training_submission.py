"""The states in which a training run submits a job once, whatever becomes of the call. Pure.

AWS Batch knows no token that makes a second call harmless, and a call that timed out may have made a job. So each
submission has a job name of its own, and before a job is submitted it is looked for.
"""

from collections.abc import Mapping

from components.training_tasks import COUNTS, State, at_least, batch_call, count, is_present, whatever_fails

MOST_TRIES = 4
# A job that AWS Batch has just made may not be listed yet.
PAUSE_SECONDS = 30


def submission_states(partition: str, tags: Mapping[str, str]) -> dict[str, State]:
    """From Begin to Wait, with the job's id in `$.job.id`; CountSubmission submits another job."""
    values = {f"{key}.$": f"$.{key}" for key in ("name", "job_definition", "queue", "fallback_queue")}
    return {
        "Begin": {
            "Type": "Pass",
            "Parameters": {**values, "counts": dict.fromkeys(COUNTS, 0)},
            "Next": "CountSubmission",
        },
        "CountSubmission": count("NameJob", "submissions", waits=0, tries=0, unchecked=0),
        "NameJob": {
            "Type": "Pass",
            "Parameters": {"name.$": "States.Format('{}-{}', $.name, $.counts.submissions)"},
            "ResultPath": "$.job",
            "Next": "FindJob",
        },
        **_search(partition),
        **_submit(partition, tags),
    }


def _search(partition: str) -> dict[str, State]:
    """With a filter AWS Batch lists jobs of any status, the newest first, and whatever the case (API_ListJobs)."""
    same_name = {"Variable": "$.found.jobs[0].JobName", "StringEqualsPath": "$.job.name"}
    return {
        "FindJob": {
            **batch_call(partition, "listJobs", most_retries=10),
            "Parameters": {
                "JobQueue.$": "$.queue",
                "Filters": [{"Name": "JOB_NAME", "Values.$": "States.Array($.job.name)"}],
            },
            "ResultSelector": {"jobs.$": "$.JobSummaryList"},
            "ResultPath": "$.found",
            "Next": "IsSubmitted",
        },
        "IsSubmitted": {
            "Type": "Choice",
            "Choices": [
                {"And": [is_present("$.found.jobs[0]"), same_name], "Next": "AdoptJob"},
                {**at_least("$.counts.tries", MOST_TRIES), "Next": "NotSubmitted"},
            ],
            "Default": "Submit",
        },
        "AdoptJob": {
            "Type": "Pass",
            "InputPath": "$.found.jobs[0].JobId",
            "ResultPath": "$.job.id",
            "Next": "Wait",
        },
    }


def _submit(partition: str, tags: Mapping[str, str]) -> dict[str, State]:
    return {
        "Submit": {
            "Type": "Task",
            "Resource": batch_call(partition, "submitJob", most_retries=0)["Resource"],
            "Parameters": {
                "JobName.$": "$.job.name",
                "JobQueue.$": "$.queue",
                "JobDefinition.$": "$.job_definition",
                # By these the machine may end it, and costs are told apart. A definition's tags stay with the definition.
                "Tags": dict(tags),
            },
            "ResultSelector": {"id.$": "$.JobId", "name.$": "$.JobName"},
            "ResultPath": "$.job",
            "Next": "Wait",
            **whatever_fails("CountTry", "$.refused"),
        },
        "CountTry": count("PauseBeforeFinding", "tries"),
        "PauseBeforeFinding": {"Type": "Wait", "Seconds": PAUSE_SECONDS, "Next": "FindJob"},
        "NotSubmitted": {
            "Type": "Fail",
            "Error": "NotSubmitted",
            "CausePath": "States.JsonToString($.refused)",
        },
    }
