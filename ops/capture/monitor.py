"""A resource monitor that records every registration and answers from computed values instead of AWS."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from google.protobuf.struct_pb2 import Struct  # ty: ignore[missing-module-member]  # made at run time
from pulumi.runtime import rpc
from pulumi.runtime.mocks import MockMonitor, MockResourceArgs, Mocks
from pulumi.runtime.proto import resource_pb2

from ops.capture.aliases import former_urns
from ops.capture.awsx_vpc import Child, ChildKey, Reference, children_in, expand_vpc
from ops.capture.computed import Computed
from ops.capture.plain import plain
from ops.capture.recording import RecordedInvoke, RecordedResource

STACK_TYPE = "pulumi:pulumi:Stack"
AWSX_VPC = "awsx:ec2:Vpc"

Dependencies = resource_pb2.RegisterResourceResponse.PropertyDependencies


class DuplicateResourceError(Exception):
    """Two resources have one URN, which the engine refuses."""


class _NoMocks(Mocks):
    """The stock monitor wants a `Mocks`; the recording one never asks it."""

    def call(self, args: Any) -> tuple[dict[str, Any], None]:
        raise AssertionError(f"unexpected call of {args.token}")

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        raise AssertionError(f"unexpected registration of {args.name}")


class RecordingMonitor(MockMonitor):
    """Records registrations, invokes and registered outputs; URNs are formed as the engine forms them."""

    def __init__(self, project: str, stack: str, root: Path, computed: Computed) -> None:
        super().__init__(_NoMocks())
        self.root = root
        self.computed = computed
        self.recorded: dict[str, RecordedResource] = {}
        self.invokes: list[RecordedInvoke] = []
        self.registered_outputs: dict[str, Mapping[str, Any]] = {}
        self.stack_urn = f"urn:pulumi:{stack}::{project}::{STACK_TYPE}::{project}-{stack}"
        self._urn_prefix = f"urn:pulumi:{stack}::{project}::"
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """The chain of parent types, without the stack's own, then the name."""
        if type_ == STACK_TYPE:
            return self.stack_urn
        if parent not in ("", self.stack_urn):
            type_ = f"{parent.split('::')[2]}${type_}"
        return f"{self._urn_prefix}{type_}::{name}"

    def _parent(self, urn: str) -> str | None:
        return None if urn in ("", self.stack_urn) else urn

    def RegisterResource(self, request: Any) -> Any:
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == STACK_TYPE:
            return resource_pb2.RegisterResourceResponse(urn=urn)
        inputs = plain(rpc.deserialize_properties(request.object, keep_unknowns=True), self.root)
        parent = self._parent(request.parent)
        # Before its children, which inherit from them.
        self._aliases[urn] = former_urns(urn, parent or "", request.aliases, self._aliases)
        resource_id, values, dependencies = self._computed(request, inputs, urn)
        outputs = {**inputs, **values}
        self._add(_recorded(request, urn, parent, inputs, outputs), resource_id)
        self.resources[urn] = MockMonitor.ResourceRegistration(urn, resource_id, outputs)
        # Inputs go back as they came, since secrets and unknowns have a form of their own on the wire.
        # A remote component answers with its own outputs only.
        answer = Struct()
        if not request.remote:
            answer.CopyFrom(request.object)
        answer.update(values)
        return resource_pb2.RegisterResourceResponse(
            urn=urn, id=resource_id, object=answer, propertyDependencies=dependencies
        )

    def _computed(
        self, request: Any, inputs: dict[str, Any], urn: str
    ) -> tuple[str, dict[str, Any], dict[str, Dependencies]]:
        """The id and computed values of a new resource; components of the program have neither.

        The outputs of a remote component come with what they depend on: its children, or what its inputs depend on.
        """
        if not (request.custom or request.remote):
            return "", {}, {}
        if request.type != AWSX_VPC:
            resource_id, values = self.computed.resource(request.type, request.name, inputs)
            sources = Dependencies(
                urns={urn for item in request.propertyDependencies.values() for urn in item.urns}
            )
            return resource_id, values, dict.fromkeys(values, sources) if request.remote else {}
        expansion = expand_vpc(request.name, inputs)
        states: dict[ChildKey, dict[str, Any]] = {}
        urns: dict[ChildKey, str] = {}
        for child in expansion.children:
            self._add_child(child, urn, request.providers["aws"], states, urns)
        dependencies = {
            key: Dependencies(urns=[urns[child] for child in children_in(value)])
            for key, value in expansion.outputs.items()
        }
        return "", self.computed.component(_resolve(expansion.outputs, states)), dependencies

    def _add_child(
        self,
        child: Child,
        component_urn: str,
        provider: str,
        states: dict[ChildKey, dict[str, Any]],
        urns: dict[ChildKey, str],
    ) -> None:
        parent = urns[child.parent] if child.parent else component_urn
        urn = self.make_urn(parent, child.key.type, child.key.name)
        inputs = {key: _resolve(value, states) for key, value in child.inputs.items()}
        resource_id, values = self.computed.resource(child.key.type, child.key.name, inputs)
        outputs = {**inputs, **values}
        states[child.key], urns[child.key] = {**outputs, "id": resource_id}, urn
        self._aliases[urn] = former_urns(urn, parent, (), self._aliases)
        self._add(
            RecordedResource(
                urn=urn, type=child.key.type, name=child.key.name, parent=parent, inputs=inputs, outputs=outputs,
                dependencies=frozenset(urns[key] for key in child.depends_on),
                property_dependencies={
                    key: frozenset(urns[other] for other in children_in(value))
                    for key, value in child.inputs.items()
                    if children_in(value)
                },
                provider=provider, expanded=True,
                position=("", len(states)),
            ),
            resource_id,
        )  # fmt: skip

    def _add(self, resource: RecordedResource, resource_id: str) -> None:
        with self._lock:
            if resource.urn in self.recorded:
                raise DuplicateResourceError(f"two resources are called {resource.name}: {resource.urn}")
            self.recorded[resource.urn] = replace(
                resource, id=resource_id, aliases=self._aliases[resource.urn]
            )

    def Invoke(self, request: Any) -> Any:
        if request.tok == "pulumi:pulumi:getResource":
            return super().Invoke(request)
        arguments = plain(rpc.deserialize_properties(request.args), self.root)
        with self._lock:
            self.invokes.append(RecordedInvoke(token=request.tok, arguments=arguments))
        answer = Struct()
        answer.update(self.computed.invoke(request.tok, arguments))
        response = resource_pb2.ResourceInvokeResponse()
        getattr(response, "return").CopyFrom(answer)
        return response

    def RegisterResourceOutputs(self, request: Any) -> Any:
        outputs = plain(rpc.deserialize_properties(request.outputs, keep_unknowns=True), self.root)
        with self._lock:
            self.registered_outputs[request.urn] = outputs
        return super().RegisterResourceOutputs(request)


