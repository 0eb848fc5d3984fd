"""Faults in forms that the program does not write itself, which a person may; and what only looks like a fault."""

import base64
import json
from typing import Any

import pytest

from ops.capture.recording import Recording, Secret, Unknown
from policies import nodes, secrets, storage, transport, upkeep
from policies.view import BALANCER, JOB, TASK
from tests.policies.planting import Change, added, changed, document, found, gone, inputs
from tests.policies.plants import ACCESS_KEY, INGRESS, LAUNCH, QUEUE_POLICY, ROLE_POLICY, packed

BUCKET_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
LOGGING = "network-log-network-flow-logs"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
ANYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
Shape = tuple[str, str, str, Change]


def _statement(**values: Any) -> Change:
    return document("policy", lambda content: content["Statement"].append({"Effect": "Allow", **values}))


def _allows(**values: Any) -> Shape:
    return "wildcards", ROLE_POLICY, LOGGING, _statement(**values)


def _anyone(principal: Any = "*", key: str = "Principal", **conditions: Any) -> Shape:
    values = {
        key: principal,
        "Action": "sqs:SendMessage",
        "Resource": "arn:of:queue",
        "Condition": conditions,
    }
    return "wildcards", QUEUE_POLICY, "ingestion-events-policy", _statement(**values)


# Names of secrets, none of which the script holds.
LOOKS_UP = packed(
    """token=$(curl "$METADATA") DB_PASSWORD="$(aws secretsmanager get-secret-value)" second_pass=1
HF_TOKEN=`cat "$1"` AUTH_TOKEN="Bearer $token" USE_API_KEY=false API_KEY= SECRET=/run/secret
""",
    "boot.sh",
)

BROKEN = packed("", "x").replace("cat <<'END'\n", "cat <<'END'\n~~~~~~\n")


def _denial(**values: Any) -> Shape:
    """The bucket's denial of plain text with other values; None takes one out."""

    def edit(content: Any) -> None:
        content["Statement"][0] = {
            key: value for key, value in (content["Statement"][0] | values).items() if value
        }

    return "tls-only", BUCKET_POLICY, "data-lake-tls-only", document("policy", edit)


def _variable(name: str, value: str) -> Shape:
    change = document("containerDefinitions", lambda content: content[0]["environment"].append({"name": name, "value": value}))  # fmt: skip
    return "secrets-by-reference", TASK, "rag-task-definition", change


def _boot(text: str) -> Shape:
    return "secrets-by-reference", LAUNCH, "gpu-research-template", inputs(userData=text)


def _managed(name: str) -> Shape:
    return "wildcards", ATTACHMENT, "gpu-research-node-session-manager", inputs(policyArn=f"arn:aws:iam::aws:policy/{name}")  # fmt: skip


def _listener(action: Any) -> Shape:
    return "no-plain-http", transport.LISTENER, "rag-balancer-http", inputs(defaultActions=action)


def _option(name: str) -> Change:
    return document("containerDefinitions", lambda content: content[0]["logConfiguration"]["options"].update({name: "true"}))  # fmt: skip


