"""Every configuration key of the platform: name, type, default and allowed range, one frozen dataclass per concern.

No Pulumi here, so that any of these can be built in a test. Rules over several keys are in `components/config_rules.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from components.config_gpu_sections import (
    GpuConfig,
    InferenceConfig,
    InterruptionDrillConfig,
    MachineImages,
    TrainingConfig,
)
from components.config_values import (
    ACCOUNT_ID,
    ADDRESS,
    CERTIFICATE_ARN,
    EMAIL,
    FARGATE_CPU_UNITS,
    FOLDERS,
    IMAGE_BY_DIGEST,
    INTERFACE_ENDPOINTS,
    IPV4_BLOCK,
    LOG_RETENTION_DAYS,
    LONGEST_FUNCTION_SECONDS,
    LONGEST_RAG_REQUEST_SECONDS,
    MODEL_ID,
    MODEL_NAME,
    NAME_SUFFIX,
    REGION,
    RULE_ID,
    SECRET_ARN,
    STORAGE_CLASSES,
    SUBNET_ID,
    TAGS,
    TEMPERATURE,
    VPC_ID,
    ZONE,
)
from components.settings import Allowed, between, each, one_of, optional, setting

NAMESPACE = "ai-platform"


@dataclass(frozen=True, kw_only=True)
class GeneralConfig:
    """Where the stack lives and what holds for all of it."""

    region: str = setting("region", allowed=REGION)
    allowed_account_ids: tuple[str, ...] = setting("allowedAccountIds", (), each(ACCOUNT_ID))
    name_suffix: str = setting("nameSuffix", "", NAME_SUFFIX)
    tags: Mapping[str, str] = setting("tags", MappingProxyType({}), TAGS)
    protect_data: bool = setting("protectData", False)
    asleep: bool = setting("asleep", False)
    log_retention_days: int = setting("logRetentionDays", 30, one_of(*LOG_RETENTION_DAYS))
    alarm_email: str = setting("alarmEmail", "", optional(EMAIL))


@dataclass(frozen=True, kw_only=True)
class ExistingSubnet:
    """A subnet of an existing VPC. Its zone is told rather than looked up, so that a preview needs no AWS call."""

    subnet_id: str = setting("id", allowed=SUBNET_ID)
    zone: str = setting("zone", allowed=ZONE)
    tier: str = setting("tier", allowed=one_of("private", "public"))


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The network: one of our own, or an existing VPC by ids."""

    availability_zones: tuple[str, ...] = setting("availabilityZones", (), each(ZONE))
    vpc_cidr: str = setting("vpcCidr", "10.20.0.0/16")
    nat_gateways: str = setting("natGateways", "single", one_of("none", "single", "onePerZone"))
    interface_endpoints: tuple[str, ...] = setting(
        "interfaceEndpoints", (), each(one_of(*INTERFACE_ENDPOINTS))
    )
    flow_logs: bool = setting("flowLogs", False)
    existing_vpc_id: str = setting("existingVpcId", "", optional(VPC_ID))
    existing_vpc_cidr: str = setting("existingVpcCidr", "", optional(IPV4_BLOCK))
    existing_subnets: tuple[ExistingSubnet, ...] = setting("existingSubnets", ())


@dataclass(frozen=True, kw_only=True)
class LifecycleTransition:
    """A move to a cheaper storage class, `days` after an object was made."""

    days: int = setting("days", allowed=between(0, 36500, "days"))
    storage_class: str = setting("storageClass", allowed=one_of(*STORAGE_CLASSES))


@dataclass(frozen=True, kw_only=True)
class LifecycleRule:
    """One lifecycle rule of the data lake; -1 days of expiry means that objects never expire."""

    rule_id: str = setting("id", allowed=RULE_ID)
    prefix: str = setting("prefix", "", FOLDERS)
    minimum_size_bytes: int = setting("minimumSizeBytes", 0, between(0, 5 * 1024**4, "bytes"))
    transitions: tuple[LifecycleTransition, ...] = setting("transitions", ())
    expire_days: int = setting(
        "expireDays",
        -1,
        Allowed("must be 1 to 36500 days, or -1 for never", lambda d: d == -1 or 1 <= d <= 36500),
    )


