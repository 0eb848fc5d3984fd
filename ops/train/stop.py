"""Ends a run: first the execution, so that it submits nothing more, then whatever jobs there are."""

from collections.abc import Callable, Sequence

from ops.aws_calls import told
from ops.train.runs import ENDED, read_jobs, read_run
from ops.train.stack import Clients, TrainingStack

REASON = "Stopped by python -m ops train stop."
# A submission that was on its way when the execution ended still makes a job.
LOOKS_FOR_LATE_JOBS = 3
LOOK_SECONDS = 5


def stop(clients: Clients, stack: TrainingStack, name: str, sleep: Callable[[float], None]) -> list[str]:
    """The ids of the jobs that were ended; each is told to save and has 30 seconds. AwsCallError for an unknown run.

    Where the run was live it is looked for late jobs, for a quarter of a minute.
    """
    was_live = not read_run(clients, stack, name).is_over
    if was_live:
        with told(f"stopping the run {name}"):
            clients.step_functions.stop_execution(executionArn=stack.execution_arn(name), cause=REASON)
    ended = _end_jobs(clients, stack, name, ())
    for _ in range(LOOKS_FOR_LATE_JOBS if was_live else 0):
        sleep(LOOK_SECONDS)
        ended += _end_jobs(clients, stack, name, ended)
    return ended


def _end_jobs(clients: Clients, stack: TrainingStack, name: str, ended: Sequence[str]) -> list[str]:
    """All that have not ended by themselves, nor were `ended` before."""
    jobs = [job.job_id for job in read_jobs(clients, stack, name) if job.status not in ENDED]
    new = [job_id for job_id in jobs if job_id not in ended]
    for job_id in new:
        with told(f"ending the job {job_id}"):
            clients.batch.terminate_job(jobId=job_id, reason=REASON)
    return new