FAULTS: dict[str, Shape] = {
    "every bucket": _allows(Action="s3:GetObject", Resource="arn:aws:s3:::*"),
    "every role": _allows(Action="iam:PassRole", Resource="arn:aws:iam::111122223333:role/*"),
    "every queue of every account": _allows(Action="sqs:SendMessage", Resource=["arn:aws:sqs:*:*:*"]),
    "two stars": _allows(Action="s3:GetObject", Resource="**"),
    "a question mark": _allows(Action="s3:?etObject", Resource="arn:aws:s3:::lake/x"),
    "any resource in spite of a tag": _allows(Action="s3:GetObject", Resource="*", Condition={"StringEquals": {"aws:ResourceTag/a": "b"}}),
    "every job with a tag that is anything": _allows(Action="batch:TerminateJob", Resource="arn:aws:batch:eu-central-1:1:job/*", Condition={"StringLike": {"aws:ResourceTag/a": "*"}}),
    "all but one resource": _allows(Action="s3:GetObject", NotResource="arn:aws:s3:::x"),
    "one statement without a list": ("wildcards", ROLE_POLICY, LOGGING, inputs(policy=json.dumps({"Statement": ANYTHING}))),
    "a document that is no text": ("wildcards", ROLE_POLICY, LOGGING, inputs(policy={"Statement": [ANYTHING]})),
    "a document that is a secret": ("wildcards", ROLE_POLICY, LOGGING, inputs(policy=Secret(json.dumps({"Statement": ANYTHING})))),
    "all that can be read": _managed("ReadOnlyAccess"),
    "one service": _managed("AmazonS3FullAccess"),
    "a job function": _managed("job-function/SystemAdministrator"),
    "any account": _anyone({"AWS": "*"}),
    "any account in a list": _anyone({"AWS": ["*"]}),
    "all but one account": _anyone({"AWS": "arn:of:one"}, key="NotPrincipal"),
    "a condition that all meet": _anyone(StringLike={"aws:PrincipalArn": "*"}),
    "a source that all have": _anyone(ArnLike={"aws:SourceArn": "arn:aws:s3:*:*:*"}),
    "a condition on the way": _anyone(Bool={"aws:SecureTransport": "true"}),
    "every address": _anyone(IpAddress={"aws:SourceIp": ["10.0.0.0/8", "0.0.0.0/0"]}),
    "all but one address": _anyone(NotIpAddress={"aws:SourceIp": "192.0.2.1/32"}),
    "a condition where the key is there": _anyone(StringEqualsIfExists={"aws:PrincipalOrgID": "o-1"}),
    "a condition on none": _anyone(**{"ForAllValues:StringEquals": {"aws:PrincipalOrgID": "o-1"}}),
    "a policy within the queue": ("wildcards", storage.QUEUE, "ingestion-events", inputs(policy=json.dumps({"Statement": [{**ANYTHING, "Principal": "*"}]}))),
    "a secret beside an archive that no node can unpack": _boot(base64.b64encode(f"{BROKEN}export HF_TOKEN=made-up\n".encode()).decode()),
    "every protocol": ("open-ingress", INGRESS, "network-endpoints", inputs(cidrIpv4="0.0.0.0/0", ipProtocol="-1", fromPort=None, toPort=None)),
    "ports of minus one": ("open-ingress", INGRESS, "network-endpoints", inputs(cidrIpv4="0.0.0.0/0", fromPort=-1, toPort=-1)),
    "bits of a host": ("open-ingress", INGRESS, "network-endpoints", inputs(cidrIpv4="192.0.2.1/0")),
    "a rule within the group": ("open-ingress", GROUP, "rag-tasks", inputs(ingress={"protocol": "tcp", "fromPort": 22, "toPort": 22, "ipv6CidrBlocks": ["::/0"]})),
    "an ACL within the bucket": ("public-access", storage.BUCKET, "data-lake-bucket", inputs(acl="public-read")),
    "a grant within the bucket": ("public-access", storage.BUCKET, "data-lake-bucket", inputs(grants=[{"uri": "http://acs.amazonaws.com/groups/global/AllUsers"}])),
    "lifecycle rules within the bucket": ("one-lifecycle", storage.BUCKET, "data-lake-bucket", inputs(lifecycleRules=[{"enabled": True}])),
    "a denial of one action": _denial(Action="s3:DeleteBucket"),
    "a denial of half the actions": _denial(Action="s3:Get*"),
    "a denial without the objects": _denial(Resource="arn:aws:s3:::data-lake"),
    "a denial of some callers": _denial(Condition={"Bool": {"aws:SecureTransport": "false"}, "StringEquals": {"aws:PrincipalTag/a": "b"}}),
    "a denial of nobody": _denial(Principal=None, NotPrincipal="*"),
    "a denial of TLS": _denial(Condition={"Bool": {"aws:SecureTransport": "true"}}),
    "a denial that tests for the key": _denial(Condition={"Null": {"aws:SecureTransport": "false"}}),
    "one action without a list": _listener({"type": "forward"}),
    "a redirect to plain text": _listener([{"type": "redirect", "redirect": {"protocol": "HTTP"}}]),
    "a fixed answer": _listener([{"type": "fixed-response"}]),
    "a password without a line": _variable("PGPASSWORD", "made-up-value"),
    "a short word": _variable("DB_PASS", "made-up-value"),
    "a key of a service": _variable("OPENAI_KEY", "made-up-value"),
    "other letters": _variable("openaiApiKey", "made-up-value"),
    "a password in an address": _variable("DATABASE", "postgres://app:made-up-value@db/x"),
    "a boot script with an umlaut": _boot(base64.b64encode(f"# für alle\nexport K={ACCESS_KEY}\n".encode()).decode()),
    "a boot script in broken lines": _boot(base64.encodebytes(f"export K={ACCESS_KEY}\n{'x' * 80}".encode()).decode()),
    "a variable of a state machine": ("secrets-by-reference", secrets.MACHINE, "training-machine-runs", document(
        "definition", lambda content: content["States"].update(X={"Arguments": {"Environment": [{"Name": "HF_TOKEN", "Value": "made-up-value"}]}}))),
    "a group made by the driver": ("log-retention", TASK, "rag-task-definition", _option("awslogs-create-group")),
    "a job without a group": ("log-retention", JOB, "training-job", document("containerProperties", lambda content: content.pop("logConfiguration"))),
    "attempts as text": ("spot-checkpoint", JOB, "training-job", inputs(retryStrategy={"attempts": "1"})),
}  # fmt: skip
ENCRYPTION = (storage.BUCKET_ENCRYPTION, "data-lake-encryption")
CLEAN: dict[str, Shape] = {
    "an organization": _anyone(StringEquals={"aws:PrincipalOrgID": "o-1"}),
    "an endpoint": _anyone({"AWS": "*"}, StringEquals={"aws:SourceVpce": ["vpce-1"]}),
    "an office": _anyone(IpAddress={"aws:SourceIp": "192.0.2.0/24"}),
    "a bucket that tells": _anyone(ArnLike={"AWS:SourceArn": "arn:aws:s3:::lake"}),
    "everything in a folder": _allows(Action="s3:GetObject", Resource="arn:aws:s3:::lake/raw/*"),
    "every stream of a group": _allows(Action="logs:PutLogEvents", Resource="arn:aws:logs:eu-central-1:1:log-group:mine:*"),
    "one model in every region": _allows(Action="bedrock:InvokeModel", Resource="arn:aws:bedrock:*::foundation-model/x"),
    "a denial in other words": _denial(Action="*", Principal={"AWS": "*"}, Condition={"BoolIfExists": {"AWS:SecureTransport": False}}),
    "an algorithm to come": ("encryption", *ENCRYPTION, inputs(rules=[{"applyServerSideEncryptionByDefault": {"sseAlgorithm": Unknown()}}])),
    "a default to come": ("encryption", *ENCRYPTION, inputs(rules=[{"applyServerSideEncryptionByDefault": Unknown()}])),
    "disks to come": ("encryption", LAUNCH, "gpu-research-template", inputs(blockDeviceMappings=Unknown())),
    "options to come": ("imdsv2", LAUNCH, "gpu-research-template", inputs(metadataOptions=Unknown())),
    "attempts to come": ("spot-checkpoint", JOB, "training-job", inputs(retryStrategy=Unknown())),
    "a log group to come": ("log-retention", secrets.FUNCTION, "orchestrator-answer-function", inputs(loggingConfig=Unknown())),
    "tags to come": ("cost-tags", upkeep.PROVIDER, "aws", inputs(defaultTags=Unknown())),
    "a policy to come": ("tls-only", transport.LISTENER, "rag-balancer-https", inputs(sslPolicy=Unknown())),
    "a file with a token": _variable("BEARER_TOKEN", "/run/secrets/token"),
    "an address": _variable("ENDPOINT", "https://api.example.com:443/v1?at=@home"),
    "a boot script to come": ("secrets-by-reference", LAUNCH, "gpu-research-template", inputs(userData=Unknown())),
    "a boot script that looks its secret up": _boot(base64.b64encode(LOOKS_UP.encode()).decode()),
    "an archive that no node can unpack": _boot(base64.b64encode(BROKEN.encode()).decode()),
    "a password from elsewhere": _variable("DATABASE", "postgres://app:${PASSWORD}@db/x"),
}  # fmt: skip


