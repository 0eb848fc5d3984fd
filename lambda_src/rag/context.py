"""Chooses what of the passages and of the conversation a model is shown, within a budget of tokens. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from rag.answers import Turn
from rag.passages import Passage
from rag.prompt import data_text, is_blank
from rag.tokens import estimate_tokens


def fit_passages(passages: Sequence[Passage], budget_tokens: int) -> tuple[Passage, ...]:
    """The passages that are used, in their order, which is the best first.

    Each is whole, except the very best when it alone is too long: its end is cut off. The budget counts the text
    as it is sent. A passage that says the same as one before it, or nothing that can be seen, is left out, and so
    is one that does not fit any more.
    """
    used: list[Passage] = []
    seen: set[str] = set()
    left = budget_tokens
    for passage in passages:
        text = data_text(passage.text).strip()
        if text in seen or is_blank(text):
            continue
        seen.add(text)
        tokens = estimate_tokens(text)
        if not used and tokens > left:
            return (replace(passage, text=_cut(passage.text, budget_tokens)),)
        if tokens <= left:
            used.append(passage)
            left -= tokens
    return tuple(used)


def fit_history(history: Sequence[Turn], budget_tokens: int) -> tuple[Turn, ...]:
    """The newest turns that fit, each whole, in their order."""
    kept: list[Turn] = []
    for turn in reversed(history):
        budget_tokens -= estimate_tokens(data_text(turn.text))
        if budget_tokens < 0:
            break
        kept.append(turn)
    return tuple(reversed(kept))


def _cut(text: str, budget_tokens: int) -> str:
    """The longest beginning of `text` that fits, back to the end of a word where one is near."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(data_text(text[:middle])) <= budget_tokens:
            low = middle
        else:
            high = middle - 1
    blank = text.rfind(" ", low * 3 // 4, low)
    return text[: blank if blank > 0 else low]
