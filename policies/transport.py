"""Rules over the way that data takes: TLS everywhere, and no plain HTTP or open port to the internet."""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from ops.capture.recording import RecordedResource
from ops.openings import Direction, Opening
from ops.permissions import Permission
from policies.rule import Fault, RecordingRule, Severity
from policies.storage import BUCKET, FILE_SYSTEM, QUEUE, TOPIC
from policies.view import JOB, TASK, View, containers, is_unknown, parts

LISTENER = "aws:lb/listener:Listener"
LISTENER_RULE = "aws:lb/listenerRule:ListenerRule"
# Each thing that speaks plain text unless its policy refuses it: type, its policy's type, the property between, and
# actions that carry data, each of which must be refused.
REFUSING = (
    (BUCKET, "aws:s3/bucketPolicy:BucketPolicy", "bucket", ("s3:GetObject", "s3:PutObject")),
    (QUEUE, "aws:sqs/queuePolicy:QueuePolicy", "queueUrl", ("sqs:SendMessage", "sqs:ReceiveMessage")),
    (TOPIC, "aws:sns/topicPolicy:TopicPolicy", "arn", ("sns:Publish",)),
    (
        FILE_SYSTEM,
        "aws:efs/fileSystemPolicy:FileSystemPolicy",
        "fileSystemId",
        ("elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"),
    ),
)
# The names of policies that take TLS 1.2 and newer only hold the oldest version that they take.
# https://docs.aws.amazon.com/elasticloadbalancing/latest/application/describe-ssl-policies.html
MODERN_TLS = re.compile(r"-1-[23]-")
PUBLIC_PORTS = (80, 443)


def _plain(view: View) -> Iterator[Fault]:
    for type_token, policy_type, key, carrying in REFUSING:
        for holder in view.of(type_token):
            policies = [holder, *view.attached(holder, policy_type, key)]
            unread = any(is_unknown(policy.inputs.get("policy")) for policy in policies)
            statements = [item for policy in policies for item in view.permissions.get(policy.urn, ())]
            refusing = [item for item in statements if _refuses_plain(item, type_token)]
            if not unread and not all(any(_covers(item, action) for item in refusing) for action in carrying):
                yield Fault(
                    resource=holder,
                    what="has no policy that denies calls without TLS",
                    fix='deny every principal where "aws:SecureTransport" is "false"',
                )
    yield from _old_tls(view)


def _old_tls(view: View) -> Iterator[Fault]:
    for listener in view.of(LISTENER):
        policy = listener.inputs.get("sslPolicy")
        encrypted = listener.inputs.get("protocol") in ("HTTPS", "TLS")
        if encrypted and not is_unknown(policy) and not MODERN_TLS.search(str(policy)):
            yield Fault(
                resource=listener,
                what=f"takes TLS older than 1.2 ({policy or 'AWS chooses the policy'})",
                fix="set ssl_policy to one for TLS 1.2 and newer",
            )
    for definition in view.of(TASK, JOB):
        for volume in _volumes(definition):
            if volume.get("transitEncryption") != "ENABLED" and not is_unknown(
                volume.get("transitEncryption")
            ):
                yield Fault(
                    resource=definition,
                    what="mounts a shared file system without TLS",
                    fix="set transitEncryption to ENABLED",
                )


def _refuses_plain(statement: Permission, type_token: str) -> bool:
    """Whether a statement denies plain text to everybody: conditions hold together, so that another one lets some pass."""
    if statement.effect != "Deny" or statement.negated or "*" not in statement.principals:
        return False
    # Objects have ARNs of their own, below the bucket's.
    if type_token == BUCKET and not any(item.endswith("*") for item in statement.resources):
        return False
    tests = [
        (
            item.operator.lower() in ("bool", "boolifexists"),
            item.key.lower(),
            [value.lower() for value in item.values],
        )
        for item in statement.conditions
    ]
    return tests == [(True, "aws:securetransport", ["false"])]


def _covers(statement: Permission, action: str) -> bool:
    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in statement.actions)


def _volumes(definition: RecordedResource) -> Iterator[Mapping[str, Any]]:
    """The EFS volumes of a task or job."""
    for holder in (definition.inputs, *containers(definition)):
        for volume in parts(holder.get("volumes")):
            yield from parts(volume.get("efsVolumeConfiguration"))


def _plain_http(view: View) -> Iterator[Fault]:
    for balancer in view.public_balancers:
        for listener in view.attached(balancer, LISTENER, "loadBalancerArn"):
            if not _speaks_http(listener):
                continue
            actions = parts(listener.inputs.get("defaultActions"))
            rules = view.attached(listener, LISTENER_RULE, "listenerArn")
            actions += [action for rule in rules for action in parts(rule.inputs.get("actions"))]
            if not all(_redirects(action) for action in actions):
                yield Fault(
                    resource=listener, what=f"answers plain HTTP from the internet at {balancer.name}"
                )


def _speaks_http(listener: RecordedResource) -> bool:
    """A network load balancer passes on what comes; on port 80 that is HTTP."""
    protocol, port = listener.inputs.get("protocol"), listener.inputs.get("port")
    return protocol == "HTTP" or (protocol in ("TCP", "TCP_UDP") and str(port) == "80")


def _redirects(action: Mapping[str, Any]) -> bool:
    return action.get("type") == "redirect" and any(
        redirect.get("protocol") == "HTTPS" for redirect in parts(action.get("redirect"))
    )


def _open(view: View) -> Iterator[Fault]:
    published = {
        urn
        for balancer in view.public_balancers
        for urn in balancer.property_dependencies.get("securityGroups", ())
    }
    for opening in view.openings:
        if opening.direction is Direction.IN and opening.is_internet and not _is_web(opening, published):
            yield Fault(
                resource=view.get(opening.urn),
                what=f"lets {opening.peer} into {opening.security_group} on {opening.traffic()}",
            )


def _is_web(opening: Opening, published: set[str]) -> bool:
    """Whether this is HTTP or HTTPS to a load balancer that is meant for the internet."""
    return (
        opening.group_urn in published
        and opening.protocol in ("tcp", "6")
        and opening.from_port == opening.to_port
        and opening.from_port in PUBLIC_PORTS
    )


TRANSPORT_RULES = (
    RecordingRule(
        id="tls-only",
        severity=Severity.ERROR,
        promise="Buckets, queues, topics, file systems and listeners take TLS 1.2 or newer only.",
        harm="whoever listens on the way reads what passes, credentials among it",
        fix="refuse calls without TLS",
        check=_plain,
    ),
    RecordingRule(
        id="no-plain-http",
        severity=Severity.ERROR,
        promise="A load balancer that the internet reaches redirects HTTP to HTTPS and does nothing else with it.",
        harm="questions, answers and bearer tokens cross the internet in clear",
        fix="redirect to HTTPS in the default action and in every rule of the listener",
        check=_plain_http,
    ),
    RecordingRule(
        id="open-ingress",
        severity=Severity.ERROR,
        promise="From the internet only ports 80 and 443 of a public load balancer are reached.",
        harm="machines of the whole world try passwords and exploits against it within minutes",
        fix="let a security group in, or the addresses of the network; people reach nodes through Session Manager",
        check=_open,
    ),
)
