"""The RAG API on Fargate: task, balancer, exposure, permissions, scaling."""

import functools
import json
from dataclasses import replace
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from components.aws_account import AwsAccount
from components.cluster import Cluster, ClusterArgs
from components.config import PlatformConfig, read_sections
from components.container_image import ContainerImage, ContainerImageArgs, keep_latest
from components.fargate import memory_sizes_mib
from components.image_reference import repository_arn_of
from components.network import Network, NetworkArgs
from components.rag_service import RagService, RagServiceArgs, capacity_strategy, outgoing_ports
from components.vector_store import VectorStore, VectorStoreArgs
from ops.capture.computed import Computed
from ops.capture.program import PROJECT_ROOT, record_program
from ops.capture.recording import RecordedResource, Recording
from ops.capture.stack_files import load_stack_config
from rag_api.settings import ApiSettings

SERVICE = "aws:ecs/service:Service"
TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
BALANCER = "aws:lb/loadBalancer:LoadBalancer"
LISTENER = "aws:lb/listener:Listener"
TARGET_GROUP = "aws:lb/targetGroup:TargetGroup"
TARGET = "aws:appautoscaling/target:Target"
POLICY = "aws:appautoscaling/policy:Policy"
CAPACITY = "aws:ecs/clusterCapacityProviders:ClusterCapacityProviders"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
REPOSITORY = "aws:ecr/repository:Repository"
IMAGE = "awsx:ecr:Image"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"

LABEL = "app/rag-alb/50dc6c495c0c9188/targetgroup/rag-tg/6d0ecf831eec9f09"
FIELD = Computed(
    resources={
        BALANCER: {"arnSuffix": "app/rag-alb/50dc6c495c0c9188"},
        TARGET_GROUP: {"arnSuffix": "targetgroup/rag-tg/6d0ecf831eec9f09"},
    }
)
# Auto-naming adds a hyphen and seven hexadecimal digits.
AUTO_NAME_LENGTH = 8
DIGEST = f"sha256:{'0' * 64}"
ARN = "arn:aws:{}:eu-central-1:111122223333:{}"
CERTIFICATE = ARN.format("acm", "certificate/12345678-1234-1234-1234-123456789012")
TOKEN_SECRET = ARN.format("secretsmanager", "secret:token-AbCdEf")
KEY_SECRET = ARN.format("secretsmanager", "secret:openai-AbCdEf")
PUBLIC = {"exposure": "public", "certificateArn": CERTIFICATE, "bearerTokenSecretArn": TOKEN_SECRET}
OPENAI = {"answerProvider": "openai", "openaiModel": "gpt-5", "openaiApiKeySecretArn": KEY_SECRET}
SIZES = {"ragMinimumTasks": 2, "ragMaximumTasks": 10, "ragDesiredTasks": 2}


def build() -> None:
    config = PlatformConfig.load()
    assert config.rag_service
    assert config.vector_store
    account = AwsAccount.connect(config)
    protect = config.general.protect_data
    network = Network(
        "network",
        NetworkArgs(config=config.network, region=account.region, asleep=False, log_retention_days=7),
        account.options,
    )
    cluster = Cluster("cluster", ClusterArgs(config=config.cluster, name_suffix="dev"), account.options)
    store = VectorStore(
        "vector-store",
        VectorStoreArgs(
            config=config.vector_store,
            dimensions=config.answers.embedding_dimensions,
            embedding_model=config.answers.embedding_model,
            project=config.project,
            stack=config.stack,
            account=account,
            network=network,
            asleep=False,
            protect=protect,
            log_retention_days=7,
        ),
        account.options,
    )
    image = None
    if config.builds_rag_image:
        image = ContainerImage("rag-build", ContainerImageArgs(protect=protect), account.options)
    RagService(
        "rag",
        RagServiceArgs(
            config=config.rag_service,
            answers=config.answers,
            account=account,
            network=network,
            cluster=cluster,
            capacity=cluster.use_capacity([]),
            vector_store=store,
            name_suffix=config.general.name_suffix,
            log_retention_days=config.general.log_retention_days,
            built_image=image,
        ),
        account.options,
    )


