"""The model server as a service: where it runs, how it is reached, and how many there are."""

import json
from typing import Any

import pytest

from components.config_sections import RagServiceConfig
from components.inference_containers import METRIC_NAMESPACE
from components.rag_task import answer_variables
from gpu_node.serving import metrics
from inference_workloads import (
    ANSWERING,
    HOURS,
    LAKE_MODEL,
    fleet_with,
    id_of,
    served,
    served_on_neuron,
    server,
    variables,
)
from ops.capture.recording import RecordedResource, Recording
from rag_api.settings import ApiSettings

SERVICE = "aws:ecs/service:Service"
TASK_DEFINITION = "aws:ecs/taskDefinition:TaskDefinition"
BALANCER = "aws:lb/loadBalancer:LoadBalancer"
LISTENER = "aws:lb/listener:Listener"
TARGET_GROUP = "aws:lb/targetGroup:TargetGroup"
TARGET = "aws:appautoscaling/target:Target"
POLICY = "aws:appautoscaling/policy:Policy"
ACTION = "aws:appautoscaling/scheduledAction:ScheduledAction"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
OPENAI_KEY = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:openai-AbCdEf"
AUTO_NAME_LENGTH = 8


def service(recording: Recording) -> RecordedResource:
    return recording.one(SERVICE, "inference-service")


def tracking(recording: Recording, name: str) -> dict[str, Any]:
    return recording.one(POLICY, name).inputs["targetTrackingScalingPolicyConfiguration"]


class TestService:
    def test_callers_who_find_no_server_raise_an_alarm_that_somebody_hears(self) -> None:
        recording = served()
        alarm = recording.one("aws:cloudwatch/metricAlarm:MetricAlarm", "inference-unanswered").inputs
        balancer = recording.one(BALANCER, "inference-balancer").outputs["arnSuffix"]
        assert (alarm["metricName"], alarm["dimensions"]) == (
            "HTTPCode_ELB_503_Count",
            {"LoadBalancer": balancer},
        )
        topic = recording.one("aws:sns/topic:Topic", "alarms-topic").outputs["arn"]
        assert alarm["alarmActions"] == [topic], "a deployment that was given up would go unnoticed"

    def test_an_api_that_does_not_ask_bedrock_may_not_ask_it(self) -> None:
        answering = {
            item.name
            for item in served(**ANSWERING, answerProvider="inference").of_type(
                "aws:iam/rolePolicy:RolePolicy"
            )
        }
        assert "models-answer-rag-task-role" not in answering and "models-embed-rag-task-role" in answering

    def test_it_runs_on_its_fleet_and_nowhere_else(self) -> None:
        recording = served()
        made = service(recording).inputs
        provider = recording.one("aws:ecs/capacityProvider:CapacityProvider", "gpu-serving-provider")
        assert made["capacityProviderStrategies"] == [
            {"capacityProvider": provider.outputs["name"], "base": 0, "weight": 1}
        ]
        assert "launchType" not in made, "AWS refuses both together"
        assert "networkConfiguration" not in made, "AWS refuses it in a bridge network"
        assert made["forceNewDeployment"] is True, "another fleet would replace the service"

    def test_it_waits_for_what_no_output_carries(self) -> None:
        recording = served()
        for kind, name in (
            (LISTENER, "inference-balancer-http"),
            ("aws:ecs/clusterCapacityProviders:ClusterCapacityProviders", "cluster-capacity"),
            ("aws:iam/rolePolicy:RolePolicy", "inference-task-execution-policy"),
            ("aws:efs/mountTarget:MountTarget", "shared-files-eu-central-1a"),
        ):
            assert recording.one(kind, name).urn in service(recording).dependencies, (
                f"the first task could fail without {name}"
            )

    def test_a_model_may_load_as_long_as_configured_before_its_server_is_given_up(self) -> None:
        made = service(served(inferenceStartMinutes=45)).inputs
        assert made["healthCheckGracePeriodSeconds"] == 2700

    def test_a_deployment_that_fails_is_rolled_back_and_not_waited_for(self) -> None:
        made = service(served()).inputs
        assert made["deploymentCircuitBreaker"] == {"enable": True, "rollback": True}
        assert made["waitForSteadyState"] is False, "spot capacity may take hours to come"

    def test_old_servers_stay_until_new_ones_answer_where_there_is_room(self) -> None:
        for nodes, percentages in ((2, (0, 100)), (3, (100, 200))):
            made = service(served(**fleet_with(maximum=nodes))).inputs
            found = made["deploymentMinimumHealthyPercent"], made["deploymentMaximumPercent"]
            assert found == percentages

    def test_one_neuron_node_runs_one_server(self) -> None:
        constraints = service(served_on_neuron()).inputs["placementConstraints"]
        assert constraints == [{"type": "distinctInstance"}], "two would map the same devices"
        assert "placementConstraints" not in service(served()).inputs

    def test_servers_are_not_moved_for_the_sake_of_even_zones(self) -> None:
        assert service(served()).inputs["availabilityZoneRebalancing"] == "DISABLED"

    def test_tags_reach_the_tasks(self) -> None:
        made = service(served()).inputs
        assert (made["propagateTags"], made["enableEcsManagedTags"]) == ("SERVICE", True)

    def test_a_sleeping_stack_serves_no_model(self) -> None:
        recording = served(asleep=True)
        assert not [item for item in recording.resources if item.name.startswith("inference")]

    def test_its_address_and_the_model_s_name_are_told(self) -> None:
        recording = served(inferenceModel=LAKE_MODEL)
        host = recording.one(BALANCER, "inference-balancer").outputs["dnsName"]
        assert recording.exports["inference_url"] == f"http://{host}"
        assert recording.exports["inference_model"] == "my-7b"