@pytest.mark.parametrize("words", FAULTS)
def test_a_fault_is_found_in_whatever_form(prod: Recording, words: str) -> None:
    rule, type_token, name, change = FAULTS[words]
    assert rule in found(changed(prod, type_token, name, change)), f"{words} would pass"


@pytest.mark.parametrize("words", CLEAN)
def test_what_only_looks_like_a_fault_is_none(prod: Recording, words: str) -> None:
    rule, type_token, name, change = CLEAN[words]
    assert rule not in found(changed(prod, type_token, name, change)), f"{words} is no fault"


@pytest.mark.parametrize(
    ("rule", "type_token", "values"),
    [
        ("encryption", "aws:s3/bucketV2:BucketV2", {}),
        ("encryption", storage.VOLUME, {"size": 10}),
        ("encryption", storage.INSTANCE, {}),
        ("encryption", storage.INSTANCE, {"rootBlockDevice": [{"encrypted": True}], "ebsBlockDevices": [{}]}),
        ("imdsv2", storage.INSTANCE, {}),
        ("secrets-by-reference", storage.INSTANCE, {"userData": f"export K={ACCESS_KEY}"}),
        ("secrets-by-reference", "aws:ssm/parameter:Parameter", {"type": "String", "value": ACCESS_KEY}),
        ("wildcards", "aws:iam/userPolicy:UserPolicy", {"user": "me", "policy": json.dumps({"Statement": ANYTHING})}),
        ("wildcards", "aws:kms/keyPolicy:KeyPolicy", {"policy": json.dumps({"Statement": [{**ANYTHING, "Action": "kms:Decrypt", "Principal": "*"}]})}),
        ("wildcards", "aws:iam/userPolicyAttachment:UserPolicyAttachment", {"user": "me", "policyArn": "arn:aws:iam::aws:policy/IAMFullAccess"}),
        ("wildcards", "aws:lambda/permission:Permission", {"principal": "*", "action": "lambda:InvokeFunction", "function": "f"}),
        ("public-access", storage.BUCKET_ACL, {"accessControlPolicy": {"grants": [{"grantee": {"uri": "http://acs.amazonaws.com/groups/global/AuthenticatedUsers"}}]}}),
    ],
)  # fmt: skip
def test_what_is_added_by_hand_is_judged(prod: Recording, rule: str, type_token: str, values: Any) -> None:
    more = added(prod, type_token, "by-hand", values, like=prod.one(LAUNCH, "gpu-research-template"))
    assert "by-hand" in {item.name for item in found(more).get(rule, [])}, f"{type_token} is not looked at"