def service_with(**changes: Any) -> Recording:
    """The recording of the service, with `changes` to the dev stack's configuration."""
    return _recorded(json.dumps(changes))


@functools.cache
def _recorded(changes: str) -> Recording:
    config = load_stack_config(PROJECT_ROOT, "dev", json.loads(changes))
    return record_program(build, config, "dev", computed=FIELD)


def container(recording: Recording) -> dict[str, Any]:
    definition = recording.one(TASK_DEFINITION)
    (only,) = json.loads(definition.inputs["containerDefinitions"])
    return only


def variables(recording: Recording) -> dict[str, str]:
    return {item["name"]: item["value"] for item in container(recording)["environment"]}


def secrets(recording: Recording) -> dict[str, str]:
    return {item["name"]: item["valueFrom"] for item in container(recording)["secrets"]}


def statements(recording: Recording, name: str) -> list[dict[str, Any]]:
    return json.loads(recording.one(ROLE_POLICY, name).inputs["policy"])["Statement"]


def execution_actions(recording: Recording) -> dict[str, list[str]]:
    """Resources by action, of the execution role."""
    return {
        action: item["Resource"]
        for item in statements(recording, "rag-task-execution-policy")
        for action in item["Action"]
    }


def rules(recording: Recording, kind: str) -> list[RecordedResource]:
    return [rule for rule in recording.of_type(kind) if rule.name.startswith("rag-")]


def refers_to(resource: RecordedResource, key: str, other: RecordedResource) -> bool:
    return other.urn in resource.property_dependencies.get(key, frozenset())


class TestScaling:
    def test_scaling_and_not_the_program_decides_the_number_of_tasks(self) -> None:
        service = service_with(**SIZES).one(SERVICE)
        assert service.inputs["desiredCount"] == 2
        assert "desiredCount" in service.ignore_changes, "each deployment would undo what scaling decided"

    def test_request_tracking_names_balancer_and_target_group_in_that_order(self) -> None:
        tracking = self._tracking(service_with(**SIZES), "rag-scaling-requests")
        metric = tracking["predefinedMetricSpecification"]
        assert metric["predefinedMetricType"] == "ALBRequestCountPerTarget"
        assert metric["resourceLabel"] == LABEL, "AWS would refuse the policy"

    def test_request_tracking_waits_for_the_listener(self) -> None:
        recording = service_with(**SIZES)
        listener = recording.one(LISTENER, "rag-balancer-http")
        policy = recording.one(POLICY, "rag-scaling-requests")
        assert listener.urn in policy.dependencies, "AWS refuses a target group that no listener uses"

    def test_policies_take_their_identity_from_the_scalable_target(self) -> None:
        recording = service_with(**SIZES)
        target = recording.one(TARGET)
        for policy in recording.of_type(POLICY):
            for key in ("resourceId", "scalableDimension", "serviceNamespace"):
                assert policy.inputs[key] == target.inputs[key]
                assert refers_to(policy, key, target), "the policy could be made before its target"

    def test_the_scalable_target_is_the_service_in_its_cluster(self) -> None:
        recording = service_with(**SIZES)
        target, service = recording.one(TARGET).inputs, recording.one(SERVICE).outputs["name"]
        assert target["resourceId"] == f"service/ai-cluster-dev/{service}"
        assert (target["minCapacity"], target["maxCapacity"]) == (2, 10)
        assert (target["serviceNamespace"], target["scalableDimension"]) == (
            "ecs",
            "ecs:service:DesiredCount",
        )

    def test_scaling_aims_at_the_configured_values_out_fast_and_in_slowly(self) -> None:
        recording = service_with(ragCpuTargetPercent=60, ragRequestsPerTarget=40)
        cpu = self._tracking(recording, "rag-scaling-cpu")
        assert (
            cpu["predefinedMetricSpecification"]["predefinedMetricType"] == "ECSServiceAverageCPUUtilization"
        )
        assert "resourceLabel" not in cpu["predefinedMetricSpecification"]
        requests = self._tracking(recording, "rag-scaling-requests")
        assert (cpu["targetValue"], requests["targetValue"]) == (60, 40)
        for tracking in (cpu, requests):
            assert (tracking["scaleInCooldown"], tracking["scaleOutCooldown"]) == (300, 60)

    @pytest.mark.parametrize(
        ("changes", "key"),
        [
            ({"ragDesiredTasks": 1, "ragMinimumTasks": 2}, "ragDesiredTasks"),
            ({"ragMinimumTasks": 5, "ragMaximumTasks": 3}, "ragMinimumTasks"),
            ({"ragMaximumTasks": 0}, "ragMaximumTasks"),
            ({"ragCpuTargetPercent": 0}, "ragCpuTargetPercent"),
            ({"ragRequestsPerTarget": 0}, "ragRequestsPerTarget"),
        ],
    )
    def test_sizes_and_targets_that_cannot_be_are_refused(self, changes: dict[str, int], key: str) -> None:
        values = {"region": "eu-central-1", "availabilityZones": ["eu-central-1a", "eu-central-1b"]}
        _, faults = read_sections({**values, **changes})
        faulty = {fault.key: fault.value for fault in faults}
        assert faulty.get(f"ai-platform:{key}") == str(changes[key]), f"nothing would stop {changes}"

    @staticmethod
    def _tracking(recording: Recording, name: str) -> dict[str, Any]:
        policy = recording.one(POLICY, name).inputs
        assert policy["policyType"] == "TargetTrackingScaling"
        return policy["targetTrackingScalingPolicyConfiguration"]


