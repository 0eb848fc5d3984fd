"""One pass over a recording, so that whatever prices a resource finds what belongs to it at once."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from ops.capture.recording import RecordedResource, Recording
from ops.preview_text import region_of

SCALING_TARGET = "aws:appautoscaling/target:Target"
SCHEDULED_ACTION = "aws:appautoscaling/scheduledAction:ScheduledAction"


class Index:
    """The resources of a recording by type, by what they give out, and by component."""

    def __init__(self, recording: Recording) -> None:
        self.by_urn: dict[str, RecordedResource] = {}
        self.by_type: dict[str, list[RecordedResource]] = defaultdict(list)
        for resource in recording.resources:
            self.by_urn[resource.urn] = resource
            self.by_type[resource.type].append(resource)
        self.region = region_of(recording)

    def of_type(self, type_token: str) -> list[RecordedResource]:
        return self.by_type.get(type_token, [])

    def with_output(self, type_token: str, key: str, value: Any) -> RecordedResource | None:
        """The resource of a type that gives out `value` as `key`, or None."""
        return next((item for item in self.of_type(type_token) if item.outputs.get(key) == value), None)

    def with_input(self, type_token: str, key: str, value: Any) -> Iterator[RecordedResource]:
        """The resources of a type that were given `value` as `key`."""
        return (item for item in self.of_type(type_token) if item.inputs.get(key) == value)

    def ancestors(self, resource: RecordedResource) -> Iterator[RecordedResource]:
        """What a resource hangs under, from the nearest up."""
        while resource.parent and resource.parent in self.by_urn:
            resource = self.by_urn[resource.parent]
            yield resource

    def component(self, resource: RecordedResource) -> str:
        """The name of the outermost component that a resource belongs to, or its own."""
        names = [item.name for item in self.ancestors(resource) if item.type.startswith("aiplatform:")]
        return names[-1] if names else resource.name

    def scaling_of(self, service: RecordedResource) -> RecordedResource | None:
        """The scaling target of an ECS service, or None where it keeps its number of tasks."""
        return self._scaling.get(str(service.outputs.get("name")))

    @cached_property
    def _scaling(self) -> Mapping[str, RecordedResource]:
        """By the name of the service: a resource id is `service/CLUSTER/SERVICE`."""
        return {
            str(item.inputs.get("resourceId")).rpartition("/")[2]: item
            for item in self.of_type(SCALING_TARGET)
            if item.inputs.get("serviceNamespace") == "ecs"
        }

    def has_opening_hours(self, target: RecordedResource) -> bool:
        """Whether schedules move the limits of a scaling target."""
        return any(self.with_input(SCHEDULED_ACTION, "resourceId", target.inputs.get("resourceId")))
