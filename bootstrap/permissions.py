"""What the three roles may do. Pure: from ARNs to policy documents.

Reading is the managed policy ReadOnlyAccess, kept to the platform's services and without what it reads of people's data
there. Deploying is a list of services, and a short list of IAM actions; what this program makes is out of its reach.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from bootstrap.settings import PROJECT
from components.iam import Statement, allow, document

# Roles and policies of this program, which a deployment must not touch.
PATH = f"/{PROJECT}/"
PLANS = "plans/"

# ReadOnlyAccess does not know collection groups of OpenSearch Serverless; version 128 of the policy, 2025-01-23
# (https://docs.aws.amazon.com/aws-managed-policy/latest/reference/ReadOnlyAccess.html).
READ_MORE = ("aoss:BatchGetCollectionGroup", "aoss:ListCollectionGroups")

# Documents, messages, logs, answers, secrets: neither a preview nor a deployment has to read them.
OBJECT_READS = ("s3:GetObject*", "kms:Decrypt", "kms:ReEncryptFrom")
DATA_READS = (
    "aoss:APIAccessAll", "athena:GetQueryResults*", "bedrock:InvokeModel*", "dynamodb:BatchGetItem",
    "dynamodb:GetItem", "dynamodb:PartiQLSelect", "dynamodb:Query", "dynamodb:Scan", "ec2:GetConsole*",
    "ec2:GetPasswordData", "ecs:ExecuteCommand", "elasticfilesystem:Client*", "kinesis:GetRecords", "logs:FilterLogEvents",
    "logs:GetLogEvents", "logs:GetLogRecord", "logs:GetQueryResults", "logs:StartLiveTail", "logs:StartQuery",
    "secretsmanager:BatchGetSecretValue", "secretsmanager:GetSecretValue", "sqs:ReceiveMessage",
)  # fmt: skip

# The services that the platform's resources belong to, as IAM names them, and those that `ops status` asks.
SERVICES = (
    "aoss", "application-autoscaling", "autoscaling", "batch", "budgets", "cloudwatch", "ec2", "ecr", "ecs",
    "elasticfilesystem", "elasticloadbalancing", "fis", "kms", "lambda", "logs", "s3", "sns", "sqs", "states", "tag",
)  # fmt: skip
# Machine images are public parameters. All else of Systems Manager opens shells, or shows what was run in them.
PARAMETER_READS = ("ssm:GetParameter", "ssm:GetParameters")
# What previews, refreshes and `ops prices` ask. ReadOnlyAccess hands out code, rows and credentials of other services.
READ = (*(f"{service}:*" for service in (*SERVICES, "iam", "pricing", "sts")), *PARAMETER_READS)
ROLE_ACTIONS = (
    "iam:CreateRole", "iam:DeleteRole", "iam:DeleteRolePolicy", "iam:GetRole", "iam:GetRolePolicy",
    "iam:ListAttachedRolePolicies", "iam:ListInstanceProfilesForRole", "iam:ListRolePolicies", "iam:ListRoleTags",
    "iam:PutRolePolicy", "iam:TagRole", "iam:UntagRole", "iam:UpdateAssumeRolePolicy", "iam:UpdateRole",
)  # fmt: skip
PROFILE_ACTIONS = (
    "iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:DeleteInstanceProfile", "iam:GetInstanceProfile",
    "iam:ListInstanceProfileTags", "iam:RemoveRoleFromInstanceProfile", "iam:TagInstanceProfile",
    "iam:UntagInstanceProfile",
)  # fmt: skip
ATTACHED_POLICIES = ("AmazonSSMManagedInstanceCore", "service-role/AWSLambdaENIManagementAccess")
PASSED_TO = ("ec2", "ecs-tasks", "fis", "lambda", "states", "vpc-flow-logs")

STATE_USE = ("s3:DeleteObject", "s3:GetBucketLocation", "s3:GetObject", "s3:ListBucket", "s3:PutObject")
KEY_USE = ("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey")


@dataclass(frozen=True, kw_only=True)
class Place:
    """The account and the state store, as ARNs are made of them."""

    partition: str
    account_id: pulumi.Input[str]
    bucket_arn: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    identity_provider_arn: pulumi.Input[str]

    @property
    def objects(self) -> pulumi.Output[str]:
        return pulumi.Output.concat(self.bucket_arn, "/*")

    def iam(self, path: str) -> pulumi.Output[str]:
        """An ARN of the account in IAM."""
        return pulumi.Output.concat("arn:", self.partition, ":iam::", self.account_id, ":", path)


def preview_policy(place: Place) -> dict[str, Any]:
    """Reads state, writes nothing: neither a preview nor `refresh --preview-only` locks a stack of such a backend."""
    return document(
        [*read_state(place), allow(READ_MORE, ["*"]), keep_to_platform(), *keep_data_private(place)]
    )


def plan_policy(place: Place) -> dict[str, Any]:
    """As for a preview, and puts plans where a deployment finds them."""
    plans = pulumi.Output.concat(place.bucket_arn, "/", PLANS, "*")
    return document(
        [
            *read_state(place),
            allow(["s3:PutObject"], [plans]),
            allow(["kms:GenerateDataKey"], [place.key_arn]),
            allow(READ_MORE, ["*"]),
            keep_to_platform(),
            *keep_data_private(place),
        ]
    )


def deploy_policy(place: Place) -> dict[str, Any]:
    """What a deployment may do, and at most: it is the boundary of its role too, whatever else gets attached."""
    return document(
        [
            allow(
                [*(f"{service}:*" for service in SERVICES), *PARAMETER_READS, "sts:GetCallerIdentity"], ["*"]
            ),
            *manage_roles(place),
            *keep_data_private(place),
            *guard_bootstrap(place),
        ]
    )


def read_state(place: Place) -> list[Statement]:
    return [
        allow(["s3:ListBucket", "s3:GetBucketLocation"], [place.bucket_arn]),
        allow(["s3:GetObject"], [place.objects]),
        allow(["kms:Decrypt"], [place.key_arn]),
    ]


def keep_to_platform() -> Statement:
    return {"Effect": "Deny", "NotAction": [*READ], "Resource": ["*"]}


def keep_data_private(place: Place) -> list[Statement]:
    """Of objects, only state and plans can be read, and only what their key encrypts can be decrypted."""
    return [
        {"Effect": "Deny", "Action": [*OBJECT_READS], "NotResource": [place.objects, place.key_arn]},
        deny(DATA_READS, ["*"]),
    ]


def manage_roles(place: Place) -> list[Statement]:
    """Roles of the program: what they may hand out, and to whom, is limited as far as IAM can limit it."""
    roles, profiles = place.iam("role/*"), place.iam("instance-profile/*")
    managed = [f"arn:{place.partition}:iam::aws:policy/{name}" for name in ATTACHED_POLICIES]
    services = [f"{service}.amazonaws.com" for service in PASSED_TO]
    return [
        allow(ROLE_ACTIONS, [roles]),
        allow(PROFILE_ACTIONS, [profiles]),
        allow(
            ["iam:AttachRolePolicy", "iam:DetachRolePolicy"],
            [roles],
            {"ArnEquals": {"iam:PolicyARN": managed}},
        ),
        allow(["iam:PassRole"], [roles], {"StringEquals": {"iam:PassedToService": services}}),
        allow(["iam:CreateServiceLinkedRole"], [place.iam("role/aws-service-role/*")]),
    ]


def guard_bootstrap(place: Place) -> list[Statement]:
    """Of bucket and key only their use; of this program's roles, policies, provider and state nothing at all."""
    folders = (
        f"backups/{PROJECT}",
        f"history/{PROJECT}",
        f"locks/organization/{PROJECT}",
        f"stacks/{PROJECT}",
    )
    own_state = [pulumi.Output.concat(place.bucket_arn, "/.pulumi/", folder, "/*") for folder in folders]
    return [
        deny(
            ["iam:*"],
            [place.iam(f"role{PATH}*"), place.iam(f"policy{PATH}*"), place.identity_provider_arn],
        ),
        {"Effect": "Deny", "NotAction": [*STATE_USE], "Resource": [place.bucket_arn, place.objects]},
        {"Effect": "Deny", "NotAction": [*KEY_USE], "Resource": [place.key_arn]},
        deny(["s3:DeleteObject", "s3:PutObject"], own_state),
    ]


def deny(actions: Sequence[str], resources: Sequence[pulumi.Input[str]]) -> Statement:
    return {"Effect": "Deny", "Action": list(actions), "Resource": list(resources)}
