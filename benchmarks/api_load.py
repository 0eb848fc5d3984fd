"""Asks one question over and over on many connections at once: `PORT CONNECTIONS SECONDS`. Prints JSON."""

import asyncio
import json
import sys
import time

BODY = json.dumps({"query": "Why do cats sleep so much?"}).encode()
HEAD = f"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(BODY)}"
REQUEST = HEAD.encode() + b"\r\n\r\n" + BODY


class Caller(asyncio.Protocol):
    """Asks again as soon as it has its reply, until the time is over."""

    def __init__(self, end: float, latencies: list[float], failures: list[bytes]) -> None:
        self._end = end
        self._latencies = latencies
        self._failures = failures
        self._received = b""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]):
            return
        now = time.perf_counter()
        if head.startswith(b"HTTP/1.1 200 "):
            self._latencies.append(now - self._start)
        else:
            self._failures.append(head)
        self._received = b""
        if now < self._end:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.done.set_result(None)

    def _ask(self) -> None:
        self._start = time.perf_counter()
        self._transport.write(REQUEST)


async def load(port: int, connections: int, seconds: float) -> dict[str, float]:
    """Requests per second, and latencies in milliseconds."""
    latencies: list[float] = []
    failures: list[bytes] = []
    start = time.perf_counter()
    callers = [
        (
            await asyncio.get_running_loop().create_connection(
                lambda: Caller(start + seconds, latencies, failures), "127.0.0.1", port
            )
        )[1]
        for _ in range(connections)
    ]
    await asyncio.gather(*(caller.done for caller in callers))
    if failures:
        raise RuntimeError(f"{len(failures)} requests failed, the first with {failures[0][:80]!r}")
    latencies.sort()
    return {
        "requests": len(latencies),
        "per_second": len(latencies) / (time.perf_counter() - start),
        "p50_ms": 1000 * latencies[len(latencies) // 2],
        "p99_ms": 1000 * latencies[len(latencies) * 99 // 100],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(load(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))))
