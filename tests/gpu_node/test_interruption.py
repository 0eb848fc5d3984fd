"""What the watcher makes of the metadata service's answers, on a clock that the tests turn."""

import logging
from collections.abc import Callable, Iterator
from signal import Signals
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_node.watcher import announcer as announcer_module
from gpu_node.watcher import metadata as metadata_module
from gpu_node.watcher.__main__ import repeat
from gpu_node.watcher.announcer import EARLY, LATE, Announcer
from gpu_node.watcher.interruption import Interruption
from gpu_node.watcher.metadata import Metadata
from gpu_node.watcher.processes import Process
from gpu_node.watcher.settings import Settings
from tests.gpu_node.metadata_server import (
    NOTICE,
    REBALANCE,
    RECOMMENDATION,
    TERMINATE,
    TOKEN,
    MetadataServer,
    answer,
    metadata_server,
)


class Job:
    """One running job that notes the signals it gets."""

    def __init__(self) -> None:
        self.signals: list[Signals] = []
        self.jobs = [Process(4711, 1)]

    def running(self) -> list[Process]:
        return self.jobs

    def send(self, target: Any, signal: Signals, /) -> None:
        self.signals.append(signal)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[MetadataServer]:
    with metadata_server() as server:
        yield server


@pytest.fixture
def server(shared_server: MetadataServer) -> MetadataServer:
    shared_server.reset()
    return shared_server


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr(announcer_module, "handles", lambda pid, signal: True)
    return Job()


@pytest.fixture
def people() -> list[str]:
    return []


@pytest.fixture
def poll(server: MetadataServer, job: Job, people: list[str]) -> Callable[[], None]:
    return Interruption(Metadata(server.address), Announcer(job), people.append).poll


class EndOfTest(BaseException):
    """Ends the watcher's endless loop."""


def poll_times(poll: Callable[[], None], polls: int) -> list[float]:
    """When each poll began, in seconds, on a clock that moves by sleeping alone."""
    time, begun = [0.0], []

    def step() -> None:
        if len(begun) == polls:
            raise EndOfTest
        begun.append(time[0])
        poll()

    def sleep(seconds: float) -> None:
        time[0] += seconds

    with pytest.raises(EndOfTest):
        repeat(step, Settings().poll_seconds, lambda: time[0], sleep)
    return begun


