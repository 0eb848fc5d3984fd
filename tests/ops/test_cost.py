"""What each type of resource costs, against sums worked out by hand from round prices."""

from dataclasses import replace
from typing import Any

import pytest

from ops.capture.program import record
from ops.capture.recording import RecordedResource, Recording
from ops.cost.estimate import METERS, estimate
from ops.cost.free import FREE
from ops.cost.prices import Prices
from ops.cost.usage import Usage
from recordings import STACKS, recorded
from tests.ops.cost_world import (
    PRICES,
    REGION,
    USD,
    estimated,
    lines_of,
    resource,
    service_price,
    sums,
    why_unpriced,
)

USAGE = Usage(
    api_questions=180_000, function_questions=2_000, answer_seconds=5, question_tokens=10, context_tokens=1_000,
    answer_tokens=100, peak_hours=30, search_hours=100, documents=1_000, document_tokens=4_000, document_seconds=20,
    indexing_hours=10, vector_gb=3, lake_gb=100, lake_infrequent_gb=20, lake_archive_gb=40, lake_writes=5_000,
    lake_reads=7_000, files_gb=11, files_infrequent_gb=12, files_read_gb=13, files_written_gb=14, fleet_hours=50,
    fleet_nodes=4, opening_hours=200, training_spot_hours=60, training_on_demand_hours=6, training_multi_node_hours=16,
    training_runs=10, run_transitions=300, run_checks=8, drills=3, images_kept=4, image_gb=0.5, log_gb=2, flow_log_gb=9,
    insights_metrics=17, alarm_emails=50_000, nat_gb=30, endpoint_gb=8, internet_gb=21,
)  # fmt: skip
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
SERVICE = "aws:ecs/service:Service"
DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
TARGET = "aws:appautoscaling/target:Target"
FUNCTION = "aws:lambda/function:Function"
MODELS = {"ANSWER_MODEL_ID": "answers", "EMBEDDING_MODEL_ID": "embeds"}


def usd(service: str, what: str) -> float:
    return USD[service, what]


class TestNetwork:
    def test_a_nat_gateway_costs_by_the_hour_and_by_its_part_of_the_traffic(self) -> None:
        gateway = "aws:ec2/natGateway:NatGateway"
        found = sums(resource(gateway), resource(gateway, "other"), usage=USAGE)
        hours = 730 * usd("VPC", "NAT gateway")
        assert found == {
            "VPC NAT gateway": (hours, hours),
            "VPC NAT gateway data": (0, 15 * usd("VPC", "NAT gateway data")),
        }

    def test_an_address_costs_every_hour(self) -> None:
        hours = 730 * usd("VPC", "public IPv4 address")
        assert sums(resource("aws:ec2/eip:Eip")) == {"VPC public IPv4 address": (hours, hours)}

    @pytest.mark.parametrize(
        "kind", ["aws:ec2/vpcEndpoint:VpcEndpoint", "aws:opensearch/serverlessVpcEndpoint:ServerlessVpcEndpoint"]
    )  # fmt: skip
    def test_an_interface_endpoint_costs_in_each_zone(self, kind: str) -> None:
        found = sums(resource(kind, vpcEndpointType="Interface", subnetIds=["a", "b", "c"]), usage=USAGE)
        hours = 3 * 730 * usd("VPC", "interface endpoint")
        assert found == {
            "interface endpoint in 3 zones": (hours, hours),
            "VPC interface endpoint data": (0, 8 * usd("VPC", "interface endpoint data")),
        }

    def test_a_gateway_endpoint_costs_nothing_and_any_other_kind_is_not_priced(self) -> None:
        kind = "aws:ec2/vpcEndpoint:VpcEndpoint"
        free = estimated(resource(kind, vpcEndpointType="Gateway"))
        assert not free.lines and not free.unpriced and ("it", free.free[-1][1]) == free.free[-1]
        assert "GatewayLoadBalancer" in why_unpriced(resource(kind, vpcEndpointType="GatewayLoadBalancer"))

    def test_what_names_no_subnet_is_not_priced_and_never_for_nothing(self) -> None:
        endpoint = resource("aws:ec2/vpcEndpoint:VpcEndpoint", vpcEndpointType="Interface")
        assert "by the zone" in why_unpriced(endpoint)
        assert "by the zone" in why_unpriced(resource("aws:lb/loadBalancer:LoadBalancer", internal=False))
        fixed = resource("aws:lb/loadBalancer:LoadBalancer", subnetMappings=[{"subnetId": "a"}])
        assert "public IPv4 address in 1 zones" in sums(fixed)

    def test_what_leaves_for_the_internet_costs_by_the_gb(self) -> None:
        found = sums(resource("aws:ec2/internetGateway:InternetGateway"), usage=USAGE)
        assert found == {"VPC data out to the internet": (0, 21 * usd("VPC", "data out to the internet"))}

    def test_a_public_balancer_pays_for_its_addresses_and_an_internal_one_does_not(self) -> None:
        kind = "aws:lb/loadBalancer:LoadBalancer"
        # 180,000 connections are two hours of 25 a second; 3.6 GB of answers weigh more.
        units = 3.6 * usd("ELB", "capacity unit")
        hours = 730 * usd("ELB", "application load balancer")
        internal = sums(resource(kind, internal=True, subnets=["a", "b"]), usage=USAGE)
        assert internal == {
            "ELB application load balancer": (hours, hours),
            "ELB capacity unit": (0, round(units, 6)),
        }
        public = sums(resource(kind, internal=False, subnets=["a", "b"]), usage=USAGE)
        addresses = 2 * 730 * usd("VPC", "public IPv4 address")
        assert public == {**internal, "public IPv4 address in 2 zones": (addresses, addresses)}
        assert "no application" in why_unpriced(resource(kind, loadBalancerType="network"))