class TestService:
    def test_a_deployment_that_fails_is_rolled_back_and_waited_for(self) -> None:
        service = service_with().one(SERVICE).inputs
        assert service["deploymentCircuitBreaker"] == {"enable": True, "rollback": True}
        assert service["waitForSteadyState"] is True, "a failed deployment would look like a good one"
        assert service["healthCheckGracePeriodSeconds"] == 90, "slow starts would be killed"
        assert service["forceNewDeployment"] is True, "another Spot share would replace the service"

    def test_the_service_waits_for_what_no_output_carries(self) -> None:
        recording = service_with()
        service = recording.one(SERVICE)
        for needed in (
            recording.one(LISTENER, "rag-balancer-http"),
            recording.one(CAPACITY),
            recording.one(ROLE_POLICY, "rag-task-execution-policy"),
        ):
            assert needed.urn in service.dependencies, (
                f"the first deployment could fail without {needed.name}"
            )

    @pytest.mark.parametrize(
        ("percent", "strategy"),
        [
            (0, (("FARGATE", 0, 1),)),
            (25, (("FARGATE", 1, 3), ("FARGATE_SPOT", 0, 1))),
            (50, (("FARGATE", 1, 1), ("FARGATE_SPOT", 0, 1))),
            (99, (("FARGATE", 1, 1), ("FARGATE_SPOT", 0, 99))),
            (100, (("FARGATE_SPOT", 0, 1),)),
        ],
    )
    def test_the_spot_share_becomes_weights_over_one_task_on_demand(
        self, percent: int, strategy: tuple[tuple[str, int, int], ...]
    ) -> None:
        assert capacity_strategy(percent) == strategy

    def test_the_service_uses_the_strategy_and_no_launch_type(self) -> None:
        service = service_with(ragFargateSpotPercent=25).one(SERVICE).inputs
        assert service["capacityProviderStrategies"] == [
            {"capacityProvider": "FARGATE", "base": 1, "weight": 3},
            {"capacityProvider": "FARGATE_SPOT", "base": 0, "weight": 1},
        ]
        assert "launchType" not in service, "AWS refuses both together"

    @pytest.mark.parametrize(
        ("nat", "public", "tier"), [("none", True, "public"), ("single", False, "private")]
    )
    def test_tasks_have_public_addresses_only_where_there_is_no_other_way_out(
        self, nat: str, public: bool, tier: str
    ) -> None:
        recording = service_with(natGateways=nat)
        placement = recording.one(SERVICE).inputs["networkConfiguration"]
        assert placement["assignPublicIp"] is public
        assert placement["subnets"] == subnet_ids(recording, tier)

    def test_tags_reach_the_tasks(self) -> None:
        service = service_with().one(SERVICE).inputs
        assert service["propagateTags"] == "SERVICE", "tasks would be missing from the cost of the stack"
        assert service["enableEcsManagedTags"] is True


