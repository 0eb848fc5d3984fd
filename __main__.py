"""The AI platform of one stack.

documents -> data lake (S3) -> ingestion (SQS, Lambda) -> vector store (OpenSearch Serverless)
                |                                            |
                |            client -> RAG service (ALB, Fargate) -> embed, search, answer
                |            caller -> orchestrator (Lambda)      -> embed, search, answer
                |                                            |
                +-> training jobs (AWS Batch), GPU fleets    +-> Bedrock, or an OpenAI-compatible API:
                       |                                         the model server (vLLM) of a GPU fleet, or another
                    shared files (EFS): datasets, checkpoints, cache
"""

import pulumi

from components import lake_layout as lake
from components.alarm_topic import AlarmTopic, AlarmTopicArgs
from components.aws_account import AwsAccount, default_tags
from components.budget import Budget, BudgetArgs
from components.cluster import Cluster, ClusterArgs
from components.config import PlatformConfig
from components.container_image import ContainerImage, ContainerImageArgs
from components.data_lake import DataLake, DataLakeArgs
from components.gpu_fleet import GpuFleet, GpuFleetArgs
from components.inference_service import InferenceService, InferenceServiceArgs
from components.ingestion import Ingestion, IngestionArgs
from components.interruption_drill import InterruptionDrill, InterruptionDrillArgs
from components.model_access import ModelAccess, ModelAccessArgs
from components.network import Network, NetworkArgs
from components.orchestrator import Orchestrator, OrchestratorArgs
from components.rag_service import RagService, RagServiceArgs
from components.shared_files import SharedFiles, SharedFilesArgs
from components.training import Training, TrainingArgs
from components.vector_store import VectorStore, VectorStoreArgs

config = PlatformConfig.load()
account = AwsAccount.connect(config)
on = account.options
tags = default_tags(config)
protect, asleep, log_days = config.general.protect_data, config.general.asleep, config.general.log_retention_days

network = Network("network", NetworkArgs(config=config.network, region=account.region, asleep=asleep, log_retention_days=log_days), on)
data_lake = DataLake("data-lake", DataLakeArgs(config=config.data_lake, protect=protect), on)
shared_files = SharedFiles("shared-files", SharedFilesArgs(config=config.shared_files, network=network, protect=protect), on)
cluster = Cluster("cluster", ClusterArgs(config=config.cluster, name_suffix=config.general.name_suffix), on)
models = ModelAccess("models", ModelAccessArgs(config=config.answers, account=account), on)
alarm_topic = AlarmTopic("alarms", AlarmTopicArgs(account=account, email=config.general.alarm_email), on) if config.training or config.inference else None

fleets: dict[str, GpuFleet] = {}
fleet_providers: list[pulumi.Input[str]] = []
for fleet_config in config.gpu_fleets:
    fleet = fleets[fleet_config.name] = GpuFleet(f"gpu-{fleet_config.name}", GpuFleetArgs(
        config=fleet_config, account=account, network=network, shared_files=shared_files,
        cluster_name=cluster.cluster_name, machine_images=config.machine_images, tags=tags,
        node_metrics=config.node_metrics, log_retention_days=log_days,
    ), on)
    if fleet.capacity_provider_name:  # what its tasks may do is granted to their own roles
        fleet_providers.append(fleet.capacity_provider_name)
        continue
    shared_files.grant_mount(fleet.role, fleet.security_group_id)
    data_lake.grant_read(fleet.role, lake.RAW, lake.PROCESSED, lake.MODELS)
    data_lake.grant_write(fleet.role, lake.MODELS, lake.EVALUATIONS, lake.LOGS_TRAINING)
capacity = cluster.use_capacity(fleet_providers)
pulumi.export("gpu_fleets", {name: fleet.group_name for name, fleet in fleets.items()})

