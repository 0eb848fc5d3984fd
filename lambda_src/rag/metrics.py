"""Metrics as lines of log in CloudWatch's embedded metric format, which cost no call.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import json
import time
from collections.abc import Mapping
from math import isfinite
from typing import Any

from rag.prices import cost_usd
from rag.results import Result

NAMESPACE = "AiPlatform/Rag"
# The unit stands at the end of a metric's name; CloudWatch knows no money.
UNITS = {"Milliseconds": "Milliseconds", "Seconds": "Seconds", "Bytes": "Bytes", "Usd": "None"}


def emit(
    service: str,
    metrics: Mapping[str, float | None],
    *,
    error_code: str = "",
    **properties: str | int | float,
) -> None:
    """Write one line with `metrics`, those without a number left out; `properties` can be searched in the log.

    Metrics have one dimension, the service: each value of a dimension makes every metric once more, and each of
    these costs. So the models are properties, and an error's code is a dimension of the metric `Errors` alone.
    """
    numbers = {name: value for name, value in metrics.items() if value is not None and isfinite(value)}
    if not numbers:
        return
    definitions = [{"Name": name, "Unit": _unit(name)} for name in numbers]
    directives = [_directive(["Service"], definitions)]
    code: dict[str, Any] = {}
    if error_code and "Errors" in numbers:
        directives.append(_directive(["Service", "ErrorCode"], [{"Name": "Errors", "Unit": "Count"}]))
        code = {"ErrorCode": error_code}
    timestamp = int(time.time() * 1000)
    metadata = {"Timestamp": timestamp, "CloudWatchMetrics": directives}
    line = {**properties, **numbers, **code, "Service": service, "_aws": metadata}
    print(json.dumps(line, allow_nan=False), flush=True)


def emit_answer(
    service: str, result: Result, total_ms: float, *, answer_model_id: str, embedding_model_id: str
) -> None:
    """The metrics of a question that went through. `NoAnswer` and its like are 0 or 1: their average is a rate."""
    usage = result.usage
    stages = {f"{stage.title()}Milliseconds": spent for stage, spent in result.timings_ms.items()}
    metrics: dict[str, float | None] = {
        "TotalMilliseconds": round(total_ms, 1),
        **stages,
        "InputTokens": usage.input_tokens,
        "OutputTokens": usage.output_tokens,
        "EmbeddingTokens": usage.embedding_tokens,
        "CostUsd": cost_usd(usage, answer_model_id, embedding_model_id),
        "NoAnswer": int(result.outcome == "no_answer"),
        "NoDocuments": int(result.outcome == "no_documents"),
        "Truncated": int(result.truncated),
        "Errors": 0,
        "ServerErrors": 0,
    }
    emit(service, metrics, answer_model_id=answer_model_id, embedding_model_id=embedding_model_id)


def emit_failure(service: str, error_code: str, status: int, total_ms: float) -> None:
    """The metrics of a question that was refused or failed; `ServerErrors` leaves out what its caller did wrong."""
    metrics = {"TotalMilliseconds": round(total_ms, 1), "Errors": 1, "ServerErrors": int(status >= 500)}
    emit(service, metrics, error_code=error_code, status=status)


def _unit(name: str) -> str:
    return next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "Count")


def _directive(dimensions: list[str], definitions: list[dict[str, str]]) -> dict[str, Any]:
    return {"Namespace": NAMESPACE, "Dimensions": [dimensions], "Metrics": definitions}
