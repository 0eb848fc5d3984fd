"""The roles that GitHub's workflows take, each for an hour at most and without a stored key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from bootstrap.permissions import PATH, Place, deploy_policy, plan_policy, preview_policy
from bootstrap.settings import BootstrapSettings
from bootstrap.state_store import StateStore
from components.iam import document

ISSUER = "token.actions.githubusercontent.com"
AUDIENCE = "sts.amazonaws.com"
MAIN_BRANCH = "ref:refs/heads/main"
LONGEST_SESSION_SECONDS = 3600


@dataclass(frozen=True, kw_only=True)
class GithubAccessArgs:
    settings: BootstrapSettings
    state: StateStore
    partition: str
    account_id: pulumi.Output[str]


class GithubAccess(pulumi.ComponentResource):
    """Trust in one repository, by the exact subject of its tokens.

    Pull requests may read (`preview`), the main branch may read and put down plans (`plan`), and jobs of the named
    environments may deploy (`deploy`). A fork's pull request gets no token at all (GitHub gives it no `id-token`).
    """

    preview_role_arn: pulumi.Output[str]
    plan_role_arn: pulumi.Output[str]
    deploy_role_arn: pulumi.Output[str]

    def __init__(self, name: str, args: GithubAccessArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:GithubAccess", name, None, opts)
        self._name = name
        self._partition = args.partition
        settings = args.settings
        self._provider_arn = self._identity_provider(settings.identity_provider_arn)
        place = Place(
            partition=args.partition, account_id=args.account_id, bucket_arn=args.state.bucket_arn,
            key_arn=args.state.key_arn, identity_provider_arn=self._provider_arn,
        )  # fmt: skip

        self.preview_role_arn = self._reader(
            "preview", [settings.subject("pull_request")], preview_policy(place)
        )
        self.plan_role_arn = self._reader("plan", [settings.subject(MAIN_BRANCH)], plan_policy(place))
        self.deploy_role_arn = self._deployer(
            [settings.subject(f"environment:{environment}") for environment in settings.environments],
            deploy_policy(place),
        )
        self.register_outputs({"deploy_role_arn": self.deploy_role_arn})

    def _identity_provider(self, existing: str) -> pulumi.Output[str]:
        if existing:
            return pulumi.Output.from_input(existing)
        return aws.iam.OpenIdConnectProvider(
            f"{self._name}-identity",
            url=f"https://{ISSUER}",
            client_id_lists=[AUDIENCE],
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        ).arn

    def _reader(self, kind: str, subjects: Sequence[str], policy: Mapping[str, Any]) -> pulumi.Output[str]:
        role = self._role(kind, subjects)
        child = pulumi.ResourceOptions(parent=self)
        aws.iam.RolePolicyAttachment(
            f"{self._name}-{kind}-read",
            role=role.name,
            policy_arn=f"arn:{self._partition}:iam::aws:policy/ReadOnlyAccess",
            opts=child,
        )
        aws.iam.RolePolicy(
            f"{self._name}-{kind}-limits", role=role.name, policy=pulumi.Output.json_dumps(policy), opts=child
        )
        return role.arn

    def _deployer(self, subjects: Sequence[str], policy: Mapping[str, Any]) -> pulumi.Output[str]:
        """One policy twice: as permissions, and as the boundary that no later attachment can widen."""
        child = pulumi.ResourceOptions(parent=self)
        limits = aws.iam.Policy(
            f"{self._name}-deploy-limits", path=PATH, policy=pulumi.Output.json_dumps(policy), opts=child
        )
        role = self._role("deploy", subjects, boundary=limits.arn)
        aws.iam.RolePolicyAttachment(
            f"{self._name}-deploy-permissions", role=role.name, policy_arn=limits.arn, opts=child
        )
        return role.arn

    def _role(
        self, kind: str, subjects: Sequence[str], boundary: pulumi.Input[str] | None = None
    ) -> aws.iam.Role:
        return aws.iam.Role(
            f"{self._name}-{kind}",
            path=PATH,
            description=f"GitHub workflows: {kind}",
            max_session_duration=LONGEST_SESSION_SECONDS,
            permissions_boundary=boundary,
            assume_role_policy=pulumi.Output.json_dumps(trust(self._provider_arn, subjects)),
            opts=pulumi.ResourceOptions(parent=self),
        )


def trust(provider_arn: pulumi.Input[str], subjects: Sequence[str]) -> dict[str, Any]:
    """Tokens of GitHub for AWS, with one of exactly these subjects."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Federated": provider_arn},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": {f"{ISSUER}:aud": AUDIENCE, f"{ISSUER}:sub": list(subjects)}},
    }
    return document([statement])
