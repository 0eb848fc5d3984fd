"""Stand-ins for Bedrock and OpenSearch on loopback that reply the same after a fixed delay: `PORT DELAY_MS`."""

import asyncio
import json
import struct
import sys
from binascii import crc32
from typing import Any

DIMENSIONS = 1024
# As many passages, each as long, as the defaults of a stack bring.
PASSAGES = 5
PASSAGE = "The cat sleeps in the warm sun by the window for most of the day. " * 24
# An event of Claude brings some five tokens.
CHARACTERS_PER_EVENT = 20
ANSWER = "Cats sleep to save energy for the hunt, which takes all their strength. " * 8


def hit(number: int) -> dict[str, Any]:
    """One passage as a search brings it."""
    source = {
        "text": f"{number}. {PASSAGE}",
        "document_key": f"raw/pdfs/{number}.pdf",
        "chunk_number": number,
        "page": number + 1,
        "heading": "Cats",
    }
    return {"_id": str(number), "_score": 1 / (number + 1), "_source": source}


def replies() -> dict[bytes, bytes]:
    """Whole HTTP replies by the end of the path."""
    vector = [round(0.03125 + number * 1e-6, 9) for number in range(DIMENSIONS)]
    usage = {"inputTokens": 2000, "outputTokens": 120, "totalTokens": 2120}
    return {
        b"/invoke": _reply({"embedding": vector, "inputTextTokenCount": 9}),
        b"/_search": _reply(
            {
                "took": 3,
                "timed_out": False,
                "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
                "hits": {"hits": [hit(number) for number in range(PASSAGES)]},
            }
        ),
        b"/converse-stream": _whole(
            b"".join(
                [
                    _event("messageStart", {"role": "assistant"}),
                    *(_event("contentBlockDelta", _delta(text)) for text in _pieces()),
                    _event("contentBlockStop", {"contentBlockIndex": 0}),
                    _event("messageStop", {"stopReason": "end_turn"}),
                    _event("metadata", {"usage": usage, "metrics": {"latencyMs": 9}}),
                ]
            ),
            "application/vnd.amazon.eventstream",
        ),
    }


def _pieces() -> list[str]:
    """The answer as a model writes it: a few words per event."""
    return [ANSWER[at : at + CHARACTERS_PER_EVENT] for at in range(0, len(ANSWER), CHARACTERS_PER_EVENT)]


def _delta(text: str) -> dict[str, Any]:
    return {"contentBlockIndex": 0, "delta": {"text": text}}


def _event(name: str, document: dict[str, Any]) -> bytes:
    """A frame of an event stream: lengths, checksum, headers, payload, checksum."""
    named = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        struct.pack(">B", len(key)) + key.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for key, value in named.items()
    )
    payload = json.dumps(document).encode()
    lengths = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    frame = lengths + struct.pack(">I", crc32(lengths)) + headers + payload
    return frame + struct.pack(">I", crc32(frame))


def _reply(document: dict[str, Any]) -> bytes:
    return _whole(json.dumps(document).encode(), "application/json")


def _whole(body: bytes, content_type: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Stub(asyncio.Protocol):
    """Replies to each request of a connection `delay` seconds after its last byte."""

    def __init__(self, known: dict[bytes, bytes], delay: float) -> None:
        self._known = known
        self._delay = delay
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        self._received = body[_length(head) :]
        path = head.split(b" ", 2)[1]
        reply = next(reply for ending, reply in self._known.items() if path.endswith(ending))
        asyncio.get_running_loop().call_later(self._delay, self._transport.write, reply)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def serve(port: int, delay: float) -> None:
    """Serve for ever."""
    known = replies()
    server = await asyncio.get_running_loop().create_server(lambda: Stub(known, delay), "127.0.0.1", port)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]) / 1000))
