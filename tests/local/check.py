"""The round trip of a document: it is dropped, asked about in every way there is, and removed again."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import urllib3

from rag.results import NO_DOCUMENTS
from tests.local.platform import Running

WAIT_SECONDS = 60
NAME = "observatory opening+hours é.md"
KEY = f"raw/{NAME}"
FACT = "The observatory on Falcon Hill opens at a quarter past nine in the evening."
DOCUMENT = f"# Visits\n\n{FACT} Children pay nothing.\n"
QUESTION = "When does the observatory on Falcon Hill open?"
SAMPLES = {
    "How many days of paid holiday does an employee have?": ("handbook.md", "thirty days"),
    "When does the nightly backup start?": ("releases.txt", "two o'clock"),
    "How often must the machine be descaled?": ("espresso-machine.html", "two months"),
    "How long does the warranty last?": ("warranty.pdf", "three years"),
    "What is the price in euros of the pressure gauge?": ("spare-parts.csv", "27.00"),
}


class CheckError(Exception):
    """A step of the round trip did not come out as it should."""


class Check:
    """Asks the running platform; each step prints how long it took."""

    def __init__(self, platform: Running, folder: Path, say: Callable[[str], None] = print) -> None:
        self._platform = platform
        self._folder = folder
        self._say = say
        self._http = urllib3.PoolManager(retries=False)

    def run(self) -> None:
        """Every step in order. Raises `CheckError` at the first that fails."""
        for question, (name, fact) in SAMPLES.items():
            self._step(
                f"{name} is found", lambda q=question, n=name, f=fact: self._until_answered(q, f"raw/{n}", f)
            )
        (self._folder / NAME).write_text(DOCUMENT, encoding="utf-8")
        self._step("a document that was just dropped is found by the function", self._until_dropped_is_found)
        self._step("the API answers with its source", self._api)
        self._step("the API streams the same", self._api_stream)
        self._step("the openai client gets an answer", self._openai)
        self._step("the openai client gets a stream", self._openai_stream)
        (self._folder / NAME).unlink()
        self._step("the document that was removed is gone", self._until_gone)
        for path in self._folder.iterdir():
            path.unlink()
        self._step("an empty folder leaves no documents: function", self._until_nothing)
        self._step("an empty folder leaves no documents: API and openai client", self._nothing)

    def close(self) -> None:
        self._http.clear()

    def _step(self, what: str, act: Callable[[], None]) -> None:
        start = time.monotonic()
        try:
            act()
        except CheckError as error:
            raise CheckError(f"{what}: {error}") from error
        self._say(f"  ok {time.monotonic() - start:5.1f} s  {what}")

    def _until_answered(self, question: str, key: str, fact: str) -> None:
        self._until(lambda: self._function(question), lambda reply: _tells(reply, key, fact))

    def _until_dropped_is_found(self) -> None:
        self._until_answered(QUESTION, KEY, "quarter past nine")

    def _until_gone(self) -> None:
        only = {"document_keys": [KEY]}
        self._until(lambda: self._function(QUESTION, only), lambda reply: reply["outcome"] == "no_documents")
        reply = self._function(QUESTION)
        _expect("quarter past nine" not in reply["answer"] and reply["outcome"] != "answered", reply)

    def _until_nothing(self) -> None:
        self._until(lambda: self._function(QUESTION), lambda reply: reply["outcome"] == "no_documents")

    def _nothing(self) -> None:
        reply = self._post(f"{self._platform.api_url}/v1/query", {"query": QUESTION})
        _expect(reply["outcome"] == "no_documents" and reply["answer"] == NO_DOCUMENTS, reply)
        said = self._chat().choices[0].message.content
        _expect(said == NO_DOCUMENTS, said)

    def _api(self) -> None:
        reply = self._post(f"{self._platform.api_url}/v1/query", {"query": QUESTION})
        _expect(_tells(reply, KEY, "quarter past nine"), reply)

    def _api_stream(self) -> None:
        url = f"{self._platform.api_url}/v1/query/stream"
        reply = self._http.request("POST", url, json={"query": QUESTION}, timeout=30)
        kind = reply.headers.get("content-type", "")
        text = "".join(_texts(reply.data.decode()))
        _expect(
            kind.startswith("text/event-stream") and "quarter past nine" in text, (kind, reply.data[-500:])
        )

    def _openai(self) -> None:
        said = self._chat().choices[0].message.content
        _expect("quarter past nine" in said, said)

    def _openai_stream(self) -> None:
        pieces = [chunk.choices[0].delta.content or "" for chunk in self._chat(stream=True) if chunk.choices]
        _expect("quarter past nine" in "".join(pieces) and len(pieces) > 3, pieces)

    def _chat(self, **options: Any) -> Any:
        from openai import OpenAI  # takes a second to import

        client = OpenAI(base_url=f"{self._platform.api_url}/v1", api_key="none", max_retries=0)
        model = client.models.list().data[0].id
        turns: Any = [{"role": "user", "content": QUESTION}]
        return client.chat.completions.create(model=model, messages=turns, **options)

    def _function(self, question: str, only: dict[str, Any] | None = None) -> dict[str, Any]:
        return self._post(
            self._platform.function_url, {"query": question, **({"filter": only} if only else {})}
        )

    def _post(self, url: str, body: dict[str, Any]) -> dict[str, Any]:
        reply = self._http.request("POST", url, json=body, timeout=70)
        _expect(reply.status == 200, reply.data)
        return json.loads(reply.data)

    def _until(self, ask: Callable[[], dict[str, Any]], is_right: Callable[[dict[str, Any]], bool]) -> None:
        end = time.monotonic() + WAIT_SECONDS
        while not is_right(reply := ask()):
            _expect(time.monotonic() < end, reply)
            time.sleep(0.2)


def _tells(reply: dict[str, Any], key: str, fact: str) -> bool:
    return fact in reply["answer"] and key in {source["document_key"] for source in reply["sources"]}


def _texts(stream: str) -> list[str]:
    """The pieces of text in the events of a stream."""
    lines = [line.removeprefix("data:").strip() for line in stream.splitlines() if line.startswith("data:")]
    documents = [json.loads(line) for line in lines if line.startswith("{")]
    return [document["text"] for document in documents if isinstance(document.get("text"), str)]


def _expect(is_right: bool, found: Any) -> None:
    if not is_right:
        raise CheckError(f"unexpected: {found!r}")
