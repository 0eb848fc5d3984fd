"""Serves the stub's providers on loopback ports, to which the command line attaches."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
from pulumi.runtime.proto import provider_pb2_grpc

from tests.engine.stub.account import Account
from tests.engine.stub.provider import StubProvider
from tests.engine.stub.sdk_types import PACKAGES

# A component's construction waits for its children, each a call of its own.
THREADS = 32
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@contextmanager
def serving(account: Account) -> Generator[dict[str, str]]:
    """While open, one server for each package; gives the environment that makes `pulumi` use them and no others."""
    servers: list[grpc.Server] = []
    ports: list[str] = []
    try:
        for package in PACKAGES:
            server = grpc.server(ThreadPoolExecutor(max_workers=THREADS), options=UNLIMITED)
            provider_pb2_grpc.add_ResourceProviderServicer_to_server(StubProvider(package, account), server)
            ports.append(f"{package}:{server.add_insecure_port('127.0.0.1:0')}")
            server.start()
            servers.append(server)
        yield {
            "PULUMI_DEBUG_PROVIDERS": ",".join(ports),
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }
    finally:
        for server in servers:
            server.stop(grace=None).wait()
