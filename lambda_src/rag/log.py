"""One JSON object per line on standard output. No question and no document text ever gets here."""

import json
import traceback
from typing import Any

from botocore.exceptions import ClientError

from rag.errors import PipelineError


def log_event(event: str, *, level: str = "INFO", **fields: Any) -> None:
    """Write one line that says what happened; `fields` are names, numbers and ids."""
    print(json.dumps({"level": level, "event": event, **fields}, default=str), flush=True)


def failure_fields(error: BaseException) -> dict[str, Any]:
    """Where an error was raised and what kind it is.

    The message of an error that is not ours is left out: botocore and OpenSearch quote the request in theirs.
    """
    frames = traceback.extract_tb(error.__traceback__)
    fields: dict[str, Any] = {
        "error_type": type(error).__name__,
        "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-6:]],
    }
    if isinstance(error, PipelineError):
        fields["detail"] = str(error)
    cause = error if isinstance(error, ClientError) else error.__cause__
    if isinstance(cause, ClientError):
        fields["aws_error_code"] = cause.response.get("Error", {}).get("Code", "")
        fields["aws_request_id"] = cause.response.get("ResponseMetadata", {}).get("RequestId", "")
    return fields
