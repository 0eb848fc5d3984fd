"""The two components of awsx that the program uses, made of the resources that the real ones register."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import grpc
from pulumi.runtime.proto import provider_pb2, resource_pb2, resource_pb2_grpc

from ops.capture.awsx_vpc import Child, ChildKey, Reference, expand_vpc
from tests.engine.stub.rules import RefusedError
from tests.engine.stub.wire import RESOURCE_SIGNATURE, SIGNATURE, UNKNOWN, Values, from_struct, to_struct

VPC = "awsx:ec2:Vpc"
IMAGE = "awsx:ecr:Image"
DOCKER_IMAGE = "docker-build:index:Image"

Dependencies = provider_pb2.ConstructResponse.PropertyDependencies


class Registered(NamedTuple):
    """What the engine answered for a child."""

    urn: str
    id: str
    state: Values

    def output(self, key: str) -> Any:
        """One output; RefusedError when the child, though it exists, has none of this name."""
        if key == "id":
            return self.id
        if self.id != UNKNOWN and key not in self.state:
            raise RefusedError(f"{self.urn} has no output {key}: ops/capture/computed.py must make it")
        return self.state.get(key, UNKNOWN)


class Registrar:
    """Registers a component and its children with the engine, under the provider and version of the request."""

    def __init__(
        self, request: Any, monitor: resource_pb2_grpc.ResourceMonitorStub, aws_version: str
    ) -> None:
        self._request = request
        self._monitor = monitor
        self._aws_version = aws_version

    def component(self) -> str:
        """Registers the component itself, without inputs as awsx does; returns its URN."""
        request = self._request
        return self._monitor.RegisterResource(
            resource_pb2.RegisterResourceRequest(
                type=request.type, name=request.name, parent=request.parent, custom=False,
                dependencies=request.dependencies, providers=request.providers, protect=request.protect,
                aliases=request.aliases, aliasSpecs=True,
            )
        ).urn  # fmt: skip

    def child(
        self, type_token: str, name: str, parent: str, inputs: Values, dependencies: Mapping[str, list[str]]
    ) -> Registered:
        """Registers a child; `dependencies` names the URNs that each input comes from, under "" the rest."""
        package = type_token.split(":")[0]
        urns = {urn for found in dependencies.values() for urn in found}
        # Each input is named, also with none: without any entry the engine takes all inputs to depend on everything.
        by_property = {
            key: resource_pb2.RegisterResourceRequest.PropertyDependencies(urns=dependencies.get(key, ()))
            for key in inputs
        }
        answer = self._monitor.RegisterResource(
            resource_pb2.RegisterResourceRequest(
                type=type_token, name=name, parent=parent, custom=True, object=to_struct(inputs),
                dependencies=sorted(urns), propertyDependencies=by_property,
                provider=self._request.providers.get(package, ""),
                version=self._aws_version if package == "aws" else "",
                acceptSecrets=True, acceptResources=True, supportsPartialValues=True,
            )
        )  # fmt: skip
        return Registered(answer.urn, answer.id or UNKNOWN, from_struct(answer.object))

    def finish(self, urn: str, outputs: Values, dependencies: Mapping[str, list[str]]) -> Any:
        """Registers the component's outputs and answers the engine's request."""
        self._monitor.RegisterResourceOutputs(
            resource_pb2.RegisterResourceOutputsRequest(urn=urn, outputs=to_struct(outputs))
        )
        return provider_pb2.ConstructResponse(
            urn=urn,
            state=to_struct(outputs),
            stateDependencies={key: Dependencies(urns=urns) for key, urns in dependencies.items()},
        )


def construct(request: Any, aws_version: str) -> Any:
    """Answers the engine's request for a component; RefusedError names one that the stub does not know."""
    with grpc.insecure_channel(request.monitorEndpoint) as channel:
        registrar = Registrar(request, resource_pb2_grpc.ResourceMonitorStub(channel), aws_version)
        if request.type == VPC:
            return _vpc(request, registrar, aws_version)
        if request.type == IMAGE:
            return _image(request, registrar)
    raise RefusedError(f"the stub has no component {request.type}")


def _vpc(request: Any, registrar: Registrar, aws_version: str) -> Any:
    expansion = expand_vpc(request.name, from_struct(request.inputs))
    component = registrar.component()
    made: dict[ChildKey, Registered] = {}
    for child in expansion.children:
        made[child.key] = _vpc_child(child, component, registrar, made)
    outputs = {key: _resolved(value, made, aws_version) for key, value in expansion.outputs.items()}
    dependencies = {
        key: [made[child].urn for child in _mentioned(value)] for key, value in expansion.outputs.items()
    }
    return registrar.finish(component, outputs, dependencies)


def _vpc_child(
    child: Child, component: str, registrar: Registrar, made: Mapping[ChildKey, Registered]
) -> Registered:
    dependencies = {
        key: [made[other].urn for other in _mentioned(value)] for key, value in child.inputs.items()
    }
    dependencies[""] = [made[key].urn for key in child.depends_on]
    return registrar.child(
        child.key.type,
        child.key.name,
        made[child.parent].urn if child.parent else component,
        {key: _resolved(value, made, "") for key, value in child.inputs.items()},
        {key: urns for key, urns in dependencies.items() if urns},
    )


def _mentioned(value: Any) -> Iterator[ChildKey]:
    if isinstance(value, Reference):
        yield value.child
    elif isinstance(value, ChildKey):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _mentioned(item)


def _resolved(value: Any, made: Mapping[ChildKey, Registered], aws_version: str) -> Any:
    if isinstance(value, Reference):
        return made[value.child].output(value.property)
    if isinstance(value, ChildKey):
        child = made[value]
        return {
            SIGNATURE: RESOURCE_SIGNATURE,
            "urn": child.urn,
            "id": child.id,
            "packageVersion": aws_version,
        }
    return [_resolved(item, made, aws_version) for item in value] if isinstance(value, list) else value


def _image(request: Any, registrar: Registrar) -> Any:
    """As in `awsx/ecr/image.ts` of pulumi-awsx: the image is registered once the registry's URL is known."""
    inputs = from_struct(request.inputs)
    component = registrar.component()
    url = inputs["repositoryUrl"]
    from_inputs = sorted({urn for found in request.inputDependencies.values() for urn in found.urns})
    if url == UNKNOWN:
        return registrar.finish(component, {"imageUri": UNKNOWN}, {"imageUri": from_inputs})
    # The component unwraps its inputs first, so that the image itself depends on nothing.
    image = registrar.child(DOCKER_IMAGE, _image_name(inputs), component, _docker_inputs(url, inputs), {})
    digest = image.output("digest")
    uri = UNKNOWN if digest == UNKNOWN else f"{url}@{digest}"
    return registrar.finish(component, {"imageUri": uri}, {"imageUri": [*from_inputs, image.urn]})


def _image_name(inputs: Values) -> str:
    return inputs.get("imageName") or inputs["imageTag"]


def _docker_inputs(url: str, inputs: Values) -> Values:
    reference = f"{url}:{_image_name(inputs)}"
    return {
        "tags": [reference],
        "cacheFrom": [{"registry": {"ref": reference}}],
        "cacheTo": [{"inline": {}}],
        "context": {"location": inputs.get("context", ".")},
        "dockerfile": {"location": inputs.get("dockerfile")},
        "platforms": [inputs["platform"]] if "platform" in inputs else [],
        "push": True,
    }
