"""The job to be looked at, as the state machine of training runs hands it over."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

MILLISECONDS = 1000


@dataclass(frozen=True, kw_only=True)
class RunningJob:
    """`started` is when its current attempt began, in seconds since 1970; `log_stream` is "" while it has none."""

    run: str
    job_id: str
    log_stream: str
    started: float

    @classmethod
    def of_event(cls, event: Mapping[str, Any]) -> Self | None:
        """The job in `{"run": name, "jobs": [job]}`, where the job is told as by AWS Batch's DescribeJobs.

        Step Functions begins the fields with a capital. None where there is no job, or it does not run.
        """
        jobs = event.get("jobs") or [{}]
        job = jobs[0]
        if job.get("Status") != "RUNNING" or not job.get("StartedAt"):
            return None
        return cls(
            run=str(event.get("run", "")),
            job_id=job.get("JobId", ""),
            log_stream=(job.get("Container") or {}).get("LogStreamName", ""),
            started=job["StartedAt"] / MILLISECONDS,
        )
