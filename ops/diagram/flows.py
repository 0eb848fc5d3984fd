"""What moves through the platform: what roles may do with what, events, and where callers come in. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ops.capture.recording import RecordedResource
from ops.diagram.words import OUTSIDE, verbs
from ops.diagram.world import Place, World
from ops.permissions import Permission

NOTIFICATION = "aws:s3/bucketNotification:BucketNotification"
MAPPING = "aws:lambda/eventSourceMapping:EventSourceMapping"
QUEUE = "aws:sqs/queue:Queue"
BALANCER = "aws:lb/loadBalancer:LoadBalancer"
LISTENER = "aws:lb/listener:Listener"
FUNCTION_URL = "aws:lambda/functionUrl:FunctionUrl"
ACCESS_POINT_KEY = "elasticfilesystem:accesspointarn"


@dataclass(frozen=True)
class Act:
    """A role does something to a place, or to a service outside of the platform."""

    role: RecordedResource
    place: Place | None
    outside: str
    verb: str


@dataclass(frozen=True)
class Event:
    """Something that AWS passes on by itself, from a place to a place."""

    source: Place
    target: Place
    what: str


@dataclass(frozen=True)
class Entry:
    """Where callers come in: who, at which resource, and how."""

    who: str
    resource: RecordedResource
    how: str


def acts(world: World) -> Iterator[Act]:
    """What every role may do, thing by thing; metrics and the like, which are no things of the platform, are left out."""
    for role, permission in world.grants():
        for verb in verbs(permission.actions):
            for arn in _things(permission):
                place = world.place(arn)
                outside = "" if place else _service_outside(arn)
                if place or outside:
                    yield Act(role, place, outside, verb)


def _things(permission: Permission) -> tuple[str, ...]:
    """A file system is entered by its access points, which the condition names."""
    points = [item.values for item in permission.conditions if item.key.lower() == ACCESS_POINT_KEY]
    return points[0] if points else permission.resources


def _service_outside(arn: str) -> str:
    parts = arn.split(":")
    return OUTSIDE.get(parts[2], "") if len(parts) > 2 else ""


def events(world: World) -> Iterator[Event]:
    """Notifications of buckets, what triggers functions, and where queues put what cannot be done."""
    for resource in world.recording.resources:
        if resource.type == NOTIFICATION:
            yield from _notifications(world, resource)
        elif resource.type == MAPPING:
            yield from _between(
                world, resource.inputs.get("eventSourceArn"), resource.inputs.get("functionName"), "triggers"
            )
        elif resource.type == QUEUE and resource.inputs.get("redrivePolicy"):
            policy = json.loads(str(resource.inputs["redrivePolicy"]))
            what = f"after {policy['maxReceiveCount']} tries"
            yield from _between(world, resource.outputs.get("arn"), policy["deadLetterTargetArn"], what)


def _notifications(world: World, resource: RecordedResource) -> Iterator[Event]:
    buckets = [world.by_urn[urn] for urn in sorted(resource.property_dependencies.get("bucket", ()))]
    for bucket in buckets[:1]:
        for key, target in (
            ("queues", "queueArn"),
            ("lambdaFunctions", "lambdaFunctionArn"),
            ("topics", "topicArn"),
        ):
            for item in resource.inputs.get(key) or ():
                place = world.place(str(item[target]))
                if place:
                    yield Event(Place(bucket, f"/{item.get('filterPrefix') or ''}"), place, "new objects")


def _between(world: World, source: object, target: object, what: str) -> Iterator[Event]:
    begin, end = world.place(str(source)), world.place(str(target))
    if begin and end:
        yield Event(begin, end, what)


def entries(world: World) -> Iterator[Entry]:
    """Balancers with their listeners, and the addresses of functions."""
    ports: dict[str, set[str]] = {}
    for listener in world.recording.of_type(LISTENER):
        for urn in listener.property_dependencies.get("loadBalancerArn", ()):
            ports.setdefault(urn, set()).add(f"{listener.inputs['protocol']} {listener.inputs['port']}")
    for balancer in world.recording.of_type(BALANCER):
        who = "clients in the network" if balancer.inputs.get("internal") else "the internet"
        yield Entry(who, balancer, ", ".join(sorted(ports.get(balancer.urn, ()))))
    for url in world.recording.of_type(FUNCTION_URL):
        by_name = "callers with IAM" if url.inputs.get("authorizationType") == "AWS_IAM" else "the internet"
        yield Entry(by_name, url, "HTTPS")