class TestBalancer:
    def test_only_the_network_reaches_the_server(self) -> None:
        recording = served()
        assert recording.one(BALANCER, "inference-balancer").inputs["internal"] is True
        group = recording.one(GROUP, "inference-balancer-group")
        callers = [
            (rule.inputs["fromPort"], rule.inputs["toPort"], rule.inputs["cidrIpv4"])
            for rule in recording.of_type(INGRESS)
            if group.urn in rule.property_dependencies.get("securityGroupId", frozenset())
        ]
        assert callers == [(80, 80, "10.20.0.0/16")], "anyone could use the model"

    def test_it_reaches_the_ports_that_docker_gives_out_on_the_fleet_s_nodes(self) -> None:
        recording = served()
        balancer = id_of(recording, GROUP, "inference-balancer-group")
        nodes = id_of(recording, GROUP, "gpu-serving-nodes")
        out = recording.one(EGRESS, "inference-balancer-to-tasks").inputs
        into = recording.one(INGRESS, "inference-balancer-into-tasks").inputs
        assert (out["securityGroupId"], out["referencedSecurityGroupId"]) == (balancer, nodes)
        assert (into["securityGroupId"], into["referencedSecurityGroupId"]) == (nodes, balancer)
        for rule in (out, into):
            assert (rule["fromPort"], rule["toPort"]) == (32768, 65535)

    def test_targets_are_ports_of_nodes_that_answer_vllm_s_health_check(self) -> None:
        recording = served()
        group = recording.one(TARGET_GROUP, "inference-balancer-tasks")
        assert group.inputs["targetType"] == "instance", "tasks of a bridge network have no address"
        assert group.inputs["healthCheck"]["path"] == "/health"
        (mapping,) = service(recording).inputs["loadBalancers"]
        assert mapping == {
            "targetGroupArn": group.outputs["arn"],
            "containerName": server(recording)["name"],
            "containerPort": server(recording)["portMappings"][0]["containerPort"],
        }

    def test_a_long_answer_does_not_pile_others_up_behind_it(self) -> None:
        group = served().one(TARGET_GROUP, "inference-balancer-tasks").inputs
        assert group["loadBalancingAlgorithmType"] == "least_outstanding_requests"

    def test_a_leaving_server_may_finish_within_the_spot_market_s_notice(self) -> None:
        assert served().one(TARGET_GROUP, "inference-balancer-tasks").inputs["deregistrationDelay"] == 120

    def test_the_server_keeps_idle_connections_longer_than_the_balancer(self) -> None:
        recording = served()
        idle = recording.one(BALANCER, "inference-balancer").inputs["idleTimeout"]
        assert 300 <= idle < int(variables(server(recording))["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"])

    def test_names_fit_32_characters_and_are_never_fixed(self) -> None:
        recording = served()
        for kind, name in ((BALANCER, "inference-balancer"), (TARGET_GROUP, "inference-balancer-tasks")):
            assert "name" not in recording.one(kind, name).inputs
            assert len(name) + AUTO_NAME_LENGTH <= 32, "AWS would refuse the name"


