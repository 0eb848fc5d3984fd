"""Combinations of keys that AWS would refuse, ignore, or bill by surprise are refused before anything is registered."""

from typing import Any

import pytest

from typed_config import CERTIFICATE, SECRET, faults_of


def elsewhere(arn: str) -> str:
    return arn.replace("eu-central-1", "us-east-1")


REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"protectData": True}, [
        'allowedAccountIds is not set: protected data must not land in the wrong account by mistake. Fix: list the account ids this stack may deploy to.',
    ]),
    ({"certificateArn": elsewhere(CERTIFICATE)}, [
        "certificateArn = arn:aws:acm:us-east-1:111122223333:certificate/12345678-1234-1234-1234-123456789012: must be in the stack's region eu-central-1. Fix: use one in eu-central-1, or change region.",
    ]),
    ({"bearerTokenSecretArn": elsewhere(SECRET)}, [
        "bearerTokenSecretArn = arn:aws:secretsmanager:us-east-1:111122223333:secret:ai-platform/api-token-AbCdEf: must be in the stack's region eu-central-1. Fix: use one in eu-central-1, or change region.",
    ]),
    ({"openaiApiKeySecretArn": elsewhere(SECRET)}, [
        "openaiApiKeySecretArn = arn:aws:secretsmanager:us-east-1:111122223333:secret:ai-platform/api-token-AbCdEf: must be in the stack's region eu-central-1. Fix: use one in eu-central-1, or change region.",
    ]),
    ({"huggingFaceTokenSecretArn": elsewhere(SECRET)}, [
        "huggingFaceTokenSecretArn = arn:aws:secretsmanager:us-east-1:111122223333:secret:ai-platform/api-token-AbCdEf: must be in the stack's region eu-central-1. Fix: use one in eu-central-1, or change region.",
    ]),
    ({"vectorStore": False, "orchestrator": False, "ingestion": False}, [
        'ragService = true: needs the vector store, which is switched off. Fix: set vectorStore to true, or ragService to false.',
    ]),
    ({"vectorStore": False, "ragService": False, "ingestion": False}, [
        'orchestrator = true: needs the vector store, which is switched off. Fix: set vectorStore to true, or orchestrator to false.',
    ]),
    ({"vectorStore": False, "ragService": False, "orchestrator": False}, [
        'ingestion = true: needs the vector store, which is switched off. Fix: set vectorStore to true, or ingestion to false.',
    ]),
    ({"vectorStandbyReplicas": False}, [
        'vectorStandbyReplicas = false: AWS wants standby replicas with vectorGeneration NEXTGEN. Fix: remove it, or set vectorGeneration to CLASSIC.',
    ]),
    ({"asleep": True, "vectorGeneration": "CLASSIC"}, [
        'asleep = true: would have to delete a CLASSIC collection, which bills by the hour, and its data. Fix: set vectorGeneration to NEXTGEN, which scales to zero, or asleep to false.',
    ]),
    ({"answerModel": "us.amazon.nova-lite-v1:0"}, [
        'answerModel = us.amazon.nova-lite-v1:0: names a profile that cannot be called from eu-central-1. Fix: use amazon.nova-lite-v1:0 or eu.amazon.nova-lite-v1:0 or global.amazon.nova-lite-v1:0.',
    ]),
    ({"embeddingModel": "eu.amazon.titan-embed-text-v2:0"}, [
        'embeddingModel = eu.amazon.titan-embed-text-v2:0: names an inference profile, and this model has none. Fix: use amazon.titan-embed-text-v2:0.',
    ]),
    ({"embeddingModel": "cohere.embed-multilingual-v3"}, [
        'embeddingModel = cohere.embed-multilingual-v3: is not a model whose dimensions are known. Fix: use amazon.titan-embed-text-v2:0 or cohere.embed-v4:0.',
    ]),
    ({"embeddingModel": "us.cohere.embed-v4:0"}, [
        'embeddingModel = us.cohere.embed-v4:0: names a profile that cannot be called from eu-central-1. Fix: use cohere.embed-v4:0 or eu.cohere.embed-v4:0 or global.cohere.embed-v4:0.',
    ]),
    ({"embeddingDimensions": 1536}, [
        'embeddingDimensions = 1536: is not a length that amazon.titan-embed-text-v2:0 makes (256, 512, 1024). Fix: use 1024, or another embeddingModel.',
    ]),
    ({"chunkOverlapTokens": 200}, [
        'chunkOverlapTokens = 200: must be below half of chunkTokens (400), or most of each chunk is said before. Fix: use at most 199, or raise chunkTokens.',
    ]),
    ({"chunkTokens": 51, "chunkOverlapTokens": 26}, [
        'chunkOverlapTokens = 26: must be below half of chunkTokens (51), or most of each chunk is said before. Fix: use at most 25, or raise chunkTokens.',
    ]),
    ({"ingestionTokensPerMinute": 2399, "ingestionMaximumConcurrency": 10}, [
        'ingestionTokensPerMinute = 2399: leaves each of 10 runs at once 239 tokens a minute, and one needs 240 to embed a chunk in its time. Fix: use at least 2400, lower ingestionMaximumConcurrency or chunkTokens, or raise ingestionTimeoutSeconds.',
    ]),
    ({"ragCpuUnits": 256, "ragMemoryMib": 8192}, [
        'ragMemoryMib = 8192: is not a Fargate size with ragCpuUnits 256 (512, 1024, 2048 MiB). Fix: use 2048.',
    ]),
    ({"ragCpuUnits": 8192, "ragMemoryMib": 17_000}, [
        'ragMemoryMib = 17000: is not a Fargate size with ragCpuUnits 8192 (16384 to 61440 MiB in steps of 4096). Fix: use 16384.',
    ]),
    ({"ragMinimumTasks": 5, "ragMaximumTasks": 3}, [
        'ragMinimumTasks = 5: must not be above ragMaximumTasks (3). Fix: lower it, or raise ragMaximumTasks.',
    ]),
    ({"ragMinimumTasks": 2, "ragDesiredTasks": 1, "ragMaximumTasks": 10}, [
        'ragDesiredTasks = 1: must lie from ragMinimumTasks to ragMaximumTasks (2 to 10). Fix: use 2.',
    ]),
    ({"ragDesiredTasks": 9}, [
        'ragDesiredTasks = 9: must lie from ragMinimumTasks to ragMaximumTasks (1 to 4). Fix: use 4.',
    ]),
    ({"exposure": "public"}, [
        'certificateArn is not set: a public API needs a certificate, or tokens and questions travel in the clear. Fix: set certificateArn, or exposure to internal.',
        'bearerTokenSecretArn is not set: a public API needs a token, or anyone can spend on your models. Fix: set bearerTokenSecretArn, or exposure to internal.',
    ]),
    ({"answerProvider": "openai"}, [
        'openaiApiKeySecretArn is not set: answers come from an OpenAI-compatible API, which refuses a call without a key. Fix: name the secret that holds the key, or set answerProvider to bedrock.',
        "openaiModel is not set: answers come from an OpenAI-compatible API, which needs a model's name. Fix: set openaiModel, or answerProvider to bedrock.",
    ]),
    ({"bedrockMaximumAttempts": 3}, [
        'orchestratorTimeoutSeconds = 120: must be above 163 seconds, which two Bedrock calls with every retry and a search can take. Fix: use at least 164, or lower bedrockReadTimeoutSeconds or bedrockMaximumAttempts.',
        'ragRequestTimeoutSeconds = 120: must be above 163 seconds, which two Bedrock calls with every retry and a search can take. Fix: use at least 164, or lower bedrockReadTimeoutSeconds or bedrockMaximumAttempts.',
    ]),
    ({"bedrockMaximumAttempts": 10, "bedrockReadTimeoutSeconds": 600}, [
        'orchestratorTimeoutSeconds = 120: must be above 12147 seconds, which two Bedrock calls with every retry and a search can take. Fix: lower bedrockReadTimeoutSeconds or bedrockMaximumAttempts.',
        'ragRequestTimeoutSeconds = 120: must be above 12147 seconds, which two Bedrock calls with every retry and a search can take. Fix: lower bedrockReadTimeoutSeconds or bedrockMaximumAttempts.',
    ]),
    ({"ragRequestTimeoutSeconds": 150}, [
        'albIdleTimeoutSeconds = 150: must be above ragRequestTimeoutSeconds (150), or it cuts answers that are still coming. Fix: use at least 151, or lower ragRequestTimeoutSeconds.',
    ]),
    ({"albIdleTimeoutSeconds": 180}, [
        'clientTimeoutSeconds = 180: must be above albIdleTimeoutSeconds (180), or it cuts answers that are still coming. Fix: use at least 181, or lower albIdleTimeoutSeconds.',
    ]),
    ({"orchestratorTimeoutSeconds": 180, "ragService": False}, [
        'clientTimeoutSeconds = 180: must be above orchestratorTimeoutSeconds (180), or it cuts answers that are still coming. Fix: use at least 181, or lower orchestratorTimeoutSeconds.',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "messages"), REFUSED, ids=range(len(REFUSED)))
