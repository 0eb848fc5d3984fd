"""Looks things up in a recording by what others know them by: the component around them, their ARN, their role. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ops.capture.recording import RecordedResource, Recording
from ops.permissions import ROLE, Permission, permissions

COLLECTION = "aws:opensearch/serverlessCollection:ServerlessCollection"
SUBNET = "aws:ec2/subnet:Subnet"
VPC = "aws:ec2/vpc:Vpc"
NAT_GATEWAY = "aws:ec2/natGateway:NatGateway"
COMPONENT = "aiplatform:"
# A name with the seven random characters that Pulumi adds.
AUTO_NAMED = re.compile(r"[A-Za-z][\w-]*-[0-9a-f]{7}")


@dataclass(frozen=True)
class Place:
    """A resource that a permission names, and what of it: `/raw/*` of a bucket."""

    resource: RecordedResource
    rest: str


class World:
    """An index over one recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.by_urn = {resource.urn: resource for resource in recording.resources}
        self._known: dict[str, RecordedResource] = {}
        self._physical = {
            str(resource.outputs["name"]): resource.name
            for resource in recording.resources
            if AUTO_NAMED.fullmatch(str(resource.outputs.get("name")))
        }
        for resource in recording.resources:
            for text in _names(resource):
                self._known.setdefault(text, resource)

    def around(self, resource: RecordedResource) -> list[RecordedResource]:
        """The components of the program that a resource lies in, the innermost first; a component lies in itself."""
        found: list[RecordedResource] = []
        current: RecordedResource | None = resource
        while current:
            found += [current] if current.type.startswith(COMPONENT) else []
            current = self.by_urn.get(current.parent or "")
        return found

    def top(self, resource: RecordedResource) -> RecordedResource | None:
        """The component of `__main__.py` that a resource belongs to."""
        return next(reversed(self.around(resource)), None)

    def place(self, text: str) -> Place | None:
        """The resource with the longest known ARN or name at the start of `text`."""
        end = len(text)
        while end > 0:
            if text[:end] in self._known:
                return Place(self._known[text[:end]], text[end:])
            end = max(text.rfind(mark, 0, end) for mark in "/:")
        return None

    def told(self, text: str) -> str:
        """`text` with the program's names instead of those that only a deployment has."""
        return AUTO_NAMED.sub(lambda found: self._logical(found[0]), text)

    def _logical(self, physical: str) -> str:
        """A name of AWS, or one that ends in it: Batch calls the cluster of an environment `AWSBatch-NAME`."""
        starts = [0, *(found.end() for found in re.finditer("-", physical))]
        known = next((start for start in starts if physical[start:] in self._physical), len(physical))
        return physical[:known] + self._physical.get(physical[known:], "")

    def grants(self) -> Iterator[tuple[RecordedResource, Permission]]:
        """What roles may do, with the role: what they hold, and what data policies give them."""
        for permission in permissions(self.recording):
            if permission.kind not in ("identity", "data") or permission.effect != "Allow":
                continue
            for principal in permission.principals:
                role = self.place(principal)
                if role and role.resource.type == ROLE:
                    yield role.resource, permission

    def components(self) -> list[RecordedResource]:
        """The components of `__main__.py`."""
        return [
            item
            for item in self.recording.resources
            if item.parent is None and item.type.startswith(COMPONENT)
        ]


def _names(resource: RecordedResource) -> Iterator[str]:
    outputs = resource.outputs
    # What is given an ARN, such as the policy of a topic, is not what the ARN names.
    own = "arn" not in resource.inputs
    candidates = (
        [outputs.get("arn"), outputs.get("arnPrefix"), outputs.get("arnWithoutRevision")] if own else []
    )
    if resource.type == ROLE:
        candidates.append(outputs.get("name"))
    if resource.type == COLLECTION:
        # A data policy names a collection, and the indexes in it.
        candidates += [f"{kind}/{outputs.get('name')}" for kind in ("collection", "index")]
    yield from (text for text in candidates if isinstance(text, str) and text)


def class_of(resource: RecordedResource) -> str:
    """`DataLake` of a resource of the type `aiplatform:index:DataLake`."""
    return resource.type.rpartition(":")[2]


def key_of(resource: RecordedResource) -> str:
    """What stands for a resource in a chart; names are unique within a type only."""
    return f"{class_of(resource)} {resource.name}"
