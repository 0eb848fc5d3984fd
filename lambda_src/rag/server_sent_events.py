"""The data of server-sent events out of a stream of bytes.

https://html.spec.whatwg.org/multipage/server-sent-events.html, but for lines that end in CR alone: no service sends them.
"""

from collections.abc import Iterable, Iterator

# No event of a chat comes near; an endless line must not fill the memory.
MAX_EVENT_BYTES = 4_000_000


def event_data(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The data of each complete event, its lines joined by line feeds; comments and other fields are left out.

    After each part an empty item follows: a stream that brings nothing but comments does not hold its reader.
    Raises `ValueError` for an event of more than `MAX_EVENT_BYTES`.
    """
    data: list[bytes] = []
    size = 0
    for lines in _lines(parts):
        for line in lines:
            if not line:
                if data:
                    yield b"\n".join(data)
                data, size = [], 0
            elif line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
                size += len(line)
                if size > MAX_EVENT_BYTES:
                    raise ValueError("an event is too long")
        yield b""


def _lines(parts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines that each part completes, without their ends, which are LF or CR LF.

    A last line without an end is no line.
    """
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > MAX_EVENT_BYTES:
            raise ValueError("a line is too long")
        yield [line.removesuffix(b"\r") for line in lines]
