"""Converse and ConverseStream: what is refused, and an answer in the forms of both."""

import re
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from tests.standins.bedrock_errors import invalid
from tests.standins.event_stream import event, exception
from tests.standins.extractive import Extract, extract
from tests.standins.faults import Fault
from tests.standins.loopback import Cut, Reply, json_reply

# Models that only take their own temperature; https://platform.claude.com/docs, the migration guides of each.
OWN_SAMPLING = re.compile(r"claude-(sonnet-5|opus-4-[78]|opus-5)")
THOUGHT = "The documents are read and the nearest sentence is looked for."


@dataclass(frozen=True, kw_only=True)
class Answering:
    """How models answer. `thinks` puts a block of reasoning before the text, as newer models do unasked."""

    nothing_found: str
    thinks: bool = True
    seconds_between_words: float = 0


def converse(model_id: str, body: dict[str, Any], answering: Answering) -> Reply:
    answer = _answer(model_id, body, answering)
    thought = {"reasoningContent": {"reasoningText": {"text": THOUGHT, "signature": "c3RhbmQtaW4="}}}
    content = [*([thought] if answering.thinks else []), {"text": answer.text}]
    document = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": _stop_reason(answer),
        "usage": _usage(answer),
        "metrics": {"latencyMs": 1},
    }
    return json_reply(document)


def converse_stream(model_id: str, body: dict[str, Any], answering: Answering, fault: Fault | None) -> Reply:
    answer = _answer(model_id, body, answering)
    frames = _with_fault(_frames(answer, answering), fault)
    return Reply(body=frames, content_type="application/vnd.amazon.eventstream")


def _frames(answer: Extract, answering: Answering) -> Generator[bytes]:
    yield event("messageStart", {"role": "assistant"})
    index = 0
    if answering.thinks:
        yield _delta(index, {"reasoningContent": {"text": THOUGHT}})
        yield event("contentBlockStop", {"contentBlockIndex": index})
        index += 1
    for position, word in enumerate(answer.text.split(" ")):
        time.sleep(answering.seconds_between_words)
        yield _delta(index, {"text": word if position == 0 else f" {word}"})
    yield event("contentBlockStop", {"contentBlockIndex": index})
    yield event("messageStop", {"stopReason": _stop_reason(answer)})
    yield event("metadata", {"usage": _usage(answer), "metrics": {"latencyMs": 1}})


def _with_fault(frames: Generator[bytes], fault: Fault | None) -> Generator[bytes]:
    """After so many frames the stream ends: with the fault's modelled error, or in the middle of nothing."""
    for position, frame in enumerate(frames):
        if fault and position == fault.cut_after_events:
            if not fault.code:
                raise Cut
            yield exception(fault.code, fault.message)
            return
        yield frame


def _delta(index: int, delta: dict[str, Any]) -> bytes:
    return event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})


def _answer(model_id: str, body: dict[str, Any], answering: Answering) -> Extract:
    limits = body.get("inferenceConfig", {})
    if model_id.startswith("anthropic."):
        raise invalid(
            f"Invocation of model ID {model_id} with on-demand throughput isn't supported. Retry your request "
            "with the ID or ARN of an inference profile that contains this model."
        )
    if OWN_SAMPLING.search(model_id) and {"temperature", "topP"} & set(limits):
        raise invalid("temperature and topP are not supported by this model.")
    messages = body.get("messages", [])
    _check_turns(messages)
    texts = [block.get("text", "") for turn in messages for block in turn["content"]]
    system = [block.get("text", "") for block in body.get("system", [])]
    if not all(text.strip() for text in texts + system):
        raise invalid("The text field in the ContentBlock object is blank.")
    return extract(
        "\n".join(system + texts), texts[-1], answering.nothing_found, limits.get("maxTokens", 4096)
    )


def _check_turns(messages: list[dict[str, Any]]) -> None:
    roles = [message["role"] for message in messages]
    if not roles or roles[0] != "user" or roles[-1] != "user":
        raise invalid("A conversation must start with a user message and end with one.")
    if any(one == following for one, following in zip(roles, roles[1:], strict=False)):
        raise invalid("roles must alternate between user and assistant.")


def _stop_reason(answer: Extract) -> str:
    return "max_tokens" if answer.truncated else "end_turn"


def _usage(answer: Extract) -> dict[str, int]:
    return {
        "inputTokens": answer.input_tokens,
        "outputTokens": answer.output_tokens,
        "totalTokens": answer.input_tokens + answer.output_tokens,
    }
