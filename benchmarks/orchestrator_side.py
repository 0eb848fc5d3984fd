"""One side of the cold start, alone in a fresh process: `python -m benchmarks.orchestrator_side SIDE FOLDER`.

Prints a JSON object: milliseconds and processor time from before the first import of a library to after the first
answer, and the most memory that the process held.
"""

import json
import resource
import sys
import time

EVENT = {"query": "How long do cats sleep?"}


def plain() -> None:
    """Only makes what the function cannot do without: a client, credentials, and a session for signed requests."""
    import botocore.session
    from botocore.config import Config
    from botocore.httpsession import URLLib3Session

    session = botocore.session.get_session()
    config = Config(
        region_name="eu-central-1",
        connect_timeout=5,
        read_timeout=20,
        retries={"mode": "standard", "total_max_attempts": 1},
    )
    session.create_client("bedrock-runtime", config=config)
    session.get_credentials().get_frozen_credentials()
    URLLib3Session(timeout=(5, 35))


def ours() -> None:
    """Imports the function's handler and answers the first question."""
    from orchestrator.handler import lambda_handler

    assert lambda_handler(EVENT, None)["statusCode"] == 200


def langchain() -> None:
    """Imports LangChain's handler and answers the first question."""
    from benchmarks.langchain_handler import lambda_handler

    assert lambda_handler(EVENT, None)["statusCode"] == 200


def main(side: str, folder: str) -> None:
    sys.path.insert(0, folder)
    start, cpu = time.perf_counter(), time.process_time()
    {"plain": plain, "ours": ours, "langchain": langchain}[side]()
    figures = {
        "ms": (time.perf_counter() - start) * 1000,
        "cpu_ms": (time.process_time() - cpu) * 1000,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print("\n" + json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
