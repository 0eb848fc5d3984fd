"""How often a training run looks at its job, and at the job's log. Pure: values in, seconds and counts out."""

import math

from components.config_gpu_sections import TrainingConfig

# An execution ends at 25,000 events, and would leave its job alone. A look makes 11: two for each state, three more for
# a call. Looking into the log as well makes ten more, and each of 50 submissions 34 at most. That is 23,300 with the
# numbers below, and leaves 1,700 for calls that fail.
# https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
MOST_LOOKS = 1600
MOST_CHECKS = 400
SHORTEST_WAIT_SECONDS = 60
# A log that is read four times in the bound of the alarm tells a quarter of it too late.
CHECKS_IN_A_BOUND = 4


def look_seconds(run_hours: int) -> int:
    """Seconds between two looks at a job: a minute, or more where the looks of a long run would be too many."""
    return max(SHORTEST_WAIT_SECONDS, math.ceil(run_hours * 3600 / MOST_LOOKS))


def looks_in(seconds: int, run_hours: int) -> int:
    """How many looks it takes until so much time has passed."""
    return math.ceil(seconds / look_seconds(run_hours))


def looks_to_a_check(config: TrainingConfig) -> int:
    """Every so many looks at a running job its log is looked into."""
    useful_seconds = config.stale_minutes * 60 // CHECKS_IN_A_BOUND
    affordable_seconds = math.ceil(config.run_hours * 3600 / MOST_CHECKS)
    return looks_in(max(useful_seconds, affordable_seconds), config.run_hours)


def check_seconds(config: TrainingConfig) -> int:
    """Seconds between two looks into the log of a running job."""
    return looks_to_a_check(config) * look_seconds(config.run_hours)
