"""The vector store: names within limits, who may reach the collection, who may use it, and the index in it."""

import json
import re
from typing import Any

import pytest

from answer_parts import COLLECTION, LAKE, PRIVATE, Parts, function_of, id_of, record_part
from components.vector_policies import index_name
from ops.capture.computed import Computed
from ops.capture.recording import RecordedResource, Recording, Unknown
from rag.deadline import CONNECT_RESERVE_SECONDS, RESERVE_SECONDS
from rag.search import SEARCH_READ_TIMEOUT_SECONDS
from vector_index.index import PAUSE_SECONDS, IndexRequest
from walk import names, statements

SECURITY_POLICY = "aws:opensearch/serverlessSecurityPolicy:ServerlessSecurityPolicy"
ACCESS_POLICY = "aws:opensearch/serverlessAccessPolicy:ServerlessAccessPolicy"
GROUP = "aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup"
ENDPOINT = "aws:opensearch/serverlessVpcEndpoint:ServerlessVpcEndpoint"
INVOCATION = "aws:lambda/invocation:Invocation"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
LONG_PROJECT, LONG_STACK = "ai-platform-research", "feature-vector-search-eu-central-1"
TITAN = "amazon.titan-embed-text-v2:0"


def build(parts: Parts) -> None:
    """The store, and one role of each kind that uses it."""
    store = parts.vector_store()
    store.grant_query(parts.role("reader"))
    store.grant_index(parts.role("writer"))


@pytest.fixture(scope="module")
def public() -> Recording:
    return record_part(build)


@pytest.fixture(scope="module")
def private() -> Recording:
    return record_part(build, PRIVATE)


@pytest.fixture(scope="module")
def closed() -> Recording:
    """A sleeping stack with a private endpoint."""
    return record_part(build, {**PRIVATE, "asleep": True})


def document(resource: RecordedResource) -> Any:
    return json.loads(resource.inputs["policy"])


def data_policy(recording: Recording, role: str) -> dict[str, Any]:
    found = [item for item in recording.of_type(ACCESS_POLICY) if item.name.endswith(f"-{role}")]
    (only,) = document(found[0])
    return only


def permissions(recording: Recording, role: str) -> dict[str, list[str]]:
    return {rule["ResourceType"]: rule["Permission"] for rule in data_policy(recording, role)["Rules"]}


@pytest.mark.parametrize("changes", [{}, PRIVATE])
def test_names_fit_opensearch_however_long_project_and_stack_are(changes: dict[str, Any]) -> None:
    long = record_part(build, changes, project=LONG_PROJECT, stack=LONG_STACK)
    named = [item for item in long.resources if item.type.startswith("aws:opensearch/")]
    assert {item.type for item in named} >= {COLLECTION, GROUP, SECURITY_POLICY, ACCESS_POLICY}
    for item in named:
        assert re.fullmatch(r"[a-z][a-z0-9-]{2,31}", item.inputs["name"]), f"AWS would refuse {item.name}"
    unique = {(item.type, item.inputs.get("type"), item.inputs["name"]) for item in named}
    assert len(unique) == len(named), "two policies of one kind would fight for a name"


def test_policies_cover_the_collection_that_is_really_there() -> None:
    long = record_part(build, PRIVATE, project=LONG_PROJECT, stack=LONG_STACK)
    name = long.one(COLLECTION).inputs["name"]
    policies = [document(item) for item in long.of_type(SECURITY_POLICY) + long.of_type(ACCESS_POLICY)]
    rules = [rule for policy in policies for part in _as_list(policy) for rule in part["Rules"]]
    assert len(rules) == 8
    for rule in rules:
        expected = f"collection/{name}" if rule["ResourceType"] == "collection" else f"index/{name}/*"
        assert rule["Resource"] == [expected], "the policy would protect, or open, another collection"


def test_two_long_stacks_never_share_a_collection() -> None:
    twins = [record_part(build, project=LONG_PROJECT, stack=f"{LONG_STACK}{suffix}") for suffix in ("", "-2")]
    assert len({twin.one(COLLECTION).inputs["name"] for twin in twins}) == 2