class TestTask:
    def test_ecs_accepts_the_task_definition(self) -> None:
        for changes in ({}, PUBLIC, OPENAI):
            inputs = service_with(**changes).one(TASK_DEFINITION).inputs
            request = {key: value for key, value in inputs.items() if key != "containerDefinitions"}
            request["containerDefinitions"] = json.loads(inputs["containerDefinitions"])
            model = botocore.session.get_session().get_service_model("ecs")
            shape = model.operation_model("RegisterTaskDefinition").input_shape
            report = ParamValidator().validate(request, shape)
            assert not report.has_errors(), report.generate_report()
            unknown = set(request["containerDefinitions"][0]) - set(
                model.shape_for("ContainerDefinition").members
            )
            assert not unknown, "ECS would ignore or refuse these"

    def test_the_task_is_a_fargate_task_of_the_configured_size(self) -> None:
        task = service_with(ragCpuUnits=4096, ragMemoryMib=8192).one(TASK_DEFINITION).inputs
        assert (task["family"], task["networkMode"]) == ("rag-api-dev", "awsvpc")
        assert task["requiresCompatibilities"] == ["FARGATE"]
        assert (task["cpu"], task["memory"]) == ("4096", "8192")
        assert int(task["memory"]) in memory_sizes_mib(int(task["cpu"])), "Fargate has no such size"

    def test_the_image_is_built_for_the_processor_that_runs_it(self) -> None:
        recording = service_with()
        task, image = recording.one(TASK_DEFINITION).inputs, recording.one(IMAGE).inputs
        assert task["runtimePlatform"] == {"cpuArchitecture": "ARM64", "operatingSystemFamily": "LINUX"}
        assert image["platform"] == "linux/arm64", "the container would not start"
        assert (image["context"], image["dockerfile"]) == (".", "rag_api/Dockerfile")
        assert (PROJECT_ROOT / image["dockerfile"]).is_file()

    def test_the_container_has_the_promised_name_port_and_image(self) -> None:
        recording = service_with()
        made = container(recording)
        assert made["name"] == "rag-service"
        assert made["portMappings"] == [{"containerPort": 8000, "hostPort": 8000, "protocol": "tcp"}]
        assert made["image"] == recording.one(IMAGE).outputs["imageUri"]
        (mapping,) = recording.one(SERVICE).inputs["loadBalancers"]
        assert (mapping["containerName"], mapping["containerPort"]) == ("rag-service", 8000)

    def test_the_api_starts_with_the_environment_it_is_given(self) -> None:
        for changes in ({}, PUBLIC, OPENAI, {**PUBLIC, **OPENAI}):
            recording = service_with(**changes)
            injected = dict.fromkeys(secrets(recording), "injected")
            settings = ApiSettings.from_environment({**variables(recording), **injected})
            assert settings.pipeline.region == "eu-central-1"
            assert bool(settings.openai) is ("answerProvider" in changes)
            assert bool(settings.bearer_token) is ("bearerTokenSecretArn" in changes), "anyone could ask"

    def test_the_api_finds_the_collection_and_waits_as_long_as_configured(self) -> None:
        recording = service_with(ragRequestTimeoutSeconds=130, albIdleTimeoutSeconds=140)
        collection = recording.one("aws:opensearch/serverlessCollection:ServerlessCollection")
        assert variables(recording)["AWS_REGION"] == "eu-central-1"
        assert variables(recording)["OPENSEARCH_ENDPOINT"] == collection.outputs["collectionEndpoint"]
        assert variables(recording)["REQUEST_TIMEOUT_SECONDS"] == "130"

    def test_secrets_are_injected_exactly_when_they_are_configured(self) -> None:
        assert secrets(service_with()) == {}
        assert secrets(service_with(openaiApiKeySecretArn=KEY_SECRET)) == {"OPENAI_API_KEY": KEY_SECRET}
        both = secrets(service_with(**PUBLIC, **OPENAI))
        assert both == {"BEARER_TOKEN": TOKEN_SECRET, "OPENAI_API_KEY": KEY_SECRET}
        plain = variables(service_with(**PUBLIC, **OPENAI))
        assert not {"BEARER_TOKEN", "OPENAI_API_KEY"} & set(plain), "a secret would stand in the open"

    def test_log_lines_go_to_the_promised_group_without_holding_up_requests(self) -> None:
        recording = service_with(logRetentionDays=14)
        group = recording.one(LOG_GROUP, "rag-task-logs").inputs
        assert (group["name"], group["retentionInDays"]) == ("/ecs/rag-api-dev", 14)
        logging = container(recording)["logConfiguration"]
        assert logging["logDriver"] == "awslogs"
        assert logging["options"] == {
            "awslogs-group": "/ecs/rag-api-dev",
            "awslogs-region": "eu-central-1",
            "awslogs-stream-prefix": "ecs",
            "mode": "non-blocking",
            "max-buffer-size": "25m",
        }

    def test_names_that_people_type_have_no_suffix_where_none_is_set(self) -> None:
        recording = service_with(nameSuffix="")
        assert recording.one(TASK_DEFINITION).inputs["family"] == "rag-api"
        assert recording.one(LOG_GROUP, "rag-task-logs").inputs["name"] == "/ecs/rag-api"

    def test_the_health_check_needs_only_python_and_keeps_to_ecs_limits(self) -> None:
        check = container(service_with())["healthCheck"]
        assert check["command"][:3] == ["CMD", "python", "-c"], "the image has no curl"
        compile(check["command"][3], "health check", "exec")
        assert "http://127.0.0.1:8000/healthz" in check["command"][3]
        # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html
        assert 5 <= check["interval"] <= 300
        assert 2 <= check["timeout"] <= 60
        assert 1 <= check["retries"] <= 10
        assert 0 <= check["startPeriod"] <= 300
        assert check["timeout"] < check["interval"]

    def test_the_container_cannot_change_itself_and_may_finish_its_requests(self) -> None:
        made = container(service_with())
        dockerfile = (PROJECT_ROOT / "rag_api" / "Dockerfile").read_text(encoding="utf-8")
        graceful = int(dockerfile.split('"--timeout-graceful-shutdown", "')[1].split('"')[0])
        assert made["readonlyRootFilesystem"] is True
        assert graceful < made["stopTimeout"] <= 120, "ECS would kill the server in the middle of an answer"