if config.training:
    training = Training("training", TrainingArgs(
        config=config.training, account=account, network=network, shared_files=shared_files,
        machine_images=config.machine_images, tags=tags, asleep=asleep, log_retention_days=log_days,
        node_metrics=config.node_metrics, alarm_topic=alarm_topic,
    ), on)
    shared_files.grant_mount(training.job_role, training.security_group_id)
    data_lake.grant_read(training.job_role, lake.RAW, lake.PROCESSED, lake.MODELS)
    data_lake.grant_write(training.job_role, lake.MODELS, lake.EVALUATIONS, lake.LOGS_TRAINING)
    pulumi.export("training", training.addresses)
    if config.interruption_drill:
        drill = InterruptionDrill("interruption-drill", InterruptionDrillArgs(
            account=account, project=config.project, stack=config.stack, node_tags=training.node_tags,
        ), on)
        pulumi.export("interruption_drill", drill.addresses)

if config.vector_store:
    vector_store = VectorStore("vector-store", VectorStoreArgs(
        config=config.vector_store, dimensions=config.answers.embedding_dimensions,
        embedding_model=config.answers.embedding_model, project=config.project, stack=config.stack,
        account=account, network=network, asleep=asleep, protect=protect, log_retention_days=log_days,
    ), on)
    pulumi.export("vector_endpoint", vector_store.collection_endpoint)
    pulumi.export("vector_alias", vector_store.index_alias)
    pulumi.export("vector_index_function", vector_store.index_function_name)

if config.vector_store and config.ingestion:
    ingestion = Ingestion("ingestion", IngestionArgs(
        config=config.ingestion, answers=config.answers, account=account, data_lake=data_lake, vector_store=vector_store,
        vector_generation=config.vector_store.generation, network=network, paused=asleep, log_retention_days=log_days,
    ), on)
    data_lake.grant_read(ingestion.role, lake.RAW, lake.PROCESSED)
    data_lake.grant_write(ingestion.role, lake.PROCESSED)
    models.grant_embed(ingestion.role)
    vector_store.grant_index(ingestion.role)
    pulumi.export("ingestion_queue", ingestion.queue_url)
    pulumi.export("ingestion_dead_letters", ingestion.dead_letter_queue_url)
    pulumi.export("ingestion_function", ingestion.function_name)

if config.vector_store and config.orchestrator:
    orchestrator = Orchestrator("orchestrator", OrchestratorArgs(
        config=config.orchestrator, answers=config.answers, account=account, vector_store=vector_store,
        network=network, log_retention_days=log_days,
    ), on)
    models.grant_embed_and_answer(orchestrator.role)
    vector_store.grant_query(orchestrator.role)
    pulumi.export("orchestrator_function", orchestrator.function_name)
    pulumi.export("orchestrator_url", orchestrator.function_url)

inference: InferenceService | None = None
if config.inference:
    serving_fleet = fleets[config.inference.fleet]
    inference = InferenceService("inference", InferenceServiceArgs(
        config=config.inference, fleet=serving_fleet, account=account, network=network, cluster=cluster,
        capacity=capacity, shared_files=shared_files, bucket_name=data_lake.bucket_name,
        name_suffix=config.general.name_suffix, log_retention_days=log_days, alarm_topic=alarm_topic,
    ), on)
    shared_files.grant_mount(inference.role, serving_fleet.security_group_id)
    if inference.lake_folder:
        data_lake.grant_read(inference.role, inference.lake_folder)
    pulumi.export("inference_url", inference.url)
    pulumi.export("inference_service", inference.service_name)
    pulumi.export("inference_model", inference.served_name)

rag_image = ContainerImage("rag-build", ContainerImageArgs(protect=protect), on) if config.builds_rag_image else None

if config.vector_store and config.rag_service:
    rag_service = RagService("rag", RagServiceArgs(
        config=config.rag_service, answers=config.answers, account=account, network=network, cluster=cluster,
        capacity=capacity, vector_store=vector_store, name_suffix=config.general.name_suffix,
        log_retention_days=log_days, built_image=rag_image, inference=inference,
    ), on)
    if rag_service.asks_bedrock:
        models.grant_embed_and_answer(rag_service.role)
    else:
        models.grant_embed(rag_service.role)
    vector_store.grant_query(rag_service.role)
    pulumi.export("rag_url", rag_service.url)
    pulumi.export("rag_service", rag_service.service_name)

if config.budget:
    pulumi.export("budget", Budget("budget", BudgetArgs(config=config.budget, tags=tags), on).budget_name)

pulumi.export("bucket", data_lake.bucket_name)
pulumi.export("cluster", cluster.cluster_name)
pulumi.export("file_system", shared_files.file_system_id)
