"""Reads documents in a process of its own, which a hostile file can neither keep busy nor fill the memory of.

The process lives on for the next document: its libraries take longer to import than most documents to read. Between
documents it only waits, so it may stand still with its environment. It ends when this process does.
"""

import atexit
import json
import os
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from socket import socketpair
from threading import Lock
from typing import Any

from ingestion.errors import DocumentError
from rag.chunking import Block
from rag.errors import UnavailableError

# Address space of the process, within a function of 1 GiB. Some 200 MB of it are the libraries' own.
MEMORY_BYTES = 700_000_000
# Nothing of the document is read yet; a loaded machine takes a second.
START_SECONDS = 30.0
# Credentials stand in the environment, and reading a file needs none.
ENVIRONMENT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TZ")
# The folder above `ingestion`, which is the root of the function's archive. With -m Python imports from where it starts.
PACKAGES = Path(__file__).resolve().parents[1]


class Reader:
    """The process, started when the first document comes. Threads take turns."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        atexit.register(self.stop)

    def read(self, suffix: str, content: bytes, seconds: float) -> list[Block]:
        """The document's blocks; `DocumentError` when it cannot be read, or not within time and memory.

        Raises `UnavailableError` when there is no process to read it, which is no document's fault.
        """
        with self._lock:
            connection = self._running()
            try:
                reason, blocks = _ask(connection, suffix, content, seconds)
            except BaseException as error:
                # An answer that still comes would be taken for the next document's.
                self.stop()
                if isinstance(error, TimeoutError):
                    reason = f"it cannot be read within {seconds:.0f} seconds; split it"
                elif isinstance(error, EOFError | OSError):
                    reason = "it takes more memory to read than there is; split it"
                else:
                    raise
            if reason:
                raise DocumentError(reason)
            return [Block(*block) for block in blocks]

    def _running(self) -> Connection:
        """The way to the process, which is started where there is none or it ended while it had no document."""
        if self._connection and self._process and self._process.poll() is None:
            return self._connection
        self.stop()
        try:
            connection = self._start()
            if connection.poll(START_SECONDS):
                connection.recv_bytes()
                return connection
        except (EOFError, OSError):
            pass
        self.stop()
        raise UnavailableError("The process that reads documents did not start.")

    def _start(self) -> Connection:
        ours, theirs = socketpair()
        self._connection = Connection(ours.detach())
        with theirs:
            self._process = subprocess.Popen(
                # What it would write about a file holds pieces of it.
                [sys.executable, "-m", "ingestion.reader", str(theirs.fileno()), str(MEMORY_BYTES)],
                cwd=PACKAGES,
                env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return self._connection

    def stop(self) -> None:
        """End the process; the next document starts another."""
        if self._connection:
            self._connection.close()
        if self._process:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        self._connection = self._process = None


def _ask(connection: Connection, suffix: str, content: bytes, seconds: float) -> tuple[str, list[Any]]:
    """Why the document cannot be read, or its blocks. JSON, since a pickle from there could run code here."""
    connection.send_bytes(json.dumps([suffix, seconds]).encode())
    connection.send_bytes(content)
    if not connection.poll(seconds):
        raise TimeoutError
    return json.loads(connection.recv_bytes())