class TestPermissions:
    def test_only_ecs_tasks_may_take_the_two_roles(self) -> None:
        recording = service_with()
        for name in ("rag-task-role", "rag-task-execution"):
            trust = json.loads(recording.one(ROLE, name).inputs["assumeRolePolicy"])
            assert [item["Principal"] for item in trust["Statement"]] == [
                {"Service": "ecs-tasks.amazonaws.com"}
            ]

    def test_the_task_uses_the_roles_for_what_they_are_for(self) -> None:
        recording = service_with()
        task = recording.one(TASK_DEFINITION)
        assert refers_to(task, "taskRoleArn", recording.one(ROLE, "rag-task-role"))
        assert refers_to(task, "executionRoleArn", recording.one(ROLE, "rag-task-execution"))
        assert task.inputs["taskRoleArn"] != task.inputs["executionRoleArn"]

    def test_the_application_starts_with_no_permission(self) -> None:
        recording = service_with()
        role = recording.one(ROLE, "rag-task-role").outputs["name"]
        assert not [item for item in recording.of_type(ROLE_POLICY) if item.inputs["role"] == role]

    def test_ecs_may_pull_this_image_write_this_log_and_nothing_else(self) -> None:
        recording = service_with()
        repository = recording.one(REPOSITORY).outputs["arn"]
        log_group = recording.one(LOG_GROUP, "rag-task-logs").outputs["arn"]
        assert execution_actions(recording) == {
            "logs:CreateLogStream": [f"{log_group}:log-stream:*"],
            "logs:PutLogEvents": [f"{log_group}:log-stream:*"],
            "ecr:GetAuthorizationToken": ["*"],
            "ecr:BatchCheckLayerAvailability": [repository],
            "ecr:BatchGetImage": [repository],
            "ecr:GetDownloadUrlForLayer": [repository],
        }

    def test_ecs_may_read_the_configured_secrets_only(self) -> None:
        actions = execution_actions(service_with(**PUBLIC, **OPENAI))
        assert actions["secretsmanager:GetSecretValue"] == [TOKEN_SECRET, KEY_SECRET]

    def test_an_image_of_another_registry_needs_no_permission_to_pull(self) -> None:
        actions = execution_actions(service_with(ragImage=f"ghcr.io/acme/rag@{DIGEST}"))
        assert not [action for action in actions if action.startswith("ecr:")]

    def test_an_image_of_a_private_ecr_repository_is_pulled_by_its_arn(self) -> None:
        image = f"111122223333.dkr.ecr.eu-central-1.amazonaws.com/team/rag@{DIGEST}"
        actions = execution_actions(service_with(ragImage=image))
        assert actions["ecr:BatchGetImage"] == ["arn:aws:ecr:eu-central-1:111122223333:repository/team/rag"]

    @pytest.mark.parametrize(
        ("image", "partition", "arn"),
        [
            (
                "111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/rag@sha256:0",
                "aws-cn",
                "arn:aws-cn:ecr:cn-north-1:111122223333:repository/rag",
            ),
            ("public.ecr.aws/acme/rag@sha256:0", "aws", None),
            ("ghcr.io/111122223333.dkr.ecr.eu-central-1.amazonaws.com/rag@sha256:0", "aws", None),
            ("", "aws", None),
        ],
    )
    def test_the_repository_is_told_from_the_image(self, image: str, partition: str, arn: str | None) -> None:
        assert repository_arn_of(image, partition) == arn


