"""Answers from an OpenAI-compatible service: OpenAI itself or a vLLM server of our own."""

import json
from collections.abc import Sequence
from typing import Any

import urllib3

from rag.bedrock import ANSWER_MAX_TOKENS, Answer
from rag.deadline import CONNECT_TIMEOUT_SECONDS
from rag.errors import ConfigurationError, ThrottledError, UnavailableError, UpstreamTimeoutError
from rag.prompt import SYSTEM_TEXT, Passage, user_text
from rag_api.settings import OpenAISettings


class OpenAIAnswerer:
    """Calls `/chat/completions` once per call; connections are kept between calls."""

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings
        # One attempt, and no redirect: it would carry the key to an address that nobody chose.
        self._http = urllib3.PoolManager(retries=False)

    def __call__(self, question: str, passages: Sequence[Passage], read_timeout_seconds: int) -> Answer:
        """The model's answer. Raises a `PipelineError` for whatever goes wrong."""
        body = {
            "model": self._settings.model,
            "max_completion_tokens": ANSWER_MAX_TOKENS,
            "messages": [
                {"role": "system", "content": SYSTEM_TEXT},
                {"role": "user", "content": user_text(question, passages)},
            ],
        }
        response = self._post(json.dumps(body).encode(), read_timeout_seconds)
        _raise_for_status(response.status, self._settings.model)
        return _answer(response.data)

    def _post(self, body: bytes, read_timeout_seconds: int) -> urllib3.BaseHTTPResponse:
        headers = {"content-type": "application/json"}
        if self._settings.api_key:
            headers["authorization"] = f"Bearer {self._settings.api_key}"
        timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT_SECONDS, read=read_timeout_seconds)
        url = f"{self._settings.base_url}/chat/completions"
        try:
            return self._http.request("POST", url, body=body, headers=headers, timeout=timeout)
        except (urllib3.exceptions.ReadTimeoutError, urllib3.exceptions.ConnectTimeoutError) as error:
            # urllib3 counts a refused connection among the time-outs.
            if isinstance(error, urllib3.exceptions.NewConnectionError):
                raise UnavailableError("The answer service refused the connection.") from error
            raise UpstreamTimeoutError("The answer service did not reply in time.") from error
        except urllib3.exceptions.HTTPError as error:
            raise UnavailableError(
                f"The answer service could not be reached: {type(error).__name__}."
            ) from error


def _raise_for_status(status: int, model: str) -> None:
    if status == 429:
        raise ThrottledError("The answer service was answered with 429.")
    if status >= 500:
        raise UnavailableError(f"The answer service replied with {status}.")
    if status != 200:
        raise ConfigurationError(
            f"The answer service replied with {status}. Check OPENAI_BASE_URL, OPENAI_API_KEY and that it serves {model}."
        )


def _answer(data: bytes) -> Answer:
    try:
        reply: dict[str, Any] = json.loads(data)
        choice = reply["choices"][0]
        text = (choice["message"].get("content") or "").strip()
        usage = reply.get("usage") or {}
        return Answer(
            text=text or None,
            stop_reason=choice.get("finish_reason") or "",
            input_tokens=usage.get("prompt_tokens", 0),
            output_tokens=usage.get("completion_tokens", 0),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise UnavailableError("The answer service sent a reply that is no chat completion.") from error
