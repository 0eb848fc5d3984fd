"""Rules over what a bill is made of: logs that end, and tags that say whose cost it is."""

from collections.abc import Iterator
from typing import Any

from ops.capture.recording import RecordedResource, Unknown
from policies.rule import Fault, RecordingRule, Severity
from policies.secrets import FUNCTION
from policies.storage import LAUNCH_TEMPLATE
from policies.view import JOB, TASK, View, containers, document, is_on, is_unknown, parts

LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
PROVIDER = "pulumi:providers:aws"
SERVICE = "aws:ecs/service:Service"
# What the bill is split by; the owner's own tags come on top.
COST_TAGS = ("Project", "Stack")
NO_TAGS = " and ".join(COST_TAGS)
# What a launch template starts carries none of the provider's tags.
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
LAUNCHED = ("instance", "volume")


def _kept_for_ever(view: View) -> Iterator[Fault]:
    for group in view.of(LOG_GROUP):
        days = group.inputs.get("retentionInDays")
        if not is_unknown(days) and not days:
            yield Fault(resource=group, what="keeps its logs for ever")
    for function in view.of(FUNCTION):
        given = function.inputs.get("loggingConfig")
        if not is_unknown(given) and not any(item.get("logGroup") for item in parts(given)):
            yield Fault(
                resource=function,
                what="writes to a log group that Lambda makes, which keeps its logs for ever",
                fix="make a log group with a retention and name it in logging_config",
            )
    yield from _driver_makes_group(view)


def _driver_makes_group(view: View) -> Iterator[Fault]:
    """Groups that AWS makes at the first line of a container, and that nobody tells to forget."""
    for definition in view.of(TASK, JOB):
        for container in containers(definition):
            drivers = parts(container.get("logConfiguration"))
            options = [option for driver in drivers for option in parts(driver.get("options"))]
            if any(is_on(option.get("awslogs-create-group", False)) for option in options):
                what = "lets its log driver make a log group, which keeps its logs for ever"
            elif definition.type == JOB and not container.get("logConfiguration"):
                # https://docs.aws.amazon.com/batch/latest/userguide/using_awslogs.html
                what = "writes to AWS Batch's own log group, which keeps its logs for ever"
            else:
                continue
            yield Fault(
                resource=definition,
                what=what,
                fix="make a log group with a retention and name it as awslogs-group in logConfiguration",
            )


def _untagged(view: View) -> Iterator[Fault]:
    providers = {provider.urn: provider for provider in view.of(PROVIDER)}
    for provider in providers.values():
        if not _has_tags(_default_tags(provider)):
            yield Fault(resource=provider, what=f"gives resources no tags {NO_TAGS}")
    for resource in view.recording.resources:
        # A provider is known by its URN and, after two colons, its id.
        if _is_of_aws(resource) and resource.provider.rpartition("::")[0] not in providers:
            yield Fault(
                resource=resource,
                what="has a provider that this program did not make",
                fix="pass the stack's provider down: give the resource its component as parent",
            )
    yield from _launched_untagged(view)


def _is_of_aws(resource: RecordedResource) -> bool:
    return resource.custom and resource.type.startswith("aws:")


def _launched_untagged(view: View) -> Iterator[Fault]:
    """What AWS starts for us is tagged only where the resource that starts it says so."""
    for template in view.of(LAUNCH_TEMPLATE):
        tagged = {
            item.get("resourceType")
            for item in parts(template.inputs.get("tagSpecifications"))
            if _has_tags(item.get("tags"))
        }
        if missing := [kind for kind in LAUNCHED if kind not in tagged]:
            yield Fault(
                resource=template,
                what=f"starts each {' and '.join(missing)} without {NO_TAGS}",
                fix="name them in tag_specifications",
            )
    for service in view.of(SERVICE):
        if service.inputs.get("propagateTags") not in ("SERVICE", "TASK_DEFINITION"):
            yield Fault(resource=service, what="starts tasks without its tags", fix="set propagate_tags")
    for job in view.of(JOB):
        if not is_on(job.inputs.get("propagateTags")):
            yield Fault(resource=job, what="starts tasks without its tags", fix="set propagate_tags")


def _default_tags(provider: RecordedResource) -> Any:
    """A provider's tags; its nested inputs cross the wire as JSON text."""
    if is_unknown(provider.inputs.get("defaultTags")):
        return Unknown()
    given = parts(document(provider.inputs.get("defaultTags")))
    return given[0].get("tags") if given else None


def _has_tags(tags: Any) -> bool:
    return is_unknown(tags) or any(all(found.get(key) for key in COST_TAGS) for found in parts(tags))


UPKEEP_RULES = (
    RecordingRule(
        id="log-retention",
        severity=Severity.ERROR,
        promise="Every log group forgets.",
        harm="it costs more every month, and keeps what people wrote for longer than anybody promised them",
        fix="set retention_in_days",
        check=_kept_for_ever,
    ),
    RecordingRule(
        id="cost-tags",
        severity=Severity.WARNING,
        promise=f"Every resource, and every node, disk and task that AWS starts for one, carries the tags {NO_TAGS}.",
        harm="the bill cannot be split, and the budget of the stack does not see the cost",
        fix="name them in the provider's default tags",
        check=_untagged,
    ),
)
