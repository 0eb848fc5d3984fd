"""Stand-ins for Bedrock and OpenSearch on loopback that reply the same after a fixed delay: `PORT DELAY_MS`."""

import asyncio
import json
import sys
from typing import Any

DIMENSIONS = 1024
# As many passages, each as long, as the defaults of a stack bring.
PASSAGES = 5
PASSAGE = "The cat sleeps in the warm sun by the window for most of the day. " * 24
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
    message = {"role": "assistant", "content": [{"text": ANSWER}]}
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
        b"/converse": _reply(
            {
                "output": {"message": message},
                "stopReason": "end_turn",
                "usage": usage,
                "metrics": {"latencyMs": 9},
            }
        ),
    }


def _reply(document: dict[str, Any]) -> bytes:
    body = json.dumps(document).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
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
