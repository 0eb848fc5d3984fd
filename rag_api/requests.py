"""What every request is held to before the pipeline hears of it: who asks, how much is read, for how long."""

import asyncio
import hmac
import re
import uuid

from fastapi import Request
from starlette.requests import ClientDisconnect

from rag.errors import CallerGoneError, QuestionTooLongError
from rag.question import MAX_REQUEST_BYTES
from rag_api.errors import BusyError, SlowBodyError, UnauthorizedError

REQUEST_ID_HEADER = "x-request-id"
# A question is a few hundred kilobytes at most.
LONGEST_BODY_SECONDS = 10.0
# What is logged and sent back must not be able to end a header or a log line.
SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


def request_id_of(request: Request) -> str:
    """The caller's own id of the request where it is sane, or a new one."""
    given = request.headers.get(REQUEST_ID_HEADER, "")
    return given if SANE_REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def require_token(request: Request, token: str) -> None:
    """Raise `UnauthorizedError` unless the request carries the token; an empty token lets everybody in.

    The comparison takes the same time wherever the two differ. Header values are bytes: none can break it.
    """
    if not token:
        return
    given = next((value for name, value in request.scope["headers"] if name == b"authorization"), b"")
    scheme, _, credentials = given.partition(b" ")
    # The scheme's name may be written in any case (RFC 9110, section 11.1).
    if scheme.lower() != b"bearer" or not hmac.compare_digest(credentials.strip(), token.encode()):
        raise UnauthorizedError("The bearer token is missing or wrong.")


class Bodies:
    """Reads the bodies of requests, at most `maximum` at one time: each holds memory and no place yet."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._reading = 0

    async def read(self, request: Request, seconds: float) -> bytes:
        """As `limited_body`, in at most `LONGEST_BODY_SECONDS`. Raises `BusyError` at once beyond the maximum."""
        if self._reading >= self._maximum:
            raise BusyError(f"{self._maximum} bodies are being read.")
        self._reading += 1
        try:
            return await limited_body(request, min(LONGEST_BODY_SECONDS, seconds))
        finally:
            self._reading -= 1


async def limited_body(request: Request, seconds: float) -> bytes:
    """The body, read no further than the limit and no longer than `seconds`, whatever its headers promise.

    Raises `QuestionTooLongError`, `SlowBodyError` or `CallerGoneError`.
    """
    too_long = QuestionTooLongError(f"The request may have at most {MAX_REQUEST_BYTES} bytes.")
    promised = request.headers.get("content-length", "")
    if promised.isdecimal() and int(promised[:20]) > MAX_REQUEST_BYTES:
        raise too_long
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                body += part
                if len(body) > MAX_REQUEST_BYTES:
                    raise too_long
    except TimeoutError:
        raise SlowBodyError(f"The request body did not arrive within {seconds:.3g} seconds.") from None
    except ClientDisconnect:
        raise CallerGoneError("The client left while it sent its request.") from None
    return bytes(body)


async def disconnected(request: Request) -> None:
    """Return when the client has gone, or when the answer was sent. The body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