def test_a_short_name_is_kept_as_people_know_it(public: Recording) -> None:
    assert public.one(COLLECTION).inputs["name"] == "ai-platform-dev"


def test_a_collection_is_encrypted_before_it_exists(public: Recording) -> None:
    policy = public.one(SECURITY_POLICY, "vector-store-encryption")
    assert policy.inputs["type"] == "encryption"
    assert document(policy)["AWSOwnedKey"] is True
    assert policy.urn in public.one(COLLECTION).dependencies, "AWS refuses a collection without such a policy"


@pytest.mark.parametrize(
    ("changes", "generation", "replicas", "minimum"),
    [
        ({}, "NEXTGEN", "ENABLED", 0),
        ({"vectorGeneration": "CLASSIC"}, "CLASSIC", "ENABLED", 1),
        ({"vectorGeneration": "CLASSIC", "vectorStandbyReplicas": False}, "CLASSIC", "DISABLED", 1),
    ],
)
def test_the_group_gives_a_collection_its_generation_and_its_limits(
    changes: dict[str, Any], generation: str, replicas: str, minimum: int
) -> None:
    recording = record_part(build, {**changes, "vectorMaximumOcus": 8})
    group, collection = recording.one(GROUP), recording.one(COLLECTION)
    assert (group.inputs["generation"], group.inputs["standbyReplicas"]) == (generation, replicas)
    assert group.inputs["capacityLimits"] == [
        {
            "minIndexingCapacityInOcu": minimum,
            "maxIndexingCapacityInOcu": 8,
            "minSearchCapacityInOcu": minimum,
            "maxSearchCapacityInOcu": 8,
        }
    ], "an idle collection would not scale to zero, or a busy one without limit"
    assert collection.inputs["type"] == "VECTORSEARCH"
    assert collection.inputs["standbyReplicas"] == replicas
    assert collection.property_dependencies["collectionGroupName"] == {group.urn}, "it would be a CLASSIC one"


def test_without_a_private_endpoint_the_collection_is_reached_over_the_internet(public: Recording) -> None:
    (part,) = document(public.one(SECURITY_POLICY, "vector-store-network"))
    assert part.pop("Rules")
    assert part == {"AllowFromPublic": True}
    assert not public.of_type(ENDPOINT)
    assert "vpcConfig" not in function_of(public, "vector_index").inputs


def test_a_private_collection_is_reached_through_its_endpoint_alone(private: Recording) -> None:
    (part,) = document(private.one(SECURITY_POLICY, "vector-store-network"))
    assert part.pop("Rules")
    assert part == {"SourceVPCEs": [id_of(private.one(ENDPOINT))]}


def test_the_endpoint_has_one_subnet_in_each_zone(private: Recording) -> None:
    inputs = private.one(ENDPOINT).inputs
    subnets = {id_of(item): item for item in private.of_type("aws:ec2/subnet:Subnet")}
    zones = [subnets[subnet_id].inputs["availabilityZone"] for subnet_id in inputs["subnetIds"]]
    assert sorted(zones) == ["eu-central-1a", "eu-central-1b"]
    assert inputs["vpcId"] == id_of(private.one("aws:ec2/vpc:Vpc"))


def test_the_endpoint_takes_https_from_the_network_only(private: Recording) -> None:
    rule = private.one(INGRESS).inputs
    assert (rule["cidrIpv4"], rule["ipProtocol"], rule["fromPort"], rule["toPort"]) == (
        "10.20.0.0/16", "tcp", 443, 443,
    )  # fmt: skip
    assert private.one(ENDPOINT).inputs["securityGroupIds"] == [rule["securityGroupId"]]


def test_the_index_function_sits_where_it_reaches_a_private_collection(private: Recording) -> None:
    subnets = function_of(private, "vector_index").inputs["vpcConfig"]["subnetIds"]
    public_ids = {
        id_of(item) for item in private.of_type("aws:ec2/subnet:Subnet") if item.inputs["mapPublicIpOnLaunch"]
    }
    assert subnets and not public_ids & set(subnets), (
        "a function has no public address: it could reach nothing"
    )