class TestScaling:
    def test_the_service_has_at_least_one_server_and_scaling_decides_on_more(self) -> None:
        recording = served(**fleet_with(maximum=5), inferenceMinimumTasks=2, inferenceMaximumTasks=4)
        target = recording.one(TARGET, "inference-scaling-target").inputs
        assert (target["minCapacity"], target["maxCapacity"]) == (2, 4)
        assert service(recording).inputs["desiredCount"] == 2
        assert "desiredCount" in service(recording).ignore_changes

    def test_it_follows_the_requests_of_each_server(self) -> None:
        recording = served(inferenceRequestsPerTarget=90)
        policy = tracking(recording, "inference-scaling-requests")
        balancer = recording.one(BALANCER, "inference-balancer").outputs["arnSuffix"]
        group = recording.one(TARGET_GROUP, "inference-balancer-tasks").outputs["arnSuffix"]
        assert policy["targetValue"] == 90
        assert policy["predefinedMetricSpecification"] == {
            "predefinedMetricType": "ALBRequestCountPerTarget",
            "resourceLabel": f"{balancer}/{group}",
        }

    def test_it_follows_the_queue_that_the_servers_publish(self) -> None:
        recording = served(inferenceWaitingRequests=7)
        policy = tracking(recording, "inference-scaling-waiting")
        assert policy["targetValue"] == 7
        published = json.loads(metrics.embedded_metrics("vllm:num_requests_waiting 1", METRIC_NAMESPACE, "inference-dev", 0.0))  # fmt: skip
        (told,) = published["_aws"]["CloudWatchMetrics"]
        wanted = policy["customizedMetricSpecification"]
        assert wanted["namespace"] == told["Namespace"]
        assert wanted["metricName"] in [metric["Name"] for metric in told["Metrics"]]
        assert wanted["statistic"] == "Average", "the sum would count each line of each minute"
        assert [{"name": name, "value": published[name]} for (name,) in told["Dimensions"]] == wanted["dimensions"]  # fmt: skip

    def test_another_server_is_not_called_for_while_one_still_loads(self) -> None:
        recording = served(inferenceStartMinutes=15)
        for name in ("inference-scaling-requests", "inference-scaling-waiting"):
            assert tracking(recording, name)["scaleOutCooldown"] == 900, (
                "one queue would start the whole fleet"
            )

    def test_it_opens_and_closes_by_the_clock_of_its_time_zone(self) -> None:
        recording = served(**HOURS, **fleet_with(maximum=5), inferenceMinimumTasks=2, inferenceMaximumTasks=4)
        found = {
            item.name: (item.inputs["schedule"], item.inputs["scalableTargetAction"])
            for item in recording.of_type(ACTION)
        }
        assert found == {
            "inference-scaling-open": ("cron(0 8 ? * MON-FRI *)", {"minCapacity": 2, "maxCapacity": 4}),
            "inference-scaling-close": ("cron(0 18 ? * MON-FRI *)", {"minCapacity": 0, "maxCapacity": 0}),
        }
        target = recording.one(TARGET, "inference-scaling-target")
        for item in recording.of_type(ACTION):
            assert item.inputs["timezone"] == "Europe/Berlin"
            for key in ("resourceId", "scalableDimension", "serviceNamespace"):
                assert item.inputs[key] == target.inputs[key]
                assert target.urn in item.property_dependencies[key]

    def test_a_deployment_at_night_does_not_open_the_service(self) -> None:
        target = served(**HOURS).one(TARGET, "inference-scaling-target")
        assert set(target.ignore_changes) == {"minCapacity", "maxCapacity"}
        assert not served().one(TARGET, "inference-scaling-target").ignore_changes, (
            "without a schedule nothing else would bring a new number about"
        )
        assert not served().of_type(ACTION)


