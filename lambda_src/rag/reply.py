"""What of a model's words is shown: all of them, unless they are the mark that there is no answer."""

import re
from collections.abc import Callable, Iterator

from rag.answers import Answer
from rag.errors import UnavailableError
from rag.prompt import NO_ANSWER_MARKER
from rag.results import Outcome
from rag.well_formed import well_formed

# Models wrap a word that they shall repeat in quotes or marks of emphasis now and then.
OPENING = re.compile(r"[\s\"'`*]*")


def answer_text(answer: Answer) -> str:
    """The model's text in whole characters, without blanks around it; empty when it said nothing."""
    return well_formed(answer.text or "").strip()


def outcome_of(answer: Answer) -> Outcome:
    """`no_answer` for no text, for the mark at its beginning, and for a mark that was cut off."""
    text = answer_text(answer)
    bare = OPENING.sub("", text, count=1)
    is_cut_mark = answer.truncated and NO_ANSWER_MARKER.startswith(bare)
    return "no_answer" if not text or is_cut_mark or bare.startswith(NO_ANSWER_MARKER) else "answered"


class VisibleText:
    """Takes pieces of a text and gives away what is certain to be part of the text that is shown in the end.

    Held back are: everything while it may still be the mark, blanks at both ends, and half a character at the end.
    """

    def __init__(self) -> None:
        self._held = ""
        self._is_answer = False
        self._is_mark = False

    def feed(self, piece: str) -> str:
        """What may be shown now, empty when nothing may."""
        if self._is_mark:
            return ""
        self._held += piece
        if not self._is_answer:
            self._held = self._held.lstrip()
            bare = OPENING.sub("", self._held, count=1)
            self._is_mark = bare.startswith(NO_ANSWER_MARKER)
            if self._is_mark or NO_ANSWER_MARKER.startswith(bare):
                return ""
            self._is_answer = True
        certain = self._held[:-1] if "\ud800" <= self._held[-1:] <= "\udbff" else self._held
        certain = certain.rstrip()
        self._held = self._held[len(certain) :]
        return well_formed(certain)


class StreamedReply:
    """A model's stream without what is not shown. `check` runs between events and raises to end it."""

    def __init__(self, events: Iterator[str | Answer], check: Callable[[], None]) -> None:
        self._events = events
        self._check = check
        self._visible = VisibleText()

    def advance(self) -> str | Answer:
        """The next piece that is shown, never empty, or the finished answer."""
        for event in self._events:
            self._check()
            if isinstance(event, Answer):
                return event
            shown = self._visible.feed(event) if event else ""
            if shown:
                return shown
        raise UnavailableError("The model's stream ended without an answer.")

    def close(self) -> None:
        """End the model's work."""
        getattr(self._events, "close", lambda: None)()
