"""Starts a run: a revision of the stack's job definition with what the person asked for, and an execution for it."""

import json
from typing import Any

from ops.aws_calls import told
from ops.train.live import check_checkpoint_is_free
from ops.train.request import RequestError, RunRequest, job_definition
from ops.train.stack import Clients, TrainingStack

PERMISSIONS = (
    "batch:DescribeJobDefinitions, batch:ListJobs, batch:RegisterJobDefinition, batch:TagResource, iam:PassRole for the "
    "job's role, states:ListExecutions, states:DescribeExecution and states:StartExecution"
)


def start(clients: Clients, stack: TrainingStack, request: RunRequest, *, on_demand: bool = False) -> str:
    """Starts the run and returns the ARN of the revision that it runs. Raises RequestError and AwsCallError.

    A revision costs nothing, and goes with the stack.
    """
    own = _own_definition(clients, stack, request)
    parameters = job_definition(own, request)
    if request.checkpoint not in ("", request.name):  # a folder of the run's own name is new
        check_checkpoint_is_free(clients, stack, request.checkpoint)
    with told("registering the job definition"):
        revision = clients.batch.register_job_definition(**parameters)["jobDefinitionArn"]
    with told("starting the run"):
        clients.step_functions.start_execution(
            stateMachineArn=stack.state_machine_arn,
            name=request.name,
            input=json.dumps(execution_input(stack, request, revision, on_demand=on_demand)),
        )
    return revision


def execution_input(
    stack: TrainingStack, request: RunRequest, revision: str, *, on_demand: bool
) -> dict[str, str]:
    """What the state machine is given. Batch has no jobs over several nodes on spot."""
    first, fallback = stack.spot_queue_arn, stack.on_demand_queue_arn
    if request.nodes > 1:
        first = fallback = stack.multi_node_queue_arn
    elif on_demand:
        first = fallback
    return {
        "name": request.name,
        "job_definition": revision,
        "queue": first,
        "fallback_queue": fallback,
    }


def _own_definition(clients: Clients, stack: TrainingStack, request: RunRequest) -> dict[str, Any]:
    arn = stack.job_definition_arn if request.nodes == 1 else stack.multi_node_job_definition_arn
    if not arn:
        raise RequestError(
            "The stack has no jobs over several nodes. Fix: set ai-platform:trainingNodes to 2 or more with an instance "
            "type that has EFA, and run `pulumi up`."
        )
    with told("reading the job definition"):
        found = clients.batch.describe_job_definitions(jobDefinitions=[arn])["jobDefinitions"]
    if not found:
        raise RequestError(f"There is no job definition {arn}. Fix: run `pulumi up`.")
    return found[0]
