"""The experiment of the Fault Injection Service: started, waited for, and its failures told."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ops.aws_calls import AwsCallError, error_code, told
from ops.drill.place import Drill, DrillClients, DrillRefused

PERMISSIONS = (
    "fis:StartExperiment, fis:GetExperiment, fis:ListExperimentResolvedTargets, iam:CreateServiceLinkedRole for fis on the "
    "first experiment of an account, ec2:DescribeInstances, ec2:CreateTags and ec2:DeleteTags on the nodes, "
    "ecs:DescribeContainerInstances, and what `python -m ops train status` takes"
)
POLL_SECONDS = 5
# A tag is not seen everywhere at once.
TRIES = 6
BETWEEN_TRIES_SECONDS = 20
LONGEST_START_SECONDS = 300
FAILED = ("failed", "stopping", "stopped", "cancelled")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """`notice_sent` is in seconds since 1970, None until the notice is on its way."""

    id: str
    status: str
    reason: str
    notice_sent: float | None

    @property
    def failed(self) -> bool:
        return self.status in FAILED


def interrupt(
    clients: DrillClients, drill: Drill, sleep: Callable[[float], None], tell: Callable[[str], None]
) -> Experiment:
    """Has the marked node interrupted, and returns once the notice is on its way. Raises DrillRefused and AwsCallError.

    An experiment that found no node has touched nothing, and is started again a few times.
    """
    for attempt in range(TRIES):
        experiment_id = start(clients, drill)
        tell(f"the experiment {experiment_id} has started")
        experiment = _sent(clients, experiment_id, sleep)
        if not experiment.failed and experiment.notice_sent is not None:
            return experiment
        if _found_a_node(clients, experiment) or attempt == TRIES - 1:
            break
        tell(f"the experiment does not see the tag yet ({experiment.reason}); trying again")
        sleep(BETWEEN_TRIES_SECONDS)
    raise DrillRefused(
        f"The experiment {experiment.id} is {experiment.status}: {experiment.reason} Fix: look at it in the console of the "
        "Fault Injection Service; where it was denied something, run `pulumi up` and check the account's policies."
    )


def start(clients: DrillClients, drill: Drill) -> str:
    """The id of a new experiment. The token is that of this start alone, so a repeated call starts no second one."""
    from botocore.exceptions import ClientError

    with told("starting the experiment"):
        try:
            started = clients.fis.start_experiment(
                clientToken=str(uuid.uuid4()), experimentTemplateId=drill.experiment_template_id
            )
        except ClientError as error:
            code = error_code(error)
            if code.startswith("AccessDenied"):
                raise AwsCallError(f"You may not start the experiment. Fix: allow {PERMISSIONS}.") from error
            if code == "ResourceNotFoundException":
                raise AwsCallError(
                    f"There is no experiment template {drill.experiment_template_id}. Fix: run `pulumi up`."
                ) from error
            raise
    return started["experiment"]["id"]


def look(clients: DrillClients, experiment_id: str) -> Experiment:
    """How an experiment is now."""
    with told(f"reading the experiment {experiment_id}"):
        told_of = clients.fis.get_experiment(id=experiment_id)["experiment"]
    actions = list(told_of.get("actions", {}).values())
    reasons = [
        told_of["state"].get("reason", ""),
        *(one.get("state", {}).get("reason", "") for one in actions),
    ]
    return Experiment(
        id=experiment_id,
        status=told_of["state"]["status"],
        reason=" ".join(f"{reason.rstrip('.')}." for reason in dict.fromkeys(reasons) if reason),
        notice_sent=_notice_sent(told_of),
    )


def _sent(clients: DrillClients, experiment_id: str, sleep: Callable[[float], None]) -> Experiment:
    """Once the notice is on its way, or the experiment is over."""
    for _ in range(LONGEST_START_SECONDS // POLL_SECONDS):
        experiment = look(clients, experiment_id)
        if experiment.failed or experiment.notice_sent is not None:
            return experiment
        sleep(POLL_SECONDS)
    return experiment


def _notice_sent(experiment: dict[str, Any]) -> float | None:
    for action in experiment.get("actions", {}).values():
        if action.get("state", {}).get("status") in ("running", "completed"):
            since = action.get("startTime") or experiment.get("startTime")
            return since.timestamp() if since else None
    return None


def _found_a_node(clients: DrillClients, experiment: Experiment) -> bool:
    with told(f"reading the targets of the experiment {experiment.id}"):
        return bool(
            clients.fis.list_experiment_resolved_targets(experimentId=experiment.id)["resolvedTargets"]
        )
