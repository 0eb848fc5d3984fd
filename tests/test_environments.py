"""What the components give to functions and tasks is what the code reads, in each stack: nothing missing, nothing idle."""

import json
from collections.abc import Iterator, Mapping

import pytest

from answer_parts import function_of, variables_of
from ingestion.settings import IngestionSettings
from ops.capture.program import record
from ops.capture.recording import Recording
from rag.settings import PipelineSettings
from rag_api.settings import ApiSettings
from recordings import recorded

TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
# Read by uvicorn itself.
OF_THE_SERVER = {"UVICORN_TIMEOUT_KEEP_ALIVE"}


class Watched(Mapping[str, str]):
    """An environment that remembers which of its variables were asked for."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = dict(variables)
        self._read: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self._read.add(key)
        return self._variables[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def idle(self) -> set[str]:
        return set(self) - self._read


def task_variables(recording: Recording) -> dict[str, str]:
    """The environment of the API's container, its secrets filled in."""
    (container,) = json.loads(recording.one(TASK_DEFINITION).inputs["containerDefinitions"])
    variables = {item["name"]: item["value"] for item in container["environment"]}
    return variables | {item["name"]: "a-secret-value" for item in container["secrets"]}


def test_the_orchestrator_accepts_its_environment_and_reads_all_of_it(platform: Recording) -> None:
    environment = Watched(variables_of(platform, "orchestrator"))
    assert PipelineSettings.from_environment(environment).search_mode == "hybrid"
    assert not environment.idle(), "a setting is passed on and has no effect"


def test_ingestion_accepts_its_environment_and_reads_all_of_it(platform: Recording) -> None:
    environment = Watched(variables_of(platform, "ingestion"))
    settings = IngestionSettings.from_environment(environment)
    assert settings.pipeline.embedding_dimensions == 512
    assert not environment.idle(), "a setting is passed on and has no effect"


@pytest.mark.parametrize("provider", ["bedrock", "openai"])
def test_the_api_accepts_its_environment_and_reads_all_of_it(platform: Recording, provider: str) -> None:
    answers_elsewhere = {
        "answerProvider": "openai",
        "openaiModel": "gpt-5",
        "openaiApiKeySecretArn": "arn:aws:secretsmanager:eu-central-1:111122223333:secret:openai-AbCdEf",
    }
    changed = record(platform.stack, changes=answers_elsewhere) if provider == "openai" else platform
    environment = Watched(task_variables(changed))
    settings = ApiSettings.from_environment(environment)
    assert (settings.openai is not None) == (provider == "openai")
    # The key is injected wherever a secret is named, so that switching the provider is one change.
    idle_with_bedrock = {"OPENAI_API_KEY"} if provider == "bedrock" else set()
    assert environment.idle() <= OF_THE_SERVER | idle_with_bedrock, "a setting is passed on and has no effect"


def test_every_setting_of_the_pipeline_reaches_it() -> None:
    changes = {
        "embeddingModel": "eu.cohere.embed-v4:0", "embeddingDimensions": 1536, "answerMaxTokens": 2000,
        "answerTemperature": "0.3", "searchMode": "vector", "retrievalCount": 9, "contextTokens": 9000,
        "bedrockReadTimeoutSeconds": 11, "bedrockMaximumAttempts": 3,
    }  # fmt: skip
    recording = record("dev", changes=changes)
    read = PipelineSettings.from_environment(variables_of(recording, "orchestrator"))
    assert (read.embedding_model_id, read.embedding_dimensions) == ("eu.cohere.embed-v4:0", 1536)
    assert (read.answer_max_tokens, read.answer_temperature) == (2000, 0.3)
    assert (read.search_mode, read.retrieval_count, read.context_tokens) == ("vector", 9, 9000)
    assert (read.bedrock_read_timeout_seconds, read.bedrock_max_attempts) == (11, 3)
    pipelines = (
        IngestionSettings.from_environment(variables_of(recording, "ingestion")).pipeline,
        ApiSettings.from_environment(task_variables(recording)).pipeline,
    )
    assert set(pipelines) == {read}, "two workloads of one stack would embed or answer differently"


def test_a_temperature_that_is_left_to_the_model_is_not_sent(dev: Recording) -> None:
    assert "ANSWER_TEMPERATURE" not in variables_of(dev, "orchestrator")
    assert PipelineSettings.from_environment(variables_of(dev, "ingestion")).answer_temperature is None, (
        "newer models refuse the parameter, whatever its value"
    )


def test_every_setting_of_ingestion_reaches_it() -> None:
    changes = {
        "chunkTokens": 600, "chunkOverlapTokens": 60, "ingestionTokensPerMinute": 100_000,
        "ingestionMaximumConcurrency": 8, "ingestionMaximumReceives": 3,
    }  # fmt: skip
    recording = record("dev", changes=changes)
    read = IngestionSettings.from_environment(variables_of(recording, "ingestion"))
    assert (read.chunk_tokens, read.chunk_overlap_tokens) == (600, 60)
    assert read.embedding_tokens_per_minute == 12_500, "eight runs at once would go beyond what was allowed"
    assert read.maximum_receives == 3, "the last try would not be known as the last"
    queues = {
        queue.name: queue.outputs["url"]
        for queue in recording.of_type("aws:sqs/queue:Queue")
        if queue.name.startswith("ingestion-")
    }
    assert read.queue_url == queues["ingestion-events"]
    assert read.dead_letter_queue_url == queues["ingestion-dead-letters"]


def test_a_task_knows_how_many_requests_it_may_work_on_at_once() -> None:
    recording = record("dev", changes={"ragMaximumConcurrency": 12})
    assert ApiSettings.from_environment(task_variables(recording)).maximum_concurrency == 12


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_no_environment_is_larger_than_lambda_takes(stack: str) -> None:
    """https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"""
    for package in ("orchestrator", "ingestion", "vector_index"):
        variables = function_of(recorded(stack), package).inputs["environment"]["variables"]
        size = sum(len(key) + len(value) for key, value in variables.items())
        assert size < 4096, "Lambda would refuse the function"
