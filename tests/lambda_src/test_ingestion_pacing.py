"""Embeddings keep to the configured pace, side by side, within the time of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.embedder import MAXIMUM_CHUNKS_PER_PART, WORKERS, Embedder, chunks_per_part
from ingestion.errors import DocumentError
from ingestion.pacing import BURST_SECONDS, OutOfTimeError, Pacer
from rag.deadline import Deadline
from rag.errors import QuestionTooLongError, ThrottledError
from tests.lambda_src.fakes import FakeTime

FOREVER = Deadline(lambda: 10**9)


@given(
    per_minute=st.integers(60, 10_000),
    uses=st.lists(st.tuples(st.integers(0, 3000), st.floats(0, 30)), min_size=1, max_size=60),
)
def test_over_any_time_no_more_is_used_than_the_pace_and_a_short_burst_allow(
    per_minute: int, uses: list[tuple[int, float]]
) -> None:
    time = FakeTime()
    pacer = Pacer(per_minute, time.clock, time.sleep)
    begun: list[tuple[float, int]] = []
    for tokens, pause in uses:
        pacer.wait(tokens, FOREVER)
        begun.append((time.now, tokens))
        time.now += pause
    for at, (start, _) in enumerate(begun):
        # The last one of a stretch is paid for afterwards.
        used = 0
        for moment, tokens in begun[at:]:
            allowed = (moment - start + BURST_SECONDS) * per_minute / 60
            assert used <= allowed + 1e-3, "the model would throttle"
            used += tokens


def test_after_a_long_pause_only_a_short_burst_is_free() -> None:
    time = FakeTime()
    pacer = Pacer(600, time.clock, time.sleep)
    time.now += 3600
    for _ in range(100):
        pacer.wait(10, FOREVER)
    assert time.now - 3600 == pytest.approx(100 - BURST_SECONDS - 1), "an hour of silence was saved up"


def test_what_does_not_fit_into_the_time_left_is_refused_at_once() -> None:
    time = FakeTime()
    pacer = Pacer(60, time.clock, time.sleep)
    pacer.wait(100, FOREVER)
    with pytest.raises(OutOfTimeError):
        pacer.wait(1, Deadline(lambda: 50))
    assert time.pauses == [], "time was spent on waiting for nothing"
    pacer.wait(1, Deadline(lambda: 99))
    assert time.pauses == [98]


def test_the_models_own_count_corrects_the_estimate() -> None:
    time = FakeTime()
    pacer = Pacer(60, time.clock, time.sleep)
    pacer.wait(2, FOREVER)
    pacer.correct(10)
    pacer.wait(1, FOREVER)
    assert time.now == 10


@dataclass
class Made:
    vectors: list[list[float]]
    tokens: int


class Model:
    """Embeds several texts at once, remembers the calls and fails when told to."""

    def __init__(self, failure: Exception | None = None, fails_at: int = 0) -> None:
        self.calls: list[list[str]] = []
        self._lock = Lock()
        self._failure, self._fails_at = failure, fails_at

    def embed(self, texts: Sequence[str], deadline: Deadline) -> Made:
        with self._lock:
            self.calls.append(list(texts))
            if self._failure and len(self.calls) >= self._fails_at:
                raise self._failure
        return Made([[float(text)] for text in texts], 5 * len(texts))


def embedder(model: Model, size: int, per_minute: int = 10**9) -> Embedder:
    time = FakeTime()
    pacer = Pacer(per_minute, time.clock, time.sleep)
    return Embedder(embed_texts=model.embed, texts_per_call=size, pacer=pacer, deadline=FOREVER)


@pytest.mark.parametrize("size", [1, 96])
def test_vectors_come_in_the_order_of_their_texts_and_tokens_are_counted(size: int) -> None:
    model = Model()
    made = embedder(model, size)
    texts = [str(number) for number in range(200)]
    assert made.embed(texts) == [[float(number)] for number in range(200)]
    assert made.tokens == 1000
    assert len(model.calls) == -(-200 // size)
    assert max(map(len, model.calls)) <= size, "the model refuses more texts in a call"


def test_after_a_failure_the_rest_is_not_paid_for() -> None:
    model = Model(ThrottledError("429"), fails_at=3)
    with pytest.raises(ThrottledError):
        embedder(model, 1).embed([str(number) for number in range(500)])
    assert len(model.calls) <= 3 + WORKERS, "calls are paid for whose vectors nobody keeps"


def test_a_chunk_that_the_model_finds_too_long_is_the_documents_fault() -> None:
    with pytest.raises(DocumentError, match="lower the size of the chunks"):
        embedder(Model(QuestionTooLongError("too long"), 1), 1).embed(["1"])


@given(
    tokens=st.lists(st.integers(1, 2000), max_size=900),
    per_minute=st.integers(100, 10**6),
    seconds=st.floats(10, 900),
)
def test_a_part_takes_at_most_a_third_of_the_time_unless_it_is_a_single_chunk(
    tokens: list[int], per_minute: int, seconds: float
) -> None:
    size = chunks_per_part(tokens, per_minute, seconds)
    assert 1 <= size <= MAXIMUM_CHUNKS_PER_PART
    heaviest = max((sum(tokens[at : at + size]) for at in range(0, len(tokens), size)), default=0)
    assert size == 1 or heaviest / per_minute * 60 <= seconds / 3, "the run would be cut off"


def test_without_a_limit_of_time_parts_are_as_large_as_they_may_be() -> None:
    assert chunks_per_part([400] * 1000, 1000, float("inf")) == MAXIMUM_CHUNKS_PER_PART