class TestStorage:
    def test_a_bucket_costs_by_the_classes_that_its_lifecycle_reaches(self) -> None:
        moves = [{"storageClass": "STANDARD_IA", "days": 30}, {"storageClass": "GLACIER", "days": 90}]
        lifecycle = resource(
            "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration", "rules", bucket="lake",
            rules=[{"transitions": moves}, {"expiration": {"days": 9}}],
        )  # fmt: skip
        other = replace(lifecycle, urn="other", inputs={"bucket": "x", "rules": [{"transitions": [{"storageClass": "ONEZONE_IA"}]}]})  # fmt: skip
        bucket = resource("aws:s3/bucket:Bucket", outputs={"bucket": "lake"})
        plain = {
            "S3 writes": (0, 5 * usd("S3", "writes")),
            "S3 reads": (0, 7 * usd("S3", "reads")),
        }
        # 20 and 40 GB are old, and stay where they are when nothing moves them.
        assert sums(bucket, usage=USAGE) == {**plain, "S3 STANDARD": (0, 160 * usd("S3", "STANDARD"))}
        assert sums(bucket, lifecycle, other, usage=USAGE) == {
            **plain,
            "S3 STANDARD": (0, 100 * usd("S3", "STANDARD")),
            "S3 STANDARD_IA": (0, 20 * usd("S3", "STANDARD_IA")),
            "S3 GLACIER": (0, 40 * usd("S3", "GLACIER")),
        }

    def test_a_class_without_a_price_is_told(self) -> None:
        lifecycle = resource(
            "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration", "rules", bucket="lake",
            rules=[{"transitions": [{"storageClass": "INTELLIGENT_TIERING"}]}],
        )  # fmt: skip
        bucket = resource("aws:s3/bucket:Bucket", outputs={"bucket": "lake"})
        assert why_unpriced(bucket, lifecycle) == "S3 INTELLIGENT_TIERING has no price in ops/cost/prices.csv"

    def test_a_file_system_costs_by_what_lies_there_and_by_what_is_moved(self) -> None:
        kind = "aws:efs/fileSystem:FileSystem"
        elastic = resource(kind, throughputMode="elastic", lifecyclePolicies=[{"transitionToIa": "AFTER_30_DAYS"}])  # fmt: skip
        assert sums(elastic, usage=USAGE) == {
            "EFS Standard": (0, 11 * usd("EFS", "Standard")),
            "EFS Infrequent Access": (0, 12 * usd("EFS", "Infrequent Access")),
            "EFS elastic reads": (0, 13 * usd("EFS", "elastic reads")),
            "EFS elastic writes": (0, 14 * usd("EFS", "elastic writes")),
        }
        zonal = sums(resource(kind, availabilityZoneName="a"), usage=USAGE)
        assert zonal == {"EFS Standard One Zone": (0, 23 * usd("EFS", "Standard One Zone"))}
        moved = resource(
            kind, availabilityZoneName="a", lifecyclePolicies=[{"transitionToIa": "AFTER_30_DAYS"}]
        )
        assert "in one zone" in why_unpriced(moved)
        assert "provisioned" in why_unpriced(resource(kind, throughputMode="provisioned"))

    def test_backups_hold_a_copy_and_what_changed_in_35_days(self) -> None:
        kind = "aws:efs/backupPolicy:BackupPolicy"
        # A month is 730 / 24 days: 73 GB written in it are 84 in the days that backups are kept for. 11 + 12 + 84.
        found = sums(
            resource(kind, backupPolicy={"status": "ENABLED"}), usage=replace(USAGE, files_written_gb=73)
        )
        assert found == {"backups of the file system": (0, 107 * usd("Backup", "file systems"))}
        assert not estimated(resource(kind, backupPolicy={"status": "DISABLED"})).unpriced

    def test_a_registry_has_one_image_from_the_start(self) -> None:
        price = usd("ECR", "images")
        found = sums(resource("aws:ecr/repository:Repository"), usage=USAGE)
        assert found == {"ECR images": (0.5 * price, 2 * price)}

    def test_a_group_that_scales_to_zero_costs_only_while_it_is_awake(self) -> None:
        kind = "aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup"
        ocu = usd("OpenSearch Serverless", "OCU")
        asleep = {"minSearchCapacityInOcu": 0, "minIndexingCapacityInOcu": 0}
        assert sums(resource(kind, capacityLimits=[asleep]), usage=USAGE) == {
            "OCU for searches": (0, 2 * 100 * ocu),
            "OCU for indexing": (0, 10 * ocu),
        }
        kept = {"minSearchCapacityInOcu": 1, "minIndexingCapacityInOcu": 1}
        assert sums(resource(kind, capacityLimits=[kept]), usage=USAGE) == {
            "OCU for searches": (730 * ocu, 830 * ocu),
            "OCU for indexing": (730 * ocu, 730 * ocu),
        }
        # Two workers wake up in a group that sleeps; the older generation never does.
        assert sums(resource(kind, capacityLimits=[kept], generation="CLASSIC"), usage=USAGE) == {
            "OCU for searches": (730 * ocu, 730 * ocu),
            "OCU for indexing": (730 * ocu, 730 * ocu),
        }

    @pytest.mark.parametrize(("replicas", "units"), [("ENABLED", 2), ("DISABLED", 1)])
    def test_a_collection_of_no_group_keeps_its_least_units(self, replicas: str, units: int) -> None:
        kind = "aws:opensearch/serverlessCollection:ServerlessCollection"
        stored = {"OpenSearch Serverless storage": (0, 3 * usd("OpenSearch Serverless", "storage"))}
        least = units * 730 * usd("OpenSearch Serverless", "OCU")
        alone = sums(resource(kind, standbyReplicas=replicas), usage=USAGE)
        assert alone == {"OCU at the least": (least, least), **stored}
        group = replace(
            resource("aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup", "g"),
            inputs={"name": "group"},
        )
        assert sums(resource(kind, collectionGroupName="group"), group, usage=USAGE) == stored


