"""What a stack is made of, read from its recording alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from components.partitions import partition_of
from ops.capture.recording import RecordedResource, Recording
from ops.permissions import permissions
from ops.preview_text import PROVIDER, region_of

SUBNET = "aws:ec2/subnet:Subnet"


@dataclass(frozen=True)
class Stack:
    """The recording, and what several checks ask of it."""

    recording: Recording

    @property
    def name(self) -> str:
        return self.recording.stack

    @cached_property
    def region(self) -> str:
        return region_of(self.recording)

    @property
    def partition(self) -> str:
        return partition_of(self.region)[0]

    @cached_property
    def own_tags(self) -> Mapping[str, str]:
        """The tags by which something in the account is known to be this stack's own already."""
        tags = self._provider_setting("defaultTags", {}).get("tags", {})
        return {key: tags[key] for key in ("Project", "Stack") if key in tags}

    @property
    def allowed_account_ids(self) -> tuple[str, ...]:
        return tuple(self._provider_setting("allowedAccountIds", []))

    @cached_property
    def zones(self) -> Mapping[str, str]:
        """The zone of each subnet that the stack makes, by the subnet's id."""
        return {
            resource_id(subnet): str(subnet.inputs["availabilityZone"])
            for subnet in self.recording.of_type(SUBNET)
        }

    def of_type(self, type_token: str) -> list[RecordedResource]:
        return self.recording.of_type(type_token)

    def allowed_resources(self, action: str) -> list[str]:
        """The ARNs on which any role of the stack may do `action`, each once, sorted."""
        held = [item for item in permissions(self.recording) if item.kind == "identity"]
        return sorted({arn for item in held if action in item.actions for arn in item.resources})

    def is_own(self, tags: Any) -> bool:
        """Whether something with these tags (as AWS lists them) belongs to the stack, from an earlier `pulumi up`."""
        found = {tag.get("Key"): tag.get("Value") for tag in tags or ()}
        return bool(self.own_tags) and all(found.get(key) == value for key, value in self.own_tags.items())

    def _provider_setting(self, key: str, otherwise: Any) -> Any:
        """A setting of the stack's provider, which takes everything as text."""
        for provider in self.of_type(PROVIDER):
            value = provider.inputs.get(key)
            return json.loads(value) if isinstance(value, str) else value or otherwise
        return otherwise


def resource_id(resource: RecordedResource) -> str:
    """The id at the end of a resource's ARN."""
    return str(resource.outputs["arn"]).rpartition("/")[2]
