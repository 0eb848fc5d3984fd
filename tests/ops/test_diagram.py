"""The pictures: they are what the program builds, they change with it, and with nothing else."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ops import diagram
from ops.capture.program import PROJECT_ROOT, record
from ops.capture.recording import RecordedResource, Recording
from ops.diagram.command import PICTURES, main
from ops.diagram.network import ASSOCIATION, ROUTE_TABLE
from ops.diagram.page import STACKS, MissingBlock, page, readme
from ops.judges.pictures import MOST_CHARACTERS, MOST_EDGES
from recordings import recorded

INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
MADE_UP = re.compile(r"\b[\w-]+-[0-9a-f]{7}\b|\b(?:sg|subnet|vpc|fs|fsap|nat|igw)-[0-9a-f]{8,}")


def without(recording: Recording, unwanted: Callable[[RecordedResource], bool]) -> Recording:
    kept = tuple(item for item in recording.resources if not unwanted(item))
    assert len(kept) < len(recording.resources), "nothing was taken out"
    return replace(recording, resources=kept)


def added(before: str, after: str) -> set[str]:
    return {line.strip() for line in set(after.splitlines()) - set(before.splitlines())}


def test_the_kept_pictures_are_what_the_program_builds() -> None:
    recordings = {stack: recorded(stack) for stack in STACKS}
    kept = (PROJECT_ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert kept == page(recordings), "run `make diagrams`"
    text = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
    assert text == readme(text, recordings), "run `make diagrams`"


def test_a_readme_without_the_block_is_refused() -> None:
    with pytest.raises(MissingBlock, match="components prod"):
        readme("# ai-platform\n", {"prod": recorded("prod")})


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_picture_does_not_depend_on_the_order_of_registrations(
    draw: Callable[[Recording], str], platform: Recording
) -> None:
    shuffled = list(platform.resources)
    random.Random(7).shuffle(shuffled)
    assert draw(replace(platform, resources=tuple(shuffled))) == draw(platform)


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_picture_says_nothing_that_only_a_deployment_decides(
    draw: Callable[[Recording], str], platform: Recording
) -> None:
    assert MADE_UP.findall(draw(platform)) == [], "these names are made up by the recording"


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_picture_is_small_enough_to_be_drawn(draw: Callable[[Recording], str], platform: Recording) -> None:
    text = draw(platform)
    assert len(text) < MOST_CHARACTERS and len(re.findall(r"-->|\.->", text)) < MOST_EDGES


def test_the_picture_of_the_readme_fits_on_a_screen(platform: Recording) -> None:
    nodes = re.findall(r'^\s+\w+(?:\[|\{\{|\(\[)"', diagram.component_diagram(platform), flags=re.MULTILINE)
    assert 8 < len(nodes) < 40


def test_every_component_is_in_the_picture_but_those_that_only_grant(platform: Recording) -> None:
    picture = diagram.component_diagram(platform)
    for item in platform.resources:
        if item.parent is None and item.type.startswith("aiplatform:") and item.name != "models":
            assert f'"{item.name}<br/>' in picture or f'"{item.name}: ' in picture, (
                f"{item.name} is not shown"
            )


def test_every_resource_is_in_the_full_picture(platform: Recording) -> None:
    shown = [item for item in platform.resources if item.custom and not item.type.startswith("pulumi:")]
    grants = [item for item in shown if item.type in diagram.full.LEFT_OUT]
    nodes = re.findall(r'\["[^"]+<br/>[^"]+"\]', diagram.full_diagram(platform))
    assert len(nodes) == len(shown) - len(grants)


def test_a_nat_gateway_changes_the_network_and_the_components() -> None:
    before, after = recorded("dev"), record("dev", changes={"natGateways": "single"})
    network = added(diagram.network_diagram(before), diagram.network_diagram(after))
    assert 'NatGateway_network_vpc_1(["network-vpc-1<br/>NatGateway"])' in network
    assert "component_rag -.-> private_subnets" in network, "the tasks moved"
    components = added(diagram.component_diagram(before), diagram.component_diagram(after))
    assert components == {'subgraph network["network: 10.20.0.0/16, 2 zones, 1 NAT gateway"]'}


def test_a_fleet_more_is_a_component_more() -> None:
    fleets = [
        {
            "name": "inference",
            "purpose": "inference",
            "instanceTypes": ["g5.xlarge"],
            "nodeImage": "ecs-gpu",
            "maximum": 1,
        },
        {
            "name": "end",
            "purpose": "inference",
            "instanceTypes": ["g5.xlarge"],
            "nodeImage": "ecs-gpu",
            "maximum": 1,
        },
    ]
    one, two = (record("staging", changes={"gpuFleets": some}) for some in (fleets[:1], fleets))
    assert added(diagram.component_diagram(one), diagram.component_diagram(two)) == {
        'gpu_end["gpu-end<br/>Auto Scaling, ECS"]',
        'gpu_end -->|"joins"| cluster',
    }


def test_without_the_api_nobody_comes_in_and_nothing_builds_it() -> None:
    before = diagram.component_diagram(recorded("dev"))
    after = diagram.component_diagram(record("dev", changes={"ragService": False}))
    assert added(after, before) == {
        'clients_in_the_network -->|"HTTP 80"| rag',
        'clients_in_the_network{{"clients in the network"}}',
        'rag -->|"calls"| Bedrock',
        'rag -->|"reads"| rag_build',
        'rag -->|"reads"| vector_store',
        "rag -.-> cluster",
        'rag["rag<br/>ECS, Load Balancing"]',
        'rag_build["rag-build<br/>ECR"]',
    }
    assert added(before, after) == set()


def test_every_subnet_of_a_shared_route_table_has_its_way_out() -> None:
    before = recorded("dev")
    tables = {item.name: item.urn for item in before.of_type(ROUTE_TABLE)}
    shared = {"routeTableId": frozenset({tables["network-vpc-public-1"]})}
    resources = tuple(
        replace(item, property_dependencies={**item.property_dependencies, **shared})
        if (item.type, item.name) == (ASSOCIATION, "network-vpc-private-1")
        else item
        for item in before.resources
    )
    lines = added(
        diagram.network_diagram(before), diagram.network_diagram(replace(before, resources=resources))
    )
    assert lines == {'Subnet_network_vpc_private_1 -->|"0.0.0.0/0"| InternetGateway_network_vpc'}


def test_an_opened_security_group_is_one_more_arrow() -> None:
    before = recorded("dev")
    rule = before.of_type(INGRESS)[-1]
    inputs: dict[str, Any] = {**rule.inputs, "cidrIpv4": "0.0.0.0/0", "fromPort": 22, "toPort": 22}
    inputs.pop("referencedSecurityGroupId", None)
    opened = replace(rule, urn=f"{rule.urn}-opened", name="opened", inputs=inputs)
    after = replace(before, resources=(*before.resources, opened))
    lines = added(diagram.network_diagram(before), diagram.network_diagram(after))
    assert lines == {'peer_the_internet -->|"tcp port 22"| group_rag_balancer_group'}


def test_a_public_api_is_entered_from_the_internet() -> None:
    inside, outside = diagram.component_diagram(recorded("dev")), diagram.component_diagram(recorded("prod"))
    assert 'clients_in_the_network -->|"HTTP 80"| rag' in inside and "the_internet" not in inside
    assert 'the_internet -->|"HTTP 80, HTTPS 443"| rag' in outside


def test_a_grant_that_goes_takes_its_arrow_along() -> None:
    before = recorded("dev")
    after = without(
        before, lambda item: (item.type, item.name) == (ROLE_POLICY, "data-lake-write-ingestion-index-role")
    )
    assert 'ingestion -->|"reads"| data_lake' in diagram.component_diagram(after)
    assert (
        'work_ingestion_index -->|"writes"| store_data_lake_bucket_processed_'
        in diagram.data_flow_diagram(before)
    )
    assert "--> store_data_lake_bucket_processed_" not in diagram.data_flow_diagram(after)
    gone = added(diagram.permission_diagram(after), diagram.permission_diagram(before))
    assert [line for line in gone if "PutObject" in line and "ingestion_index_role" in line]


def test_documents_flow_from_the_lake_through_the_queue_into_the_index() -> None:
    picture = diagram.data_flow_diagram(recorded("prod"))
    for arrow in (
        'store_data_lake_bucket_raw_ -->|"new objects"| store_ingestion_events',
        'store_ingestion_events -->|"triggers"| work_ingestion_index',
        'store_ingestion_events -->|"after 5 tries"| store_ingestion_dead_letters',
        'work_ingestion_index -->|"writes"| store_vector_store_collection',
        'store_vector_store_collection -->|"reads"| work_rag_task',
        'work_rag_task <-->|"calls"| Bedrock',
        'work_training <-->|"mounts"| store_shared_files_checkpoints',
    ):
        assert f"  {arrow}\n" in picture


def test_a_prohibition_is_not_drawn_as_a_permission() -> None:
    picture = diagram.permission_diagram(recorded("prod"))
    assert 'who_anybody -->|"not s3:*"| thing_data_lake_bucket' in picture
    assert '|"s3:*"|' not in picture


def test_the_policy_of_a_key_is_about_the_key() -> None:
    assert (
        'who_cloudwatch -->|"kms:Decrypt, GenerateDataKey*"| thing_alarms_key'
        in diagram.permission_diagram(recorded("prod"))
    )


class TestCommand:
    def test_it_prints_one_picture(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--stack", "dev", "--kind", "network"]) == 0
        assert capsys.readouterr().out == diagram.network_diagram(recorded("dev"))

    def test_an_unknown_stack_is_wrong_usage(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--stack", "nowhere"]) == 2
        assert "nowhere" in capsys.readouterr().err
