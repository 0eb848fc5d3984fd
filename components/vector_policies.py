"""Names and policies of an OpenSearch Serverless collection, as plain values. Pure.

Encryption policies are one object, network and data policies a list of them.
https://docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-security.html
"""

import json
from collections.abc import Sequence
from typing import Any

import pulumi

from components.bedrock import base_model_id
from components.naming import short_name

# Collections, their groups, endpoints and policies: 3 to 32 of a-z, 0-9 and hyphens, letter first.
# https://docs.aws.amazon.com/opensearch-service/latest/ServerlessAPIReference/API_CreateAccessPolicy.html
NAME_LIMIT = 32
INDEX_NAME_LIMIT = 64
INDEX_ALIAS = "documents"

Document = dict[str, Any]


def index_name(embedding_model: str, dimensions: int) -> str:
    """The index for vectors of one model and size; an inference profile's model makes the same vectors."""
    return short_name(INDEX_ALIAS, base_model_id(embedding_model), str(dimensions), limit=INDEX_NAME_LIMIT)


def canonical_json(document: Any) -> pulumi.Output[str]:
    """JSON with sorted keys, as AWS gives a policy back: otherwise each preview would show a difference."""
    return pulumi.Output.json_dumps(document, sort_keys=True, separators=(",", ":"))


def encryption_policy(collection_name: str) -> Document:
    """Encrypts the collection with a key that AWS owns, which costs nothing."""
    return {"Rules": [_collection_rule(collection_name)], "AWSOwnedKey": True}


def network_policy(collection_name: str, endpoint_id: pulumi.Input[str] | None) -> list[Document]:
    """Who may reach the collection: one VPC endpoint, or (None) the internet; every call is signed anyway."""
    way_in = {"AllowFromPublic": True} if endpoint_id is None else {"SourceVPCEs": [endpoint_id]}
    return [{"Rules": [_collection_rule(collection_name)], **way_in}]


def data_policy(
    collection_name: str,
    role_arn: pulumi.Input[str],
    index_permissions: Sequence[str],
    collection_permissions: Sequence[str],
) -> list[Document]:
    """What a role may do inside the collection.

    Indexes are given as a pattern: the index of the next model or dimension must be reachable when it comes.
    """
    indexes = {
        "ResourceType": "index",
        "Resource": [f"index/{collection_name}/*"],
        "Permission": list(index_permissions),
    }
    items = {**_collection_rule(collection_name), "Permission": list(collection_permissions)}
    return [{"Rules": [indexes, items], "Principal": [role_arn]}]


def index_request(name: str, dimensions: int, generation: str, wait_seconds: int) -> str:
    """What the function `vector_index` is invoked with."""
    request = {
        "index": name,
        "alias": INDEX_ALIAS,
        "dimension": dimensions,
        "generation": generation,
        "wait_seconds": wait_seconds,
    }
    return json.dumps(request, sort_keys=True)


def _collection_rule(collection_name: str) -> Document:
    return {"ResourceType": "collection", "Resource": [f"collection/{collection_name}"]}
