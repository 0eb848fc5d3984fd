"""The vector store: an OpenSearch Serverless collection, who may reach it, and the index that Pulumi has made in it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws_account import AwsAccount
from components.config_sections import VectorStoreConfig
from components.function import PackagedFunction, PackagedFunctionArgs
from components.iam import allow, grant
from components.naming import short_name
from components.network import Network
from components.vector_endpoint import VectorEndpoint, VectorEndpointArgs
from components.vector_policies import (
    INDEX_ALIAS,
    NAME_LIMIT,
    canonical_json,
    data_policy,
    encryption_policy,
    index_name,
    index_request,
    network_policy,
)

# Which permission a call of the collection's own API needs:
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-genref.html
QUERY_INDEX = ("aoss:DescribeIndex", "aoss:ReadDocument")
WRITE_INDEX = (*QUERY_INDEX, "aoss:WriteDocument")
# To count documents takes the leave to read them.
MANAGE_INDEXES = ("aoss:CreateIndex", "aoss:DeleteIndex", "aoss:DescribeIndex", "aoss:ReadDocument")
READ_ALIASES = ("aoss:DescribeCollectionItems",)
MANAGE_ALIASES = (
    "aoss:CreateCollectionItems", "aoss:DeleteCollectionItems", *READ_ALIASES, "aoss:UpdateCollectionItems",
)  # fmt: skip
# IAM knows this one action for all of them; the data policy decides.
CALL_API = ("aoss:APIAccessAll",)
# A data policy takes up to a minute to hold for a new collection, and a collection that scaled to zero half a minute
# to answer; the function's own time-out leaves room for the last try.
INDEX_WAIT_SECONDS = 300
INDEX_TIMEOUT_SECONDS = 420
INDEX_MEMORY_MIB = 256
# NEXTGEN scales to zero; of CLASSIC, whole OCUs can be asked for, from 1.
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/collection-groups-capacity-limits.html
MINIMUM_OCUS = {"NEXTGEN": 0, "CLASSIC": 1}


@dataclass(frozen=True, kw_only=True)
class VectorStoreArgs:
    config: VectorStoreConfig
    dimensions: int
    embedding_model: str
    project: str
    stack: str
    account: AwsAccount
    network: Network
    asleep: bool
    protect: bool
    log_retention_days: int


class VectorStore(pulumi.ComponentResource):
    """The collection at `collection_endpoint`; readers and writers name `index_alias`, never `index_name`.

    Nobody may use it until granted. With `needs_network` it can be reached from the network only, so whoever uses it
    must be placed there. An index of a new model or dimension is made beside the old ones; the alias stays where it
    is, and indexes are kept on delete. The function `index_function_name` makes, counts and removes indexes and moves
    the alias for operators too. Asleep, the private endpoint, which bills by the hour, goes: the collection is closed
    to everybody and keeps its data.
    """

    collection_name: str
    collection_endpoint: pulumi.Output[str]
    collection_arn: pulumi.Output[str]
    index_name: str
    index_alias: str
    index_function_name: pulumi.Output[str]
    needs_network: bool

    def __init__(self, name: str, args: VectorStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:VectorStore", name, None, opts)
        self.collection_name = short_name(args.project, args.stack, limit=NAME_LIMIT)
        self.index_name = index_name(args.embedding_model, args.dimensions)
        self.index_alias = INDEX_ALIAS
        self.needs_network = args.config.private_endpoint
        collection = self._collection(args)
        self.collection_arn = collection.arn
        self.collection_endpoint = collection.collection_endpoint
        function = self._index_function(args)
        permissions = self._grant("make-index", function.role, MANAGE_INDEXES, MANAGE_ALIASES)
        if not (self.needs_network and args.asleep):
            # Behind a closed door the function could only wait in vain.
            self._index(args, function, [*permissions, self._way_in(args)])
        self.index_function_name = function.function_name
        self.register_outputs(
            {"collection_endpoint": self.collection_endpoint, "index_alias": self.index_alias}
        )

    def grant_query(self, role: aws.iam.Role) -> None:
        """Lets `role` search the indexes."""
        self._grant("query", role, QUERY_INDEX, READ_ALIASES)

    def grant_index(self, role: aws.iam.Role) -> None:
        """Lets `role` search the indexes, and write and delete documents in them."""
        self._grant("index", role, WRITE_INDEX, READ_ALIASES)

    def _grant(
        self, verb: str, role: aws.iam.Role, on_indexes: Sequence[str], on_aliases: Sequence[str]
    ) -> list[pulumi.Resource]:
        """Both sides of a permission: the data policy of the collection, and IAM's leave to call it at all."""
        name, role_name = self.pulumi_resource_name, role.pulumi_resource_name
        policy = aws.opensearch.ServerlessAccessPolicy(
            f"{name}-{verb}-{role_name}",
            name=short_name(self.collection_name, verb, role_name, limit=NAME_LIMIT),
            type="data",
            policy=canonical_json(data_policy(self.collection_name, role.arn, on_indexes, on_aliases)),
            opts=pulumi.ResourceOptions(parent=self),
        )
        return [policy, grant(self, verb, role, [allow(CALL_API, [self.collection_arn])])]

    def _collection(self, args: VectorStoreArgs) -> aws.opensearch.ServerlessCollection:
        """The collection, with the group that gives it its generation and limits, and the key it is encrypted with."""
        name, config = self.pulumi_resource_name, args.config
        kept = pulumi.ResourceOptions(parent=self, protect=args.protect, retain_on_delete=args.protect)
        encryption = aws.opensearch.ServerlessSecurityPolicy(
            f"{name}-encryption",
            name=self.collection_name,
            type="encryption",
            policy=canonical_json(encryption_policy(self.collection_name)),
            opts=kept,
        )
        replicas = "ENABLED" if config.standby_replicas else "DISABLED"
        minimum, maximum = MINIMUM_OCUS[config.generation], config.maximum_ocus
        group = aws.opensearch.ServerlessCollectionGroup(
            f"{name}-group",
            name=self.collection_name,
            generation=config.generation,
            standby_replicas=replicas,
            capacity_limits=[
                {
                    "min_indexing_capacity_in_ocu": minimum,
                    "max_indexing_capacity_in_ocu": maximum,
                    "min_search_capacity_in_ocu": minimum,
                    "max_search_capacity_in_ocu": maximum,
                }
            ],
            opts=kept,
        )
        return aws.opensearch.ServerlessCollection(
            f"{name}-collection",
            name=self.collection_name,
            type="VECTORSEARCH",
            collection_group_name=group.name,
            standby_replicas=replicas,
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=args.protect,
                retain_on_delete=args.protect,
                # A collection is refused before a policy says how its name is encrypted; they share nothing else.
                depends_on=[encryption],
            ),
        )

    def _way_in(self, args: VectorStoreArgs) -> aws.opensearch.ServerlessSecurityPolicy:
        """Opens the collection to the internet, or to the private endpoint alone."""
        endpoint_id = self._endpoint_id(args.network) if self.needs_network else None
        return aws.opensearch.ServerlessSecurityPolicy(
            f"{self.pulumi_resource_name}-network",
            name=self.collection_name,
            type="network",
            policy=canonical_json(network_policy(self.collection_name, endpoint_id)),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _endpoint_id(self, network: Network) -> pulumi.Output[str]:
        args = VectorEndpointArgs(collection_name=self.collection_name, network=network)
        endpoint = VectorEndpoint(
            f"{self.pulumi_resource_name}-private", args, opts=pulumi.ResourceOptions(parent=self)
        )
        return endpoint.endpoint_id

    def _index_function(self, args: VectorStoreArgs) -> PackagedFunction:
        """Makes, counts and removes indexes and moves the alias, from where the collection can be reached."""
        return PackagedFunction(
            f"{self.pulumi_resource_name}-index",
            PackagedFunctionArgs(
                package="vector_index",
                environment={"OPENSEARCH_ENDPOINT": self.collection_endpoint},
                timeout_seconds=INDEX_TIMEOUT_SECONDS,
                memory_mib=INDEX_MEMORY_MIB,
                log_retention_days=args.log_retention_days,
                partition=args.account.partition,
                network=args.network if self.needs_network else None,
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _index(
        self, args: VectorStoreArgs, function: PackagedFunction, needs: Sequence[pulumi.Resource]
    ) -> aws.lambda_.Invocation:
        request = index_request(self.index_name, args.dimensions, args.config.generation, INDEX_WAIT_SECONDS)
        return aws.lambda_.Invocation(
            f"{self.pulumi_resource_name}-index-made",
            function_name=function.function_name,
            input=request,
            lifecycle_scope="CRUD",
            # A new collection is empty, even when the request for its index stays the same.
            triggers={"collection": self.collection_arn},
            # No output carries what the function needs to be let in.
            opts=pulumi.ResourceOptions(parent=self, depends_on=needs),
        )
