"""The process of `ingestion.apart`: `python -m ingestion.reader FILE_DESCRIPTOR MEMORY_BYTES`."""

import resource
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from ingestion.errors import DocumentError
from ingestion.extraction import read


def answer(connection: Connection) -> None:
    """Read one document: a suffix and the content come, a reason and the blocks go; one of both is empty."""
    suffix = connection.recv()
    content = connection.recv_bytes()
    reason, blocks = "", []
    try:
        blocks = [tuple(block) for block in read(suffix, content)]
    except DocumentError as error:
        reason = str(error)
    except MemoryError:
        reason = "it takes more memory to read than there is; split it"
    connection.send((reason, blocks))


def main() -> None:
    """Serve until the other side closes."""
    # macOS, where this runs on a developer's machine only, knows no such limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), resource.RLIM_INFINITY))
    with suppress(EOFError), Connection(int(sys.argv[1])) as connection:
        while True:
            answer(connection)


if __name__ == "__main__":
    main()
