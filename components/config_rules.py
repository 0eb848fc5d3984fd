"""Rules over several configuration keys: combinations that AWS would refuse, ignore, or bill by surprise. Pure."""

from collections.abc import Callable, Iterator

from components.bedrock import EMBEDDING_DIMENSIONS, base_model_id, model_fault
from components.config_drill_rules import drill_rules
from components.config_gpu_rules import fleet_rules, training_rules
from components.config_inference_rules import answering_rules, inference_rules
from components.config_network_rules import network_rules
from components.config_sections import AnswersConfig, Sections
from components.config_values import LONGEST_FUNCTION_SECONDS, LONGEST_RAG_REQUEST_SECONDS
from components.fargate import described_sizes, memory_sizes_mib
from components.lifecycle import lifecycle_faults
from components.pacing import least_share, share_of_a_run
from components.settings import Fault, fault
from components.timeouts import request_seconds

Rule = Callable[[Sections], Iterator[Fault]]


def cross_field_faults(sections: Sections) -> list[Fault]:
    """Every broken rule, in the order of the rules; keys are without their namespace."""
    return [fault for rule in RULES for fault in rule(sections)]


def account_rules(sections: Sections) -> Iterator[Fault]:
    general = sections.general
    if general.protect_data and not general.allowed_account_ids:
        yield fault(
            "allowedAccountIds", "", "protected data must not land in the wrong account by mistake",
            "list the account ids this stack may deploy to",
        )  # fmt: skip
    for key, arn in _regional_arns(sections):
        if arn and arn.split(":")[3] != general.region:
            yield fault(key, arn, f"must be in the stack's region {general.region}",
                         f"use one in {general.region}, or change region", "region")  # fmt: skip


def _regional_arns(sections: Sections) -> Iterator[tuple[str, str]]:
    service = sections.rag_service
    yield "certificateArn", service.certificate_arn
    yield "bearerTokenSecretArn", service.bearer_token_secret_arn
    yield "openaiApiKeySecretArn", service.openai_api_key_secret_arn
    yield "huggingFaceTokenSecretArn", sections.inference.hugging_face_token_secret_arn


def workload_rules(sections: Sections) -> Iterator[Fault]:
    """What needs the vector store cannot stand without it."""
    users = {
        "ragService": sections.rag_service.enabled,
        "orchestrator": sections.orchestrator.enabled,
        "ingestion": sections.ingestion.enabled,
    }
    for key, enabled in users.items():
        if enabled and not sections.vector_store.enabled:
            yield fault(key, True, "needs the vector store, which is switched off",
                         f"set vectorStore to true, or {key} to false")  # fmt: skip


def lake_rules(sections: Sections) -> Iterator[Fault]:
    yield from lifecycle_faults(sections.data_lake.lifecycle_rules)


def vector_store_rules(sections: Sections) -> Iterator[Fault]:
    store = sections.vector_store
    if store.generation == "NEXTGEN" and not store.standby_replicas:
        yield fault("vectorStandbyReplicas", False, "AWS wants standby replicas with vectorGeneration NEXTGEN",
                     "remove it, or set vectorGeneration to CLASSIC", "vectorGeneration")  # fmt: skip
    if store.enabled and sections.general.asleep and store.generation == "CLASSIC":
        yield fault("asleep", True, "would have to delete a CLASSIC collection, which bills by the hour, and its data",
                     "set vectorGeneration to NEXTGEN, which scales to zero, or asleep to false",
                     "vectorStore")  # fmt: skip


def model_rules(sections: Sections) -> Iterator[Fault]:
    """Models are judged where something calls them: a stack may train only, in a region without them."""
    answers, region = sections.answers, sections.general.region
    answering = sections.rag_service.enabled or sections.orchestrator.enabled
    embedding = answering or sections.ingestion.enabled
    for key, model_id, used in (
        ("answerModel", answers.answer_model, answering),
        ("embeddingModel", answers.embedding_model, embedding),
    ):
        found = model_fault(model_id, region) if used else None
        if found:
            yield fault(key, model_id, *found, "region", "ragService", "orchestrator", "ingestion")
    if embedding:
        yield from _embedding_rules(answers)


def _embedding_rules(answers: AnswersConfig) -> Iterator[Fault]:
    workloads = ("ragService", "orchestrator", "ingestion")
    sizes = EMBEDDING_DIMENSIONS.get(base_model_id(answers.embedding_model))
    if sizes is None:
        yield fault("embeddingModel", answers.embedding_model, "is not a model whose dimensions are known",
                    f"use {' or '.join(EMBEDDING_DIMENSIONS)}", *workloads)  # fmt: skip
    elif answers.embedding_dimensions not in sizes:
        yield fault("embeddingDimensions", answers.embedding_dimensions,
                    f"is not a length that {answers.embedding_model} makes ({', '.join(map(str, sizes))})",
                    f"use {max(sizes)}, or another embeddingModel", "embeddingModel", *workloads)  # fmt: skip


def ingestion_rules(sections: Sections) -> Iterator[Fault]:
    """How documents are cut, and whether every run of the function has tokens enough to embed a chunk."""
    config = sections.ingestion
    if not config.enabled:
        return
    if 2 * config.chunk_overlap_tokens >= config.chunk_tokens:
        yield fault("chunkOverlapTokens", config.chunk_overlap_tokens,
                    f"must be below half of chunkTokens ({config.chunk_tokens}), or most of each chunk is said before",
                    f"use at most {(config.chunk_tokens - 1) // 2}, or raise chunkTokens",
                    "chunkTokens", "ingestion")  # fmt: skip
    runs, share, needed = config.maximum_concurrency, share_of_a_run(config), least_share(config)
    if share < needed:
        yield fault("ingestionTokensPerMinute", config.tokens_per_minute,
                    f"leaves each of {runs} runs at once {share} tokens a minute, and one needs {needed} to embed a chunk in its time",
                    f"use at least {runs * needed}, lower ingestionMaximumConcurrency or chunkTokens, or raise ingestionTimeoutSeconds",
                    "ingestionMaximumConcurrency", "chunkTokens", "ingestionTimeoutSeconds", "ingestion")  # fmt: skip


