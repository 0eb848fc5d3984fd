"""The function with a lake, an index and a queue around it, where runs break off, overlap and get messages twice."""

import json
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote_plus

from ingestion.bucket import Bucket
from ingestion.claims import Claims
from ingestion.extraction import extract
from ingestion.handler import handle
from ingestion.messages import Queue
from ingestion.settings import Generation, IngestionSettings
from ingestion.store import DocumentStore
from ingestion.tools import Tools
from rag.chunking import chunk_blocks
from rag.deadline import Deadline
from tests.lambda_src.fakes import ENVIRONMENT
from tests.lambda_src.ingestion_fakes import MemoryIndex, MemoryS3, MemorySqs, Message
from tests.lambda_src.ingestion_faults import Crash, Fault, Run

QUEUE = "https://sqs.eu-central-1.amazonaws.com/111122223333/events"
DEAD_LETTERS = "https://sqs.eu-central-1.amazonaws.com/111122223333/dead-letters"
RUN_SECONDS = 300
VISIBILITY_SECONDS = 6 * RUN_SECONDS
# How long a search goes without a write; what AWS says and what is reported.
DELAYS: dict[Generation, float] = {"NEXTGEN": 10, "CLASSIC": 60}
INGESTION_ENVIRONMENT = {
    **ENVIRONMENT,
    "DATA_LAKE_BUCKET": "lake",
    "COLLECTION_GENERATION": "NEXTGEN",
    "CHUNK_TOKENS": "20",
    "CHUNK_OVERLAP_TOKENS": "0",
    # With 12 tokens a chunk and 300 seconds a run this makes parts of 2 chunks.
    "EMBEDDING_TOKENS_PER_MINUTE": "18",
    "QUEUE_URL": QUEUE,
    "DEAD_LETTER_QUEUE_URL": DEAD_LETTERS,
    "MAXIMUM_RECEIVES": "1000",
}


class FakeEmbedder:
    """A vector from the text itself. Counts a token per text."""

    def __init__(self, world: "World", deadline: Deadline) -> None:
        self._world = world
        self.deadline = deadline
        self.tokens = 0

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        replied = self._world.step("embed")
        self.tokens += len(texts)
        self._world.embedded += len(texts)
        replied()
        return [[float(len(text))] * self._world.vector_length for text in texts]


