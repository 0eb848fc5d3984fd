"""A faulty key is told alone: the default that steps in for it must not make other keys look wrong."""

from typing import Any

import pytest

from components.config_sections import NAMESPACE
from ops.capture.program import PROJECT_ROOT
from ops.capture.stack_files import load_stack_config
from recordings import STACKS
from typed_config import (
    EXISTING_VPC,
    FLEET,
    INFERENCE,
    MULTI_NODE,
    NOTHING_ANSWERS,
    PUBLIC,
    PUBLIC_SUBNETS,
    REQUIRED,
    SECRET,
    SERVING_FLEET,
    SUBNETS,
    TRAINING,
    faults_of,
)

# Configurations in which as much as possible differs from its default, so that a default that steps in shows.
UNUSUAL: dict[str, dict[str, Any]] = {
    "existing VPC": {**EXISTING_VPC, "existingVpcCidr": "192.168.0.0/24", "natGateways": "none", "vectorPrivateEndpoint": True,
                     "ragService": False, **MULTI_NODE},
    "public in an existing VPC": {**EXISTING_VPC, **PUBLIC, "existingSubnets": [*SUBNETS[:1], *PUBLIC_SUBNETS]},
    "one zone without NAT": {"availabilityZones": ["eu-central-1a"], "natGateways": "none", **NOTHING_ANSWERS, "asleep": True},
    "classic": {"vectorGeneration": "CLASSIC", "vectorStandbyReplicas": False, "ragCpuUnits": 8192, "ragMemoryMib": 32_768,
                "ragMinimumTasks": 9, "ragDesiredTasks": 10, "ragMaximumTasks": 11, "embeddingDimensions": 1024},
    "public OpenAI": {**PUBLIC, "answerProvider": "openai", "openaiModel": "gpt-5", "openaiApiKeySecretArn": SECRET},
    "public, left out": {"exposure": "public", "answerProvider": "openai", "ragService": False, "albIdleTimeoutSeconds": 1},
    "patient": {"bedrockReadTimeoutSeconds": 60, "bedrockMaximumAttempts": 4, "orchestratorTimeoutSeconds": 800,
                "ragRequestTimeoutSeconds": 1000, "albIdleTimeoutSeconds": 1001, "clientTimeoutSeconds": 1002},
    "impatient": {"bedrockReadTimeoutSeconds": 1, "bedrockMaximumAttempts": 1, "orchestratorTimeoutSeconds": 40,
                  "ragRequestTimeoutSeconds": 40, "albIdleTimeoutSeconds": 41, "clientTimeoutSeconds": 42},
    "no time, left out": {**NOTHING_ANSWERS, "ingestion": False, "orchestratorTimeoutSeconds": 1,
                          "ragRequestTimeoutSeconds": 1, "albIdleTimeoutSeconds": 1, "clientTimeoutSeconds": 2},
    "other region": {"region": "us-gov-west-1", "availabilityZones": ["us-gov-west-1a", "us-gov-west-1b"],
                     "answerModel": "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "protectData": True,
                     "allowedAccountIds": ["111122223333"]},
    "training only": {**TRAINING, **NOTHING_ANSWERS, "region": "ap-northeast-3", "availabilityZones": ["ap-northeast-3a"],
                      "trainingInstanceTypes": ["g4dn.xlarge"], "vectorGeneration": "CLASSIC", "asleep": True,
                      "answerModel": "us.anthropic.claude-opus-5", "embeddingModel": "cohere.embed-v4:0"},
    "small training": {**TRAINING, "trainingInstanceTypes": ["g6f.large"], "trainingJobVcpus": 2, "trainingJobMemoryMib": 4096},
    "multi-node": {**MULTI_NODE, "trainingJobVcpus": 90, "trainingJobMemoryMib": 1_000_000},
    "no NAT, private": {"natGateways": "none", "vectorPrivateEndpoint": True, "interfaceEndpoints": ["bedrock-runtime", "sqs"]},
    "no NAT, private, no ingestion": {"natGateways": "none", "vectorPrivateEndpoint": True, "ingestion": False,
                                      "interfaceEndpoints": ["bedrock-runtime"]},
    "large chunks": {"embeddingModel": "eu.cohere.embed-v4:0", "embeddingDimensions": 1536, "chunkTokens": 1999,
                     "chunkOverlapTokens": 999, "ingestionTokensPerMinute": 2_000_000, "ingestionMaximumConcurrency": 150,
                     "ingestionTimeoutSeconds": 30},
    "inference": {**INFERENCE, "answerProvider": "inference", "contextTokens": 20_000, "answerMaxTokens": 4000,
                  "inferenceContextTokens": 30_000, "inferenceModel": "meta-llama/Llama-3.1-70B-Instruct",
                  "inferenceAccelerators": 8, "inferenceMinimumTasks": 3, "inferenceMaximumTasks": 6,
                  "inferenceServerArguments": ["--dtype=bfloat16"], "inferenceImage": "docker.io/team/server:cu129",
                  "inferenceStartSchedule": "cron(0 8 ? * MON-FRI *)", "inferenceStopSchedule": "cron(0 18 ? * MON-FRI *)",
                  "inferenceScheduleTimeZone": "Europe/Berlin", "huggingFaceTokenSecretArn": SECRET,
                  "gpuFleets": [{**SERVING_FLEET, "instanceTypes": ["g5.48xlarge"], "maximum": 6}]},
    "inference on Neuron": {**INFERENCE, "inferenceModel": "models/fine-tuned/my-70b", "inferenceAccelerators": 6,
                            "gpuFleets": [{**SERVING_FLEET, "instanceTypes": ["inf2.24xlarge"], "nodeImage": "ecs-neuron"}]},
    "inference of a quantised model": {**INFERENCE, "inferenceModel": "team/m-70b", "inferenceServerArguments": ["--quantization=fp8"]},
    "slow ingestion": {"ingestionTokensPerMinute": 1000, "ingestionTimeoutSeconds": 900, "ingestionMaximumConcurrency": 12},
    "no ingestion": {"ingestion": False, "chunkTokens": 50, "chunkOverlapTokens": 900, "ingestionTokensPerMinute": 1000},
    "no functions, private": {"natGateways": "none", "vectorPrivateEndpoint": True, "orchestrator": False, "ingestion": False},
    "no store, private": {**NOTHING_ANSWERS, "natGateways": "none", "vectorPrivateEndpoint": True},
}  # fmt: skip


