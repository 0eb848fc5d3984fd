"""Reads documents in a process of its own, which a hostile file can neither keep busy nor fill the memory of.

The process lives on for the next document: its libraries take longer to import than most documents to read.
"""

import atexit
import os
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from socket import socketpair
from threading import Lock

from ingestion.errors import DocumentError
from rag.chunking import Block

# Address space of the process, within a function of 1 GiB. Some 200 MB of it are the libraries' own.
MEMORY_BYTES = 700_000_000
# Credentials stand in the environment, and reading a file needs none.
ENVIRONMENT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TZ")
PACKAGES = Path(__file__).parents[1]


class Reader:
    """The process, started when the first document comes. Threads take turns."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        atexit.register(self.stop)

    def read(self, suffix: str, content: bytes, seconds: float) -> list[Block]:
        """The document's blocks; `DocumentError` when it cannot be read, or not within time and memory."""
        with self._lock:
            try:
                return self._ask(suffix, content, seconds)
            except TimeoutError:
                self.stop()
                raise DocumentError(f"it cannot be read within {seconds:.0f} seconds; split it") from None
            except (EOFError, OSError):
                self.stop()
                raise DocumentError("it takes more memory to read than there is; split it") from None

    def _ask(self, suffix: str, content: bytes, seconds: float) -> list[Block]:
        connection = self._connection
        if not connection or not self._process or self._process.poll() is not None:
            # The first document, or the process ended while it had none: that is no document's fault.
            self.stop()
            connection = self._start()
        connection.send(suffix)
        connection.send_bytes(content)
        if not connection.poll(seconds):
            raise TimeoutError
        reason, blocks = connection.recv()
        if reason:
            raise DocumentError(reason)
        return [Block(*block) for block in blocks]

    def _start(self) -> Connection:
        ours, theirs = socketpair()
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
        self._connection = Connection(ours.detach())
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