def fargate(**inputs: Any) -> tuple[RecordedResource, ...]:
    """A service of two to six tasks of 0.5 vCPU and 1 GB."""
    definition = resource(
        DEFINITION, "definition", cpu="512", memory="1024", runtimePlatform={"cpuArchitecture": "ARM64"},
        containerDefinitions="[]", outputs={"arn": "definition:1"},
    )  # fmt: skip
    target = resource(
        TARGET,
        "target",
        serviceNamespace="ecs",
        resourceId="service/cluster/api",
        minCapacity=2,
        maxCapacity=6,
    )
    service = resource(SERVICE, taskDefinition="definition:1", desiredCount=1, outputs={"name": "api"}, **inputs)  # fmt: skip
    return definition, target, service


class TestTasks:
    def test_on_demand_tasks_cost_their_least_and_the_most_in_peak_hours(self) -> None:
        strategies = [{"capacityProvider": "FARGATE", "base": 0, "weight": 1}]
        # 2 tasks x 730 h; and 4 tasks more for 30 h.
        assert sums(*fargate(capacityProviderStrategies=strategies), usage=USAGE) == {
            "Fargate arm64 vCPU": (730 * usd("Fargate", "arm64 vCPU"), 790 * usd("Fargate", "arm64 vCPU")),
            "Fargate arm64 memory": (1460 * usd("Fargate", "arm64 memory"), 1580 * usd("Fargate", "arm64 memory")),
        }  # fmt: skip

    def test_tasks_are_split_as_the_strategy_says_and_pay_for_their_addresses(self) -> None:
        strategies = [
            {"capacityProvider": "FARGATE", "base": 1, "weight": 1},
            {"capacityProvider": "FARGATE_SPOT", "base": 0, "weight": 3},
        ]
        found = sums(
            *fargate(capacityProviderStrategies=strategies, networkConfiguration={"assignPublicIp": True}),
            usage=USAGE,
        )
        # Of 2 tasks 1.25 are on demand, of 6 they are 2.25; the rest is on spot.
        on_demand, spot = 1.25 * 700 + 2.25 * 30, 0.75 * 700 + 3.75 * 30
        assert found == {
            "Fargate arm64 vCPU": (1.25 * 365 * usd("Fargate", "arm64 vCPU"), on_demand / 2 * usd("Fargate", "arm64 vCPU")),
            "Fargate arm64 memory": (1.25 * 730 * usd("Fargate", "arm64 memory"), on_demand * usd("Fargate", "arm64 memory")),
            "Fargate spot arm64 vCPU": (0.75 * 365 * usd("Fargate", "spot arm64 vCPU"), spot / 2 * usd("Fargate", "spot arm64 vCPU")),
            "Fargate spot arm64 memory": (0.75 * 730 * usd("Fargate", "spot arm64 memory"), spot * usd("Fargate", "spot arm64 memory")),
            "public IPv4 address of the tasks": (1460 * usd("VPC", "public IPv4 address"), 1580 * usd("VPC", "public IPv4 address")),
        }  # fmt: skip

    def test_a_service_without_scaling_keeps_its_desired_tasks_on_x86_with_more_disk(self) -> None:
        definition, _, service = fargate(launchType="FARGATE")
        definition = replace(
            definition,
            inputs={**definition.inputs, "runtimePlatform": {}, "ephemeralStorage": {"sizeInGib": 50}},
        )
        found = sums(definition, service, usage=USAGE)
        assert found["Fargate x86 vCPU"] == (365 * usd("Fargate", "x86 vCPU"),) * 2
        assert found["Fargate storage above 20 GiB"] == (730 * 30 * usd("Fargate", "storage above 20 GiB"),) * 2  # fmt: skip

    def test_where_tasks_run_is_known_or_said_to_be_unknown(self) -> None:
        definition, target, service = fargate()
        assert "no capacity provider" in estimated(definition, target, service).unpriced[0][1]
        _, _, launched = fargate(launchType="FARGATE")
        assert why_unpriced(launched) == "its task definition is not in the recording"
        _, _, on_nodes = fargate(capacityProviderStrategies=[{"capacityProvider": "fleet", "weight": 1}])
        assert not estimated(on_nodes).unpriced and not estimated(on_nodes).lines

    def test_the_questions_of_the_api_cost_tokens(self) -> None:
        environment = [{"name": name, "value": value} for name, value in MODELS.items()]
        definition = resource(DEFINITION, containerDefinitions=f'[{{"environment": {str(environment).replace(chr(39), chr(34))}}}]')  # fmt: skip
        # Per million: 1.8 to embed at 7, 180 in at 6, 18 out at 30.
        assert sums(definition, usage=USAGE) == {
            "embeds, input": (0, 12.6),
            "answers, input": (0, 1080),
            "answers, output": (0, 540),
        }


