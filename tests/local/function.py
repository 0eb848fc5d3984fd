"""`python -m tests.local.function PORT`: the orchestrator's handler behind a function URL on loopback."""

import base64
import signal
import sys
import threading
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from orchestrator.handler import lambda_handler
from tests.local.context import LambdaContext
from tests.local.lifeline import end_with_parent
from tests.standins.loopback import Reply, Request, serving

TIMEOUT_SECONDS = 60
# The function's own environment handles one event at a time, as Lambda's do.
ONE_AT_A_TIME = threading.Lock()


def event_of(request: Request) -> dict[str, Any]:
    """The event of a function URL, payload version 2.0.

    https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads
    """
    now = datetime.now(UTC)
    is_text = request.headers.get("content-type", "").startswith(("text/", "application/json"))
    body = request.body.decode(errors="replace") if is_text else base64.b64encode(request.body).decode()
    context = {
        "accountId": "anonymous",
        "apiId": "local",
        "domainName": request.headers.get("host", ""),
        "http": {
            "method": request.method,
            "path": request.path,
            "protocol": "HTTP/1.1",
            "sourceIp": "127.0.0.1",
        },
        "requestId": "local",
        "routeKey": "$default",
        "stage": "$default",
        "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(now.timestamp() * 1000),
    }
    event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": dict(request.headers),
        "queryStringParameters": dict(parse_qsl(request.query)),
        "requestContext": context,
        "isBase64Encoded": not is_text,
    }
    return {**event, "body": body} if request.body else event


def reply_of(result: dict[str, Any]) -> Reply:
    headers = {name: value for name, value in result["headers"].items() if name != "content-type"}
    kind = result["headers"].get("content-type", "application/json")
    return Reply(
        status=result["statusCode"], body=result["body"].encode(), content_type=kind, headers=headers
    )


def invoke(request: Request) -> Reply:
    with ONE_AT_A_TIME:
        return reply_of(lambda_handler(event_of(request), LambdaContext(TIMEOUT_SECONDS)))


def main(port: int) -> None:
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    end_with_parent()
    with serving(invoke, port):
        ended.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
