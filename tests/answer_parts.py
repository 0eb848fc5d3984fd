"""The parts of the program that lead from a document to an answer, built alone for tests of single components."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.config import PlatformConfig
from components.data_lake import DataLake, DataLakeArgs
from components.iam import trust_policy
from components.ingestion import Ingestion, IngestionArgs
from components.model_access import ModelAccess, ModelAccessArgs
from components.network import Network, NetworkArgs
from components.orchestrator import Orchestrator, OrchestratorArgs
from components.vector_store import VectorStore, VectorStoreArgs
from ops.capture.computed import Computed
from ops.capture.program import PROJECT_ROOT, record_program
from ops.capture.recording import RecordedResource, Recording
from ops.capture.stack_files import load_stack_config

FUNCTION = "aws:lambda/function:Function"
COLLECTION = "aws:opensearch/serverlessCollection:ServerlessCollection"
PRIVATE = {"natGateways": "single", "vectorPrivateEndpoint": True}
LAKE = {
    "aws:s3/bucket:Bucket": {"id": "lake-abc", "bucket": "lake-abc", "arn": "arn:aws:s3:::lake-abc"},
}


class Parts:
    """Builds parts from the running stack's configuration, each when first asked for."""

    def __init__(self) -> None:
        self.config = PlatformConfig.load()
        self.account = AwsAccount.connect(self.config)
        self.on = self.account.options
        self.protect = self.config.general.protect_data
        self.asleep = self.config.general.asleep
        self.log_days = self.config.general.log_retention_days
        args = NetworkArgs(
            config=self.config.network,
            region=self.account.region,
            asleep=self.asleep,
            log_retention_days=self.log_days,
        )
        self.network = Network("network", args, self.on)

    def vector_store(self) -> VectorStore:
        assert self.config.vector_store
        args = VectorStoreArgs(
            config=self.config.vector_store,
            dimensions=self.config.answers.embedding_dimensions,
            embedding_model=self.config.answers.embedding_model,
            project=self.config.project,
            stack=self.config.stack,
            account=self.account,
            network=self.network,
            asleep=self.asleep,
            protect=self.protect,
            log_retention_days=self.log_days,
        )
        return VectorStore("vector-store", args, self.on)

    def orchestrator(self) -> Orchestrator:
        assert self.config.orchestrator
        store = self.vector_store()
        args = OrchestratorArgs(
            config=self.config.orchestrator,
            answers=self.config.answers,
            account=self.account,
            vector_store=store,
            network=self.network,
            log_retention_days=self.log_days,
        )
        orchestrator = Orchestrator("orchestrator", args, self.on)
        store.grant_query(orchestrator.role)
        return orchestrator

    def ingestion(self) -> Ingestion:
        assert self.config.ingestion and self.config.vector_store
        store = self.vector_store()
        lake_args = DataLakeArgs(config=self.config.data_lake, protect=self.protect)
        args = IngestionArgs(
            config=self.config.ingestion,
            answers=self.config.answers,
            account=self.account,
            data_lake=DataLake("data-lake", lake_args, self.on),
            vector_store=store,
            vector_generation=self.config.vector_store.generation,
            network=self.network,
            paused=self.asleep,
            log_retention_days=self.log_days,
        )
        ingestion = Ingestion("ingestion", args, self.on)
        store.grant_index(ingestion.role)
        return ingestion

    def models(self) -> ModelAccess:
        return ModelAccess(
            "models", ModelAccessArgs(config=self.config.answers, account=self.account), self.on
        )

    def role(self, name: str) -> aws.iam.Role:
        return aws.iam.Role(name, assume_role_policy=trust_policy("lambda.amazonaws.com"))


def record_part(
    build: Callable[[Parts], Any],
    changes: Mapping[str, Any] | None = None,
    *,
    project: str = "ai-platform",
    stack: str = "dev",
    preview: bool = False,
    computed: Computed | None = None,
) -> Recording:
    """What `build` registers with the dev stack's configuration and `changes` to it."""
    config = replace(load_stack_config(PROJECT_ROOT, "dev", changes), project=project)
    return record_program(
        lambda: build(Parts()), config, stack, preview=preview, computed=computed or Computed(resources=LAKE)
    )


def function_of(recording: Recording, package: str) -> RecordedResource:
    """The Lambda function made of `package`."""
    found = [
        item
        for item in recording.of_type(FUNCTION)
        if item.inputs["handler"].startswith(f"{package}.handler")
    ]
    assert len(found) == 1, f"there are {len(found)} functions of {package}"
    return found[0]


def variables_of(recording: Recording, package: str) -> dict[str, str]:
    """The environment that the function's code finds: what is set, and the region that Lambda adds."""
    function = function_of(recording, package)
    return {**function.inputs["environment"]["variables"], "AWS_REGION": "eu-central-1"}


def id_of(resource: RecordedResource) -> str:
    """The id that AWS gave to a resource whose ARN ends in it."""
    return resource.outputs["arn"].split("/")[-1]