class TestImage:
    def test_the_repository_scans_what_is_pushed_and_keeps_a_bounded_number(self) -> None:
        recording = service_with()
        assert recording.one(REPOSITORY).inputs["imageScanningConfiguration"] == {"scanOnPush": True}
        policy = json.loads(recording.one("aws:ecr/lifecyclePolicy:LifecyclePolicy").inputs["policy"])
        assert policy == keep_latest(30), "images would be kept, and paid for, for ever"

    def test_a_repository_with_protected_images_is_not_destroyed_with_them(self) -> None:
        kept = service_with(protectData=True, allowedAccountIds=["111122223333"]).one(REPOSITORY)
        assert kept.protect
        assert kept.retain_on_delete
        assert kept.inputs["forceDelete"] is False
        loose = service_with().one(REPOSITORY)
        assert not loose.protect
        assert loose.inputs["forceDelete"] is True, "destroy would stop at a repository that holds images"

    def test_an_image_by_digest_needs_no_repository_and_no_build(self) -> None:
        recording = service_with(ragImage=f"ghcr.io/acme/rag@{DIGEST}")
        assert container(recording)["image"] == f"ghcr.io/acme/rag@{DIGEST}"
        assert not recording.of_type(REPOSITORY)
        assert not recording.of_type(IMAGE)


