"""`python -m tests.local.api PORT`: the HTTP service under uvicorn, started as in its image."""

import sys

import uvicorn

from tests.local.lifeline import end_with_parent

if __name__ == "__main__":
    end_with_parent()
    uvicorn.run(
        "rag_api.app:application", factory=True, host="127.0.0.1", port=int(sys.argv[1]), ws="none",
        access_log=False, server_header=False, timeout_graceful_shutdown=5, log_level="warning",
    )  # fmt: skip
