"""A real client of boto3 whose calls are answered by functions of a test: parameters are validated as ever."""

from collections.abc import Callable, Mapping
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

REGION = "eu-central-1"
HTTP_ERROR, HTTP_OK = 400, 200


class _Response:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


def answering_client(service: str, answers: Mapping[str, Callable[..., Any]]) -> Any:
    """Operation name to a function of its parameters. What is not named there fails the test."""
    client = boto3.client(
        service,
        region_name=REGION,
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}),
    )

    def remember(params: dict[str, Any], context: dict[str, Any], **rest: Any) -> None:
        context["asked"] = dict(params)

    def answer(model: Any, context: dict[str, Any], **rest: Any) -> tuple[_Response, dict[str, Any]]:
        try:
            found = answers[model.name](**context["asked"])
        except ClientError as error:
            return _Response(HTTP_ERROR), error.response  # type: ignore[return-value]
        return _Response(HTTP_OK), {"ResponseMetadata": {"HTTPStatusCode": HTTP_OK}, **(found or {})}

    client.meta.events.register(f"before-parameter-build.{service}", remember)
    client.meta.events.register(f"before-call.{service}", answer)
    return client


def refusal(code: str, message: str = "no") -> ClientError:
    """What a client raises when AWS refuses."""
    return ClientError({"Error": {"Code": code, "Message": message}}, "Operation")