class World:
    """Everything around the function, and the clock. With `delay` None searches lag as the generation's do."""

    def __init__(
        self, generation: Generation = "NEXTGEN", delay: float | None = None, **changes: str
    ) -> None:
        environment = {**INGESTION_ENVIRONMENT, "COLLECTION_GENERATION": generation, **changes}
        self.settings = IngestionSettings.from_environment(environment)
        self.now = 1_000_000.0
        self.embedded = 0
        self.queue_url = QUEUE
        # Short, so that thousands of runs take little time.
        self.vector_length = 1
        self._runs = threading.local()
        self.s3 = MemoryS3(self.step)
        lag = DELAYS[generation] if delay is None else delay
        self.index = MemoryIndex(generation, lambda: self.now, lag, self.step)
        self.sqs = MemorySqs(self.step)
        self.store = DocumentStore(Bucket(self.s3, "lake"))

    # What happens in the lake.

    def put(self, key: str, text: str | bytes, *, notify: bool = True) -> None:
        """Somebody writes a document; S3 tells the queue."""
        self.s3.objects[key] = text.encode() if isinstance(text, str) else text
        if notify:
            self.sqs.add(QUEUE, s3_event(key, "ObjectCreated:Put"))

    def delete(self, key: str) -> None:
        """Somebody deletes a document; S3 tells the queue."""
        self.s3.objects.pop(key, None)
        self.sqs.add(QUEUE, s3_event(key, "ObjectRemoved:DeleteMarkerCreated"))

    # What the function does.

    def tools(self, deadline: Deadline) -> Tools:
        """As the handler makes them, over the stand-ins."""
        index: Any = self.index
        embedder: Any = FakeEmbedder(self, deadline)
        return Tools(
            settings=self.settings,
            store=self.store,
            index=index,
            queue=Queue(self.sqs, QUEUE, DEAD_LETTERS),
            claims=Claims(
                store=self.store,
                generation=self.settings.collection_generation,
                clock=lambda: self.now,
                remaining_seconds=deadline.remaining_seconds,
            ),
            embedder=embedder,
        )

    def step(self, name: str) -> Callable[[], None]:
        """An outside call of the run in this thread: its turn is waited for, and its fault may happen."""
        run: Run | None = getattr(self._runs, "current", None)
        if run is None:
            return lambda: None
        if not run.is_alone:
            run.paused.release()
            run.go.acquire()
        self.now += 0.01
        return run.fault.step(name)

    def invoke(self, event: Any) -> dict[str, Any]:
        """The function with `event`, in this thread."""
        end = self.now + RUN_SECONDS
        return handle(event, None, lambda _: self.tools(Deadline(lambda: end - self.now)))

    # What the queue does.

    @property
    def messages(self) -> list[Message]:
        return self.sqs.queues.setdefault(QUEUE, [])

    @property
    def dead_letters(self) -> list[Message]:
        return self.sqs.queues.setdefault(DEAD_LETTERS, [])

    def visible(self) -> list[Message]:
        return [message for message in self.messages if message.visible_at <= self.now]

    def deliver(self, message: Message, fault: Fault | None = None) -> Fault:
        """One run with one message, alone."""
        run = Run(message, fault or Fault(), is_alone=True)
        self._hand_out([run])
        self._work(run)
        self._take_back([run])
        return run.fault

    def deliver_all(self, deliveries: Sequence[tuple[Message, Fault]], schedule: Iterable[int]) -> None:
        """Runs with a message each, side by side; `schedule` says whose outside call comes next.

        The same message may be delivered to several of them.
        """
        runs = [Run(message, fault) for message, fault in deliveries]
        self._hand_out(runs)
        threads = [threading.Thread(target=self._live, args=(run,), daemon=True) for run in runs]
        for thread in threads:
            thread.start()
        turns = iter(schedule)
        while alive := [run for run in runs if not run.is_over]:
            run = alive[next(turns, 0) % len(alive)]
            run.paused.acquire()
            run.go.release()
            # Wait until it stands before its next call, or is over, so that never two of them are at work.
            run.paused.acquire()
            run.paused.release()
        self._take_back(runs)

    def _hand_out(self, runs: Sequence[Run]) -> None:
        for run in runs:
            run.message.receives += 1
            run.message.visible_at = self.now + VISIBILITY_SECONDS

    def _take_back(self, runs: Sequence[Run]) -> None:
        for run in runs:
            if run.error:
                raise run.error
            if run.is_done and run.message in self.messages:
                self.messages.remove(run.message)

    def _live(self, run: Run) -> None:
        run.paused.release()
        run.go.acquire()
        try:
            self._work(run)
        except BaseException as error:
            run.error = error
        finally:
            run.is_over = True
            run.paused.release()

    def _work(self, run: Run) -> None:
        other = getattr(self._runs, "current", None)
        self._runs.current = run
        try:
            reply = self.invoke({"Records": [run.message.record()]})
            run.is_done = not reply["batchItemFailures"]
        except Crash:
            pass
        finally:
            self._runs.current = other

    def settle(
        self,
        fault: Fault | None = None,
        order: Callable[[list[Message]], Message] = lambda messages: messages[0],
    ) -> None:
        """Let the queue run empty as time goes by; `fault` counts the outside calls of all these runs."""
        for _ in range(2000):
            if not self.messages:
                return
            visible = self.visible()
            if visible:
                self.deliver(order(visible), fault)
            else:
                self.now = min(message.visible_at for message in self.messages)
        raise AssertionError("messages go round for ever")

    # What must be true when the queue is empty.

    def expected(self, key: str) -> list[tuple[int, str]]:
        """The chunks that the index must hold of a document."""
        blocks = extract(key, self.s3.objects[key])
        chunks = chunk_blocks(blocks, self.settings.chunk_tokens, self.settings.chunk_overlap_tokens)
        return [(number, chunk.text) for number, chunk in enumerate(chunks)]

    def found(self, key: str, index: str | None = None) -> list[tuple[int, str]]:
        """The chunks that it holds."""
        chunks = [chunk for chunk in self.index.chunks(index).values() if chunk.document_key == key]
        return sorted((chunk.chunk_number, chunk.text) for chunk in chunks)

    def processed(self, key: str) -> list[str]:
        """The names of all that is kept of a document, but claims and marks, which mean nothing once they are old."""
        own = re.compile(
            rf"processed/(chunks/{re.escape(key)}(\.manifest\.json|/[0-9a-f]{{12}}\.jsonl\.gz)"
            rf"|embeddings/{re.escape(key)}/[0-9a-f]{{12}}/\d{{5}}\.jsonl\.gz)"
        )
        return sorted(filter(own.fullmatch, self.s3.objects))

    def manifest(self, key: str) -> dict[str, Any]:
        return json.loads(self.s3.objects[f"processed/chunks/{key}.manifest.json"])

    def check(self) -> None:
        """The index holds exactly the documents of the lake, and so does the lake's own record of them."""
        assert not self.dead_letters, [message.attributes for message in self.dead_letters]
        documents = [key for key in self.s3.objects if key.startswith("raw/")]
        held = {chunk.document_key for chunk in self.index.chunks().values()}
        assert held <= set(documents), "a deleted document can still be found"
        for key in documents:
            self.check_document(key)
        kept = {name for name in self.s3.objects if name.endswith(".manifest.json")}
        assert len(kept) == len(documents), "a deleted document is still recorded in the lake"
        lasting = {name for name in self.s3.objects if name.startswith("processed/")}
        lasting -= {name for name in lasting if name.endswith((".claim", ".mark"))}
        lasting -= {name for key in documents for name in self.processed(key)}
        assert not lasting, "something of a deleted document is left in the lake"

    def check_document(self, key: str) -> None:
        expected = self.expected(key)
        assert self.found(key) == expected, "the index lacks chunks, has some twice, or old ones"
        manifest = self.manifest(key)
        assert manifest["state"] == "indexed"
        assert manifest["superseded"] == []
        assert manifest["chunks"] == len(expected)
        names = [f"processed/chunks/{key}.manifest.json"]
        names += [f"processed/chunks/{key}/{manifest['revision']}.jsonl.gz"]
        names += [
            f"processed/embeddings/{key}/{manifest['revision']}/{part:05d}.jsonl.gz"
            for part in range(manifest["parts"])
        ]
        assert self.processed(key) == sorted(names), "rows of other revisions are left in the lake"
        if self.settings.collection_generation == "CLASSIC":
            ids = {one for one, chunk in self.index.chunks().items() if chunk.document_key == key}
            assert set(manifest["chunk_ids"]) == ids, "chunks could never be deleted exactly"


def s3_event(key: str, name: str) -> str:
    """The body of a message as S3 sends it."""
    entity = {"key": quote_plus(key, safe="/"), "sequencer": "0055AED6DCD90281E5"}
    s3 = {"bucket": {"name": "lake"}, "object": entity}
    return json.dumps({"Records": [{"eventName": name, "s3": s3}]})


def text(chunks: int, version: str = "first") -> str:
    """A document of so many chunks."""
    lines = [f"Line {number:05d} of the {version} text, about many things." for number in range(chunks)]
    return "\n\n".join(lines)
