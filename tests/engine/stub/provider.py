"""One provider of the stub: the calls of the engine, answered from the account."""

import functools
import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty  # ty: ignore[missing-module-member]  # made at run time
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from ops.capture.computed import Computed, UnknownInvokeError
from tests.engine.stub import components, computed
from tests.engine.stub.account import Account, Existing
from tests.engine.stub.diff import difference
from tests.engine.stub.faults import ScriptedFaultError
from tests.engine.stub.inputs import input_faults
from tests.engine.stub.naming import NameTooLongError, with_name
from tests.engine.stub.rules import RefusedError, refuse_deletion_out_of_order, refuse_taken_name
from tests.engine.stub.sdk_types import PACKAGES, UnknownTypeError, output_names
from tests.engine.stub.wire import Values, from_struct, to_struct

REFUSALS = (NameTooLongError, RefusedError, ScriptedFaultError, UnknownInvokeError, UnknownTypeError)
DIGEST = f"sha256:{'5ca1ab1e' * 8}"
IMAGE = "docker-build:index:Image"

Kind = provider_pb2.PropertyDiff.Kind


def refusing(call: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Turns what the stub refuses into an error of the call, with the sentence alone."""

    @functools.wraps(call)
    def wrapped(self: Any, request: Any, context: Any) -> Any:
        try:
            return call(self, request, context)
        except REFUSALS as error:
            return context.abort(grpc.StatusCode.UNKNOWN, str(error))

    return wrapped


class StubProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves one package; all providers of one account share that account."""

    def __init__(self, package: str, account: Account) -> None:
        self.package = package
        self.account = account
        self.computed = Computed(resources={IMAGE: {"digest": DIGEST, "ref": f"latest@{DIGEST}"}})
        self.default_tags: Values = {}

    def Attach(self, request: Any, context: Any) -> Any:
        return Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=package_version(self.package))

    def Configure(self, request: Any, context: Any) -> Any:
        """Takes region and default tags; of several AWS providers in one program the last one counts."""
        given = request.variables
        region = given.get("aws:config:region", "us-east-1")
        self.computed = Computed(resources=self.computed.resources, region=region)
        self.default_tags = json.loads(given.get("aws:config:defaultTags", "{}")).get("tags", {})
        # The engine gives plain values to a provider that accepts no secrets, and marks them again in the answer; for
        # components it insists.
        return provider_pb2.ConfigureResponse(supportsPreview=True, acceptSecrets=self.package == "awsx")

    @refusing
    def Check(self, request: Any, context: Any) -> Any:
        inputs = from_struct(request.news)
        faults = input_faults(request.type, inputs)
        named = with_name(request.type, request.name, inputs, from_struct(request.olds), request.randomSeed)
        return provider_pb2.CheckResponse(
            inputs=to_struct(named),
            failures=[provider_pb2.CheckFailure(property=item.path, reason=item.reason) for item in faults],
        )

    def Diff(self, request: Any, context: Any) -> Any:
        old, new = from_struct(request.old_inputs), from_struct(request.news)
        found = difference(request.type, old, new)
        detailed = {
            path: provider_pb2.PropertyDiff(
                kind=Kind.Value(f"{kind}_REPLACE" if path in found.replacing else kind), inputDiff=True
            )
            for path, kind in found.changes.items()
        }
        if self._all_tags(request.type, new).get("tagsAll") != from_struct(request.olds).get("tagsAll"):
            detailed["tagsAll"] = provider_pb2.PropertyDiff(kind=Kind.Value("UPDATE"))
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if detailed else provider_pb2.DiffResponse.DIFF_NONE,
            replaces=sorted(found.replacing), diffs=sorted(detailed), detailedDiff=detailed,
            hasDetailedDiff=True, deleteBeforeReplace=found.delete_first,
        )  # fmt: skip

    @refusing
    def Create(self, request: Any, context: Any) -> Any:
        inputs = from_struct(request.properties)
        if request.preview:
            outputs = computed.previewed(self.computed, request.type, request.name, inputs)
            return provider_pb2.CreateResponse(
                properties=to_struct({**outputs, **self._all_tags(request.type, inputs)})
            )
        with self.account.lock:
            resource = self._create(request.type, request.name, inputs)
        return provider_pb2.CreateResponse(id=resource.id, properties=to_struct(resource.outputs))

    def _create(self, type_token: str, name: str, inputs: Values) -> Existing:
        self.account.faults.meet("create", type_token, name)
        refuse_taken_name(self.account, type_token, inputs)
        number = self.account.next_number(type_token, name)
        resource_id, outputs = computed.created(self.computed, type_token, name, inputs, number)
        outputs |= self._all_tags(type_token, inputs)
        resource = Existing(
            type=type_token, name=name, key=computed.identity(type_token, resource_id, outputs), id=resource_id,
            inputs=inputs, outputs=outputs,
        )  # fmt: skip
        self.account.put(resource)
        return resource

    @refusing
    def Read(self, request: Any, context: Any) -> Any:
        self.account.faults.meet("read", request.type, request.name)
        resource = self._find(request, request.properties)
        if resource is None:
            return provider_pb2.ReadResponse()  # without an id: it is gone
        known = from_struct(request.inputs) or resource.inputs
        inputs = {key: resource.outputs.get(key, value) for key, value in known.items()}
        return provider_pb2.ReadResponse(
            id=resource.id, properties=to_struct(resource.outputs), inputs=to_struct(inputs)
        )

    @refusing
    def Update(self, request: Any, context: Any) -> Any:
        old_inputs, inputs = from_struct(request.old_inputs), from_struct(request.news)
        tags = self._all_tags(request.type, inputs)
        if request.preview:
            old = from_struct(request.olds)
            outputs = computed.updated(request.type, old, old_inputs, inputs, preview=True)
            return provider_pb2.UpdateResponse(properties=to_struct({**outputs, **tags}))
        self.account.faults.meet("update", request.type, request.name)
        with self.account.lock:
            resource = self._find(request, request.olds)
            if resource is None:
                raise RefusedError(f"NotFound: {request.type} {request.id} does not exist")
            outputs = computed.updated(request.type, resource.outputs, old_inputs, inputs, preview=False)
            resource.inputs, resource.outputs = inputs, {**outputs, **tags}
            self.account.put(resource)
        return provider_pb2.UpdateResponse(properties=to_struct(resource.outputs))

    @refusing
    def Delete(self, request: Any, context: Any) -> Any:
        self.account.faults.meet("delete", request.type, request.name)
        with self.account.lock:
            resource = self._find(request, request.properties)
            if resource is not None:
                refuse_deletion_out_of_order(self.account, resource)
                self.account.remove(resource)
        return Empty()

    @refusing
    def Invoke(self, request: Any, context: Any) -> Any:
        response = provider_pb2.InvokeResponse()
        answer = self.computed.invoke(request.tok, from_struct(request.args))
        getattr(response, "return").CopyFrom(to_struct(answer))  # a word of Python
        return response

    @refusing
    def Construct(self, request: Any, context: Any) -> Any:
        faults = input_faults(request.type, from_struct(request.inputs))
        if faults:
            raise RefusedError("; ".join(f"{request.name}.{item.path} {item.reason}" for item in faults))
        return components.construct(request, package_version("aws"))

    def _find(self, request: Any, properties: Any) -> Existing | None:
        # An import knows the id alone.
        key = computed.identity(request.type, request.id, from_struct(properties))
        return self.account.find(request.type, key)

    def _all_tags(self, type_token: str, inputs: Values) -> Values:
        """`tagsAll`, for a type that has it: the provider's default tags and the resource's own."""
        if "tagsAll" not in output_names(type_token):
            return {}
        return {"tagsAll": {**self.default_tags, **(inputs.get("tags") or {})}}


def package_version(package: str) -> str:
    """The SDK's version of a package, which the engine asks for."""
    return version(PACKAGES[package])