class TestAnswers:
    """One value turns the RAG API to the stack's own model."""

    def test_the_api_reads_its_model_server_s_address_and_model_and_wants_no_key(self) -> None:
        recording = served(**ANSWERING, answerProvider="inference", inferenceModel=LAKE_MODEL)
        settings = ApiSettings.from_environment(_api_variables(recording))
        assert settings.openai
        host = recording.one(BALANCER, "inference-balancer").outputs["dnsName"]
        assert settings.openai.base_url == f"http://{host}/v1"
        words = server(recording)["command"]
        names = words[words.index("--served-model-name") + 1 : words.index("--host")]
        assert settings.openai.model in names, "the server would answer 404"
        assert settings.openai.api_key == ""

    def test_another_model_does_not_change_the_api_before_the_server_has_it(self) -> None:
        before, after = (
            _api(served(**ANSWERING, answerProvider="inference", inferenceModel=model))
            for model in (LAKE_MODEL, "Qwen/Qwen2.5-7B-Instruct")
        )
        assert before == after, "the API would ask old servers for a model that they do not know"

    def test_openai_s_key_stays_away_from_the_own_server(self) -> None:
        made = _api(served(**ANSWERING, answerProvider="inference", openaiApiKeySecretArn=OPENAI_KEY))
        assert made["secrets"] == [], "it would travel through the network in clear"

    def test_the_api_may_call_the_balancer(self) -> None:
        recording = served(**ANSWERING, answerProvider="inference")
        rule = recording.one(EGRESS, "rag-tasks-out-to-inference").inputs
        balancer = id_of(recording, GROUP, "inference-balancer-group")
        assert rule["referencedSecurityGroupId"] == balancer
        assert (rule["fromPort"], rule["toPort"]) == (80, 80), "answers would never arrive"

    def test_an_api_that_answers_elsewhere_knows_nothing_of_the_server(self) -> None:
        recording = served(**ANSWERING)
        assert ApiSettings.from_environment(_api_variables(recording)).openai is None
        assert not [rule for rule in recording.of_type(EGRESS) if rule.name == "rag-tasks-out-to-inference"]

    def test_the_orchestrator_stays_with_bedrock(self) -> None:
        def orchestrators(recording: Recording) -> list[dict[str, Any]]:
            kinds = recording.of_type("aws:lambda/function:Function")
            return [item.inputs["environment"] for item in kinds if item.name.startswith("orchestrator")]

        assert orchestrators(served(**ANSWERING, answerProvider="inference")) == orchestrators(
            served(**ANSWERING)
        )

    def test_answers_from_a_server_that_is_not_there_are_a_fault_of_the_caller(self) -> None:
        config = RagServiceConfig(answer_provider="inference")
        with pytest.raises(ValueError, match="no server is given"):
            answer_variables(config, None)


def _api(recording: Recording) -> dict[str, Any]:
    (made,) = json.loads(recording.one(TASK_DEFINITION, "rag-task-definition").inputs["containerDefinitions"])
    return made


def _api_variables(recording: Recording) -> dict[str, str]:
    return variables(_api(recording))
