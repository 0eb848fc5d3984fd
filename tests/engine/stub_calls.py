"""Calls a provider of the stub as the engine would, without the engine."""

from typing import Any

from pulumi.runtime.proto import provider_pb2

from tests.engine.stub.account import Account
from tests.engine.stub.provider import StubProvider
from tests.engine.stub.wire import Values, from_struct, to_struct


class RefusedCall(Exception):
    """The stub refused the call; the message is what the person would read."""


class _Context:
    def abort(self, code: Any, message: str) -> None:
        raise RefusedCall(message)


class Calls:
    """The calls of one provider; a resource is known by its type and name."""

    def __init__(self, account: Account | None = None) -> None:
        self.account = account or Account()
        self._provider = StubProvider("aws", self.account)
        self._context = _Context()

    def configure(self, **variables: str) -> None:
        given = {f"aws:config:{key}": value for key, value in variables.items()}
        self._provider.Configure(provider_pb2.ConfigureRequest(variables=given), self._context)

    def check(
        self, kind: str, name: str, inputs: Values, old: Values | None = None, seed: bytes = b""
    ) -> Any:
        request = provider_pb2.CheckRequest(
            type=kind, name=name, news=to_struct(inputs), olds=to_struct(old or {}), randomSeed=seed
        )
        return self._provider.Check(request, self._context)

    def create(
        self, kind: str, name: str, inputs: Values, *, preview: bool = False, seed: bytes = b""
    ) -> Values:
        """Checks and creates; gives the outputs, with the id."""
        checked = self.check(kind, name, inputs, seed=seed).inputs
        request = provider_pb2.CreateRequest(type=kind, name=name, properties=checked, preview=preview)
        answer = self._provider.Create(request, self._context)
        return {**from_struct(answer.properties), "id": answer.id}

    def diff(self, kind: str, old: Values, new: Values, outputs: Values | None = None) -> Any:
        known = outputs or {**old, "tagsAll": old.get("tags", {})}
        request = provider_pb2.DiffRequest(
            type=kind, old_inputs=to_struct(old), news=to_struct(new), olds=to_struct(known)
        )
        return self._provider.Diff(request, self._context)

    def read(self, kind: str, name: str) -> Any:
        found = self.account.one(kind, name)
        return self.read_known(kind, name, found.id, found.inputs, found.outputs)

    def read_known(self, kind: str, name: str, resource_id: str, inputs: Values, outputs: Values) -> Any:
        request = provider_pb2.ReadRequest(
            type=kind, name=name, id=resource_id, inputs=to_struct(inputs), properties=to_struct(outputs)
        )
        return self._provider.Read(request, self._context)

    def update(self, kind: str, name: str, new: Values) -> Values:
        found = self.account.one(kind, name)
        request = provider_pb2.UpdateRequest(
            type=kind, name=name, id=found.id, olds=to_struct(found.outputs), old_inputs=to_struct(found.inputs),
            news=to_struct(new),
        )  # fmt: skip
        return from_struct(self._provider.Update(request, self._context).properties)

    def delete(self, kind: str, name: str) -> None:
        found = self.account.one(kind, name)
        request = provider_pb2.DeleteRequest(
            type=kind, name=name, id=found.id, properties=to_struct(found.outputs)
        )
        self._provider.Delete(request, self._context)

    def invoke(self, token: str, arguments: Values) -> Values:
        request = provider_pb2.InvokeRequest(tok=token, args=to_struct(arguments))
        return from_struct(getattr(self._provider.Invoke(request, self._context), "return"))
