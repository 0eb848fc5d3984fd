"""Bedrock and a vector store on one loopback port, which answer at once and always the same."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 1024
PASSAGES = 5
PASSAGE = "Cats sleep for twelve to sixteen hours a day, most of it in short naps. " * 14
VECTOR = json.dumps({"embedding": [0.03125] * DIMENSIONS, "inputTextTokenCount": 9}).encode()
ANSWER = json.dumps(
    {
        "output": {
            "message": {"role": "assistant", "content": [{"text": "About fourteen hours a day. " * 10}]}
        },
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1500, "outputTokens": 80, "totalTokens": 1580},
        "metrics": {"latencyMs": 1},
    }
).encode()


def _hits() -> dict[str, Any]:
    sources = [
        {
            "text": f"{number}. {PASSAGE}",
            "document_key": f"raw/pdfs/{number}.pdf",
            "chunk_number": 0,
            "page": 1,
        }
        for number in range(PASSAGES)
    ]
    hits = [
        {"_index": "documents", "_id": str(number), "_score": 1 - number / 10, "_source": source}
        for number, source in enumerate(sources)
    ]
    return {"took": 1, "timed_out": False, "status": 200, "_shards": {"failed": 0}, "hits": {"hits": hits}}


FOUND = json.dumps(_hits()).encode()
FOUND_TWICE = json.dumps({"took": 1, "responses": [_hits(), _hits()]}).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else the second packet of a reply waits until the first is acknowledged, which the client delays.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        """A search of several queries comes as GET with a body."""
        self.do_POST()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        content = self._content()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def _content(self) -> bytes:
        if self.path.endswith("/invoke"):
            return VECTOR
        if self.path.endswith("/converse"):
            return ANSWER
        return FOUND_TWICE if "_msearch" in self.path else FOUND

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the table is what is to be read."""


@contextmanager
def stub_services() -> Generator[str]:
    """The address of the running services, which are a process of their own so that they take no time of ours."""
    command = [sys.executable, "-m", "benchmarks.orchestrator_stub"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def environment(address: str, search_mode: str = "hybrid") -> dict[str, str]:
    """What a function finds in its environment, with every service at `address`."""
    return {
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "benchmark",
        "AWS_SECRET_ACCESS_KEY": "benchmark",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": address,
        "OPENSEARCH_ENDPOINT": address,
        "INDEX_ALIAS": "documents",
        "EMBEDDING_MODEL_ID": "amazon.titan-embed-text-v2:0",
        "EMBEDDING_DIMENSIONS": str(DIMENSIONS),
        "ANSWER_MODEL_ID": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "BEDROCK_READ_TIMEOUT_SECONDS": "20",
        "BEDROCK_MAX_ATTEMPTS": "3",
        "RETRIEVAL_COUNT": str(PASSAGES),
        "SEARCH_MODE": search_mode,
        "CONTEXT_TOKENS": "6000",
        "ANSWER_MAX_TOKENS": "1024",
    }


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
