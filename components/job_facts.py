"""What the jobs, the program and the operator's tools agree on about a run. Plain values: tools must start fast."""

# Where the shared files lie on every node and in every container.
MOUNT_ROOT = "/mnt/shared-data"
SCRATCH = "/scratch"
# What a job exits with once it has saved its work and been interrupted; anything else is its own fault.
INTERRUPTED_EXIT_CODE = "75"
# What Batch says of an attempt whose instance was interrupted or ended.
# https://docs.aws.amazon.com/batch/latest/userguide/job_retries.html
HOST_LOST = "Host EC2*"
