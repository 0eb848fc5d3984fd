"""What a long run shows on a terminal and elsewhere."""

import io
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ops.progress import Progress, byte_count, confirmed, duration, someone_is_there


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Goes on by `step` seconds each time somebody looks."""

    def __init__(self, step: float) -> None:
        self.now = 0.0
        self.step = step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_without_a_terminal_a_line_tells_of_each_tenth_and_nothing_is_redrawn() -> None:
    stream = io.StringIO()
    with Progress("Parts", 1000, stream=stream, clock=lambda: 0.0) as progress:
        for _ in range(1000):
            progress.advance()
    lines = stream.getvalue().splitlines()
    assert lines[0] == "Parts: 100 of 1000, 0 s left"
    assert lines[-1] == "Parts: 1000 of 1000"
    assert len(lines) == 10
    assert "\r" not in stream.getvalue(), "a log would fill with what belongs on a screen"


def test_on_a_terminal_the_bar_grows_and_says_how_long_it_takes() -> None:
    stream = Terminal()
    with Progress("Parts", 4, stream=stream, clock=Clock(60)) as progress:
        for _ in range(4):
            progress.advance()
    drawn = stream.getvalue().split("\r\033[K")
    assert drawn[1].startswith("[............................] Parts: 0 of 4")
    assert drawn[2].startswith("[#######.....................] Parts: 1 of 4, ")
    assert drawn[2].endswith("min left")
    assert drawn[-1] == "[############################] Parts: 4 of 4\n"


def test_a_terminal_is_not_redrawn_for_each_of_many_steps() -> None:
    stream = Terminal()
    with Progress("Parts", 100_000, stream=stream, clock=Clock(0.0001)) as progress:
        for _ in range(100_000):
            progress.advance()
    assert stream.getvalue().count("\r") < 1000


def test_a_note_stays_above_the_bar() -> None:
    stream = Terminal()
    with Progress("Parts", 4, stream=stream) as progress:
        progress.note("raw/a.pdf failed")
    assert "\r\033[Kraw/a.pdf failed\n\r\033[K[...." in stream.getvalue()
    plain = io.StringIO()
    Progress("Parts", 4, stream=plain).note("raw/a.pdf failed")
    assert plain.getvalue() == "raw/a.pdf failed\n"


def test_many_threads_lose_no_step() -> None:
    stream = io.StringIO()
    with Progress("Parts", 8000, stream=stream) as progress, ThreadPoolExecutor(8) as pool:
        for _ in range(8000):
            pool.submit(progress.advance)
    assert stream.getvalue().splitlines()[-1] == "Parts: 8000 of 8000"


def test_two_threads_never_draw_at_once() -> None:
    others: list[threading.Thread] = []

    class Slow(Terminal):
        def write(self, text: str) -> int:
            if not others:
                others.append(threading.Thread(target=progress.advance))
                others[0].start()
                others[0].join(0.05)
                assert others[0].is_alive(), "two lines would be mixed"
            return super().write(text)

    progress = Progress("Parts", 2, stream=Slow(), clock=Clock(1))
    progress.advance()
    others[0].join()


def test_a_whole_that_is_not_known_is_counted_and_one_of_nothing_is_done() -> None:
    stream = io.StringIO()
    with Progress("Found", None, stream=stream) as progress:
        progress.advance(3)
    assert stream.getvalue() == "Found: 3\n"
    terminal = Terminal()
    with Progress("Parts", 0, stream=terminal):
        pass
    assert terminal.getvalue().endswith("[############################] Parts: 0 of 0\n")


def test_what_somebody_else_counts_may_fall() -> None:
    stream = io.StringIO()
    with Progress("Chunks", 10, stream=stream) as progress:
        for count in (0, 5, 3, 10):
            progress.reach(count)
    assert [line.split(",")[0] for line in stream.getvalue().splitlines()] == [
        "Chunks: 5 of 10",
        "Chunks: 10 of 10",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (91, "2 min"), (3600, "60 min"), (12_000, "3 h 20 min")]
)
def test_lengths_of_time_are_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (20 * 1024**3, "20 GiB"), (2**53, "8192 TiB")],
)
def test_bytes_are_shown_for_people(count: int, text: str) -> None:
    assert byte_count(count) == text
    stream = io.StringIO()
    with Progress("Sent", None, stream=stream, shown=byte_count) as progress:
        progress.advance(count)
    assert stream.getvalue() == f"Sent: {text}\n"


@pytest.mark.parametrize(
    ("answer", "meant"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_only_a_clear_yes_is_a_yes(monkeypatch: pytest.MonkeyPatch, answer: str, meant: bool) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    assert confirmed("Delete it?") is meant


def test_a_question_needs_somebody_who_sees_it_and_can_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert someone_is_there()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not someone_is_there()