DEFAULT_LIFECYCLE_RULES = (
    LifecycleRule(
        rule_id="MoveOldEmbeddings",
        prefix="processed/embeddings/",
        transitions=(
            LifecycleTransition(days=30, storage_class="STANDARD_IA"),
            LifecycleTransition(days=90, storage_class="GLACIER"),
        ),
    ),
    LifecycleRule(rule_id="DeleteOldLogs", prefix="logs/training/", expire_days=180),
)


@dataclass(frozen=True, kw_only=True)
class DataLakeConfig:
    """The S3 data lake."""

    versioning: bool = setting("lakeVersioning", True)
    noncurrent_version_days: int = setting("lakeNoncurrentVersionDays", 30, between(1, 36500, "days"))
    abort_incomplete_upload_days: int = setting("lakeAbortIncompleteUploadDays", 7, between(1, 365, "days"))
    lifecycle_rules: tuple[LifecycleRule, ...] = setting("lakeLifecycleRules", DEFAULT_LIFECYCLE_RULES)


@dataclass(frozen=True, kw_only=True)
class SharedFilesConfig:
    """The shared EFS file system."""

    backup: bool = setting("efsBackup", False)


@dataclass(frozen=True, kw_only=True)
class ClusterConfig:
    """The ECS cluster."""

    container_insights: bool = setting("containerInsights", False)


@dataclass(frozen=True, kw_only=True)
class VectorStoreConfig:
    """The OpenSearch Serverless collection."""

    enabled: bool = setting("vectorStore", True)
    generation: str = setting("vectorGeneration", "NEXTGEN", one_of("NEXTGEN", "CLASSIC"))
    standby_replicas: bool = setting("vectorStandbyReplicas", True)
    private_endpoint: bool = setting("vectorPrivateEndpoint", False)
    maximum_ocus: int = setting("vectorMaximumOcus", 4, one_of(1, 2, 4, 8, 16))


@dataclass(frozen=True, kw_only=True)
class AnswersConfig:
    """Models, retrieval, and the time each step may take; shared by the orchestrator and the RAG service."""

    embedding_model: str = setting("embeddingModel", "amazon.titan-embed-text-v2:0", MODEL_ID)
    embedding_dimensions: int = setting("embeddingDimensions", 512, one_of(256, 512, 1024, 1536))
    answer_model: str = setting("answerModel", "global.anthropic.claude-haiku-4-5-20251001-v1:0", MODEL_ID)
    answer_maximum_tokens: int = setting("answerMaxTokens", 1024, between(50, 64_000, "tokens"))
    answer_temperature: str = setting("answerTemperature", "", optional(TEMPERATURE))
    search_mode: str = setting("searchMode", "hybrid", one_of("vector", "hybrid"))
    retrieval_count: int = setting("retrievalCount", 5, between(1, 50, "passages"))
    context_tokens: int = setting("contextTokens", 6000, between(100, 200_000, "tokens"))
    bedrock_read_timeout_seconds: int = setting("bedrockReadTimeoutSeconds", 20, between(1, 600, "seconds"))
    bedrock_maximum_attempts: int = setting("bedrockMaximumAttempts", 2, between(1, 10))
    client_timeout_seconds: int = setting("clientTimeoutSeconds", 180, between(2, 7200, "seconds"))