def test_a_combination_that_cannot_work_is_told_in_full(changes: dict[str, Any], messages: list[str]) -> None:
    assert faults_of(changes) == messages, "AWS would tell it, after half of the stack exists"


@pytest.mark.parametrize(
    "changes",
    [
        {"maximum": 0, "key": "ragMaximumTasks"}, {"maximum": 0, "key": "ragCpuTargetPercent"},
        {"maximum": 0, "key": "ragRequestsPerTarget"},
    ],
)  # fmt: skip
def test_a_service_cannot_scale_to_nothing(changes: dict[str, Any]) -> None:
    (message,) = faults_of({changes["key"]: changes["maximum"]})
    assert message.startswith(f"{changes['key']} = 0: must be "), (
        "scaling would divide by it, or never start a task"
    )


def test_a_bare_claude_id_is_refused_with_the_profile_to_use() -> None:
    model = "anthropic.claude-sonnet-4-5-20250929-v1:0"
    assert faults_of({"answerModel": model}) == [
        f"answerModel = {model}: needs an inference profile in eu-central-1, since Bedrock refuses the bare id. "
        f"Fix: use eu.{model} or global.{model}."
    ]


@pytest.mark.parametrize("workload", ["ragService", "orchestrator"])
def test_the_answer_model_is_judged_while_anything_answers(workload: str) -> None:
    others = {"ragService": False, "orchestrator": False, "ingestion": False} | {workload: True}
    faults = faults_of({**others, "answerModel": "anthropic.claude-opus-5"})
    assert [fault.split(" = ")[0] for fault in faults] == ["answerModel"], "the first question would fail"


