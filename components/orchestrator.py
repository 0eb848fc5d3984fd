"""The orchestrator: a Lambda function that embeds a question, searches the vector store and answers with sources."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.config_sections import AnswersConfig, OrchestratorConfig
from components.function import PackagedFunction, PackagedFunctionArgs
from components.iam import allow, grant
from components.network import Network
from components.pipeline_environment import pipeline_environment
from components.queues import attach_queue_policy, private_queue
from components.vector_store import VectorStore

# For asynchronous calls only: a question that was not answered within an hour is no longer waited for.
MAXIMUM_EVENT_AGE_SECONDS = 3600
MAXIMUM_RETRY_ATTEMPTS = 1


@dataclass(frozen=True, kw_only=True)
class OrchestratorArgs:
    config: OrchestratorConfig
    answers: AnswersConfig
    account: AwsAccount
    vector_store: VectorStore
    network: Network
    log_retention_days: int


class Orchestrator(pulumi.ComponentResource):
    """Answers at `function_url` and to direct invocations of `function_name`; `role` is granted to from outside.

    The URL takes signed requests only. A caller's own policy must allow lambda:InvokeFunctionUrl and
    lambda:InvokeFunction on the function; with the first alone, the URL answers 403.
    https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html

    An asynchronous call that fails in the end, through no error that could be told to the caller, is kept in the
    failure queue for 14 days.
    """

    role: aws.iam.Role
    function_name: pulumi.Output[str]
    function_url: pulumi.Output[str]

    def __init__(self, name: str, args: OrchestratorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:Orchestrator", name, None, opts)
        function = self._function(args)
        self._keep_failures(function)
        url = aws.lambda_.FunctionUrl(
            f"{name}-url",
            function_name=function.function_name,
            authorization_type="AWS_IAM",
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.role = function.role
        self.function_name = function.function_name
        self.function_url = url.function_url
        self.register_outputs({"function_name": self.function_name, "function_url": self.function_url})

    def _function(self, args: OrchestratorArgs) -> PackagedFunction:
        config = args.config
        return PackagedFunction(
            f"{self.pulumi_resource_name}-answer",
            PackagedFunctionArgs(
                package="orchestrator",
                environment=pipeline_environment(args.answers, args.vector_store),
                timeout_seconds=config.timeout_seconds,
                memory_mib=config.memory_mib,
                log_retention_days=args.log_retention_days,
                partition=args.account.partition,
                network=args.network if args.vector_store.needs_network else None,
                reserved_concurrency=config.reserved_concurrency
                if config.reserved_concurrency >= 0
                else None,
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _keep_failures(self, function: PackagedFunction) -> None:
        queue = private_queue(self, "failures")
        attach_queue_policy(self, queue)
        permission = grant(self, "report-failure", function.role, [allow(["sqs:SendMessage"], [queue.arn])])
        aws.lambda_.FunctionEventInvokeConfig(
            f"{self.pulumi_resource_name}-asynchronous",
            function_name=function.function_name,
            maximum_event_age_in_seconds=MAXIMUM_EVENT_AGE_SECONDS,
            maximum_retry_attempts=MAXIMUM_RETRY_ATTEMPTS,
            destination_config={"on_failure": {"destination": queue.arn}},
            # Lambda refuses a destination that the function's role may not send to.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[permission]),
        )