def nodes(distribution: dict[str, int] | None, least: int = 0, kind: str = "g5.xlarge", public: str = "false") -> tuple[RecordedResource, ...]:  # fmt: skip
    template = resource(
        TEMPLATE, "template", blockDeviceMappings=[{"ebs": {"volumeType": "gp3", "volumeSize": 73}}],
        networkInterfaces=[{"associatePublicIpAddress": public}],
    )  # fmt: skip
    group = resource(
        GROUP, minSize=least, maxSize=4, depends={"mixedInstancesPolicy": ["template"]}, outputs={"arn": "group"},
        mixedInstancesPolicy={"instancesDistribution": distribution, "launchTemplate": {"overrides": [{"instanceType": kind}]}},
    )  # fmt: skip
    return template, group


class TestNodes:
    def test_a_spot_fleet_costs_its_hours_at_the_dearest_zone_with_disks_and_addresses(self) -> None:
        spot = {"onDemandBaseCapacity": 0, "onDemandPercentageAboveBaseCapacity": 0}
        # 50 h at 4; 73 GB for 50 of 730 h are 5 GB-months.
        assert sums(*nodes(spot, public="true"), usage=USAGE) == {
            "node g5.xlarge on spot": (0, 200),
            "disk of the nodes": (0, 5 * usd("EBS", "gp3")),
            "public IPv4 address of the nodes": (0, 50 * usd("VPC", "public IPv4 address")),
        }

    def test_a_mixed_fleet_pays_on_demand_for_its_base_and_its_share_above(self) -> None:
        mixed = {"onDemandBaseCapacity": 1, "onDemandPercentageAboveBaseCapacity": 25}
        # Of 4 nodes at once, 1 and a quarter of 3 are on demand: 7/16 of 1 x 730 + 50 h at 10, the rest at 4.
        found = sums(*nodes(mixed, least=1), usage=USAGE)
        assert found["node g5.xlarge on demand"] == (730 * 7 / 16 * 10, 780 * 7 / 16 * 10)
        assert found["node g5.xlarge on spot"] == (730 * 9 / 16 * 4, 780 * 9 / 16 * 4)

    def test_the_size_of_a_fleet_with_weights_is_no_number_of_nodes(self) -> None:
        template, group = nodes(
            {"onDemandBaseCapacity": 4, "onDemandPercentageAboveBaseCapacity": 0}, least=8
        )
        policy = group.inputs["mixedInstancesPolicy"]
        heavy = {"launchTemplate": {"overrides": [{"instanceType": "g5.xlarge", "weightedCapacity": "4"}]}}
        weighted = replace(group, inputs={**group.inputs, "mixedInstancesPolicy": {**policy, **heavy}})
        # A weight of 8 is 2 nodes, of 4 at once in use; a base of 4 is one of them.
        found = sums(template, weighted, usage=USAGE)
        assert found["node g5.xlarge on demand"] == (2 * 730 / 4 * 10, (2 * 730 + 50) / 4 * 10)
        assert found["node g5.xlarge on spot"] == (2 * 730 * 3 / 4 * 4, (2 * 730 + 50) * 3 / 4 * 4)

    def test_a_fleet_of_which_nobody_uses_a_node_is_still_on_spot(self) -> None:
        spot = {"onDemandBaseCapacity": 0, "onDemandPercentageAboveBaseCapacity": 0}
        assert sums(*nodes(spot), usage=replace(USAGE, fleet_nodes=0))["node g5.xlarge on spot"] == (0, 200)

    @pytest.mark.parametrize(
        ("disks", "words"),
        [
            ([], "as large as their image says"),
            ([{"ebs": {"volumeType": "gp3", "encrypted": "true"}}], "as large as their image says"),
            ([{"ebs": {"volumeType": "gp3", "volumeSize": 9, "iops": 3001}}], "faster"),
            ([{"ebs": {"volumeType": "gp3", "volumeSize": 9, "throughput": 126}}], "faster"),
            ([{"ebs": {"volumeType": "io2", "volumeSize": 9}}], "EBS io2 has no price"),
        ],
    )
    def test_disks_of_unknown_cost_are_told(self, disks: list[dict[str, Any]], words: str) -> None:
        template, group = nodes({})
        assert words in why_unpriced(replace(template, inputs={"blockDeviceMappings": disks}), group)

    def test_a_fleet_that_says_nothing_is_all_on_demand_as_aws_takes_it(self) -> None:
        assert sums(*nodes({}), usage=USAGE)["node g5.xlarge on demand"] == (0, 500)

    def test_a_fleet_keeps_a_node_for_each_task_of_its_service_while_it_is_open(self) -> None:
        spot = {"onDemandBaseCapacity": 0, "onDemandPercentageAboveBaseCapacity": 0}
        provider = resource(
            "aws:ecs/capacityProvider:CapacityProvider", "provider", autoScalingGroupProvider={"autoScalingGroupArn": "group"},
            outputs={"name": "fleet"},
        )  # fmt: skip
        _, target, service = fargate(capacityProviderStrategies=[{"capacityProvider": "fleet", "weight": 1}])
        service = replace(service, urn="service", name="service")
        always = sums(*nodes(spot), provider, target, service, usage=USAGE)
        assert always["node g5.xlarge on spot"] == (2 * 730 * 4, (2 * 730 + 50) * 4), (
            "a model server would seem free"
        )
        closes = resource("aws:appautoscaling/scheduledAction:ScheduledAction", "close", resourceId="service/cluster/api")  # fmt: skip
        open_by_day = sums(*nodes(spot), provider, target, service, closes, usage=USAGE)
        assert open_by_day["node g5.xlarge on spot"] == (2 * 200 * 4, (2 * 200 + 50) * 4)
        long = replace(USAGE, opening_hours=10_000)
        longer = sums(*nodes(spot), provider, target, service, closes, usage=long)
        assert longer["node g5.xlarge on spot"] == always["node g5.xlarge on spot"], (
            "no month has so many hours"
        )
        for least in (1, 2, 3):
            kept = max(least, 2) * 730
            found = sums(*nodes(spot, least=least), provider, target, service, usage=USAGE)
            assert found["node g5.xlarge on spot"] == (kept * 4, (kept + 50) * 4), (
                "a task on a node that the group keeps anyway would be paid for twice"
            )

    def test_what_has_no_spot_price_is_counted_on_demand_and_said_so(self) -> None:
        spot = {"onDemandBaseCapacity": 0, "onDemandPercentageAboveBaseCapacity": 0}
        found = sums(*nodes(spot, kind="p5.4xlarge"), usage=USAGE)
        assert found["node p5.4xlarge on demand, no spot price being known"] == (0, 1000)

    def test_a_type_without_a_price_and_a_capacity_block_are_told(self) -> None:
        assert why_unpriced(*nodes({}, kind="x9.large")) == "no price of x9.large"
        block = resource(TEMPLATE, "template", instanceType="g5.xlarge", instanceMarketOptions={"marketType": "capacity-block"})  # fmt: skip
        group = resource(GROUP, maxSize=1, launchTemplate={"id": "x"}, depends={"launchTemplate": ["template"]})  # fmt: skip
        assert "Capacity Block" in why_unpriced(block, group)

    @pytest.mark.parametrize(
        ("settings", "what", "usd_busy"),
        [
            ({"type": "SPOT"}, "node g5.xlarge on spot", 240),
            ({"type": "EC2"}, "node g5.xlarge on demand", 60),
            ({"type": "EC2", "placementGroup": "near"}, "node g5.xlarge on demand", 160),
        ],
    )
    def test_training_costs_the_hours_of_its_jobs(self, settings: dict[str, str], what: str, usd_busy: int) -> None:  # fmt: skip
        template = nodes({})[0]
        environment = resource(
            "aws:batch/computeEnvironment:ComputeEnvironment", depends={"computeResources": ["template"]},
            computeResources={"instanceTypes": ["g5.xlarge"], "minVcpus": 0, **settings},
        )  # fmt: skip
        found = sums(template, environment, usage=USAGE)
        assert found[what] == (0, usd_busy) and "disk of the nodes" in found
        asleep = replace(environment, inputs={**environment.inputs, "state": "DISABLED"})
        assert not estimated(template, asleep).lines

    def test_nodes_that_batch_keeps_cost_when_idle_too(self) -> None:
        environment = resource(
            "aws:batch/computeEnvironment:ComputeEnvironment", depends={"computeResources": ["template"]},
            computeResources={"instanceTypes": ["g5.xlarge"], "type": "SPOT", "minVcpus": 5},
        )  # fmt: skip
        # Five vCPU are two nodes of four.
        found = sums(nodes({})[0], environment, usage=USAGE)
        assert found["node g5.xlarge on spot"] == (1460 * 4, 1520 * 4)