@dataclass(frozen=True, kw_only=True)
class RagServiceConfig:
    """The RAG API on ECS Fargate."""

    enabled: bool = setting("ragService", True)
    image: str = setting("ragImage", "", optional(IMAGE_BY_DIGEST))
    cpu_units: int = setting("ragCpuUnits", 512, one_of(*FARGATE_CPU_UNITS))
    memory_mib: int = setting("ragMemoryMib", 1024, between(512, 249_856, "MiB"))
    minimum_tasks: int = setting("ragMinimumTasks", 1, between(1, 1000, "tasks"))
    maximum_tasks: int = setting("ragMaximumTasks", 4, between(1, 1000, "tasks"))
    desired_tasks: int = setting("ragDesiredTasks", 1, between(1, 1000, "tasks"))
    cpu_target_percent: int = setting("ragCpuTargetPercent", 70, between(10, 95, "percent"))
    requests_per_target: int = setting("ragRequestsPerTarget", 100, between(1, 100_000, "requests a minute"))
    maximum_concurrency: int = setting("ragMaximumConcurrency", 64, between(1, 1000, "requests"))
    fargate_spot_percent: int = setting("ragFargateSpotPercent", 0, between(0, 100, "percent"))
    exposure: str = setting("exposure", "internal", one_of("internal", "public"))
    certificate_arn: str = setting("certificateArn", "", optional(CERTIFICATE_ARN))
    bearer_token_secret_arn: str = setting("bearerTokenSecretArn", "", optional(SECRET_ARN))
    answer_provider: str = setting("answerProvider", "bedrock", one_of("bedrock", "openai", "inference"))
    openai_api_key_secret_arn: str = setting("openaiApiKeySecretArn", "", optional(SECRET_ARN))
    openai_base_url: str = setting("openaiBaseUrl", "https://api.openai.com/v1", ADDRESS)
    openai_model: str = setting("openaiModel", "", MODEL_NAME)
    request_timeout_seconds: int = setting(
        "ragRequestTimeoutSeconds", 120, between(1, LONGEST_RAG_REQUEST_SECONDS, "seconds")
    )
    alb_idle_timeout_seconds: int = setting("albIdleTimeoutSeconds", 150, between(1, 4000, "seconds"))


@dataclass(frozen=True, kw_only=True)
class OrchestratorConfig:
    """The Lambda that embeds, searches and answers."""

    enabled: bool = setting("orchestrator", True)
    memory_mib: int = setting("orchestratorMemoryMib", 1024, between(128, 10240, "MiB"))
    timeout_seconds: int = setting(
        "orchestratorTimeoutSeconds", 120, between(1, LONGEST_FUNCTION_SECONDS, "seconds")
    )
    reserved_concurrency: int = setting("orchestratorReservedConcurrency", -1, between(-1, 10_000))


@dataclass(frozen=True, kw_only=True)
class IngestionConfig:
    """Documents of the lake into the vector store."""

    enabled: bool = setting("ingestion", True)
    memory_mib: int = setting("ingestionMemoryMib", 1024, between(128, 10240, "MiB"))
    timeout_seconds: int = setting(
        "ingestionTimeoutSeconds", 300, between(30, LONGEST_FUNCTION_SECONDS, "seconds")
    )
    # An SQS event source takes 2 to 1,000. https://docs.aws.amazon.com/lambda/latest/api/API_ScalingConfig.html
    maximum_concurrency: int = setting("ingestionMaximumConcurrency", 2, between(2, 1000))
    maximum_receives: int = setting("ingestionMaximumReceives", 5, between(1, 1000))
    tokens_per_minute: int = setting(
        "ingestionTokensPerMinute", 150_000, between(1000, 100_000_000, "tokens")
    )
    chunk_tokens: int = setting("chunkTokens", 400, between(50, 2000, "tokens"))
    chunk_overlap_tokens: int = setting("chunkOverlapTokens", 50, between(0, 999, "tokens"))


@dataclass(frozen=True, kw_only=True)
class BudgetConfig:
    """A monthly limit with notifications; there is none without an address."""

    monthly_limit_usd: int = setting("budgetMonthlyUsd", 100, between(1, 10_000_000, "USD"))
    email: str = setting("budgetEmail", "", optional(EMAIL))


@dataclass(frozen=True, kw_only=True)
class Sections:
    """Every section as read, workloads that are switched off included; the rules judge this."""

    general: GeneralConfig
    network: NetworkConfig
    data_lake: DataLakeConfig = field(default_factory=DataLakeConfig)
    shared_files: SharedFilesConfig = field(default_factory=SharedFilesConfig)
    gpu: GpuConfig = field(default_factory=GpuConfig)
    machine_images: MachineImages = field(default_factory=MachineImages)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    inference: InferenceConfig = field(default_factory=InferenceConfig)
    interruption_drill: InterruptionDrillConfig = field(default_factory=InterruptionDrillConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    vector_store: VectorStoreConfig = field(default_factory=VectorStoreConfig)
    answers: AnswersConfig = field(default_factory=AnswersConfig)
    rag_service: RagServiceConfig = field(default_factory=RagServiceConfig)
    orchestrator: OrchestratorConfig = field(default_factory=OrchestratorConfig)
    ingestion: IngestionConfig = field(default_factory=IngestionConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
