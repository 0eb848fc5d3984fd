import gzip
import json
from pathlib import Path
from typing import Any

import moto
import pytest

from components.efa import PRIMARY_CARD_WITHOUT_EFA, efa_interfaces, efa_network_interfaces
from gpu_workloads import MULTI_NODE, TEMPLATE, record_workloads
from ops.capture.recording import Recording

ENVIRONMENT = "aws:batch/computeEnvironment:ComputeEnvironment"
QUEUE = "aws:batch/jobQueue:JobQueue"
JOB = "aws:batch/jobDefinition:JobDefinition"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
# What EC2 answers about instance types, as moto keeps it.
INSTANCE_TYPES = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"


def environment() -> dict[str, Any]:
    recording = record_workloads(MULTI_NODE)
    return recording.one(ENVIRONMENT, "training-capacity-multi-node").inputs["computeResources"]


def job_properties(name: str, key: str) -> dict[str, Any]:
    return json.loads(record_workloads(MULTI_NODE).one(JOB, name).inputs[key])


def id_of(recording: Recording, type_token: str, name: str) -> str:
    return recording.one(type_token, name).outputs["arn"].split("/")[-1]


def test_jobs_over_several_nodes_run_on_demand_close_together_in_one_subnet() -> None:
    recording = record_workloads(MULTI_NODE)
    resources = environment()

    assert resources["type"] == "EC2", "Batch refuses jobs over several nodes on spot"
    assert resources["instanceTypes"] == ["p4d.24xlarge"], "nodes of one job must be of one type"
    assert len(resources["subnets"]) == 1, "nodes in two zones cannot reach each other over EFA"
    private = [
        item.outputs["arn"].split("/")[-1]
        for item in recording.of_type("aws:ec2/subnet:Subnet")
        if not item.inputs["mapPublicIpOnLaunch"]
    ]
    assert resources["subnets"][0] in private, (
        "a multi-node container has no public address, and could reach nothing"
    )
    group = recording.one("aws:ec2/placementGroup:PlacementGroup")
    assert group.inputs["strategy"] == "cluster", "the nodes would be far apart"
    assert resources["placementGroup"] == group.outputs["name"]
    order = recording.one(QUEUE, "training-capacity-multi-node").inputs["computeEnvironmentOrders"]
    arn = recording.one(ENVIRONMENT, "training-capacity-multi-node").outputs["arn"]
    assert order == [{"order": 1, "computeEnvironment": arn}], "Batch would refuse the job"


def test_nodes_of_one_job_reach_each_other_and_nobody_else_reaches_them() -> None:
    recording = record_workloads(MULTI_NODE)
    own = id_of(recording, "aws:ec2/securityGroup:SecurityGroup", "training-capacity-nodes")

    (way_in,) = recording.of_type(INGRESS)
    assert way_in.inputs["referencedSecurityGroupId"] == own == way_in.inputs["securityGroupId"]
    assert way_in.inputs["ipProtocol"] == "-1", "EFA wants all traffic within the group"
    way_out = recording.one(EGRESS, "training-capacity-to-nodes").inputs
    assert (way_out["referencedSecurityGroupId"], way_out["ipProtocol"]) == (own, "-1"), (
        "EFA wants a rule out that names the group: one for all addresses does not do"
    )
    assert environment()["securityGroupIds"] == [own], (
        "the containers of a job would join the VPC's default group"
    )


def test_a_node_of_several_has_one_interface_on_each_network_card() -> None:
    recording = record_workloads(MULTI_NODE)
    own = id_of(recording, "aws:ec2/securityGroup:SecurityGroup", "training-capacity-nodes")
    template = recording.one(TEMPLATE, "training-capacity-multi-node-template")
    interfaces = template.inputs["networkInterfaces"]

    assert [item["interfaceType"] for item in interfaces] == ["efa", "efa-only", "efa-only", "efa-only"], (
        "nodes would talk over a fraction of the network that is paid for"
    )
    assert [item["networkCardIndex"] for item in interfaces] == [0, 1, 2, 3]
    assert {item["deviceIndex"] for item in interfaces} == {0}
    assert {tuple(item["securityGroups"]) for item in interfaces} == {(own,)}
    assert not [item for item in interfaces if "associatePublicIpAddress" in item], (
        "EC2 refuses a public address on a node with several interfaces"
    )
    resources = environment()
    assert resources["launchTemplate"]["launchTemplateId"] == template.outputs["arn"].split("/")[-1]


@pytest.mark.parametrize(
    ("instance_type", "first", "others"),
    [("g5.12xlarge", "efa", 0), ("p5.48xlarge", "efa", 31), ("p6-b300.48xlarge", "interface", 16)],
)
def test_every_efa_interface_of_a_type_is_used(instance_type: str, first: str, others: int) -> None:
    kinds_found = [item.get("interface_type") for item in efa_network_interfaces(instance_type, "sg-1")]

    assert kinds_found == [first, *["efa-only"] * others], "AWS refuses EFA on a card without it"
    assert kinds_found.count("efa") + kinds_found.count("efa-only") == efa_interfaces(instance_type)


def test_every_node_of_a_job_runs_the_same_container_with_every_efa_device() -> None:
    job = job_properties("training-multi-node-job", "nodeProperties")
    (only,) = job["nodeRangeProperties"]

    assert (job["numNodes"], job["mainNode"], only["targetNodes"]) == (2, 0, "0:1"), (
        "a node would have no container"
    )
    assert only["instanceTypes"] == ["p4d.24xlarge"]
    linux = only["container"]["linuxParameters"]
    assert [item["hostPath"] for item in linux["devices"]] == [
        f"/dev/infiniband/uverbs{number}" for number in range(4)
    ], "the job would fall back to TCP"
    for device in linux["devices"]:
        assert device["containerPath"] == device["hostPath"]
        assert device["permissions"] == ["READ", "WRITE", "MKNOD"]
    assert linux["sharedMemorySize"] > 0
    assert only["container"]["ulimits"] == [{"name": "memlock", "softLimit": -1, "hardLimit": -1}], (
        "EFA could not register its buffers"
    )
    alone = job_properties("training-job", "containerProperties")
    for key in alone.keys() - {"linuxParameters"}:
        assert only["container"][key] == alone[key], (
            f"a job would see another {key} on several nodes than on one"
        )


def test_the_types_whose_first_card_has_no_efa_are_those_with_a_card_too_many() -> None:
    types = json.loads(gzip.decompress(INSTANCE_TYPES.read_bytes()))
    cards = {name: entry["NetworkInfo"].get("MaximumNetworkCards", 1) for name, entry in types.items()}

    assert set(PRIMARY_CARD_WITHOUT_EFA) == {
        name for name, count in cards.items() if 0 < efa_interfaces(name) < count
    }, "AWS would refuse to launch a node, or its network would be half used"