def _recorded(
    request: Any, urn: str, parent: str | None, inputs: dict[str, Any], outputs: dict[str, Any]
) -> RecordedResource:
    return RecordedResource(
        urn=urn, type=request.type, name=request.name, parent=parent,
        custom=request.custom, remote=request.remote, inputs=inputs, outputs=outputs,
        dependencies=frozenset(request.dependencies),
        property_dependencies={
            key: frozenset(value.urns) for key, value in request.propertyDependencies.items() if value.urns
        },
        provider=request.provider, protect=request.protect, retain_on_delete=request.retainOnDelete,
        ignore_changes=tuple(request.ignoreChanges), replace_on_changes=tuple(request.replaceOnChanges),
        delete_before_replace=request.deleteBeforeReplace,
        position=_position(request),
    )  # fmt: skip


def _resolve(value: Any, states: Mapping[ChildKey, dict[str, Any]]) -> Any:
    """Replaces references to children by what these children turned out to be."""
    if isinstance(value, Reference):
        return states[value.child].get(value.property)
    if isinstance(value, ChildKey):
        return states[value]
    if isinstance(value, list | tuple):
        return [_resolve(item, states) for item in value]
    if isinstance(value, Mapping):
        return {key: _resolve(item, states) for key, item in value.items()}
    return value


def _position(request: Any) -> tuple[str, int]:
    """File name and line of the first caller outside of installed packages."""
    for frame in request.stackTrace.frames:
        path = Path(unquote(urlparse(frame.pc.uri).path))
        if "site-packages" not in path.parts:
            return path.name, frame.pc.line
    return "", 0
