"""`python -m ops` itself: its help, its verbs, and how it ends."""

import pytest

from ops import __main__ as ops


def test_without_a_verb_the_verbs_are_shown_and_it_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        ops.main([])
    assert stopped.value.code == 2
    told = capsys.readouterr().err
    for verb, (_, text) in ops.VERBS.items():
        assert f"{verb:<10}{text}" in told


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
