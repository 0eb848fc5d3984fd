"""What `python -m ops status` reads of each part of a stack, well and otherwise."""

from collections.abc import Callable

import pytest

from ops.status.sections import State
from recordings import recorded
from tests.ops.status_world import DEAD, OUTPUTS, QUEUE, World, activity, usd

Change = Callable[[World], object]
REBALANCE = "At 2026-12-02T11:00:00Z an instance was taken out of service in response to an EC2 instance rebalance recommendation."
GONE = "At 2026-12-02T11:00:00Z an instance was taken out of service in response to an EC2 health check indicating it has been terminated or stopped."
SHRINK = "At 2026-12-02T11:00:00Z a user request update changed the desired capacity, shrinking the capacity from 3 to 2."


def test_a_healthy_stack_is_well_in_every_part() -> None:
    sections = World().sections()
    wrong = {title: section.lines for title, section in sections.items() if section.state is not State.OK}
    assert wrong == {}
    told = "\n".join(line.text for section in sections.values() for line in section.lines)
    for words in (
        "2 of 2 tasks running",
        "2 of 2 targets healthy",
        "inference: 2 of 2 nodes in service (at most 4), 0 lost in 24 h",
        "about 3 messages waiting, 1 in work",
        "the oldest is 40 s old",
        "no dead letters",
        "documents-1: about 1,234 documents, 48 MiB stored",
        "none of 1 is ringing",
        "120.50 of 300.00 USD this month (40%)",
    ):
        assert words in told, f"the screen does not tell: {words}"


