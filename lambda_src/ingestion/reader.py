"""The process of `ingestion.apart`: `python -m ingestion.reader FILE_DESCRIPTOR MEMORY_BYTES`."""

import json
import resource
import signal
import sys
from contextlib import suppress
from math import ceil
from multiprocessing.connection import Connection

from ingestion.errors import DocumentError
from ingestion.extraction import read

# The other side has given up by then, or is gone.
MARGIN_SECONDS = 5


def answer(connection: Connection) -> None:
    """Read one document: suffix and seconds come, then the content; a reason and the blocks go, one of both empty."""
    suffix, seconds = json.loads(connection.recv_bytes())
    content = connection.recv_bytes()
    # Ends this process whatever it is at. It notices only between documents that the other side is gone.
    signal.alarm(ceil(seconds) + MARGIN_SECONDS)
    try:
        reply = _packed("", [tuple(block) for block in read(suffix, content)])
    except DocumentError as error:
        reply = _packed(str(error), [])
    except MemoryError:
        reply = _packed("it takes more memory to read than there is; split it", [])
    signal.alarm(0)
    connection.send_bytes(reply)


def _packed(reason: str, blocks: list[tuple[object, ...]]) -> bytes:
    return json.dumps([reason, blocks], ensure_ascii=False).encode()


def main() -> None:
    """Say that it began, then serve until the other side closes."""
    # macOS, where this runs on a developer's machine only, knows no such limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), resource.RLIM_INFINITY))
    with suppress(EOFError), Connection(int(sys.argv[1])) as connection:
        connection.send_bytes(b"ready")
        while True:
            answer(connection)


if __name__ == "__main__":
    main()
