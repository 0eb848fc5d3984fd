"""`python -m ops` itself: its help, its verbs, and how it ends."""

import os
import subprocess
import sys

import pytest

from ops import __main__ as ops
from ops.capture.program import PROJECT_ROOT


def test_without_a_verb_the_verbs_are_shown_and_it_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        ops.main([])
    assert stopped.value.code == 2
    told = capsys.readouterr().err
    for verb, (_, text) in ops.VERBS.items():
        assert f"{verb:<10}{text}" in told


def test_the_verbs_are_told_once_each_and_in_the_order_of_the_alphabet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        ops.main(["--help"])
    told = capsys.readouterr().out
    places = [told.index(f"\n  {verb:<10}") for verb in sorted(ops.VERBS)]
    assert places == sorted(places)
    assert "{advise" not in told, "the verbs would stand in the usage without a word about them"


def test_a_verb_that_does_not_exist_is_wrong_usage_and_those_that_do_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        ops.main(["nosuchverb"])
    assert stopped.value.code == 2
    told = capsys.readouterr().err
    assert "nosuchverb" in told
    assert "preflight" in told


def test_what_nobody_read_to_its_end_is_not_told_as_done() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "ops", "advise", "gpu", "--task", "lora", "--parameters", "7B"],
        cwd=PROJECT_ROOT,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 141, "an upload whose reader left halfway would pass for a whole one"
    assert done.stderr == "", "whoever pipes into `head` would see a trace"


@pytest.mark.parametrize("verb", sorted(ops.VERBS))
def test_every_verb_shows_its_options(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        ops.main([verb, "--help"])
    assert stopped.value.code == 0
    assert f"python -m ops {verb}" in capsys.readouterr().out


def test_an_interrupted_verb_ends_with_a_word_instead_of_a_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("ops.preview.main", interrupt)
    assert ops.main(["preview"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"