def stack_values(stack: str) -> dict[str, Any]:
    values = load_stack_config(PROJECT_ROOT, stack).values
    return {key.removeprefix(f"{NAMESPACE}:"): value for key, value in values.items()}


@pytest.mark.parametrize("name", [*STACKS, *UNUSUAL])
def test_a_faulty_key_causes_no_fault_about_another_key(name: str) -> None:
    values = stack_values(name) if name in STACKS else {**REQUIRED, **UNUSUAL[name]}
    assert faults_of(values) == [], "the starting point must be without fault"
    for key in values:
        keys = {fault.split(" ")[0].split("[")[0] for fault in faults_of({**values, key: "\u2603"})}
        assert keys == {key}, f"a typing mistake in {key} is told as if {keys - {key}} were wrong"


@pytest.mark.parametrize("name", [*STACKS, *UNUSUAL])
def test_a_key_that_is_marked_as_secret_causes_no_fault_about_another_key(name: str) -> None:
    values = stack_values(name) if name in STACKS else {**REQUIRED, **UNUSUAL[name]}
    for key in values:
        keys = {fault.split(" ")[0] for fault in faults_of(values, [key])}
        assert keys == {key}


def test_a_faulty_entry_of_a_list_hides_no_fault_of_another_entry() -> None:
    fleets = [{**FLEET, "maximum": "many", "minimum": 5}, {**FLEET, "name": "b", "minimum": 5}]
    assert [fault.split(" = ")[0] for fault in faults_of({"gpuFleets": fleets})] == [
        "gpuFleets[0].maximum", "gpuFleets[1].minimum",
    ], "the person would mend one entry per attempt"  # fmt: skip


def test_a_faulty_lifecycle_rule_hides_no_fault_of_another() -> None:
    rules = [{"id": "a", "expireDays": "soon"}, {"id": "b"}]
    assert [fault.split(" = ")[0] for fault in faults_of({"lakeLifecycleRules": rules})] == [
        "lakeLifecycleRules[0].expireDays", "lakeLifecycleRules[1].id",
    ]  # fmt: skip
