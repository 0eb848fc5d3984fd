"""Reading a stack's outputs through the Pulumi command line, here a script in its place."""

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ops import __main__ as ops
from ops import stack_outputs as module
from ops.capture.stack_files import StackFileError
from ops.stack_outputs import StackOutputs, StackOutputsError, stack_outputs, stack_region


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts a shell script first on the PATH that notes how it was called; returns the file with the note."""

    def install(script: str) -> Path:
        note = tmp_path / "asked"
        path = tmp_path / "pulumi"
        path.write_text(f'#!/bin/sh\necho "$PWD $*" > {note}\n{script}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return note

    return install


def test_the_outputs_of_the_stack_are_asked_in_the_project(
    pulumi: Callable[[str], Path], tmp_path: Path
) -> None:
    note = pulumi('echo \'{"bucket": "lake-abc", "count": 3}\'')
    outputs = stack_outputs("acme/ai-platform/dev", tmp_path)
    assert outputs.text("bucket") == "lake-abc"
    asked = note.read_text().split()
    assert asked[0] == str(tmp_path)
    assert asked[1:] == ["stack", "output", "--json", "--non-interactive", "--stack", "acme/ai-platform/dev"]


@pytest.mark.parametrize("values", [{"bucket": "b"}, {"queue": ""}, {"queue": 7}])
def test_an_output_that_is_not_there_is_named_with_those_that_are(values: dict[str, object]) -> None:
    with pytest.raises(StackOutputsError, match=f"dev has no output queue .it has: {next(iter(values))}"):
        StackOutputs("dev", values).text("queue")


def test_an_unknown_stack_is_told_in_the_words_of_pulumi(
    pulumi: Callable[[str], Path], tmp_path: Path
) -> None:
    pulumi(
        "echo 'warning: A new version is there' >&2; echo \"error: no stack named 'x' found\" >&2; exit 255"
    )
    with pytest.raises(StackOutputsError) as raised:
        stack_outputs("x", tmp_path)
    assert str(raised.value) == "The outputs of stack x cannot be read: no stack named 'x' found"


def test_a_stack_that_was_never_deployed_is_told(pulumi: Callable[[str], Path], tmp_path: Path) -> None:
    pulumi("echo '{}'")
    with pytest.raises(StackOutputsError, match="never deployed"):
        stack_outputs("dev", tmp_path)


@pytest.mark.parametrize("answer", ["no json", json.dumps([1])])
def test_an_answer_that_is_no_object_is_told(
    pulumi: Callable[[str], Path], tmp_path: Path, answer: str
) -> None:
    pulumi(f"echo '{answer}'")
    with pytest.raises(StackOutputsError, match="no JSON object"):
        stack_outputs("dev", tmp_path)


def test_a_missing_command_line_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StackOutputsError, match=r"not on the PATH. Fix: install it\.$"):
        stack_outputs("dev", tmp_path)
    with pytest.raises(StackOutputsError, match=r"Fix: install it, or name the bucket with --bucket\.$"):
        stack_outputs("dev", tmp_path, instead="name the bucket with --bucket")


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["redrive", "--show"], "install it, or name the queues with --dead-letter-queue and --queue."),
        (["reindex", "--index", "documents-2"], "install it."),
        (
            ["evaluate", "QUESTIONS", "--url", "http://127.0.0.1:9"],
            "install it, or name the bucket with --bucket.",
        ),
    ],
)
def test_a_verb_tells_only_ways_out_that_it_has(
    arguments: list[str],
    fix: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"question": "Q?", "expected_documents": ["raw/a.md"]}')
    monkeypatch.setenv("PATH", str(tmp_path))
    given = [str(questions) if argument == "QUESTIONS" else argument for argument in arguments]
    assert ops.main([*given, "--stack", "dev"]) == 1
    assert capsys.readouterr().err.endswith(f"Fix: {fix}\n")


def test_a_command_line_that_never_ends_is_told(
    pulumi: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulumi("exec sleep 60")
    monkeypatch.setattr(module, "TIMEOUT_SECONDS", 0.1)
    with pytest.raises(StackOutputsError, match="did not end within"):
        stack_outputs("dev", tmp_path)


def test_the_region_is_that_of_the_stack_file() -> None:
    assert stack_region("dev") == "eu-central-1"
    assert stack_region("acme/ai-platform/prod") == "eu-central-1"
    with pytest.raises(StackFileError, match=r"Pulumi.nowhere.yaml"):
        stack_region("nowhere")
