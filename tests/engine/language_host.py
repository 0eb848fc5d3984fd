"""A language host for `pulumi`: it runs the project's `__main__.py` in its own process, and installs nothing.

Built on `LanguageServer`, a private class of the SDK, which the lock file therefore pins.
"""

import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from pulumi.automation._server import LanguageServer
from pulumi.runtime import settings
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

# The engine interrupts a host that it no longer needs; should the engine itself be killed, the host notices by this.
SECONDS_BETWEEN_LOOKS = 1.0


class ProjectLanguageHost(LanguageServer):
    """Runs whatever project the engine names."""

    def __init__(self) -> None:
        super().__init__(lambda: None)

    def Run(self, request: Any, context: Any) -> Any:
        self.program = lambda: run_project(request.info.program_directory, request.info.root_directory)
        return super().Run(request, context)

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:
        """Runs a policy pack, with the Python of its own environment, until the engine has judged all by it.

        A pack prints its port and serves; the engine ends the call when it is done.
        """
        folder = request.info.program_directory
        python = Path(folder, request.info.options["virtualenv"], "bin", "python")
        environment = os.environ | dict(entry.split("=", 1) for entry in request.env)
        pack = subprocess.Popen(
            [python, "-u", folder, *request.args], cwd=request.pwd, env=environment, stdout=subprocess.PIPE
        )
        context.add_callback(pack.terminate)
        with pack:
            for line in pack.stdout or ():
                yield language_pb2.RunPluginResponse(stdout=line)
        yield language_pb2.RunPluginResponse(exitcode=pack.returncode)


def run_project(program_directory: str, root_directory: str) -> None:
    """The program's entry point, with the paths and settings that Pulumi's own host gives it."""
    os.chdir(program_directory)
    settings.SETTINGS.root_directory = root_directory
    sys.path.insert(0, program_directory)
    runpy.run_path(str(Path(program_directory, "__main__.py")), run_name="__main__")


def main() -> None:
    """Serves on a loopback port, which it prints, until the engine is gone."""
    # `python -m` puts the working directory first; the program's own folder is what belongs there.
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    server = grpc.server(ThreadPoolExecutor(max_workers=4))
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(ProjectLanguageHost(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    stopped = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stopped.set())
    engine = os.getppid()
    while os.getppid() == engine and not stopped.wait(SECONDS_BETWEEN_LOOKS):
        pass
    server.stop(grace=None)


if __name__ == "__main__":
    main()
