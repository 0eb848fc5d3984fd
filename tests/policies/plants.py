"""Faults that a rule must find in the stack prod: where each is put, and what its message says."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from components.node_archive import archive
from ops.capture.recording import Recording, Secret
from policies import data, nodes, secrets, storage, transport, upkeep
from policies.view import BALANCER, JOB, TASK
from tests.policies.planting import Change, changed, document, gone, inputs, options

INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
FILE_POLICY = "aws:efs/fileSystemPolicy:FileSystemPolicy"
QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"
LAUNCH = storage.LAUNCH_TEMPLATE
ACCESS_KEY = "AKIA" + "Q7T3" * 4


@dataclass(frozen=True, kw_only=True)
class Plant:
    """`name` is the resource that the finding is about, where it is not the changed one."""

    rule: str
    type_token: str
    changed: str
    change: Change
    says: str
    name: str = ""


def _first(key: str, **values: Any) -> Callable[[Any], None]:
    """Edits the first item of a list in a document."""
    return lambda content: content[key][0].update(values)


def _tags(**values: str) -> list[dict[str, Any]]:
    return [{"key": key, "value": value, "propagateAtLaunch": True} for key, value in values.items()]


def _variable(name: str, value: str) -> Callable[[Any], None]:
    return lambda content: content[0]["environment"].append({"name": name, "value": value})


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def packed(text: str, path: str) -> str:
    """User data that carries a file packed, as components/user_data.py makes it."""
    return f"#!/bin/bash\nplatform_files() {{\n  cat <<'END'\n{archive({path: text})}END\n}}\n"


# The file that carries it, the file's text, and what is said.
PACKED_SECRETS = (
    ("boot.sh", "export AWS_SECRET_ACCESS_KEY=made-up-value\n", "in AWS_SECRET_ACCESS_KEY of boot.sh"),
    ("boot.sh", "connect --db_password='made-up-value'\n", "in db_password of boot.sh"),
    ("agent/run", '#!/bin/sh\nexport HF_TOKEN="made-up-value"\n', "in HF_TOKEN of agent/run"),
    ("watcher/settings.py", f"KEY = '{ACCESS_KEY}'\n", "secret in userData"),
)
FORWARD = [{"type": "forward", "targetGroupArn": "arn:of:group"}]
ANYONE = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "arn:of:queue"}
PLANTS: tuple[Plant, ...] = (
    Plant(rule="encryption", type_token=storage.BUCKET_ENCRYPTION, changed="data-lake-encryption", change=gone,
          says="no encryption", name="data-lake-bucket"),
    Plant(rule="encryption", type_token=storage.FILE_SYSTEM, changed="shared-files-files", change=inputs(encrypted=False),
          says="is not encrypted"),
    Plant(rule="encryption", type_token=storage.QUEUE, changed="ingestion-events", change=inputs(sqsManagedSseEnabled=False),
          says="messages in clear"),
    Plant(rule="encryption", type_token=storage.TOPIC, changed="alarms-topic", change=inputs(kmsMasterKeyId=None),
          says="messages in clear"),
    Plant(rule="encryption", type_token=LAUNCH, changed="gpu-research-template",
          change=inputs(blockDeviceMappings=[{"deviceName": "/dev/sda1", "ebs": {"encrypted": "false"}}]), says="disk in clear"),
    Plant(rule="encryption", type_token=LAUNCH, changed="gpu-research-template", change=inputs(blockDeviceMappings=None),
          says="disk in clear"),
    Plant(rule="public-access", type_token=storage.PUBLIC_ACCESS_BLOCK, changed="data-lake-public-access",
          change=inputs(blockPublicPolicy=False), says="nothing sets blockPublicPolicy", name="data-lake-bucket"),
    Plant(rule="public-access", type_token=storage.PUBLIC_ACCESS_BLOCK, changed="data-lake-public-access", change=gone,
          says="restrictPublicBuckets", name="data-lake-bucket"),
    Plant(rule="public-access", type_token=storage.FUNCTION_URL, changed="orchestrator-url",
          change=inputs(authorizationType="NONE"), says="for anyone"),
    Plant(rule="one-lifecycle", type_token=storage.LIFECYCLE, changed="data-lake-lifecycle", change=gone,
          says="has no lifecycle", name="data-lake-bucket"),
    Plant(rule="tls-only", type_token="aws:s3/bucketPolicy:BucketPolicy", changed="data-lake-tls-only", change=gone,
          says="without TLS", name="data-lake-bucket"),
    Plant(rule="tls-only", type_token=FILE_POLICY, changed="shared-files-policy",
          change=document("policy", _first("Statement", Effect="Allow")), says="without TLS", name="shared-files-files"),
    Plant(rule="tls-only", type_token=QUEUE_POLICY, changed="ingestion-dead-letters-policy",
          change=document("policy", _first("Statement", Condition={})), says="without TLS", name="ingestion-dead-letters"),
    Plant(rule="tls-only", type_token="aws:sns/topicPolicy:TopicPolicy", changed="alarms-policy", change=gone,
          says="without TLS", name="alarms-topic"),
    Plant(rule="tls-only", type_token=transport.LISTENER, changed="rag-balancer-https",
          change=inputs(sslPolicy="ELBSecurityPolicy-2016-08"), says="ELBSecurityPolicy-2016-08"),
    Plant(rule="tls-only", type_token=transport.LISTENER, changed="rag-balancer-https",
          change=inputs(sslPolicy="ELBSecurityPolicy-TLS13-1-1-2021-06"), says="older than 1.2"),
    Plant(rule="tls-only", type_token=transport.LISTENER, changed="rag-balancer-https", change=inputs(sslPolicy=None),
          says="AWS chooses"),
    Plant(rule="tls-only", type_token=JOB, changed="training-job",
          change=document("containerProperties", lambda content: content["volumes"][0]["efsVolumeConfiguration"].pop("transitEncryption")),
          says="without TLS"),
    Plant(rule="no-plain-http", type_token=transport.LISTENER, changed="rag-balancer-http",
          change=inputs(defaultActions=FORWARD), says="plain HTTP from the internet"),
    Plant(rule="open-ingress", type_token=INGRESS, changed="network-endpoints", change=inputs(cidrIpv4="0.0.0.0/0"),
          says="tcp port 443"),
    Plant(rule="open-ingress", type_token=INGRESS, changed="network-endpoints",
          change=inputs(cidrIpv4=None, cidrIpv6="::/0"), says="::/0"),
    Plant(rule="open-ingress", type_token=INGRESS, changed="network-endpoints", change=inputs(cidrIpv4="128.0.0.0/1"),
          says="128.0.0.0/1"),
    Plant(rule="open-ingress", type_token=INGRESS, changed="rag-balancer-port-443", change=inputs(toPort=65535),
          says="ports 443-65535"),
    Plant(rule="open-ingress", type_token=INGRESS, changed="network-endpoints",
          change=inputs(cidrIpv4="0.0.0.0/0", ipProtocol="-1", fromPort=None, toPort=None), says="on every protocol and port"),
    Plant(rule="open-ingress", type_token=BALANCER, changed="rag-balancer", change=inputs(internal=True),
          says="tcp port 80", name="rag-balancer-port-80"),
    Plant(rule="wildcards", type_token=ROLE_POLICY, changed="network-log-network-flow-logs",
          change=document("policy", _first("Statement", Action="logs:*")), says="allows logs:*"),
    Plant(rule="wildcards", type_token=ROLE_POLICY, changed="network-log-network-flow-logs",
          change=document("policy", _first("Statement", Resource="*")), says="any resource: logs:CreateLogStream"),
    Plant(rule="wildcards", type_token=ROLE_POLICY, changed="gpu-research-send-metrics-gpu-research-node",
          change=document("policy", lambda content: [item.pop("Condition", None) for item in content["Statement"]]), says="any resource: cloudwatch:PutMetricData"),
    Plant(rule="wildcards", type_token=QUEUE_POLICY, changed="ingestion-events-policy",
          change=document("policy", lambda content: content["Statement"].append(ANYONE)), says="any principal"),
    Plant(rule="wildcards", type_token=ROLE_POLICY, changed="network-log-network-flow-logs",
          change=document("policy", lambda content: content["Statement"][0].update(NotAction=content["Statement"][0].pop("Action"))),
          says="all but what NotAction names"),
    Plant(rule="wildcards", type_token="aws:iam/rolePolicyAttachment:RolePolicyAttachment",
          changed="gpu-research-node-session-manager", change=inputs(policyArn="arn:aws:iam::aws:policy/AdministratorAccess"),
          says="AdministratorAccess"),
    Plant(rule="secrets-by-reference", type_token=TASK, changed="rag-task-definition",
          change=document("containerDefinitions", _variable("OPENAI_API_KEY", "made-up-value")), says="variable OPENAI_API_KEY"),
    Plant(rule="secrets-by-reference", type_token=TASK, changed="rag-task-definition",
          change=document("containerDefinitions", _variable("NOTE", ACCESS_KEY)), says="secret in containerDefinitions"),
    Plant(rule="secrets-by-reference", type_token=secrets.FUNCTION, changed="orchestrator-answer-function",
          change=inputs(environment={"variables": {"GREETING": Secret("hello")}}), says="variable GREETING"),
    Plant(rule="secrets-by-reference", type_token=LAUNCH, changed="gpu-research-template",
          change=inputs(userData=_encoded(f"#!/bin/bash\nexport KEY={ACCESS_KEY}\n")), says="secret in userData"),
    *(Plant(rule="secrets-by-reference", type_token=LAUNCH, changed="gpu-research-template",
            change=inputs(userData=_encoded(packed(boot, path))), says=says)
      for path, boot, says in PACKED_SECRETS),
    Plant(rule="secrets-by-reference", type_token=JOB, changed="training-multi-node-job",
          change=document("nodeProperties", lambda content: content["nodeRangeProperties"][0]["container"]["environment"].append(
              {"name": "HF_TOKEN", "value": "made-up-value"})), says="variable HF_TOKEN"),
    Plant(rule="imdsv2", type_token=LAUNCH, changed="gpu-research-template",
          change=inputs(metadataOptions={"httpTokens": "optional"}), says="without a session token"),
    Plant(rule="imdsv2", type_token=LAUNCH, changed="gpu-research-template", change=inputs(metadataOptions=None),
          says="without a session token"),
    Plant(rule="spot-checkpoint", type_token=nodes.GROUP, changed="gpu-research-group",
          change=inputs(tags=_tags(Purpose="training")), says="no CheckpointPath"),
    Plant(rule="spot-checkpoint", type_token=JOB, changed="training-job", change=inputs(retryStrategy={"attempts": 1}),
          says="never tried again"),
    Plant(rule="spot-checkpoint", type_token=JOB, changed="training-job",
          change=document("containerProperties", lambda content: content.update(mountPoints=[])), says="no folder for checkpoints"),
    Plant(rule="protected-data", type_token=storage.BUCKET, changed="data-lake-bucket", change=options(protect=False),
          says="is not protected, while shared-files-files is"),
    Plant(rule="deletion-protection", type_token=data.REPOSITORY, changed="rag-build-repository",
          change=inputs(forceDelete=True), says="forceDelete"),
    Plant(rule="deletion-protection", type_token=data.VERSIONING, changed="data-lake-versioning",
          change=inputs(versioningConfiguration={"status": "Suspended"}), says="keeps no versions", name="data-lake-bucket"),
    Plant(rule="deletion-protection", type_token=data.BACKUP, changed="shared-files-backup",
          change=inputs(backupPolicy={"status": "DISABLED"}), says="has no backup", name="shared-files-files"),
    Plant(rule="log-retention", type_token=upkeep.LOG_GROUP, changed="network-flow-logs", change=inputs(retentionInDays=None),
          says="for ever"),
    Plant(rule="log-retention", type_token=secrets.FUNCTION, changed="orchestrator-answer-function",
          change=inputs(loggingConfig={"logFormat": "JSON"}), says="Lambda makes"),
    Plant(rule="cost-tags", type_token=upkeep.PROVIDER, changed="aws",
          change=inputs(defaultTags=json.dumps({"tags": {"Project": "ai-platform"}})), says="no tags Project and Stack"),
    Plant(rule="cost-tags", type_token=storage.QUEUE, changed="ingestion-events", change=options(provider="default::id"),
          says="did not make"),
    Plant(rule="cost-tags", type_token=LAUNCH, changed="gpu-research-template", change=inputs(tagSpecifications=None),
          says="each instance and volume"),
    Plant(rule="cost-tags", type_token=upkeep.SERVICE, changed="rag-service", change=inputs(propagateTags="NONE"),
          says="tasks without its tags"),
    Plant(rule="cost-tags", type_token=JOB, changed="training-job", change=inputs(propagateTags=None),
          says="tasks without its tags"),
)  # fmt: skip


def plant(recording: Recording, fault: Plant) -> Recording:
    return changed(recording, fault.type_token, fault.changed, fault.change)
