"""Every rule finds its faults and nothing else, in what is known after a deployment and in a first preview."""

import pytest

from ops.capture.recording import Recording, Unknown
from ops.permissions import permissions
from policies.access import WITHOUT_RESOURCE
from policies.rules import RULES, findings
from policies.storage import BUCKET, BUCKET_ACL, FILE_SYSTEM, LIFECYCLE
from policies.transport import LISTENER, LISTENER_RULE
from policies.upkeep import LOG_GROUP
from policies.view import BALANCER
from recordings import STACKS, previewed, recorded
from tests.policies.planting import added, changed, found, inputs, options
from tests.policies.plants import ACCESS_KEY, FORWARD, INGRESS, PLANTS, Plant, plant


def test_the_stacks_break_no_rule(platform: Recording) -> None:
    assert findings(platform) == [], "a reviewer would have to tell old findings from new ones"


@pytest.mark.parametrize("stack", STACKS)
def test_a_first_preview_breaks_no_rule(stack: str) -> None:
    assert findings(previewed(stack)) == [], "what only AWS can tell was taken for a fault"


@pytest.mark.parametrize("fault", PLANTS, ids=lambda fault: f"{fault.rule} {fault.changed} {fault.says}")
def test_a_planted_fault_is_found(prod: Recording, fault: Plant) -> None:
    by_rule = found(plant(prod, fault))
    assert fault.rule in by_rule, f"nobody would be told that {fault.changed} {fault.says}"
    messages = [item.message for item in by_rule[fault.rule] if item.name == (fault.name or fault.changed)]
    assert any(fault.says in message for message in messages), by_rule[fault.rule]


def test_every_rule_has_a_fault_that_it_finds() -> None:
    planted = {fault.rule for fault in PLANTS}
    assert planted == {rule.id for rule in RULES}, "a rule that finds nothing cannot be told from none"


def test_a_finding_says_harm_and_fix(prod: Recording) -> None:
    for fault in PLANTS:
        for item in found(plant(prod, fault)).get(fault.rule, []):
            rule = next(rule for rule in RULES if rule.id == item.rule)
            assert rule.harm in item.message and item.fix and item.urn, item


def test_a_second_lifecycle_of_a_bucket_is_found(prod: Recording) -> None:
    first = prod.one(LIFECYCLE)
    twice = added(prod, LIFECYCLE, "another-lifecycle", {"rules": []}, like=first)
    assert [item.name for item in found(twice)["one-lifecycle"]] == ["another-lifecycle"], (
        "S3 would keep the rules of one of them, and nobody knows which"
    )


def test_a_rule_of_a_plain_listener_that_forwards_is_found(prod: Recording) -> None:
    listener = prod.one(LISTENER, "rag-balancer-http")
    values = {"listenerArn": listener.outputs["arn"], "actions": FORWARD}
    bypassed = added(prod, LISTENER_RULE, "shortcut", values, like=listener)
    assert found(bypassed)["no-plain-http"], "the default action redirects, and the rule goes past it"


def test_a_public_acl_is_found(prod: Recording) -> None:
    public = added(prod, BUCKET_ACL, "acl", {"acl": "public-read"}, like=prod.one(BUCKET))
    assert [item.name for item in found(public)["public-access"]] == ["acl"]


def test_plain_http_inside_the_network_is_no_fault(dev: Recording) -> None:
    listener = dev.one(LISTENER, "rag-balancer-http")
    assert listener.inputs["defaultActions"][0]["type"] == "forward" and "no-plain-http" not in found(dev)


def test_data_of_a_stack_that_serves_the_internet_must_be_protected(prod: Recording) -> None:
    bare = prod
    for holder in [item for item in prod.resources if item.protect]:
        bare = changed(bare, holder.type, holder.name, options(protect=False))
    names = {item.name for item in found(bare)["protected-data"]}
    assert {"data-lake-bucket", "shared-files-files", "vector-store-collection"} <= names


def test_a_balancer_that_does_not_say_internal_is_public(prod: Recording) -> None:
    silent = changed(prod, BALANCER, "rag-balancer", inputs(internal=None))
    assert found(silent) == {}, "its ports would be called open, and its listeners not be judged"


def test_a_public_balancer_is_reached_on_its_two_ports_only(prod: Recording) -> None:
    opened = changed(prod, INGRESS, "rag-balancer-port-443", inputs(fromPort=22, toPort=22))
    assert [item.name for item in found(opened)["open-ingress"]] == ["rag-balancer-port-443"]


def test_what_only_aws_can_tell_breaks_no_rule(prod: Recording) -> None:
    late = changed(prod, LOG_GROUP, "network-flow-logs", inputs(retentionInDays=Unknown()))
    late = changed(late, FILE_SYSTEM, "shared-files-files", inputs(encrypted=Unknown()))
    assert found(late) == {}


def test_an_inference_fleet_on_spot_has_no_work_to_lose(prod: Recording) -> None:
    name = "gpu-inference-group"
    group = prod.one("aws:autoscaling/group:Group", name)
    shares = group.inputs["mixedInstancesPolicy"]["instancesDistribution"]
    assert shares["onDemandPercentageAboveBaseCapacity"] < 100 and "spot-checkpoint" not in found(prod)
    untold = changed(prod, group.type, name, inputs(tags=[]))
    assert "spot-checkpoint" in found(untold), "a fleet that does not say what it is for may hold work"


def test_a_reference_to_a_secret_is_no_secret(prod: Recording) -> None:
    function = "aws:lambda/function:Function"
    reference = {"variables": {"API_KEY": "arn:aws:secretsmanager:eu-central-1:111122223333:secret:key"}}
    named = changed(prod, function, "orchestrator-answer-function", inputs(environment=reference))
    assert "secrets-by-reference" not in found(named)


def test_no_finding_shows_a_secret(prod: Recording) -> None:
    for fault in PLANTS:
        if fault.rule == "secrets-by-reference":
            shown = str(found(plant(prod, fault)))
            assert ACCESS_KEY not in shown and "made-up-value" not in shown, (
                "the log of the pipeline has it now"
            )


def test_every_action_that_knows_no_resource_is_used() -> None:
    used = {
        action
        for stack in STACKS
        for statement in permissions(recorded(stack))
        if "*" in statement.resources
        for action in statement.actions
    }
    assert used >= WITHOUT_RESOURCE, "an entry for something that no longer exists hides the next wildcard"


def test_rules_leave_a_recording_as_it_is(prod: Recording) -> None:
    before = repr(prod)
    findings(prod)
    assert repr(prod) == before, "the next judge would see something else"


def test_a_recording_of_nothing_breaks_no_rule() -> None:
    empty = recorded("dev")
    assert findings(Recording(project=empty.project, stack="dev", resources=(), invokes=(), registered_outputs={}, exports={})) == []  # fmt: skip
