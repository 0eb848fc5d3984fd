"""Ends a run: first the execution, so that it submits nothing more, then whatever jobs there are."""

from ops.aws_calls import told
from ops.train.runs import read_jobs, read_run
from ops.train.stack import Clients, TrainingStack

REASON = "Stopped by python -m ops train stop."
ENDED = ("SUCCEEDED", "FAILED")


def stop(clients: Clients, stack: TrainingStack, name: str) -> list[str]:
    """The ids of the jobs that were ended; each is told to save and has 30 seconds. AwsCallError for an unknown run."""
    if not read_run(clients, stack, name).is_over:
        with told(f"stopping the run {name}"):
            clients.step_functions.stop_execution(executionArn=stack.execution_arn(name), cause=REASON)
    # Read after the execution has ended: it may have submitted a job until then.
    ids = [job.job_id for job in read_jobs(clients, stack, name) if job.status not in ENDED]
    for job_id in ids:
        with told(f"ending the job {job_id}"):
            clients.batch.terminate_job(jobId=job_id, reason=REASON)
    return ids
