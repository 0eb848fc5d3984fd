from typing import Any

import pytest

from gpu_workloads import BLOCK_FLEET, DLAMI_FLEET, ECS_FLEET, GROUP, TEMPLATE, group_tags, record_fleets

PROVIDER = "aws:ecs/capacityProvider:CapacityProvider"
spot_fleets = pytest.mark.parametrize("fleet", [DLAMI_FLEET, ECS_FLEET], ids=["dlami", "ecs-gpu"])
all_fleets = pytest.mark.parametrize(
    "fleet", [DLAMI_FLEET, ECS_FLEET, BLOCK_FLEET], ids=["dlami", "ecs-gpu", "capacity-block"]
)
# Tags that a person set for splitting the bill, and those that every stack has.
COST_TAGS = {"Project": "ai-platform", "Stack": "dev", "ManagedBy": "pulumi", "Owner": "platform-team"}


def template_of(fleet: dict[str, Any]) -> dict[str, Any]:
    return dict(record_fleets(fleet).one(TEMPLATE).inputs)


def group_of(fleet: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return dict(record_fleets({**fleet, **changes}).one(GROUP).inputs)


def distribution_of(fleet: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return group_of(fleet, **changes)["mixedInstancesPolicy"]["instancesDistribution"]


@spot_fleets
def test_base_and_percentage_on_demand_are_always_said(fleet: dict[str, Any]) -> None:
    distribution = distribution_of(fleet)

    assert distribution["onDemandBaseCapacity"] == 0, "a spot fleet would begin with on-demand nodes"
    assert distribution["onDemandPercentageAboveBaseCapacity"] == 0, (
        "AWS's default is 100: a spot fleet would be billed on demand"
    )
    assert distribution["spotAllocationStrategy"] == "price-capacity-optimized", (
        "AWS's default, lowest-price, is interrupted most"
    )


def test_base_and_percentage_on_demand_are_those_of_the_configuration() -> None:
    distribution = distribution_of(ECS_FLEET, onDemandBase=1, onDemandPercentage=25)

    assert distribution["onDemandBaseCapacity"] == 1, "no node would outlive a shortage of spot"
    assert distribution["onDemandPercentageAboveBaseCapacity"] == 25


def test_pool_count_and_price_are_left_out_unless_they_are_set() -> None:
    unset = distribution_of(DLAMI_FLEET)
    assert "spotInstancePools" not in unset, "AWS refuses a pool count without lowest-price"
    assert "spotMaxPrice" not in unset, "a maximum price raises interruptions"

    chosen = distribution_of(
        DLAMI_FLEET, spotAllocationStrategy="lowest-price", spotPoolCount=3, maximumPriceUsd="0.65"
    )
    assert chosen["spotAllocationStrategy"] == "lowest-price"
    assert chosen["spotInstancePools"] == 3, "the fleet would depend on two pools, AWS's default"
    assert chosen["spotMaxPrice"] == "0.65", "the limit that a person set would not hold"


def test_every_type_of_the_fleet_may_be_launched_in_the_order_of_the_list() -> None:
    overrides = group_of(DLAMI_FLEET)["mixedInstancesPolicy"]["launchTemplate"]["overrides"]

    assert overrides == [{"instanceType": name} for name in DLAMI_FLEET["instanceTypes"]], (
        "fewer pools mean more interruptions, and a weight nobody set miscounts nodes"
    )


def test_weights_are_given_for_every_type_or_for_none() -> None:
    weights = {"g5.xlarge": 1, "g5.2xlarge": 2, "g6.xlarge": 1}
    overrides = group_of(DLAMI_FLEET, weights=weights)["mixedInstancesPolicy"]["launchTemplate"]["overrides"]

    assert {item["instanceType"]: item["weightedCapacity"] for item in overrides} == {
        "g5.xlarge": "1", "g5.2xlarge": "2", "g6.xlarge": "1",
    }, "sizes would be counted as equal"  # fmt: skip


@pytest.mark.parametrize("version", [7, 8])
@spot_fleets
def test_a_group_follows_its_template_by_number(fleet: dict[str, Any], version: int) -> None:
    recording = record_fleets(fleet, version=version)
    assert "launchTemplate" not in recording.one(GROUP).inputs, "AWS refuses a template beside the mix"
    template = recording.one(GROUP).inputs["mixedInstancesPolicy"]["launchTemplate"]

    assert template["launchTemplateSpecification"] == {
        "launchTemplateId": recording.one(TEMPLATE).outputs["arn"].split("/")[-1],
        "version": str(version),
    }, "a changed template would reach no node, or AWS would refuse the version"


@pytest.mark.parametrize("version", [7, 8])
def test_a_capacity_block_fleet_is_a_plain_group_with_the_market_on_its_template(version: int) -> None:
    recording = record_fleets(BLOCK_FLEET, version=version)
    template, group = recording.one(TEMPLATE), recording.one(GROUP).inputs

    assert template.inputs["instanceMarketOptions"] == {"marketType": "capacity-block"}, (
        "nodes would be billed on demand beside the prepaid block"
    )
    assert template.inputs["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}
    }, "the prepaid block would stand idle"
    assert template.inputs["instanceType"] == "p4d.24xlarge", "AWS could not tell what to launch"
    assert "mixedInstancesPolicy" not in group, "AWS refuses a mixed group for a Capacity Block"
    assert group["launchTemplate"] == {"id": template.outputs["arn"].split("/")[-1], "version": str(version)}


@all_fleets
def test_cost_tags_reach_instances_disks_and_network_interfaces(fleet: dict[str, Any]) -> None:
    recording = record_fleets(fleet)
    specifications = recording.one(TEMPLATE).inputs["tagSpecifications"]
    tags = {item["resourceType"]: item["tags"] for item in specifications}

    assert set(tags) == {"instance", "volume", "network-interface"}, "their cost would belong to nobody"
    name = {"Name": f"ai-cluster-dev-{fleet['name']}"}
    for resource_type, found in [*tags.items(), ("group", group_tags(recording.one(GROUP)))]:
        assert found.items() >= {**COST_TAGS, **name}.items(), f"{resource_type}: cost would belong to nobody"


def test_a_node_tells_what_it_is_for_and_where_its_work_is_saved() -> None:
    training, serving = (group_tags(record_fleets(fleet).one(GROUP)) for fleet in (DLAMI_FLEET, ECS_FLEET))

    assert (training["Purpose"], serving["Purpose"]) == ("training", "inference"), (
        "cost could not be split by use"
    )
    assert training["CheckpointPath"] == "/mnt/shared-data/checkpoints/research", (
        "nobody could tell where an interrupted node left its work"
    )
    assert "CheckpointPath" not in serving


def test_a_tag_of_the_stack_wins_over_one_of_the_fleet() -> None:
    fleet = record_fleets(ECS_FLEET, tags={"Purpose": "chat"})

    assert group_tags(fleet.one(GROUP))["Purpose"] == "chat", (
        "a person's own way of splitting cost would be lost"
    )


@pytest.mark.parametrize(("fleet", "managed"), [(ECS_FLEET, True), (DLAMI_FLEET, False)])
def test_only_groups_that_ecs_scales_carry_its_tag(fleet: dict[str, Any], managed: bool) -> None:
    tags = group_tags(record_fleets(fleet).one(GROUP))

    assert ("AmazonECSManaged" in tags) is managed, (
        "ECS would never scale the first nodes in, or each deployment would remove what ECS added"
    )


def test_ecs_scales_its_fleet_and_ends_no_node_that_runs_a_task() -> None:
    recording = record_fleets(ECS_FLEET)
    provider, group = recording.one(PROVIDER), recording.one(GROUP)

    assert provider.inputs["autoScalingGroupProvider"] == {
        "autoScalingGroupArn": group.outputs["arn"],
        "managedScaling": {"status": "ENABLED", "targetCapacity": 100},
        "managedTerminationProtection": "ENABLED",
        "managedDraining": "ENABLED",
    }, "tasks would wait for ever, nodes be paid for idle, or tasks end without notice"
    assert group.inputs["protectFromScaleIn"] is True, "ECS refuses termination protection without it"
    assert group.inputs["minSize"] == 0, "an idle fleet would cost"


def test_ecs_fleets_have_no_weights_and_no_capacity_rebalancing() -> None:
    group = group_of(ECS_FLEET)

    assert group["capacityRebalance"] is False, "AWS would end nodes under tasks that ECS does not drain"
    for override in group["mixedInstancesPolicy"]["launchTemplate"]["overrides"]:
        assert "weightedCapacity" not in override, "ECS counts instances"
    assert "initialLifecycleHooks" not in group, "no boot script of an ECS image completes a launch hook"


def test_a_dlami_fleet_is_no_capacity_of_the_cluster() -> None:
    recording = record_fleets(DLAMI_FLEET)

    assert not recording.of_type(PROVIDER), "tasks would be placed on nodes without an agent"
    assert recording.one(GROUP).inputs["protectFromScaleIn"] is False, "a person could not end a node"


def test_a_dlami_node_is_in_service_only_after_its_boot_script_said_so() -> None:
    hooks = group_of(DLAMI_FLEET)["initialLifecycleHooks"]

    assert hooks == [
        {
            "name": "boot-finished",
            "lifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING",
            "defaultResult": "ABANDON",
            "heartbeatTimeout": 1800,
        }
    ], "people would train on nodes without shared files, or pay for nodes that hang"


def test_a_dlami_group_waits_for_every_mount_target_and_for_the_permission_to_report() -> None:
    recording = record_fleets(DLAMI_FLEET)
    needed = [
        *recording.of_type("aws:efs/mountTarget:MountTarget"),
        recording.one("aws:iam/rolePolicy:RolePolicy", "gpu-research-finish-boot-gpu-research-node"),
    ]

    assert len(needed) == 3, "a zone of the network has no mount target"
    missing = {item.name for item in needed if item.urn not in recording.one(GROUP).dependencies}
    assert not missing, f"the first nodes would boot before {missing} is there"


def test_an_ecs_group_waits_for_the_permission_to_join() -> None:
    recording = record_fleets(ECS_FLEET)
    permission = recording.one("aws:iam/rolePolicy:RolePolicy", "gpu-serving-join-cluster-gpu-serving-node")

    assert permission.urn in recording.one(GROUP).dependencies, "the agent of the first node would give up"


@all_fleets
def test_the_size_of_a_fleet_is_decided_outside_of_deployments(fleet: dict[str, Any]) -> None:
    group = record_fleets(fleet).one(GROUP)

    assert group.ignore_changes == ("desiredCapacity",), "each deployment would end nodes that run"
    assert "desiredCapacity" not in group.inputs, "a new fleet would start nodes that nobody asked for"
    assert (group.inputs["minSize"], group.inputs["maxSize"]) == (0, 4)
    assert group.inputs["waitForCapacityTimeout"] == "0", "a deployment would fail while spot is short"


@all_fleets
def test_aws_replaces_sick_nodes_and_moves_none_for_symmetry(fleet: dict[str, Any]) -> None:
    group = group_of(fleet)

    assert group["healthCheckType"] == "EC2", "there is no load balancer that could judge these nodes"
    assert group["healthCheckGracePeriod"] == 300
    assert group["suspendedProcesses"] == ["AZRebalance"], "a node would end in the middle of its work"
    assert template_of(fleet)["instanceInitiatedShutdownBehavior"] == "terminate", (
        "a node that failed to boot would keep its disk, and the price of it"
    )


def test_capacity_rebalancing_is_a_choice_that_is_always_said() -> None:
    assert group_of(DLAMI_FLEET)["capacityRebalance"] is False, "two nodes would hold one checkpoint"
    assert group_of(DLAMI_FLEET, capacityRebalancing=True)["capacityRebalance"] is True


def test_running_nodes_are_replaced_only_where_a_refresh_is_chosen() -> None:
    assert "instanceRefresh" not in group_of(DLAMI_FLEET), "a new image would end people's work"

    refresh = group_of(ECS_FLEET, instanceRefresh=True)["instanceRefresh"]
    assert refresh["strategy"] == "Rolling"
    preferences = refresh["preferences"]
    assert preferences["minHealthyPercentage"] == 100, "the only node would go before the new one is there"
    assert preferences["maxHealthyPercentage"] == 110, "no new node could start before an old one is gone"
    assert preferences["scaleInProtectedInstances"] == "Refresh", "the refresh would wait an hour and fail"


def test_people_know_a_fleets_name_before_it_exists() -> None:
    group = record_fleets(DLAMI_FLEET).one(GROUP)

    assert group.inputs["name"] == "ai-cluster-dev-research", "a fleet's size is set under this name"
