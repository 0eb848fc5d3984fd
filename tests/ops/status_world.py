"""A deployed stack for `python -m ops status`, in an account in memory: all is well until a test changes something."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ops.preflight.account import Account
from ops.stack_outputs import StackOutputs
from ops.status.command import AREAS
from ops.status.sections import Deployed, Section, read_section
from tests.ops.preflight_account import ACCOUNT_ID, REGION, FakeAccount

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
PLACE = f"{REGION}:{ACCOUNT_ID}"
QUEUE = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT_ID}/ingestion-events"
DEAD = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT_ID}/ingestion-dead-letters"
COLLECTION = "07tjusf2h91cunochc"
QUEUES = tuple(f"arn:aws:batch:{PLACE}:job-queue/training-{kind}" for kind in ("spot", "on-demand"))
ENVIRONMENT = f"arn:aws:batch:{PLACE}:compute-environment/training-capacity-spot"
OUTPUTS: Mapping[str, Any] = {
    "cluster": "ai-cluster",
    "rag_url": "http://rag-alb.example",
    "rag_service": "rag-service-1a2b3c",
    "inference_url": "http://inference.example",
    "inference_service": "inference-service-4d5e6f",
    "gpu_fleets": {"inference": "gpu-inference-group-7", "research": "gpu-research-group-8"},
    "training": {
        "state_machine_arn": f"arn:aws:states:{PLACE}:stateMachine:training",
        "spot_queue_arn": QUEUES[0],
        "on_demand_queue_arn": QUEUES[1],
        "job_definition_arn": f"arn:aws:batch:{PLACE}:job-definition/training:3",
    },
    "ingestion_queue": QUEUE,
    "ingestion_dead_letters": DEAD,
    "vector_endpoint": f"https://{COLLECTION}.{REGION}.aoss.amazonaws.com",
    "budget": "budget-monthly-9",
}


class World:
    """`service`, `deployment`, `group` and so on are what AWS tells; a test changes them before it reads."""

    def __init__(self) -> None:
        self.outputs = dict(OUTPUTS)
        self.service: dict[str, Any] = {
            "status": "ACTIVE", "desiredCount": 2, "runningCount": 2, "pendingCount": 0,
            "deployments": [{"status": "PRIMARY", "rolloutState": "COMPLETED"}],
            "loadBalancers": [{"targetGroupArn": f"arn:aws:elasticloadbalancing:{PLACE}:targetgroup/rag-tg/6d0"}],
        }  # fmt: skip
        self.deployments: list[dict[str, Any]] = [
            {"createdAt": NOW - timedelta(days=2), "status": "SUCCESSFUL"}
        ]
        self.targets = ["healthy", "healthy"]
        self.nodes = ["InService", "InService"]
        self.weights: list[str] = []
        self.more_runs = False
        self.asleep = False
        self.budget_health: dict[str, str] = {}
        self.activities: list[dict[str, Any]] = []
        self.environment: dict[str, Any] = {"status": "VALID", "state": "ENABLED"}
        self.executions: list[str] = []
        self.counts = {QUEUE: (3, 1, 0), DEAD: (0, 0, 0)}
        self.metrics: dict[str, list[float]] = {
            "ApproximateAgeOfOldestMessage": [40.0],
            "SearchableDocuments": [1234.0],
            "StorageUsedInS3": [48.0 * 1024**2],
        }
        self.collection: dict[str, Any] | None = {
            "id": COLLECTION,
            "name": "ai-platform-prod",
            "status": "ACTIVE",
        }
        self.indexes = [("documents-1", "id-1")]
        self.alarms = {"training-run-failed": "OK"}
        self.spend: dict[str, Any] = {"ActualSpend": usd("120.5"), "ForecastedSpend": usd("280")}
        self.limit = usd("300.0")
        self.account = FakeAccount()
        self.account.answers = self._answers()

    def sections(self) -> dict[str, Section]:
        """Every section by its title."""
        return {area.title: read_section(area, self.deployed()) for area in AREAS}

    def section(self, title: str) -> Section:
        return next(read_section(area, self.deployed()) for area in AREAS if area.title == title)

    def text(self, title: str) -> str:
        """A section's lines, each with its state."""
        return "\n".join(f"{line.state}: {line.text}" for line in self.section(title).lines)

    def deployed(self) -> Deployed:
        account = Account(REGION, make_client=self.account.client)
        return Deployed(StackOutputs("prod", self.outputs), "ai-platform", account, NOW, self.asleep)

    def _answers(self) -> dict[str, Callable[..., Mapping[str, Any]]]:
        return {
            "DescribeServices": lambda **asked: {"services": [self.service] if self.service else [],
                                                 "failures": [] if self.service else [{"reason": "MISSING"}]},
            "ListServiceDeployments": lambda **asked: {"serviceDeployments": self.deployments},
            "DescribeTargetHealth": lambda **asked: {
                "TargetHealthDescriptions": [{"TargetHealth": {"State": state, "Description": f"is {state}"}} for state in self.targets]
            },
            "DescribeAutoScalingGroups": self._groups,
            "DescribeScalingActivities": self._activities,
            "DescribeJobQueues": lambda jobQueues: {
                "jobQueues": [_queue(arn) for arn in jobQueues]
            },
            "DescribeComputeEnvironments": lambda **asked: {"computeEnvironments": [
                {"computeEnvironmentName": "training-capacity-spot", "computeEnvironmentArn": ENVIRONMENT,
                 "computeResources": {"type": "SPOT", "maxvCpus": 64, "desiredvCpus": 8, "subnets": []}, **self.environment}
            ]},
            "ListExecutions": lambda **asked: {
                "executions": [execution(name) for name in self.executions], **({"nextToken": "more"} if self.more_runs else {})
            },
            "DescribeExecution": lambda executionArn: execution(executionArn.rpartition(":")[2]),
            "ListJobs": lambda jobQueue, **asked: {"jobSummaryList": [
                {"jobId": f"job-{name}", "jobName": f"{name}-1"} for name in self.executions if jobQueue == QUEUES[0]
            ]},
            "DescribeJobs": lambda jobs: {"jobs": [job(job_id) for job_id in jobs]},
            "GetQueueAttributes": self._attributes,
            "GetMetricData": self._metric_data,
            "BatchGetCollection": lambda ids: {"collectionDetails": [self.collection] if self.collection else []},
            "ListMetrics": self._list_metrics,
            "GetResources": self._resources,
            "DescribeAlarms": lambda AlarmNames: {"MetricAlarms": [
                {"AlarmName": name, "StateValue": self.alarms[name], "AlarmDescription": "A run failed.",
                 "StateTransitionedTimestamp": NOW} for name in AlarmNames
            ]},
            "GetCallerIdentity": lambda: {"Account": ACCOUNT_ID},
            "DescribeBudget": lambda AccountId, BudgetName: {"Budget": {
                "BudgetName": BudgetName, "BudgetType": "COST", "TimeUnit": "MONTHLY",
                "BudgetLimit": self.limit, "HealthStatus": self.budget_health, **({"CalculatedSpend": self.spend} if self.spend else {}),
            }},
        }  # fmt: skip

    def _groups(self, AutoScalingGroupNames: Any, NextToken: str = "") -> Mapping[str, Any]:
        """The first page is empty, and a group comes twice."""
        if not NextToken:
            return {"AutoScalingGroups": [], "NextToken": "more"}
        rows = [self._group(name) for name in AutoScalingGroupNames]
        return {"AutoScalingGroups": [*rows, *rows[:1]]}

    def _group(self, name: str) -> dict[str, Any]:
        nodes = [
            {"InstanceId": f"i-{number}", "AvailabilityZone": "eu-central-1a", "LifecycleState": state,
             "HealthStatus": "Healthy", "ProtectedFromScaleIn": False,
             **({"WeightedCapacity": self.weights[number]} if self.weights else {})}
            for number, state in enumerate(self.nodes)
        ]  # fmt: skip
        overrides = [
            {"InstanceType": f"g5.{weight}xlarge", "WeightedCapacity": weight} for weight in self.weights
        ]
        return {
            "MixedInstancesPolicy": {"LaunchTemplate": {"Overrides": overrides}},
            "AutoScalingGroupName": name, "MinSize": 0, "MaxSize": 4, "DesiredCapacity": 2, "DefaultCooldown": 300,
            "AvailabilityZones": ["eu-central-1a"], "HealthCheckType": "EC2", "CreatedTime": NOW,
            "Instances": nodes,
        }  # fmt: skip

    def _activities(self, AutoScalingGroupName: str, NextToken: str = "") -> Mapping[str, Any]:
        rows = [{"AutoScalingGroupName": AutoScalingGroupName, **row} for row in self.activities]
        return {"Activities": [*rows, *rows[:1]]}

    def _attributes(self, QueueUrl: str, AttributeNames: Any) -> Mapping[str, Any]:
        return {"Attributes": dict(zip(AttributeNames, map(str, self.counts[QueueUrl]), strict=True))}

    def _metric_data(self, MetricDataQueries: Any, NextToken: str = "", **asked: Any) -> Mapping[str, Any]:
        """The newest values come first; the first page has none of them."""
        if not NextToken:
            return {"MetricDataResults": [], "NextToken": "more"}
        names = {query["Id"]: query["MetricStat"]["Metric"]["MetricName"] for query in MetricDataQueries}
        return {
            "MetricDataResults": [
                {"Id": found, "Values": self.metrics.get(name, []), "Timestamps": []}
                for found, name in names.items()
            ]
        }

    def _list_metrics(self, Namespace: str, MetricName: str, Dimensions: Any) -> Mapping[str, Any]:
        rows = [
            {"Namespace": Namespace, "MetricName": MetricName,
             "Dimensions": [*Dimensions, {"Name": "IndexId", "Value": index_id}, {"Name": "IndexName", "Value": index}]}
            for index, index_id in self.indexes
        ]  # fmt: skip
        return {"Metrics": [*rows, *rows[:1]]}

    def _resources(self, TagFilters: Any, **asked: Any) -> Mapping[str, Any]:
        assert {item["Key"]: item["Values"] for item in TagFilters} == {
            "Project": ["ai-platform"],
            "Stack": ["prod"],
        }
        arns = [f"arn:aws:cloudwatch:{PLACE}:alarm:{name}" for name in self.alarms]
        return {"ResourceTagMappingList": [{"ResourceARN": arn} for arn in arns]}


