"""The Bedrock models of a stack, and who may call them: exact ARNs, in every region a profile can send a request to."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.bedrock import model_arns
from components.config_sections import AnswersConfig
from components.iam import grant

# Converse and ConverseStream are allowed by these two. Bedrock's service model (botocore 1.44.8) says that a call
# also needs its project, which is `default` where none is named.
INVOKE_ACTIONS = ("bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream")
DEFAULT_PROJECT = "project/default"


@dataclass(frozen=True, kw_only=True)
class ModelAccessArgs:
    config: AnswersConfig
    account: AwsAccount


class ModelAccess(pulumi.ComponentResource):
    """Grants on the stack's own models only; it makes nothing in AWS by itself."""

    embedding_model: str
    answer_model: str

    def __init__(self, name: str, args: ModelAccessArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:ModelAccess", name, None, opts)
        self._account = args.account
        self.embedding_model = args.config.embedding_model
        self.answer_model = args.config.answer_model
        self.register_outputs({"embedding_model": self.embedding_model, "answer_model": self.answer_model})

    def grant_embed(self, role: aws.iam.Role) -> None:
        """Lets `role` embed text."""
        self._grant("embed", role, [self.embedding_model])

    def grant_embed_and_answer(self, role: aws.iam.Role) -> None:
        """Lets `role` embed questions and answer them."""
        self._grant("answer", role, [self.embedding_model, self.answer_model])

    def _grant(self, verb: str, role: aws.iam.Role, model_ids: Sequence[str]) -> None:
        account = self._account
        resources = account.account_id.apply(
            lambda account_id: invoke_resources(model_ids, account.region, account_id, account.partition)
        )
        statements = [{"Effect": "Allow", "Action": list(INVOKE_ACTIONS), "Resource": resources}]
        grant(self, verb, role, statements)


def invoke_resources(model_ids: Sequence[str], region: str, account_id: str, partition: str) -> list[str]:
    """The ARNs that calls of `model_ids` need, each once, in order."""
    arns = [arn for model_id in model_ids for arn in model_arns(model_id, region, account_id, partition)]
    project = f"arn:{partition}:bedrock:{region}:{account_id}:{DEFAULT_PROJECT}"
    return list(dict.fromkeys([*arns, project]))