@pytest.mark.parametrize(("changes", "expected"), [({}, False), (PRIVATE, True)])
def test_users_are_told_to_go_into_the_network(changes: dict[str, Any], expected: bool) -> None:
    told: list[bool] = []
    record_part(lambda parts: told.append(parts.vector_store().needs_network), changes)
    assert told == [expected]


def test_a_sleeping_private_collection_is_closed_and_keeps_its_data(
    private: Recording, closed: Recording
) -> None:
    assert not closed.of_type(ENDPOINT), "an endpoint bills by the hour"
    assert [item.name for item in closed.of_type(SECURITY_POLICY)] == ["vector-store-encryption"], (
        "a collection without endpoint must not fall back to the internet"
    )
    assert closed.one(COLLECTION).inputs == private.one(COLLECTION).inputs, "its data would go"


def test_a_sleeping_private_stack_makes_no_index_and_moves_no_function(
    private: Recording, closed: Recording
) -> None:
    assert not closed.of_type(INVOCATION), "deploying would wait minutes for a collection that is closed"
    awake, asleep = (function_of(item, "vector_index") for item in (private, closed))
    assert awake.inputs == asleep.inputs


def test_a_sleeping_public_collection_stays_as_it_is(public: Recording) -> None:
    asleep = record_part(build, {"asleep": True})
    assert names(asleep) == names(public), "a NEXTGEN collection sleeps by itself"


def test_a_reader_may_search_and_change_nothing(public: Recording) -> None:
    assert permissions(public, "reader") == {
        "index": ["aoss:DescribeIndex", "aoss:ReadDocument"],
        "collection": ["aoss:DescribeCollectionItems"],
    }


def test_a_writer_may_write_documents_but_no_index(public: Recording) -> None:
    assert permissions(public, "writer") == {
        "index": ["aoss:DescribeIndex", "aoss:ReadDocument", "aoss:WriteDocument"],
        "collection": ["aoss:DescribeCollectionItems"],
    }


def test_the_index_function_may_manage_indexes_and_aliases_and_write_no_document(public: Recording) -> None:
    assert permissions(public, "index-role") == {
        "index": ["aoss:CreateIndex", "aoss:DeleteIndex", "aoss:DescribeIndex", "aoss:ReadDocument"],
        "collection": [
            "aoss:CreateCollectionItems", "aoss:DeleteCollectionItems", "aoss:DescribeCollectionItems",
            "aoss:UpdateCollectionItems",
        ],
    }  # fmt: skip


@pytest.mark.parametrize("role", ["reader", "writer", "vector-store-index-role"])
def test_a_grant_names_one_role_on_both_sides(public: Recording, role: str) -> None:
    recorded_role = public.one("aws:iam/role:Role", role)
    assert data_policy(public, role)["Principal"] == [recorded_role.outputs["arn"]]
    allowed = [
        statement
        for resource, statement in statements(public)
        if resource.inputs.get("role") == recorded_role.outputs["name"] and "aoss" in str(statement)
    ]
    assert allowed == [
        {
            "Effect": "Allow",
            "Action": ["aoss:APIAccessAll"],
            "Resource": [public.one(COLLECTION).outputs["arn"]],
        }
    ], "without IAM's side every call is refused, whatever the data policy says"


def test_policies_are_written_as_aws_gives_them_back(private: Recording) -> None:
    for item in private.of_type(SECURITY_POLICY) + private.of_type(ACCESS_POLICY):
        canonical = json.dumps(document(item), sort_keys=True, separators=(",", ":"))
        assert item.inputs["policy"] == canonical, f"every preview would show a change of {item.name}"


def test_the_index_is_asked_for_in_words_that_the_function_takes(public: Recording) -> None:
    invocation = public.one(INVOCATION)
    event = {**json.loads(invocation.inputs["input"]), "tf": {"action": "create", "prev_input": None}}
    request = IndexRequest.from_event(event)
    assert request.dimension == 512
    assert request.generation == "NEXTGEN"
    assert request.alias == "documents"
    assert request.index.startswith("documents-amazon-titan-embed-text-v2-0-512-")
    assert invocation.inputs["functionName"] == function_of(public, "vector_index").outputs["name"]


def test_the_index_follows_the_generation_of_the_collection() -> None:
    classic = record_part(build, {"vectorGeneration": "CLASSIC"})
    assert json.loads(classic.one(INVOCATION).inputs["input"])["generation"] == "CLASSIC"