def usd(amount: str) -> dict[str, str]:
    return {"Amount": amount, "Unit": "USD"}


def activity(description: str, cause: str = "", hours_ago: float = 1, **more: Any) -> dict[str, Any]:
    """As an Auto Scaling group tells what it did."""
    return {
        "ActivityId": f"{description}-{hours_ago}", "Description": description, "Cause": cause or "At 11:00 something",
        "StartTime": NOW - timedelta(hours=hours_ago), "StatusCode": "Successful", **more,
    }  # fmt: skip


def execution(name: str) -> dict[str, Any]:
    arn = f"arn:aws:states:{PLACE}:execution:training:{name}"
    machine = f"arn:aws:states:{PLACE}:stateMachine:training"
    started = NOW - timedelta(hours=3)
    return {
        "executionArn": arn,
        "stateMachineArn": machine,
        "name": name,
        "status": "RUNNING",
        "startDate": started,
    }


def job(job_id: str) -> dict[str, Any]:
    """On its second attempt, after a lost host."""
    hour = 3_600_000
    now = int(NOW.timestamp() * 1000)
    lost = {
        "startedAt": now - 3 * hour,
        "stoppedAt": now - 2 * hour,
        "statusReason": "Host EC2 (instance i-1) terminated.",
    }
    return {
        "jobId": job_id, "jobName": f"{job_id}-1", "jobQueue": QUEUES[0], "status": "RUNNING", "createdAt": now - 3 * hour,
        "startedAt": now - hour, "jobDefinition": "training:3", "attempts": [lost], "container": {},
    }  # fmt: skip


def _queue(arn: str) -> dict[str, Any]:
    return {
        "jobQueueName": arn.rpartition("/")[2], "jobQueueArn": arn, "state": "ENABLED", "priority": 1,
        "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": ENVIRONMENT}],
    }  # fmt: skip