class TestExposure:
    def test_by_default_only_the_network_reaches_the_api(self) -> None:
        recording = service_with()
        balancer = recording.one(BALANCER).inputs
        assert balancer["internal"] is True
        assert balancer["subnets"] == subnet_ids(recording, "public"), "without NAT workloads sit there"
        (listener,) = recording.of_type(LISTENER)
        assert (listener.inputs["protocol"], listener.inputs["port"]) == ("HTTP", 80)
        assert "sslPolicy" not in listener.inputs
        assert callers(recording) == {(80, "10.20.0.0/16")}

    def test_an_internal_balancer_sits_in_private_subnets_where_workloads_do(self) -> None:
        recording = service_with(natGateways="single")
        assert recording.one(BALANCER).inputs["subnets"] == subnet_ids(recording, "private")

    def test_with_a_certificate_an_internal_api_speaks_https_to_the_network_only(self) -> None:
        recording = service_with(certificateArn=CERTIFICATE)
        assert recording.one(BALANCER).inputs["internal"] is True
        assert recording.one(LISTENER, "rag-balancer-https").inputs["protocol"] == "HTTPS"
        assert callers(recording) == {(80, "10.20.0.0/16"), (443, "10.20.0.0/16")}

    def test_a_public_api_is_encrypted_and_open_on_two_ports_only(self) -> None:
        recording = service_with(**PUBLIC, natGateways="single")
        balancer = recording.one(BALANCER).inputs
        assert balancer["internal"] is False
        assert balancer["subnets"] == subnet_ids(recording, "public")
        assert callers(recording) == {(80, "0.0.0.0/0"), (443, "0.0.0.0/0")}
        listener = recording.one(LISTENER, "rag-balancer-https").inputs
        assert (listener["protocol"], listener["port"]) == ("HTTPS", 443)
        assert listener["certificateArn"] == CERTIFICATE
        assert "TLS13-1-2" in listener["sslPolicy"], "old versions of TLS would be accepted"

    def test_plain_http_is_only_ever_redirected_where_there_is_a_certificate(self) -> None:
        redirect = service_with(**PUBLIC).one(LISTENER, "rag-balancer-http").inputs
        assert (redirect["protocol"], redirect["port"]) == ("HTTP", 80)
        assert redirect["defaultActions"] == [
            {
                "type": "redirect",
                "redirect": {"protocol": "HTTPS", "port": "443", "statusCode": "HTTP_301"},
            }
        ], "tokens would travel in clear"

    def test_a_certificate_that_comes_or_goes_changes_no_listener_of_another_port(self) -> None:
        with_it, without = service_with(certificateArn=CERTIFICATE), service_with()
        ports = [
            {item.name: item.inputs["port"] for item in run.of_type(LISTENER)} for run in (with_it, without)
        ]
        assert ports == [{"rag-balancer-http": 80, "rag-balancer-https": 443}, {"rag-balancer-http": 80}], (
            "AWS refuses a second listener on a port that is still taken"
        )

    def test_a_new_balancer_waits_for_the_old_one_to_leave_the_target_group(self) -> None:
        assert service_with().one(BALANCER).delete_before_replace, (
            "a target group serves one balancer at a time"
        )

    def test_the_tasks_are_reached_by_the_balancer_alone(self) -> None:
        recording = service_with(**PUBLIC)
        balancer, tasks = recording.one(GROUP, "rag-balancer-group"), recording.one(GROUP, "rag-tasks")
        into_tasks = [rule for rule in rules(recording, INGRESS) if refers_to(rule, "securityGroupId", tasks)]
        assert len(into_tasks) == 1
        assert "cidrIpv4" not in into_tasks[0].inputs, "the balancer's token check could be passed by"
        assert refers_to(into_tasks[0], "referencedSecurityGroupId", balancer)
        assert (into_tasks[0].inputs["fromPort"], into_tasks[0].inputs["toPort"]) == (8000, 8000)
        service = recording.one(SERVICE)
        assert tasks.urn in service.property_dependencies["networkConfiguration"]

    def test_the_balancer_reaches_the_tasks_and_nothing_else(self) -> None:
        recording = service_with()
        balancer, tasks = recording.one(GROUP, "rag-balancer-group"), recording.one(GROUP, "rag-tasks")
        out = [rule for rule in rules(recording, EGRESS) if refers_to(rule, "securityGroupId", balancer)]
        assert len(out) == 1
        assert refers_to(out[0], "referencedSecurityGroupId", tasks)
        assert recording.one(BALANCER).property_dependencies["securityGroups"] == {balancer.urn}

    def test_tasks_call_out_over_https_and_to_the_answer_service(self) -> None:
        def ports(recording: Recording) -> list[int]:
            tasks = recording.one(GROUP, "rag-tasks")
            out = [rule for rule in rules(recording, EGRESS) if refers_to(rule, "securityGroupId", tasks)]
            return sorted(rule.inputs["fromPort"] for rule in out)

        assert ports(service_with()) == [443]
        assert ports(service_with(**OPENAI)) == [443]
        own = service_with(**OPENAI, openaiBaseUrl="http://vllm.internal:8001/v1")
        assert ports(own) == [443, 8001], "answers would never arrive"

    def test_an_answer_service_without_a_port_is_reached_on_its_scheme_s_port(self) -> None:
        sections, _ = read_sections(
            {
                "region": "eu-central-1",
                "availabilityZones": ["eu-central-1a", "eu-central-1b"],
                **OPENAI,
                "openaiBaseUrl": "http://vllm.internal/v1",
            }
        )
        assert sections
        assert outgoing_ports(sections.rag_service) == (80, 443)


