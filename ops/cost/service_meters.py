"""What is paid for by the call: functions, queues, topics, state machines, logs, alarms, keys and drills."""

from collections.abc import Callable, Iterator, Mapping

from ops.capture.recording import RecordedResource
from ops.cost.charge import MONTH_HOURS, Free, Item, Meter, Rates, Unknown
from ops.cost.task_meters import embedding_tokens, question_tokens
from ops.cost.usage import Usage

FLOW_LOG = "aws:ec2/flowLog:FlowLog"
# Lambda waits at a queue with five long polls of 20 seconds, each of them a request, also while nothing comes.
# https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
POLLERS, POLL_SECONDS = 5, 20
# A notification of S3 sends a message; the function receives and deletes it.
REQUESTS_PER_DOCUMENT = 3
DRILL_MINUTES = 2
# https://aws.amazon.com/lambda/pricing/
INCLUDED_TMP_MB = 512
# Target tracking of an ECS service makes one alarm to scale out and one to scale in, of each metric.
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-autoscaling-targettracking.html
ALARMS_PER_METRIC = 2
DAYS_PER_MONTH = MONTH_HOURS / 24
# A month's log that never expires is counted for a year: it grows for ever.
KEPT_WITHOUT_LIMIT_DAYS = 365

# Calls in a busy month and seconds of each, by the component that a function belongs to.
CALLS: Mapping[str, Callable[[Usage], tuple[float, float]]] = {
    "aiplatform:index:Orchestrator": lambda usage: (usage.function_questions, usage.answer_seconds),
    "aiplatform:index:Ingestion": lambda usage: (usage.documents, usage.document_seconds),
    "aiplatform:index:TrainingProgress": lambda usage: (usage.training_runs * usage.run_checks, 2),
    # Called by a deployment that makes an index, for as long as it waits for the data policy.
    "aiplatform:index:VectorStore": lambda usage: (2, 60),
}


def function(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    component = _caller(resource, rates)
    if component is None:
        yield Unknown("how often this function is called is in no usage")
        return
    calls, seconds = CALLS[component](rates.usage)
    kind = "arm64" if "arm64" in (resource.inputs.get("architectures") or ()) else "x86"
    gb = float(resource.inputs.get("memorySize") or 128) / 1024
    yield rates.charge("Lambda", "requests", 0, calls / 1e6)
    yield rates.charge("Lambda", f"{kind} compute", 0, calls * seconds * gb)
    if float((resource.inputs.get("ephemeralStorage") or {}).get("size") or 0) > INCLUDED_TMP_MB:
        yield Unknown(f"no price for more than {INCLUDED_TMP_MB} MB of /tmp")
    environment = (resource.inputs.get("environment") or {}).get("variables") or {}
    if component == "aiplatform:index:Orchestrator":
        yield from question_tokens(environment, calls, rates)
    elif component == "aiplatform:index:Ingestion":
        yield from embedding_tokens(environment, calls * rates.usage.document_tokens, rates)


def _caller(resource: RecordedResource, rates: Rates) -> str | None:
    kinds = (item.type for item in rates.index.ancestors(resource))
    return next((kind for kind in kinds if kind in CALLS), None)


def event_source(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    if ":sqs:" not in str(resource.inputs.get("eventSourceArn")):
        yield Unknown("no meter for an event source that is no queue")
        return
    enabled = resource.inputs.get("enabled", True)
    polls = POLLERS * MONTH_HOURS * 3600 / POLL_SECONDS if enabled else 0
    requests = polls + rates.usage.documents * REQUESTS_PER_DOCUMENT * bool(enabled)
    yield rates.charge("SQS", "requests", polls / 1e6, requests / 1e6, "SQS requests, empty polls with them")


def topic(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    yield rates.charge("SNS", "emails", 0, rates.usage.alarm_emails / 100_000)


def state_machine(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    if resource.inputs.get("type", "STANDARD") != "STANDARD":
        yield Unknown("no meter for an express state machine")
        return
    usage = rates.usage
    yield rates.charge("Step Functions", "transitions", 0, usage.training_runs * usage.run_transitions / 1000)


def log_group(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    """Kept logs are counted as they came in, though AWS keeps them packed: the sum is the most that it can be."""
    flows = any(rates.index.with_input(FLOW_LOG, "logDestination", resource.outputs.get("arn")))
    gb = rates.usage.flow_log_gb if flows else rates.usage.log_gb
    log_class = resource.inputs.get("logGroupClass") or "STANDARD"
    if log_class != "STANDARD":
        yield Unknown(f"no price for logs of class {log_class}")
        return
    days = float(resource.inputs.get("retentionInDays") or KEPT_WITHOUT_LIMIT_DAYS)
    yield rates.charge("CloudWatch", "logs taken in", 0, gb)
    yield rates.charge("CloudWatch", "logs kept", 0, gb * days / DAYS_PER_MONTH)


def flow_log(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    if resource.inputs.get("logDestinationType", "cloud-watch-logs") == "cloud-watch-logs":
        yield Free("its log group is priced")
    else:
        yield Unknown("no meter for flow logs that do not go to CloudWatch")


def alarm(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    queries = resource.inputs.get("metricQueries")
    if queries or float(resource.inputs.get("period") or 60) < 60:
        yield Unknown("no meter for an alarm over several metrics or below a minute")
        return
    yield rates.charge("CloudWatch", "alarm", 1, 1)


def scaling_policy(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    if resource.inputs.get("policyType") != "TargetTrackingScaling":
        yield Free("the alarms that start it are priced one by one")
        return
    if resource.inputs.get("serviceNamespace") != "ecs":
        yield Unknown("how many alarms it makes for itself is not known")
        return
    said = resource.inputs.get("targetTrackingScalingPolicyConfiguration") or {}
    queries = (said.get("customizedMetricSpecification") or {}).get("metrics") or ()
    metrics = sum("metricStat" in query for query in queries) or 1
    count = ALARMS_PER_METRIC * metrics
    yield rates.charge("CloudWatch", "alarm", count, count, "alarms that scaling makes for itself")


def cluster(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    settings = {item["name"]: item["value"] for item in resource.inputs.get("settings") or ()}
    insights = settings.get("containerInsights", "disabled")
    if insights == "disabled":
        yield Free("a cluster costs nothing without Container Insights")
        return
    if insights != "enabled":
        yield Unknown(f"no price for Container Insights that are {insights}")
        return
    count = rates.usage.insights_metrics
    yield rates.charge("CloudWatch", "metric", count, count, "metrics of Container Insights")


def key(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    yield rates.charge("KMS", "key", 1, 1)


def experiment(resource: RecordedResource, rates: Rates) -> Iterator[Item]:
    actions = len(resource.inputs.get("actions") or ())
    yield rates.charge("FIS", "action", 0, rates.usage.drills * DRILL_MINUTES * actions)


METERS: dict[str, Meter] = {
    "aws:lambda/function:Function": function,
    "aws:lambda/eventSourceMapping:EventSourceMapping": event_source,
    "aws:sns/topic:Topic": topic,
    "aws:sfn/stateMachine:StateMachine": state_machine,
    "aws:cloudwatch/logGroup:LogGroup": log_group,
    FLOW_LOG: flow_log,
    "aws:cloudwatch/metricAlarm:MetricAlarm": alarm,
    "aws:appautoscaling/policy:Policy": scaling_policy,
    "aws:ecs/cluster:Cluster": cluster,
    "aws:kms/key:Key": key,
    "aws:fis/experimentTemplate:ExperimentTemplate": experiment,
}