@pytest.mark.parametrize("values", [{"launchTemplate": {"id": "lt-1"}}, {"metadataOptions": {"httpTokens": "required"}}])  # fmt: skip
def test_an_instance_may_take_its_metadata_options_from_its_template(prod: Recording, values: Any) -> None:
    settings = {**values, "rootBlockDevice": {"encrypted": True}}
    more = added(
        prod, storage.INSTANCE, "by-hand", settings, like=prod.one(nodes.GROUP, "gpu-research-group")
    )
    assert found(more) == {}


@pytest.mark.parametrize(
    ("type_token", "values"),
    [
        ("aws:alb/listener:Listener", {"protocol": "HTTP", "port": 8080}),
        (transport.LISTENER, {"protocol": "TCP", "port": 80}),
    ],
)
def test_a_listener_is_judged_by_either_name_and_on_either_layer(prod: Recording, type_token: str, values: Any) -> None:  # fmt: skip
    balancer = prod.one(BALANCER)
    given = {**values, "loadBalancerArn": balancer.outputs["arn"], "defaultActions": [{"type": "forward"}]}
    more = added(prod, type_token, "by-hand", given, like=balancer)
    assert [item.name for item in found(more)["no-plain-http"]] == ["by-hand"]


def test_a_prefix_list_of_our_own_is_judged_by_its_addresses(prod: Recording) -> None:
    world = {"entries": [{"cidr": "10.0.0.0/8"}, {"cidr": "0.0.0.0/0"}], "id": "pl-0abc"}
    more = added(prod, "aws:ec2/managedPrefixList:ManagedPrefixList", "world", world, like=prod.one(BALANCER))
    opened = changed(more, INGRESS, "network-endpoints", inputs(cidrIpv4=None, prefixListId="pl-0abc"))
    (fault,) = found(opened)["open-ingress"]
    assert "lets 0.0.0.0/0 into network-endpoints" in fault.message


def test_encryption_and_lifecycle_may_stand_in_the_bucket(prod: Recording) -> None:
    rule = {"rule": {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}}
    bare = changed(prod, *ENCRYPTION, gone)
    kept = changed(bare, storage.BUCKET, "data-lake-bucket", inputs(serverSideEncryptionConfiguration=rule))
    assert "encryption" in found(bare) and "encryption" not in found(kept)
    lifecycle = prod.one(storage.LIFECYCLE)
    repeated = changed(
        prod, storage.BUCKET, "data-lake-bucket", inputs(lifecycleRules=lifecycle.inputs["rules"])
    )
    assert "one-lifecycle" not in found(repeated), (
        "the provider shows the rules of the resource beside it in a state"
    )


def test_a_policy_and_lifecycle_rules_within_the_bucket_are_enough(prod: Recording) -> None:
    denial = prod.one(BUCKET_POLICY, "data-lake-tls-only")
    own = inputs(policy=denial.inputs["policy"], lifecycleRules=[{"id": "uploads", "enabled": True}])
    moved = changed(prod, storage.BUCKET, "data-lake-bucket", own)
    moved = changed(
        changed(moved, denial.type, denial.name, gone), storage.LIFECYCLE, "data-lake-lifecycle", gone
    )
    assert found(moved) == {}


def test_what_a_statement_leaves_out_is_not_told_as_what_it_allows(prod: Recording) -> None:
    _, type_token, name, change = _allows(Action="s3:GetObject", NotResource="arn:aws:s3:::*")
    messages = [item.message for item in found(changed(prod, type_token, name, change))["wildcards"]]
    assert len(messages) == 1 and "all but what NotResource names" in messages[0]