class TestBalancer:
    def test_the_balancer_waits_longer_than_the_api_and_drops_malformed_headers(self) -> None:
        balancer = service_with(albIdleTimeoutSeconds=170).one(BALANCER).inputs
        assert balancer["idleTimeout"] == 170
        assert balancer["dropInvalidHeaderFields"] is True
        assert balancer["loadBalancerType"] == "application"

    def test_a_protected_stack_can_delete_its_balancer_to_go_to_sleep(self) -> None:
        balancer = service_with(protectData=True, allowedAccountIds=["111122223333"]).one(BALANCER)
        assert balancer.inputs["enableDeletionProtection"] is False, "AWS would refuse to take it down"
        assert not balancer.protect

    def test_the_api_keeps_idle_connections_longer_than_the_balancer(self) -> None:
        recording = service_with(albIdleTimeoutSeconds=170)
        environment = {item["name"]: item["value"] for item in container(recording)["environment"]}
        idle = recording.one(BALANCER).inputs["idleTimeout"]
        assert int(environment["UVICORN_TIMEOUT_KEEP_ALIVE"]) > idle, (
            "the balancer would answer 502 now and then"
        )

    def test_targets_are_tasks_that_answer_the_health_check(self) -> None:
        group = service_with().one(TARGET_GROUP).inputs
        assert (group["targetType"], group["protocol"], group["port"]) == ("ip", "HTTP", 8000)
        assert group["healthCheck"]["path"] == "/healthz"
        assert group["healthCheck"]["timeout"] < group["healthCheck"]["interval"]

    def test_a_leaving_task_may_finish_the_longest_request(self) -> None:
        group = service_with(ragRequestTimeoutSeconds=130, albIdleTimeoutSeconds=140).one(TARGET_GROUP)
        assert group.inputs["deregistrationDelay"] == 130

    def test_the_listener_forwards_to_the_group_of_the_service(self) -> None:
        recording = service_with()
        listener, group = recording.one(LISTENER), recording.one(TARGET_GROUP)
        assert listener.inputs["defaultActions"] == [
            {"type": "forward", "targetGroupArn": group.outputs["arn"]}
        ]
        assert recording.one(SERVICE).inputs["loadBalancers"][0]["targetGroupArn"] == group.outputs["arn"]

    def test_the_address_tells_how_to_call_it(self) -> None:
        plain, encrypted = service_with(), service_with(**PUBLIC)
        for recording, scheme in ((plain, "http"), (encrypted, "https")):
            service = recording.one("aiplatform:index:RagService")
            host = recording.one(BALANCER).outputs["dnsName"]
            assert recording.registered_outputs[service.urn]["url"] == f"{scheme}://{host}"


@pytest.fixture(scope="module")
def long_names() -> Recording:
    """A project and a stack with long names."""
    config = replace(load_stack_config(PROJECT_ROOT, "dev"), project="ai-platform-research")
    return record_program(build, config, "feature-vector-search-eu-central-1")


class TestNames:
    def test_balancer_and_target_group_fit_32_characters_and_are_never_fixed(
        self, long_names: Recording
    ) -> None:
        for kind in (BALANCER, TARGET_GROUP):
            resource = long_names.one(kind)
            assert "name" not in resource.inputs, "its replacement would collide with it"
            assert len(resource.name) + AUTO_NAME_LENGTH <= 32, "AWS would refuse the name"
            assert not resource.name.startswith("internal-"), "AWS keeps this start to itself"

    def test_roles_fit_64_characters(self, long_names: Recording) -> None:
        for role in long_names.of_type(ROLE):
            assert len(role.name) + AUTO_NAME_LENGTH <= 64


def subnet_ids(recording: Recording, tier: str) -> list[str]:
    """The ids of the subnets of one tier, in the order of the zones."""
    return recording.one("awsx:ec2:Vpc").outputs[f"{tier}SubnetIds"]


def callers(recording: Recording) -> set[tuple[int, str]]:
    """Port and address block of whoever may reach the balancer."""
    group = recording.one(GROUP, "rag-balancer-group")
    found = [rule for rule in rules(recording, INGRESS) if refers_to(rule, "securityGroupId", group)]
    return {(rule.inputs["fromPort"], rule.inputs["cidrIpv4"]) for rule in found}