@pytest.mark.parametrize(
    ("title", "change", "words"),
    [
        ("RAG service", lambda w: w.service.update(runningCount=1, events=[{"message": "unable to place a task"}]),
         "1 of 2 tasks running; last: unable to place a task"),
        ("RAG service", lambda w: w.service.update(status="DRAINING"), "the service is DRAINING"),
        ("RAG service", lambda w: w.service["deployments"].append(
            {"taskDefinition": "arn:x/rag-api:8", "rolloutState": "FAILED", "rolloutStateReason": "circuit breaker"}),
         "the deployment of rag-api:8 failed: circuit breaker"),
        ("RAG service", lambda w: w.deployments.insert(0, {"createdAt": w.deployments[0]["createdAt"].replace(day=1, month=12),
                                                           "status": "ROLLBACK_SUCCESSFUL", "statusReason": "tasks failed to start"}),
         "was rolled back (ROLLBACK_SUCCESSFUL): tasks failed to start"),
        ("RAG service", lambda w: w.deployments[0].update(status="STOPPED", statusReason="by alice"),
         "the deployment of 2026-11-30 12:00 was stopped before it was complete: by alice"),
        ("RAG service", lambda w: w.service.update(runningCount=1, events=[{"message": "unable\n  to place"}]), "last: unable to place"),
        ("Model server", lambda w: w.targets.append("unhealthy"), "2 of 3 targets healthy: is unhealthy"),
        ("Model server", lambda w: w.targets.clear(), "0 of 0 targets healthy"),
        ("GPU fleets", lambda w: (w.nodes.pop(), w.activities.append(
            activity("Launching a new EC2 instance", StatusCode="Failed", StatusMessage="Could not launch Spot Instances. UnfulfillableCapacity"))),
         "1 of 2 nodes in service (at most 4), 0 lost in 24 h; the last start failed: Could not launch"),
        ("Training", lambda w: w.environment.update(status="INVALID", statusReason="CLIENT_ERROR - no such template"),
         "training-capacity-spot is invalid, 8 vCPUs now: CLIENT_ERROR - no such template"),
        ("Ingestion", lambda w: w.counts.update({DEAD: (10, 2, 0)}), "about 12 dead letters. See why: python -m ops redrive --stack prod --show"),
        ("Ingestion", lambda w: w.metrics.update(ApproximateAgeOfOldestMessage=[7300.0]), "the oldest is 2 h 2 min old: ingestion does not keep up"),
        ("Vector index", lambda w: w.collection.update(status="FAILED", failureMessage="no key"), "collection ai-platform-prod is failed: no key"),
        ("Vector index", lambda w: setattr(w, "collection", None), "there is no collection 07tjusf2h91cunochc any more"),
        ("Alarms", lambda w: w.alarms.update({"training-run-failed": "ALARM"}), "training-run-failed has been ringing since 2026-12-02 12:00: A run failed."),
        ("Cost", lambda w: w.spend.update(ActualSpend=usd("301")), "301.00 of 300.00 USD this month (100%)"),
        ("Cost", lambda w: w.budget_health.update(Status="UNHEALTHY", StatusReason="FILTER_INVALID"), "AWS cannot count this budget (FILTER_INVALID)"),
        ("Cost", lambda w: w.spend.update(ForecastedSpend=usd("360")), "AWS expects 360.00 USD by the end of the month, 20% above the budget"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_and_makes_its_part_unhealthy(title: str, change: Change, words: str) -> None:
    world = World()
    change(world)
    wrong = [line.text for line in world.section(title).lines if line.state is State.UNHEALTHY]
    assert any(words in text for text in wrong), f"not told as unhealthy: {world.text(title)}"


@pytest.mark.parametrize(
    ("title", "change", "words"),
    [
        ("RAG service", lambda w: w.service["deployments"].append(
            {"taskDefinition": "arn:x/rag-api:8", "rolloutState": "IN_PROGRESS"}), "rag-api:8 is being deployed"),
        ("RAG service", lambda w: w.service.update(desiredCount=0, runningCount=0, loadBalancers=[]), "0 of 0 tasks running"),
        ("GPU fleets", lambda w: w.nodes.append("Pending"), "2 of 2 nodes in service"),
        ("GPU fleets", lambda w: w.nodes.__setitem__(0, "Pending:Wait"), "1 of 2 nodes in service (at most 4), 0 lost in 24 h; 1 on the way"),
        ("Training", lambda w: w.executions.append("run"), "run runs on spot since 60 min, attempt 2, interrupted once so far"),
        ("Training", lambda w: (w.executions.append("run"), setattr(w, "more_runs", True)), "more than 10 runs: python -m ops train list --stack prod"),
        ("Ingestion", lambda w: (setattr(w, "asleep", True), w.metrics.update(ApproximateAgeOfOldestMessage=[7300.0])),
         "the oldest is 2 h 2 min old: the stack is asleep"),
        ("GPU fleets", lambda w: setattr(w, "weights", ["1", "1"]), "2 of 2 units of capacity in service (at most 4)"),
        ("GPU fleets", lambda w: (setattr(w, "weights", ["2"]), w.nodes.pop(), w.activities.append(
            activity("Launching a new EC2 instance", StatusCode="Failed", StatusMessage="none"))),
         "inference: 2 of 2 units of capacity in service"),
        ("Ingestion", lambda w: w.metrics.clear(), "CloudWatch has no age of the oldest message yet"),
        ("Vector index", lambda w: w.indexes.clear(), "no index has reported documents to CloudWatch yet"),
        ("Vector index", lambda w: w.metrics.clear(), "documents-1: nothing reported for 24 h"),
        ("Vector index", lambda w: w.metrics.pop("StorageUsedInS3"), "documents-1: about 1,234 documents"),
        ("Cost", lambda w: w.spend.clear(), "AWS has no figures yet"),
        ("Cost", lambda w: w.spend.update(ActualSpend=usd("0.0")), "Nothing is counted until the tag Stack is activated"),
    ],
)  # fmt: skip
def test_what_is_under_way_or_not_known_yet_is_no_alarm(title: str, change: Change, words: str) -> None:
    world = World()
    change(world)
    section = world.section(title)
    assert section.state is State.OK, world.text(title)
    assert words in world.text(title)


def test_nodes_that_were_lost_within_a_day_are_counted_once_each() -> None:
    world = World()
    ending = "Terminating EC2 instance: i-"
    world.activities = [
        activity(f"{ending}1", REBALANCE),
        activity(f"{ending}2", GONE, 2),
        activity(f"{ending}3", SHRINK, 3),
        activity("Launching a new EC2 instance: i-4", GONE, 4),
        activity(f"{ending}5", REBALANCE, 25),
    ]
    assert "2 lost in 24 h" in world.text("GPU fleets")


def test_the_first_rollback_is_history_once_a_later_deployment_succeeded() -> None:
    world = World()
    good = world.deployments[0]
    world.deployments.append(
        {**good, "createdAt": good["createdAt"].replace(day=1, month=11), "status": "ROLLBACK_SUCCESSFUL"}
    )
    assert world.section("RAG service").state is State.OK


@pytest.mark.parametrize(
    ("operation", "title", "action"),
    [
        ("DescribeServices", "RAG service", "ecs:DescribeServices"),
        ("ListServiceDeployments", "RAG service", "ecs:ListServiceDeployments"),
        ("DescribeTargetHealth", "Model server", "elasticloadbalancing:DescribeTargetHealth"),
        ("DescribeScalingActivities", "GPU fleets", "autoscaling:DescribeScalingActivities"),
        ("DescribeJobQueues", "Training", "batch:DescribeJobQueues"),
        ("ListExecutions", "Training", "states:ListExecutions"),
        ("DescribeExecution", "Training", "states:DescribeExecution"),
        ("GetQueueAttributes", "Ingestion", "sqs:GetQueueAttributes"),
        ("GetMetricData", "Ingestion", "cloudwatch:GetMetricData"),
        ("BatchGetCollection", "Vector index", "aoss:BatchGetCollection"),
        ("GetResources", "Alarms", "tag:GetResources"),
        ("DescribeBudget", "Cost", "budgets:ViewBudget"),
    ],
)
def test_access_denied_names_the_permission_and_leaves_the_rest(
    operation: str, title: str, action: str
) -> None:
    world = World()
    world.executions.append("run")
    world.account.refused[operation] = "AccessDeniedException"
    sections = world.sections()
    assert sections[title].state is State.UNREAD, "a part that could not be read would seem to be well"
    assert f"Fix: allow {action}" in world.text(title)
    assert sections["Alarms" if title != "Alarms" else "Cost"].state is State.OK


def test_what_was_read_before_a_refusal_stands() -> None:
    world = World()
    world.account.refused["ListServiceDeployments"] = "AccessDeniedException"
    assert "ok: 2 of 2 tasks running" in world.text("RAG service")


@pytest.mark.parametrize(
    ("operation", "title", "words"),
    [
        ("DescribeServices", "RAG service", "last deployment 2026-11-30 12:00, successful"),
        ("ListServiceDeployments", "RAG service", "2 of 2 targets healthy"),
        ("DescribeScalingActivities", "GPU fleets", "research: 2 of 2 nodes in service (at most 4), an unknown number lost"),
        ("DescribeJobQueues", "Training", "run runs on spot since 60 min"),
        ("DescribeExecution", "Training", "training-capacity-spot is valid"),
        ("BatchGetCollection", "Vector index", "about 1,234 documents"),
        ("GetMetricData", "Ingestion", "about 3 messages waiting"),
    ],
)  # fmt: skip
def test_what_may_not_be_read_is_told_once_and_hides_nothing_else_of_its_part(
    operation: str, title: str, words: str
) -> None:
    world = World()
    world.executions += ["run", "other"]
    world.account.refused[operation] = "AccessDeniedException"
    lines = world.section(title).lines
    assert len([line for line in lines if line.state is State.UNREAD]) == 1
    assert any(line.state is State.OK and words in line.text for line in lines), world.text(title)


def test_throttling_is_got_over() -> None:
    world = World()
    world.account.throttled = {"DescribeServices": 2, "GetQueueAttributes": 2, "DescribeBudget": 2}
    assert all(section.state is State.OK for section in world.sections().values())


@pytest.mark.parametrize(
    ("title", "outputs"),
    [
        ("RAG service", ("rag_url", "rag_service")),
        ("Model server", ("inference_url", "inference_service")),
        ("GPU fleets", ("gpu_fleets",)),
        ("Training", ("training",)),
        ("Ingestion", ("ingestion_queue", "ingestion_dead_letters")),
        ("Vector index", ("vector_endpoint",)),
        ("Cost", ("budget",)),
    ],
)
def test_what_a_stack_does_not_have_is_said_and_no_fault(title: str, outputs: tuple[str, ...]) -> None:
    world = World()
    for output in outputs:
        del world.outputs[output]
    if title == "GPU fleets":
        world.outputs["gpu_fleets"] = {}
    assert world.section(title).state is State.ABSENT


def test_a_stack_that_does_not_tell_its_service_yet_is_not_taken_to_have_none() -> None:
    world = World()
    del world.outputs["rag_service"]
    assert world.section("RAG service").state is State.UNREAD
    assert "has no output rag_service" in world.text("RAG service")


def test_fleets_that_a_stack_does_not_tell_yet_are_not_taken_to_be_none() -> None:
    world = World()
    del world.outputs["gpu_fleets"]
    assert world.section("GPU fleets").state is State.UNREAD
    assert "Fix: run `pulumi up`" in world.text("GPU fleets")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda w: w.spend.update(ActualSpend={"Amount": "120", "Unit": "CNY"}),
            "The budget's spend is 120 CNY",
        ),
        (lambda w: w.spend.update(ActualSpend=usd("nan")), "The budget's spend is nan USD"),
        (lambda w: w.spend.update(ActualSpend=usd("n/a")), "AWS's answer is not what was expected"),
        (lambda w: setattr(w, "limit", usd("0")), "120.50 USD this month, but the budget has no limit"),
    ],
)
def test_an_amount_that_is_none_of_usd_is_not_taken_for_nothing_spent(change: Change, words: str) -> None:
    world = World()
    change(world)
    assert world.section("Cost").state is State.UNREAD
    assert words in world.text("Cost")