def test_the_function_is_invoked_again_for_each_change_and_for_a_new_collection(public: Recording) -> None:
    inputs = public.one(INVOCATION).inputs
    assert inputs["lifecycleScope"] == "CRUD", "a new dimension would make no index"
    assert inputs["triggers"] == {"collection": public.one(COLLECTION).outputs["arn"]}, (
        "a collection that was replaced would stay empty"
    )


def test_the_index_is_made_once_the_function_is_let_in(private: Recording) -> None:
    needs = private.one(INVOCATION).dependencies
    let_in = [
        private.one(ACCESS_POLICY, "vector-store-make-index-vector-store-index-role"),
        private.one("aws:iam/rolePolicy:RolePolicy", "vector-store-make-index-vector-store-index-role"),
        private.one(SECURITY_POLICY, "vector-store-network"),
    ]
    for item in let_in:
        assert item.urn in needs, f"the first deployment would fail before {item.name} exists"


def test_the_wait_for_a_new_collection_ends_before_the_function_is_cut_off(public: Recording) -> None:
    wait = json.loads(public.one(INVOCATION).inputs["input"])["wait_seconds"]
    last_try = PAUSE_SECONDS + CONNECT_RESERVE_SECONDS + SEARCH_READ_TIMEOUT_SECONDS + RESERVE_SECONDS
    assert wait >= 120, (
        "a data policy takes up to a minute to hold, and a collection half a minute to wake up"
    )
    assert wait + last_try < function_of(public, "vector_index").inputs["timeout"], (
        "nobody would read what it waited for"
    )


def test_the_index_function_knows_where_the_collection_is(public: Recording) -> None:
    variables = function_of(public, "vector_index").inputs["environment"]["variables"]
    assert variables == {"OPENSEARCH_ENDPOINT": public.one(COLLECTION).outputs["collectionEndpoint"]}


def test_a_new_model_or_dimension_gets_an_index_of_its_own() -> None:
    indexes = {index_name(TITAN, 512), index_name(TITAN, 1024), index_name("cohere.embed-v4:0", 512)}
    assert len(indexes) == 3, "vectors of two kinds in one index cannot be compared"


def test_the_same_model_behind_another_profile_keeps_its_index() -> None:
    assert index_name("eu.cohere.embed-v4:0", 512) == index_name("global.cohere.embed-v4:0", 512)


def test_the_configured_dimension_reaches_name_and_request() -> None:
    inputs = record_part(build, {"embeddingDimensions": 1024}).one(INVOCATION).inputs
    request = json.loads(inputs["input"])
    assert (request["dimension"], request["index"]) == (1024, index_name(TITAN, 1024))


@pytest.mark.parametrize("protect", [True, False])
def test_the_collection_and_what_it_cannot_live_without_are_protected_together(protect: bool) -> None:
    changes = {"protectData": protect, "allowedAccountIds": ["111122223333"]}
    recording = record_part(build, changes)
    kept = [
        recording.one(COLLECTION),
        recording.one(GROUP),
        recording.one(SECURITY_POLICY, "vector-store-encryption"),
    ]
    for item in kept:
        assert (item.protect, item.retain_on_delete) == (protect, protect), item.name


@pytest.mark.parametrize("changes", [{}, PRIVATE])
def test_a_first_preview_shows_what_up_makes(changes: dict[str, Any]) -> None:
    preview = record_part(build, changes, preview=True)
    assert names(preview) == names(record_part(build, changes))
    assert preview.one(INVOCATION).inputs["functionName"] == Unknown()


def test_a_run_without_computed_values_does_not_raise(private: Recording) -> None:
    empty = record_part(build, PRIVATE, computed=Computed(resources=LAKE, empty=True))
    assert names(empty) == names(private)


def test_where_the_collection_is_and_how_to_name_its_index_are_registered(public: Recording) -> None:
    component = public.one("aiplatform:index:VectorStore")
    assert public.registered_outputs[component.urn] == {
        "collection_endpoint": public.one(COLLECTION).outputs["collectionEndpoint"],
        "index_alias": "documents",
    }


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