class TestCalls:
    def test_the_orchestrator_costs_its_seconds_and_the_tokens_of_its_questions(self) -> None:
        orchestrator = resource("aiplatform:index:Orchestrator", "orchestrator")
        function = resource(
            FUNCTION, parent="orchestrator", architectures=["arm64"], memorySize=512, environment={"variables": MODELS}
        )  # fmt: skip
        assert sums(orchestrator, function, usage=USAGE) == {
            "Lambda requests": (0, round(0.002 * usd("Lambda", "requests"), 6)),
            "Lambda arm64 compute": (0, 5_000 * usd("Lambda", "arm64 compute")),
            "embeds, input": (0, 0.14),
            "answers, input": (0, 12),
            "answers, output": (0, 6),
        }

    def test_ingestion_embeds_its_documents(self) -> None:
        ingestion = resource("aiplatform:index:Ingestion", "ingestion")
        function = resource(FUNCTION, parent="ingestion", memorySize=1024, environment={"variables": MODELS})
        assert sums(ingestion, function, usage=USAGE) == {
            "Lambda requests": (0, round(0.001 * usd("Lambda", "requests"), 6)),
            "Lambda x86 compute": (0, 20_000 * usd("Lambda", "x86 compute")),
            "embeds, input": (0, 28),
        }

    def test_a_look_at_each_run_costs_two_seconds(self) -> None:
        progress = resource("aiplatform:index:TrainingProgress", "progress")
        function = resource(FUNCTION, parent="progress", memorySize=256, architectures=["arm64"])
        assert sums(progress, function, usage=USAGE)["Lambda arm64 compute"] == (0, 40 * usd("Lambda", "arm64 compute"))  # fmt: skip

    def test_a_function_of_unknown_use_and_a_model_without_a_price_are_told(self) -> None:
        assert "how often" in why_unpriced(resource(FUNCTION))
        orchestrator = resource("aiplatform:index:Orchestrator", "orchestrator")
        for changes, words in (
            ({"ANSWER_MODEL_ID": "other"}, "no price of model other"),
            ({"EMBEDDING_MODEL_ID": "other"}, "no price of model other"),
            ({"ANSWER_PROVIDER": "openai"}, "no price of tokens"),
        ):
            function = resource(FUNCTION, parent="orchestrator", environment={"variables": {**MODELS, **changes}})  # fmt: skip
            assert words in why_unpriced(orchestrator, function)

    def test_lambda_asks_a_queue_also_while_nothing_comes(self) -> None:
        kind = "aws:lambda/eventSourceMapping:EventSourceMapping"
        price = usd("SQS", "requests")
        # 5 pollers, 3 polls a minute, 43,800 minutes: 657,000; and 3 requests for each of 1,000 documents.
        awake = sums(resource(kind, eventSourceArn="arn:aws:sqs:eu:1:q", enabled=True), usage=USAGE)
        assert awake == {
            "SQS requests, empty polls with them": (round(0.657 * price, 6), round(0.66 * price, 6))
        }
        paused = sums(resource(kind, eventSourceArn="arn:aws:sqs:eu:1:q", enabled=False), usage=USAGE)
        assert paused == {"SQS requests, empty polls with them": (0, 0)}
        assert "no queue" in why_unpriced(resource(kind, eventSourceArn="arn:aws:kinesis:eu:1:s"))

    def test_messages_and_steps_cost_by_the_number(self) -> None:
        assert sums(resource("aws:sns/topic:Topic"), usage=USAGE) == {"SNS emails": (0, usd("SNS", "emails") / 2)}  # fmt: skip
        kind = "aws:sfn/stateMachine:StateMachine"
        assert sums(resource(kind), usage=USAGE) == {"Step Functions transitions": (0, 3 * usd("Step Functions", "transitions"))}  # fmt: skip
        assert "express" in why_unpriced(resource(kind, type="EXPRESS"))

    def test_logs_cost_when_they_come_and_for_as_long_as_they_are_kept(self) -> None:
        kind = "aws:cloudwatch/logGroup:LogGroup"
        taken, kept = usd("CloudWatch", "logs taken in"), usd("CloudWatch", "logs kept")
        # 73 days are 2.4 months; what never expires is counted for twelve.
        found = sums(resource(kind, retentionInDays=73, outputs={"arn": "logs"}), usage=USAGE)
        assert found == {
            "CloudWatch logs taken in": (0, 2 * taken),
            "CloudWatch logs kept": (0, round(4.8 * kept, 6)),
        }
        forever = sums(resource(kind, retentionInDays=0), usage=USAGE)
        assert forever["CloudWatch logs kept"] == (0, 24 * kept)
        flows = resource("aws:ec2/flowLog:FlowLog", "flows", logDestination="logs")
        assert sums(resource(kind, outputs={"arn": "logs"}), flows, usage=USAGE)["CloudWatch logs taken in"] == (0, 9 * taken)  # fmt: skip
        assert "CloudWatch" in why_unpriced(resource("aws:ec2/flowLog:FlowLog", logDestinationType="s3"))

    def test_scaling_pays_for_the_alarms_that_it_makes(self) -> None:
        kind, alarm = "aws:appautoscaling/policy:Policy", usd("CloudWatch", "alarm")
        tracking = resource(kind, policyType="TargetTrackingScaling", serviceNamespace="ecs")
        assert sums(tracking) == {"alarms that scaling makes for itself": (2 * alarm, 2 * alarm)}
        metrics = {"metrics": [{"metricStat": {}}, {"metricStat": {}}, {"expression": "a/b"}]}
        configuration = {"customizedMetricSpecification": metrics}
        several = replace(
            tracking, inputs={**tracking.inputs, "targetTrackingScalingPolicyConfiguration": configuration}
        )
        assert sums(several) == {"alarms that scaling makes for itself": (4 * alarm, 4 * alarm)}
        assert not estimated(resource(kind, policyType="StepScaling")).lines
        assert "not known" in why_unpriced(
            replace(tracking, inputs={**tracking.inputs, "serviceNamespace": "dynamodb"})
        )

    def test_what_costs_otherwise_than_usual_is_told(self) -> None:
        logs = resource("aws:cloudwatch/logGroup:LogGroup", logGroupClass="INFREQUENT_ACCESS")
        assert "class INFREQUENT_ACCESS" in why_unpriced(logs)
        cluster = resource(
            "aws:ecs/cluster:Cluster", settings=[{"name": "containerInsights", "value": "enhanced"}]
        )
        assert "enhanced" in why_unpriced(cluster)
        progress = resource("aiplatform:index:TrainingProgress", "progress")
        assert "/tmp" in why_unpriced(
            progress, resource(FUNCTION, parent="progress", ephemeralStorage={"size": 513})
        )

    def test_alarms_keys_metrics_and_drills_cost_by_the_piece(self) -> None:
        alarm = usd("CloudWatch", "alarm")
        assert sums(resource("aws:cloudwatch/metricAlarm:MetricAlarm", period=300)) == {"CloudWatch alarm": (alarm, alarm)}  # fmt: skip
        assert "below a minute" in why_unpriced(resource("aws:cloudwatch/metricAlarm:MetricAlarm", period=10))  # fmt: skip
        key = usd("KMS", "key")
        assert sums(resource("aws:kms/key:Key")) == {"KMS key": (key, key)}
        metrics = 17 * usd("CloudWatch", "metric")
        cluster = resource("aws:ecs/cluster:Cluster", settings=[{"name": "containerInsights", "value": "enabled"}])  # fmt: skip
        assert sums(cluster, usage=USAGE) == {"metrics of Container Insights": (metrics, metrics)}
        assert not estimated(resource("aws:ecs/cluster:Cluster", settings=[])).lines
        drill = resource("aws:fis/experimentTemplate:ExperimentTemplate", actions=[{}, {}])
        assert sums(drill, usage=USAGE) == {"FIS action": (0, 3 * 2 * 2 * usd("FIS", "action"))}


