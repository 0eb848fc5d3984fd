"""Rules over several configuration keys: combinations that AWS would refuse, ignore, or bill by surprise. Pure."""

from collections.abc import Callable, Iterator

from components.bedrock import EMBEDDING_DIMENSIONS, base_model_id, model_fault
from components.config_gpu_rules import fleet_rules, training_rules
from components.config_network_rules import network_rules
from components.config_sections import Sections
from components.fargate import memory_sizes_mib
from components.lifecycle import lifecycle_faults
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
            "allowedAccountIds", "", "protected data must not be deployed to an account by mistake",
            "list the account ids this stack may deploy to", "protectData",
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
                         f"set vectorStore to true, or {key} to false", "vectorStore")  # fmt: skip


def lake_rules(sections: Sections) -> Iterator[Fault]:
    yield from lifecycle_faults(sections.data_lake.lifecycle_rules)


def vector_store_rules(sections: Sections) -> Iterator[Fault]:
    store = sections.vector_store
    if store.generation == "NEXTGEN" and not store.standby_replicas:
        yield fault("vectorStandbyReplicas", False, "must be true with vectorGeneration NEXTGEN, AWS's rule",
                     "set it to true, or vectorGeneration to CLASSIC", "vectorGeneration")  # fmt: skip
    if store.enabled and sections.general.asleep and store.generation == "CLASSIC":
        yield fault("asleep", True, "would have to delete a CLASSIC collection, which bills by the hour, and its data",
                     "set vectorGeneration to NEXTGEN, which scales to zero, or asleep to false",
                     "vectorGeneration", "vectorStore")  # fmt: skip


def model_rules(sections: Sections) -> Iterator[Fault]:
    answers, region = sections.answers, sections.general.region
    for key, model_id in (("answerModel", answers.answer_model), ("embeddingModel", answers.embedding_model)):
        found = model_fault(model_id, region)
        if found:
            yield fault(key, model_id, *found, "region")
    yield from _embedding_rules(sections)


def _embedding_rules(sections: Sections) -> Iterator[Fault]:
    answers = sections.answers
    sizes = EMBEDDING_DIMENSIONS.get(base_model_id(answers.embedding_model))
    if sizes is None:
        known = " or ".join(EMBEDDING_DIMENSIONS)
        yield fault(
            "embeddingModel",
            answers.embedding_model,
            "is not a model whose dimensions are known",
            f"use {known}",
        )
    elif answers.embedding_dimensions not in sizes:
        yield fault("embeddingDimensions", answers.embedding_dimensions,
                     f"must be one of {', '.join(map(str, sizes))} for {answers.embedding_model}",
                     "choose one of these; a new dimension makes a new index", "embeddingModel")  # fmt: skip


def rag_task_rules(sections: Sections) -> Iterator[Fault]:
    service = sections.rag_service
    sizes = memory_sizes_mib(service.cpu_units)
    if service.memory_mib not in sizes:
        nearest = min(sizes, key=lambda size: (abs(size - service.memory_mib), size))
        yield fault("ragMemoryMib", service.memory_mib,
                     f"is not a Fargate size with ragCpuUnits {service.cpu_units} ({sizes[0]} to {sizes[-1]} MiB)",
                     f"use {nearest}", "ragCpuUnits")  # fmt: skip
    low, high = service.minimum_tasks, service.maximum_tasks
    if low > high:
        yield fault("ragMinimumTasks", low, f"must not be above ragMaximumTasks ({high})",
                     "lower it, or raise ragMaximumTasks", "ragMaximumTasks")  # fmt: skip
    elif not low <= service.desired_tasks <= high:
        yield fault("ragDesiredTasks", service.desired_tasks, f"must lie from ragMinimumTasks to ragMaximumTasks ({low} to {high})",
                     f"use {low}", "ragMinimumTasks", "ragMaximumTasks")  # fmt: skip


def exposure_rules(sections: Sections) -> Iterator[Fault]:
    service = sections.rag_service
    if not service.enabled or service.exposure == "internal":
        return
    for key, value, what in (
        ("certificateArn", service.certificate_arn, "a certificate"),
        ("bearerTokenSecretArn", service.bearer_token_secret_arn, "a bearer token"),
    ):
        if not value:
            yield fault(key, "", f"a public API needs {what}, otherwise anyone can spend on your models",
                         f"set {key}, or exposure to internal", "exposure")  # fmt: skip


def provider_rules(sections: Sections) -> Iterator[Fault]:
    service = sections.rag_service
    if not service.enabled or service.answer_provider != "openai":
        return
    if not service.openai_api_key_secret_arn:
        yield fault("openaiApiKeySecretArn", "", "answers come from OpenAI, which refuses a call without a key",
                     "name the secret that holds the key, or set answerProvider to bedrock", "answerProvider")  # fmt: skip
    if not service.openai_model:
        yield fault("openaiModel", "", "answers come from an OpenAI-compatible API, which needs a model's name",
                     "set openaiModel, or answerProvider to bedrock", "answerProvider")  # fmt: skip


def timeout_rules(sections: Sections) -> Iterator[Fault]:
    """The ladder: what Bedrock may take < Lambda or task < load balancer < client."""
    answers, service = sections.answers, sections.rag_service
    needed = request_seconds(answers.bedrock_read_timeout_seconds, answers.bedrock_maximum_attempts)
    bedrock = ("bedrockReadTimeoutSeconds", "bedrockMaximumAttempts")
    for key, value, enabled in (
        ("orchestratorTimeoutSeconds", sections.orchestrator.timeout_seconds, sections.orchestrator.enabled),
        ("ragRequestTimeoutSeconds", service.request_timeout_seconds, service.enabled),
    ):
        if enabled and value <= needed:
            yield fault(key, value, f"must be above {needed} seconds, what two Bedrock calls with every retry and a search can take",
                         f"raise it, or lower {' or '.join(bedrock)}", *bedrock)  # fmt: skip
    if service.enabled:
        yield from _rung("albIdleTimeoutSeconds", service.alb_idle_timeout_seconds,
                         "ragRequestTimeoutSeconds", service.request_timeout_seconds)  # fmt: skip
        yield from _rung("clientTimeoutSeconds", answers.client_timeout_seconds,
                         "albIdleTimeoutSeconds", service.alb_idle_timeout_seconds)  # fmt: skip
    if sections.orchestrator.enabled:
        yield from _rung("clientTimeoutSeconds", answers.client_timeout_seconds,
                         "orchestratorTimeoutSeconds", sections.orchestrator.timeout_seconds)  # fmt: skip


def _rung(upper: str, upper_seconds: int, lower: str, lower_seconds: int) -> Iterator[Fault]:
    if upper_seconds <= lower_seconds:
        yield fault(upper, upper_seconds, f"must be above {lower} ({lower_seconds}), or it cuts answers that are still coming",
                     f"use at least {lower_seconds + 1}, or lower {lower}", lower)  # fmt: skip


RULES: tuple[Rule, ...] = (
    account_rules, workload_rules, network_rules, lake_rules, fleet_rules, training_rules, vector_store_rules,
    model_rules, rag_task_rules, exposure_rules, provider_rules, timeout_rules,
)  # fmt: skip