def rag_task_rules(sections: Sections) -> Iterator[Fault]:
    service = sections.rag_service
    sizes = memory_sizes_mib(service.cpu_units)
    if service.memory_mib not in sizes:
        nearest = min(sizes, key=lambda size: (abs(size - service.memory_mib), size))
        yield fault("ragMemoryMib", service.memory_mib,
                     f"is not a Fargate size with ragCpuUnits {service.cpu_units} ({described_sizes(service.cpu_units)})",
                     f"use {nearest}", "ragCpuUnits")  # fmt: skip
    low, high = service.minimum_tasks, service.maximum_tasks
    if low > high:
        yield fault("ragMinimumTasks", low, f"must not be above ragMaximumTasks ({high})",
                     "lower it, or raise ragMaximumTasks", "ragMaximumTasks")  # fmt: skip
    elif not low <= service.desired_tasks <= high:
        yield fault("ragDesiredTasks", service.desired_tasks, f"must lie from ragMinimumTasks to ragMaximumTasks ({low} to {high})",
                     f"use {low if service.desired_tasks < low else high}", "ragMinimumTasks", "ragMaximumTasks")  # fmt: skip


def exposure_rules(sections: Sections) -> Iterator[Fault]:
    service = sections.rag_service
    if not service.enabled or service.exposure == "internal":
        return
    for key, value, what in (
        (
            "certificateArn",
            service.certificate_arn,
            "a certificate, or tokens and questions travel in the clear",
        ),
        (
            "bearerTokenSecretArn",
            service.bearer_token_secret_arn,
            "a token, or anyone can spend on your models",
        ),
    ):
        if not value:
            yield fault(key, "", f"a public API needs {what}",
                         f"set {key}, or exposure to internal", "ragService")  # fmt: skip


def provider_rules(sections: Sections) -> Iterator[Fault]:
    service = sections.rag_service
    if not service.enabled or service.answer_provider != "openai":
        return
    if not service.openai_api_key_secret_arn:
        yield fault("openaiApiKeySecretArn", "", "answers come from an OpenAI-compatible API, which refuses a call without a key",
                     "name the secret that holds the key, or set answerProvider to bedrock", "ragService")  # fmt: skip
    if not service.openai_model:
        yield fault("openaiModel", "", "answers come from an OpenAI-compatible API, which needs a model's name",
                     "set openaiModel, or answerProvider to bedrock", "ragService")  # fmt: skip


def timeout_rules(sections: Sections) -> Iterator[Fault]:
    """The ladder: what Bedrock may take < Lambda or task < load balancer < client."""
    answers, service, orchestrator = sections.answers, sections.rag_service, sections.orchestrator
    if orchestrator.enabled:
        yield from _first_rung("orchestratorTimeoutSeconds", orchestrator.timeout_seconds,
                               LONGEST_FUNCTION_SECONDS, answers, "orchestrator")  # fmt: skip
        yield from _rung("clientTimeoutSeconds", answers.client_timeout_seconds,
                         "orchestratorTimeoutSeconds", orchestrator.timeout_seconds, "orchestrator")  # fmt: skip
    if service.enabled:
        yield from _first_rung("ragRequestTimeoutSeconds", service.request_timeout_seconds,
                               LONGEST_RAG_REQUEST_SECONDS, answers, "ragService")  # fmt: skip
        yield from _rung("albIdleTimeoutSeconds", service.alb_idle_timeout_seconds,
                         "ragRequestTimeoutSeconds", service.request_timeout_seconds, "ragService")  # fmt: skip
        yield from _rung("clientTimeoutSeconds", answers.client_timeout_seconds,
                         "albIdleTimeoutSeconds", service.alb_idle_timeout_seconds, "ragService")  # fmt: skip


def _first_rung(
    key: str, seconds: int, longest: int, answers: AnswersConfig, workload: str
) -> Iterator[Fault]:
    needed = request_seconds(answers.bedrock_read_timeout_seconds, answers.bedrock_maximum_attempts)
    bedrock = ("bedrockReadTimeoutSeconds", "bedrockMaximumAttempts")
    raise_it = f"use at least {needed + 1}, or " if needed < longest else ""
    if seconds <= needed:
        yield fault(key, seconds, f"must be above {needed} seconds, which two Bedrock calls with every retry and a search can take",
                     f"{raise_it}lower {' or '.join(bedrock)}", *bedrock, workload)  # fmt: skip


def _rung(upper: str, upper_seconds: int, lower: str, lower_seconds: int, workload: str) -> Iterator[Fault]:
    if upper_seconds <= lower_seconds:
        yield fault(upper, upper_seconds, f"must be above {lower} ({lower_seconds}), or it cuts answers that are still coming",
                     f"use at least {lower_seconds + 1}, or lower {lower}", lower, workload)  # fmt: skip


RULES: tuple[Rule, ...] = (
    account_rules, workload_rules, network_rules, lake_rules, fleet_rules, training_rules, drill_rules, inference_rules,
    vector_store_rules, model_rules, ingestion_rules, rag_task_rules, exposure_rules, provider_rules, answering_rules,
    timeout_rules,
)  # fmt: skip