class TestWhole:
    def test_a_type_that_nobody_knows_is_not_priced_and_never_free(self) -> None:
        assert why_unpriced(resource("aws:rds/instance:Instance")) == "no meter for the type aws:rds/instance:Instance"  # fmt: skip

    def test_every_resource_of_a_stack_is_priced_not_priced_or_free(self, platform: Recording) -> None:
        found = estimate(platform, Usage(), Prices())
        told = {name for name, _ in (*found.unpriced, *found.free)} | {line.resource for line in found.lines}
        missing = [item.name for item in platform.resources if item.custom and item.name not in told]
        assert not missing, "these would seem to cost nothing"

    @pytest.mark.parametrize("stack", STACKS)
    def test_everything_in_the_stacks_has_a_price(self, stack: str) -> None:
        assert not estimate(recorded(stack), Usage(), Prices()).unpriced

    def test_no_type_is_both_free_and_priced(self) -> None:
        assert not set(FREE) & set(METERS)

    def test_a_price_of_another_region_is_used_and_tells_its_region(self) -> None:
        elsewhere = {("KMS", "key", "us-east-1"): service_price("KMS", "key", 1.0, "us-east-1")}
        found = estimated(resource("aws:kms/key:Key"), prices=replace(PRICES, services=elsewhere))
        assert lines_of(found, "it")[0].price.region == "us-east-1"
        here = {**elsewhere, ("KMS", "key", REGION): service_price("KMS", "key", 2.0)}
        nearer = estimated(resource("aws:kms/key:Key"), prices=replace(PRICES, services=here))
        assert nearer.idle_usd == 2.0

    def test_sums_are_those_of_the_outermost_components(self) -> None:
        outer, inner = resource("aiplatform:index:Rag", "rag"), resource("aiplatform:index:Part", "part", parent="rag")  # fmt: skip
        found = estimated(outer, inner, resource("aws:kms/key:Key", "key", parent="part"), resource("aws:ec2/eip:Eip"))  # fmt: skip
        key, hours = usd("KMS", "key"), 730 * usd("VPC", "public IPv4 address")
        assert found.by_component() == {"rag": (key, key), "it": (hours, hours)}
        assert (found.idle_usd, found.busy_usd) == (key + hours, key + hours)

    def test_an_added_nat_gateway_is_seen_in_the_sum(self) -> None:
        without = estimate(recorded("dev"), Usage(), Prices()).idle_usd
        more = estimate(record("dev", changes={"natGateways": "single"}), Usage(), Prices()).idle_usd
        gateway = Prices().of("VPC", "NAT gateway", REGION)
        # The address of the gateway takes the place of the task's, which moves into a private subnet.
        assert gateway and more - without == pytest.approx(730 * gateway.price_usd)

    def test_a_model_server_keeps_its_node(self) -> None:
        fleet = {"name": "serving", "purpose": "inference", "instanceTypes": ["g5.xlarge"], "nodeImage": "ecs-gpu", "maximum": 2}  # fmt: skip
        changes = {
            "inference": True,
            "gpuFleets": [fleet],
            "inferenceFleet": "serving",
            "inferenceModel": "models/fine-tuned/x",
        }
        found = estimate(record("staging", changes=changes), Usage(), Prices())
        assert lines_of(found, "gpu-serving-group")[0].idle_quantity == 730
