"""The context that Lambda gives a handler, as far as ours look at it."""

import time
import uuid
from dataclasses import dataclass, field


@dataclass
class LambdaContext:
    """One invocation of at most `timeout_seconds`."""

    timeout_seconds: float
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    _start: float = field(default_factory=time.monotonic)

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self.timeout_seconds - (time.monotonic() - self._start)) * 1000))
