"""What the help of every verb shows as an example is a command that the verb takes."""

import argparse
import importlib
import re
import shlex
from typing import Any

import pytest

from ops import __main__ as ops


class UnderstoodError(Exception):
    """The arguments were taken; what comes after would ask AWS."""


def commands(verb: str, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """The examples below the help of a verb, or of all verbs (""), without remarks, pipes and files behind them."""
    with pytest.raises(SystemExit) as stopped:
        ops.main([*filter(None, [verb]), "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    lines = re.findall(r"^  (?:[^#\n]*\| )?python -m ops (.+)$", shown, re.MULTILINE)
    return [shlex.split(re.split(r"\s+(?:#|>)\s", line)[0]) for line in lines]


@pytest.mark.parametrize("verb", ["", *sorted(ops.VERBS)])
def test_every_example_of_a_help_is_understood_by_its_verb(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = commands(verb, capsys)
    assert [words for words in examples if verb in ("", words[0])], "the help shows no real example"
    parse = argparse.ArgumentParser.parse_args

    def stop(parser: argparse.ArgumentParser, *arguments: Any) -> None:
        parse(parser, *arguments)
        raise UnderstoodError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    for words in examples:
        with pytest.raises(UnderstoodError):
            importlib.import_module(ops.VERBS[words[0]][0]).main(words[1:])


def test_a_command_that_a_verb_does_not_take_is_no_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        ops.main(["preview", "--stock", "dev"])
    assert stopped.value.code == 2
    assert "--stock" in capsys.readouterr().err