def test_a_notice_behind_an_expired_token_is_acted_on_exactly_once(
    server: MetadataServer, poll: Callable[[], None], job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    statuses = iter([404, 404, 401])
    server.answers[NOTICE] = lambda token: (
        answer(next(statuses)) if token == "T1" else answer(200, TERMINATE) if token == "T2" else answer(401)
    )
    with caplog.at_level(logging.DEBUG):
        begun = poll_times(poll, 6)

    assert job.signals == [LATE], "the job would not save, or be told to save again and again"
    assert len(server.requests[TOKEN]) == 2, "the token was not kept, or not renewed once it had expired"
    assert max(later - earlier for earlier, later in zip(begun, begun[1:], strict=False)) <= 5, (
        "a part of the two minutes would pass unseen"
    )
    absent = [record for record in caplog.records if "404" in record.getMessage()]
    assert absent and {record.levelno for record in absent} == {logging.DEBUG}, (
        "the log would fill with a line for every poll of a calm day"
    )


def test_a_recommendation_asks_to_save_and_the_notice_to_leave_each_once(
    server: MetadataServer, poll: Callable[[], None], job: Job, people: list[str]
) -> None:
    server.announce(REBALANCE, RECOMMENDATION)
    poll_times(poll, 3)
    assert job.signals == [EARLY], "the job would not save while there is time, or at every poll"

    server.announce(NOTICE, TERMINATE)
    poll_times(poll, 3)
    assert job.signals == [EARLY, LATE], "the job would not leave"
    assert [text.split("(")[0] for text in people] == [
        "EC2 may take this node back soon ",
        "EC2 takes this node back at 2026-12-01T08:22:00Z ",
    ], "people would not know what comes when"


def test_a_recommendation_that_comes_with_the_notice_changes_nothing(
    server: MetadataServer, poll: Callable[[], None], job: Job
) -> None:
    server.announce(REBALANCE, RECOMMENDATION)
    server.announce(NOTICE, TERMINATE)
    poll_times(poll, 2)
    server.answers.pop(NOTICE)
    poll_times(poll, 2)

    assert job.signals == [LATE], "a job that leaves would be told to save and go on"


@pytest.mark.parametrize("action", ["terminate", "stop", "hibernate", "evaporate"])
def test_every_announced_action_is_an_end(
    server: MetadataServer, poll: Callable[[], None], job: Job, action: str
) -> None:
    server.announce(NOTICE, f'{{"action": "{action}"}}')
    poll_times(poll, 2)

    assert job.signals == [LATE], "a job would be lost to an action that nobody had thought of"


@pytest.mark.parametrize(
    "body", ["", "{", "[]", '"terminate"', "{}", '{"action": 1}', '{"action": ""}', "[" * 4000, "\udcff"]
)
def test_what_is_no_notice_ends_nothing_and_hides_no_later_notice(
    server: MetadataServer,
    poll: Callable[[], None],
    job: Job,
    body: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.announce(NOTICE, body)
    with caplog.at_level(logging.INFO):
        poll_times(poll, 3)
    assert job.signals == [], "a garbled answer would end a day's work"
    assert len(caplog.records) == 1, "a long outage would flood the log, or pass unseen"

    server.announce(NOTICE, TERMINATE)
    poll_times(poll, 1)
    assert job.signals == [LATE], "one bad answer would make the watcher blind"


@pytest.mark.parametrize("status", [400, 401, 403, 500, 503])
@pytest.mark.parametrize("path", [TOKEN, NOTICE, REBALANCE])
def test_a_failing_service_is_asked_again(
    server: MetadataServer,
    poll: Callable[[], None],
    job: Job,
    path: str,
    status: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.announce(path, "no", status)
    poll_times(poll, 2)
    assert str(status) in caplog.text, "nobody would learn that the watcher is blind"
    server.reset()
    server.announce(NOTICE, TERMINATE)
    poll_times(poll, 1)

    assert job.signals == [LATE], "one failure would make the watcher blind"


@pytest.mark.parametrize("token", ["", " ", "T\n1", "\u2603", "T\x00"])
def test_a_token_that_is_none_is_not_kept(
    server: MetadataServer, poll: Callable[[], None], job: Job, token: str
) -> None:
    server.announce(TOKEN, token)
    poll_times(poll, 1)
    server.reset()
    server.announce(NOTICE, TERMINATE)
    poll_times(poll, 1)

    assert job.signals == [LATE], "no request could be sent ever after"


def test_a_service_that_does_not_answer_is_given_up_on_and_asked_again(
    server: MetadataServer, poll: Callable[[], None], job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata_module, "TIMEOUT_SECONDS", 0.05)
    for path in (TOKEN, NOTICE):
        server.answers[path] = lambda _: None
        poll_times(poll, 1)
    server.announce(NOTICE, TERMINATE)
    server.answers[TOKEN] = lambda _: answer(200, "T9")
    monkeypatch.setattr(metadata_module, "TIMEOUT_SECONDS", 10)
    poll_times(poll, 1)

    assert job.signals == [LATE], "a service that hangs once would make the watcher blind"


def test_the_longest_round_of_time_outs_fits_between_two_polls() -> None:
    # Token, notice that finds it expired, token, notice, recommendation.
    assert 5 * metadata_module.TIMEOUT_SECONDS <= Settings().poll_seconds <= 5


def test_a_server_that_is_not_there_is_asked_again(job: Job) -> None:
    with metadata_server() as gone:
        pass
    poll_times(Interruption(Metadata(gone.address), Announcer(job), print).poll, 2)

    assert job.signals == []


def test_an_error_that_nobody_foresaw_costs_one_poll(caplog: pytest.LogCaptureFixture) -> None:
    def poll() -> None:
        raise RuntimeError("two\nlines")

    assert len(poll_times(poll, 3)) == 3, "the watcher would die of it"
    assert {record.getMessage() for record in caplog.records} == {
        "a step failed, and the next one follows: RuntimeError: two lines"
    }


def test_the_token_goes_to_no_other_address(server: MetadataServer, poll: Callable[[], None]) -> None:
    with metadata_server() as elsewhere:
        redirect = f"HTTP/1.1 302 \r\nLocation: http://{elsewhere.address}{NOTICE}\r\n\r\n".encode()
        server.answers[NOTICE] = lambda _: redirect
        poll_times(poll, 1)

        assert not elsewhere.requests, "whoever controls an answer would get the token"


# Raw bytes, well-formed responses around any text, and JSON that is almost a notice.
json_values = st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner))
bodies = st.text() | json_values.map(str) | st.builds('{{"action": {!r}, "time": 1}}'.format, json_values)
hostile = st.binary(max_size=400) | st.builds(answer, st.integers(100, 599), bodies)
hostile |= st.binary(max_size=200).map(lambda tail: b"HTTP/1.1 200 OK\r\n" + tail)


@settings(max_examples=150, deadline=None)
@given(token=hostile, notice=hostile, rebalance=hostile)
def test_no_answer_kills_the_watcher_or_breaks_a_line_of_its_log(
    shared_server: MetadataServer, token: bytes, notice: bytes, rebalance: bytes
) -> None:
    shared_server.reset()
    shared_server.answers |= {NOTICE: lambda _: notice, REBALANCE: lambda _: rebalance}
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    log = logging.getLogger("watcher")
    log.addHandler(handler)
    job = Job()
    job.jobs = []
    poll = Interruption(Metadata(shared_server.address), Announcer(job), lines.append).poll
    try:
        poll()
        shared_server.answers[TOKEN] = lambda _: token
        Interruption(Metadata(shared_server.address), Announcer(job), lines.append).poll()
        shared_server.reset()
        shared_server.announce(NOTICE, TERMINATE)
        poll()
    finally:
        log.removeHandler(handler)

    assert all(line.isprintable() for line in lines), "one event would be many lines, or write to a terminal"
    assert any("2026-12-01T08:22:00Z" in line for line in lines), "the watcher is blind after a bad answer"
