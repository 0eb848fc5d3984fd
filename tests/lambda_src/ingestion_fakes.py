"""S3, a vector index and SQS in memory, as exact as ingestion relies on them. Each call first asks `step`.

`step(name)` stands for the way to the service: it may raise before the call has an effect, and what it returns is
called after the effect and may raise too, as when only the reply is lost.
"""

import hashlib
import io
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.search import IndexedChunk
from tests.lambda_src.fakes import client_error

Step = Callable[[str], Callable[[], None]]
# So small that listings of a few objects have several pages.
PAGE = 3


def no_fault(name: str) -> Callable[[], None]:
    """Everything arrives, with its reply."""
    return lambda: None


class MemoryS3:
    """One bucket with conditional writes and deletes, listings in pages, and strong consistency."""

    def __init__(self, step: Step = no_fault) -> None:
        self.objects: dict[str, bytes] = {}
        self.archived: set[str] = set()
        self._step = step

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        replied = self._step(f"get {Key}")
        replied()
        if Key in self.archived:
            raise client_error("InvalidObjectState", 403)
        if Key not in self.objects:
            raise client_error("NoSuchKey", 404)
        content = self.objects[Key]
        return {"Body": io.BytesIO(content), "ETag": etag(content), "ContentLength": len(content)}

    def head_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        replied = self._step(f"head {Key}")
        replied()
        if Key not in self.objects:
            raise client_error("404", 404)
        return {"ETag": etag(self.objects[Key]), "ContentLength": len(self.objects[Key])}

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, **condition: str) -> dict[str, str]:  # noqa: N803
        replied = self._step(f"put {Key}")
        if "IfNoneMatch" in condition and Key in self.objects:
            replied()
            raise client_error("PreconditionFailed", 412)
        self._check(Key, condition.get("IfMatch"), replied)
        self.objects[Key] = Body
        self.archived.discard(Key)
        replied()
        return {"ETag": etag(Body)}

    def delete_object(self, *, Bucket: str, Key: str, IfMatch: str | None = None) -> None:  # noqa: N803
        replied = self._step(f"delete {Key}")
        self._check(Key, IfMatch, replied)
        self.objects.pop(Key, None)
        replied()

    def delete_objects(self, *, Bucket: str, Delete: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        assert 0 < len(Delete["Objects"]) <= 1000, "S3 refuses the request"
        replied = self._step("delete objects")
        for one in Delete["Objects"]:
            self.objects.pop(one["Key"], None)
        replied()
        return {}

    def list_objects_v2(
        self,
        *,
        Bucket: str,  # noqa: N803
        Prefix: str,  # noqa: N803
        Delimiter: str,  # noqa: N803
        ContinuationToken: str = "",  # noqa: N803
    ) -> dict[str, Any]:
        replied = self._step(f"list {Prefix}")
        entries: dict[str, bool] = {}
        for key in sorted(self.objects):
            if key.startswith(Prefix):
                head, slash, _ = key[len(Prefix) :].partition(Delimiter)
                entries[Prefix + head + slash] = bool(slash)
        page = [(name, is_folder) for name, is_folder in sorted(entries.items()) if name > ContinuationToken]
        reply: dict[str, Any] = {
            "Contents": [{"Key": name} for name, is_folder in page[:PAGE] if not is_folder],
            "CommonPrefixes": [{"Prefix": name} for name, is_folder in page[:PAGE] if is_folder],
            "IsTruncated": len(page) > PAGE,
        }
        if reply["IsTruncated"]:
            reply["NextContinuationToken"] = page[PAGE - 1][0]
        replied()
        return reply

    def _check(self, key: str, wanted: str | None, replied: Callable[[], None]) -> None:
        if wanted is None or (key in self.objects and etag(self.objects[key]) == wanted):
            return
        replied()
        raise (
            client_error("PreconditionFailed", 412) if key in self.objects else client_error("NoSuchKey", 404)
        )


def etag(content: bytes) -> str:
    """As S3 makes it, with its quotation marks."""
    return f'"{hashlib.md5(content).hexdigest()}"'


@dataclass
class MemoryIndex:
    """Vector indexes behind one alias. Searches see a write or delete only `delay` seconds later.

    As CLASSIC it refuses ids of one's own and gives them itself.
    """

    generation: str
    clock: Callable[[], float]
    delay: float = 0
    step: Step = no_fault
    targets: list[str] = field(default_factory=lambda: ["documents-1"])
    held: dict[str, dict[str, IndexedChunk]] = field(default_factory=dict)
    _seen: dict[str, dict[str, IndexedChunk]] = field(default_factory=dict)
    _waiting: list[tuple[float, str, str, IndexedChunk | None]] = field(default_factory=list)
    _given: Any = field(default_factory=lambda: itertools.count(1))

    def chunks(self, index: str | None = None) -> dict[str, IndexedChunk]:
        """What an index really holds."""
        return self.held.setdefault(index or self.targets[0], {})

    def alias_targets(self, alias: str) -> list[str]:
        replied = self.step("alias")
        replied()
        return list(self.targets)

    def document_ids(
        self,
        index: str,
        document_key: str,
        *,
        revision: str | None = None,
        not_revision: str | None = None,
        chunk_numbers: range | None = None,
    ) -> set[str]:
        replied = self.step(f"search {document_key}")
        self._refresh()
        found = {
            one
            for one, chunk in self._seen.setdefault(index, {}).items()
            if chunk.document_key == document_key
            and (revision is None or chunk.revision == revision)
            and (not_revision is None or chunk.revision != not_revision)
            and (chunk_numbers is None or chunk.chunk_number in chunk_numbers)
        }
        replied()
        return found

    def bulk_index(self, index: str, chunks: Sequence[IndexedChunk], ids: Sequence[str] | None) -> list[str]:
        replied = self.step("bulk index")
        assert (ids is None) == (self.generation == "CLASSIC"), "CLASSIC would refuse the request"
        written = [f"given-{next(self._given)}" for _ in chunks] if ids is None else list(ids)
        for one, chunk in zip(written, chunks, strict=True):
            self._change(index, one, chunk)
        replied()
        return written

    def bulk_delete(self, index: str, ids: Sequence[str]) -> None:
        if not ids:
            return
        replied = self.step("bulk delete")
        for one in ids:
            self._change(index, one, None)
        replied()

    def _change(self, index: str, one: str, chunk: IndexedChunk | None) -> None:
        for held in [self.held] if self.delay else [self.held, self._seen]:
            if chunk is None:
                held.setdefault(index, {}).pop(one, None)
            else:
                held.setdefault(index, {})[one] = chunk
        if self.delay:
            self._waiting.append((self.clock() + self.delay, index, one, chunk))

    def _refresh(self) -> None:
        now = self.clock()
        while self._waiting and self._waiting[0][0] <= now:
            _, index, one, chunk = self._waiting.pop(0)
            if chunk is None:
                self._seen.setdefault(index, {}).pop(one, None)
            else:
                self._seen.setdefault(index, {})[one] = chunk


@dataclass
class Message:
    """A message in the queue, with how often it was handed out and when it can be again."""

    number: int
    body: str
    attributes: dict[str, Any] = field(default_factory=dict)
    receives: int = 0
    visible_at: float = 0

    def record(self) -> dict[str, Any]:
        """The message as Lambda gets it."""
        return {
            "messageId": f"message-{self.number}",
            "body": self.body,
            "attributes": {"ApproximateReceiveCount": str(self.receives)},
            "messageAttributes": self.attributes,
        }


class MemorySqs:
    """Queues by their address. `refuse` holds ids of batch entries that are not taken, each once."""

    def __init__(self, step: Step = no_fault) -> None:
        self.queues: dict[str, list[Message]] = {}
        self.refuse: set[str] = set()
        self._step = step
        self._numbers = itertools.count(1)

    def add(self, url: str, body: str, attributes: dict[str, Any] | None = None) -> Message:
        message = Message(next(self._numbers), body, attributes or {})
        self.queues.setdefault(url, []).append(message)
        return message

    def send_message(
        self,
        *,
        QueueUrl: str,  # noqa: N803
        MessageBody: str,  # noqa: N803
        MessageAttributes: dict[str, Any],  # noqa: N803
    ) -> None:
        assert len(MessageAttributes) <= 10, "SQS refuses the message"
        replied = self._step("send message")
        self.add(QueueUrl, MessageBody, MessageAttributes)
        replied()

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        assert 0 < len(Entries) <= 10, "SQS refuses the batch"
        assert len({entry["Id"] for entry in Entries}) == len(Entries), "SQS refuses the batch"
        replied = self._step("send batch")
        failed = [{"Id": entry["Id"]} for entry in Entries if entry["Id"] in self.refuse]
        self.refuse -= {one["Id"] for one in failed}
        for entry in Entries:
            if entry["Id"] not in {one["Id"] for one in failed}:
                self.add(QueueUrl, entry["MessageBody"])
        replied()
        return {"Failed": failed}