def test_a_stack_without_alarms_of_its_own_is_not_told_that_none_rings() -> None:
    world = World()
    world.alarms.clear()
    assert world.section("Alarms").state is State.UNREAD, (
        "alarms that were not found would pass for silent ones"
    )
    assert "has training and inference_service, but no alarm carries its tags" in world.text("Alarms")
    for output in ("training", "inference_service"):
        del world.outputs[output]
    assert world.section("Alarms").state is State.ABSENT


def test_an_index_that_was_made_anew_under_its_name_is_told_beside_the_one_that_is_gone() -> None:
    world = World()
    world.indexes = [("documents-1", "id-1"), ("documents-1", "id-2")]
    lines = world.section("Vector index").lines
    assert len([line for line in lines if line.facts.get("index") == "documents-1"]) == 2, (
        "which of two indexes of one name is told would be left to chance"
    )


def test_an_answer_of_another_shape_does_not_hide_the_other_parts() -> None:
    world = World()
    world.outputs["gpu_fleets"] = "[secret]"
    sections = world.sections()
    assert sections["GPU fleets"].state is State.UNREAD
    assert sections["Cost"].state is State.OK


def test_a_service_or_budget_that_is_gone_could_not_be_read() -> None:
    world = World()
    world.service = {}
    world.account.refused["DescribeBudget"] = "NotFoundException"
    assert "ECS has no service rag-service-1a2b3c in ai-cluster (MISSING)" in world.text("RAG service")
    assert "has no budget budget-monthly-9" in world.text("Cost")
    assert world.section("Cost").state is State.UNREAD


def test_an_answer_without_what_was_asked_is_not_well() -> None:
    world = World()
    world.account.answers["GetQueueAttributes"] = lambda **asked: {"Attributes": {}}
    assert world.section("Ingestion").state is State.UNREAD
    assert QUEUE in world.counts


def test_the_program_exports_what_is_asked_for() -> None:
    exports = recorded("prod").exports
    assert set(OUTPUTS) - {"inference_url", "inference_service"} <= set(exports)
    assert set(exports["gpu_fleets"]) == {"inference", "research"}
    assert exports["training"].keys() >= OUTPUTS["training"].keys()
