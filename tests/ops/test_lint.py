"""`python -m ops lint`: findings of all stacks, and an exit code that a pipeline can use."""

import json
from dataclasses import replace
from datetime import date

import pytest

from ops import lint
from ops.capture.recording import Recording
from policies.exceptions import EXCEPTIONS
from policies.upkeep import PROVIDER
from recordings import recorded
from tests.policies.planting import changed, inputs
from tests.policies.plants import INGRESS

TODAY = date(2026, 12, 2)
LATER = date(2030, 1, 1)


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> dict[str, Recording]:
    """What the verb records, by stack; tests put faults in."""
    known = {name: recorded(name) for name in ("dev", "staging", "prod")}
    monkeypatch.setattr(lint, "record", lambda name: known[name])
    return known


def _open(recording: Recording) -> Recording:
    return changed(recording, INGRESS, "network-endpoints", inputs(cidrIpv4="0.0.0.0/0"))


def test_clean_stacks_end_with_zero(stacks: dict[str, Recording], capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.main([], TODAY) == 0
    assert "dev none, prod none, staging none, exceptions none" in capsys.readouterr().out


def test_an_error_ends_with_one_and_says_what_to_do(
    stacks: dict[str, Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    stacks["prod"] = _open(stacks["prod"])
    assert lint.main(["--stack", "prod"], TODAY) == 1
    printed = capsys.readouterr().out
    assert (
        "ERROR prod: network-endpoints lets 0.0.0.0/0" in printed
        and "Fix: let a security group in" in printed
    )


def test_a_warning_alone_ends_with_zero(
    stacks: dict[str, Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    stacks["dev"] = changed(stacks["dev"], PROVIDER, "aws", inputs(defaultTags=None))
    assert lint.main(["--stack", "dev"], TODAY) == 0
    assert "WARNING dev: aws gives resources no tags" in capsys.readouterr().out


def test_json_is_one_document(stacks: dict[str, Recording], capsys: pytest.CaptureFixture[str]) -> None:
    stacks["prod"] = _open(stacks["prod"])
    assert lint.main(["--json"], TODAY) == 1
    document = json.loads(capsys.readouterr().out)
    (item,) = document["findings"]
    assert (item["stack"], item["rule"], item["severity"]) == ("prod", "open-ingress", "error")
    assert len(document["rules"]) == len(set(document["rules"])) >= 13


def test_an_exception_past_its_day_fails_every_run(
    stacks: dict[str, Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint.main(["--stack", "dev"], LATER) == 1
    assert capsys.readouterr().out.count("the exception ended on") == len(EXCEPTIONS)


def test_an_unused_exception_is_told_only_when_all_stacks_are_judged(stacks: dict[str, Recording]) -> None:
    extra = [*EXCEPTIONS, replace(EXCEPTIONS[0], name="nobody")]
    every = lint.judged(stacks, TODAY, all_stacks=True, exceptions=extra)
    one = lint.judged({"dev": stacks["dev"]}, TODAY, all_stacks=False, exceptions=extra)
    assert [item.name for item in every["exceptions"]] == ["nobody"]
    assert one["exceptions"] == [], "what prod needs would be called unused by dev"


def test_an_unknown_stack_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.main(["--stack", "nowhere"], TODAY) == 2
    assert "nowhere" in capsys.readouterr().err
