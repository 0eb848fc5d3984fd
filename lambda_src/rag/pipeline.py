"""From a question to an answer with its sources: embed, search, answer."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TypeVar

from rag.answers import Answer, Prompt
from rag.context import fit_history, fit_passages
from rag.deadline import Attempts, Deadline
from rag.errors import CallerGoneError
from rag.passages import Passage
from rag.prompt import build_prompt
from rag.question import Question
from rag.reply import StreamedReply, answer_text, outcome_of
from rag.results import NO_ANSWER, NO_DOCUMENTS, Delta, Outcome, Result, Source, Sources, Usage
from rag.services import Services

# An earlier conversation may take this part of the budget for documents, beside them.
HISTORY_SHARE = 0.25

Value = TypeVar("Value")


def never() -> bool:
    """For a caller that does not go away."""
    return False


def answer_question(
    question: Question, services: Services, deadline: Deadline, cancelled: Callable[[], bool] = never
) -> Result:
    """Answer `question` from the indexed documents. Raises a `PipelineError` within the deadline.

    Without a passage the answer model is not called. `cancelled` is asked before each call: when it is True,
    `CallerGoneError` is raised. A call that runs is not broken off: whoever serves callers that may leave takes
    `stream_answer`.
    """
    run = _Run(question, services, deadline, cancelled)
    passages = run.find_passages()
    if not passages:
        return run.without_documents()
    prompt = run.prompt(passages)
    with run.stage("answer"):
        answer = run.attempt(
            services.answer_attempts(), lambda timeout: services.answerer.answer(prompt, timeout)
        )
    return run.result(answer, passages)


def stream_answer(
    question: Question, services: Services, deadline: Deadline, cancelled: Callable[[], bool] = never
) -> Generator[Sources | Delta | Result]:
    """As `answer_question`, in parts: `Sources`, then at least one `Delta`, then the `Result` with the whole text.

    Nothing is given away before it is certain that the model does answer; until then a failed call is tried
    again. Closing the iterator, or `cancelled` between two events, ends the model's work.
    """
    run = _Run(question, services, deadline, cancelled)
    passages = run.find_passages()
    if not passages:
        yield from _remaining(run.without_documents(), 0)
        return
    prompt = run.prompt(passages)
    shown = 0
    with run.stage("answer"):
        reply, part = run.attempt(services.answer_attempts(), lambda timeout: run.start(prompt, timeout))
        with closing(reply):
            while isinstance(part, str):
                if not shown:
                    yield Sources(_sources(passages))
                yield Delta(part)
                shown += len(part)
                part = reply.advance()
    yield from _remaining(run.result(part, passages), shown)


def _remaining(result: Result, shown: int) -> Iterator[Sources | Delta | Result]:
    """The parts that are missing when `shown` characters of the answer were given away."""
    if not shown:
        yield Sources(result.sources)
    if result.answer[shown:]:
        yield Delta(result.answer[shown:])
    yield result


class _Run:
    """One question on its way through the stages."""

    def __init__(
        self, question: Question, services: Services, deadline: Deadline, cancelled: Callable[[], bool]
    ) -> None:
        self._question = question
        self._services = services
        self._deadline = deadline
        self._cancelled = cancelled
        self._timings_ms: dict[str, float] = {}
        self._embedding_tokens = 0

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Notes how long what runs inside takes."""
        start = self._services.clock()
        yield
        self._timings_ms[name] = round((self._services.clock() - start) * 1000, 1)

    def attempt(self, attempts: Attempts, call: Callable[[int], Value]) -> Value:
        """`call` with the attempts that its kind allows, each only while the caller is there."""

        def one(read_timeout_seconds: int) -> Value:
            self._check_caller()
            return call(read_timeout_seconds)

        return attempts.run(one, self._deadline, self._services.sleep)

    def find_passages(self) -> tuple[Passage, ...]:
        """The passages that the model is shown, best first."""
        settings, services = self._services.settings, self._services
        self._check_caller()
        with self.stage("embed"):
            embedded = services.embed_texts([self._question.text], "query", self._deadline)
        self._embedding_tokens = embedded.tokens
        with self.stage("search"):
            found = self.attempt(
                services.search_attempts(),
                lambda timeout: services.search.search(
                    settings.index_alias,
                    self._question.text,
                    embedded.vectors[0],
                    settings.retrieval_count,
                    settings.search_mode,
                    self._question.filter,
                    timeout,
                ),
            )
        return fit_passages(found, settings.context_tokens)

    def prompt(self, passages: Sequence[Passage]) -> Prompt:
        """What the model is asked."""
        budget = int(self._services.settings.context_tokens * HISTORY_SHARE)
        return build_prompt(self._question.text, passages, fit_history(self._question.history, budget))

    def start(self, prompt: Prompt, read_timeout_seconds: int) -> tuple[StreamedReply, str | Answer]:
        """A stream and the first that it shows."""
        reply = StreamedReply(self._services.answerer.stream(prompt, read_timeout_seconds), self._check)
        try:
            return reply, reply.advance()
        except BaseException:
            reply.close()
            raise

    def without_documents(self) -> Result:
        """The result when there is nothing to answer from."""
        return self._result(NO_DOCUMENTS, "no_documents", Answer(text=None, stop_reason="no_passages"), ())

    def result(self, answer: Answer, passages: Sequence[Passage]) -> Result:
        """The result of what the model said about `passages`."""
        outcome = outcome_of(answer)
        text = answer_text(answer) if outcome == "answered" else NO_ANSWER
        return self._result(text, outcome, answer, passages)

    def _result(self, text: str, outcome: Outcome, answer: Answer, passages: Sequence[Passage]) -> Result:
        return Result(
            answer=text,
            outcome=outcome,
            truncated=answer.truncated,
            sources=_sources(passages) if outcome == "answered" else (),
            usage=Usage(
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                embedding_tokens=self._embedding_tokens,
            ),
            stop_reason=answer.stop_reason,
            passages=len(passages),
            timings_ms=dict(self._timings_ms),
        )

    def _check(self) -> None:
        self._check_caller()
        self._deadline.check()

    def _check_caller(self) -> None:
        if self._cancelled():
            raise CallerGoneError("The caller left.")


def _sources(passages: Sequence[Passage]) -> tuple[Source, ...]:
    """One source per page of a document, in the order of the passages, with its best score."""
    best: dict[tuple[str, int | None], float] = {}
    for passage in passages:
        place = (passage.document_key, passage.page)
        best[place] = max(passage.score, best.get(place, passage.score))
    return tuple(Source(document_key=key, page=page, score=score) for (key, page), score in best.items())