def test_the_embedding_model_is_judged_while_anything_embeds() -> None:
    others = {"ragService": False, "orchestrator": False, "ingestion": True}
    faults = faults_of(
        {**others, "embeddingModel": "amazon.nova-2", "answerModel": "us.anthropic.claude-opus-5"}
    )
    assert [fault.split(" = ")[0] for fault in faults] == ["embeddingModel"]


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1", "eusc-de-east-1"])
def test_a_stack_that_only_trains_needs_no_model_in_its_region(region: str) -> None:
    left_out = {"ragService": False, "orchestrator": False, "ingestion": False, "vectorStore": False}
    zones = [f"{region}a", f"{region}b"]
    assert faults_of({**left_out, "region": region, "availabilityZones": zones}) == []


def test_a_region_without_profiles_does_not_offer_one() -> None:
    zones = ["cn-north-1a", "cn-north-1b"]
    (message,) = faults_of({"region": "cn-north-1", "availabilityZones": zones})
    assert message.endswith("Fix: choose a model that cn-north-1 offers without a profile.")


def test_a_public_service_with_certificate_and_token_is_allowed() -> None:
    exposed = {"exposure": "public", "certificateArn": CERTIFICATE, "bearerTokenSecretArn": SECRET}
    assert faults_of(exposed) == []


def test_rules_about_a_service_that_is_left_out_are_silent() -> None:
    changes = {
        "ragService": False,
        "exposure": "public",
        "answerProvider": "openai",
        "albIdleTimeoutSeconds": 1,
    }
    assert faults_of(changes) == [], "a person is told about something that will not exist"


@pytest.mark.parametrize("model", ["cohere.embed-v4:0", "eu.cohere.embed-v4:0", "global.cohere.embed-v4:0"])
@pytest.mark.parametrize("dimensions", [256, 512, 1024, 1536])
def test_the_second_embedding_model_is_allowed_by_itself_and_by_its_profiles(
    model: str, dimensions: int
) -> None:
    assert faults_of({"embeddingModel": model, "embeddingDimensions": dimensions}) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"chunkTokens": 51, "chunkOverlapTokens": 25},
        {"ingestionTokensPerMinute": 2400, "ingestionMaximumConcurrency": 10},
        {"ingestionTokensPerMinute": 1000, "ingestionTimeoutSeconds": 900},
        {"chunkOverlapTokens": 999, "ingestionTokensPerMinute": 1000, "ingestion": False},
    ],
)
def test_chunks_and_shares_that_work_or_are_not_used_are_allowed(changes: dict[str, Any]) -> None:
    assert faults_of(changes) == []


def test_the_timeout_ladder_allows_the_least_step_between_its_rungs() -> None:
    # Two calls of 20 s twice and a pause of 1 s, 35 s of searching, 2 s kept back: 119 seconds.
    ladder = {
        "bedrockReadTimeoutSeconds": 20, "bedrockMaximumAttempts": 2, "orchestratorTimeoutSeconds": 120,
        "ragRequestTimeoutSeconds": 120, "albIdleTimeoutSeconds": 121, "clientTimeoutSeconds": 122,
    }  # fmt: skip
    assert faults_of(ladder) == []
    for key in (
        "orchestratorTimeoutSeconds",
        "ragRequestTimeoutSeconds",
        "albIdleTimeoutSeconds",
        "clientTimeoutSeconds",
    ):
        found = [fault.split(" = ")[0] for fault in faults_of({**ladder, key: ladder[key] - 1})]
        assert found == [key], f"an answer would be cut one second too early at {key}"


def test_the_tallest_ladder_can_be_climbed() -> None:
    """No limit of a key makes another key's fix impossible."""
    ladder = {"ragRequestTimeoutSeconds": 3600, "albIdleTimeoutSeconds": 4000, "clientTimeoutSeconds": 4001}
    assert faults_of(ladder) == []
