"""`python -m ops status` itself: the screen, the document, looking again, and how it ends."""

import io
import json
from typing import Any

import pytest

from ops.aws_calls import AwsCallError
from ops.capture.program import PROJECT_ROOT, record
from ops.capture.stack_files import load_stack_config
from ops.preflight.account import Account
from ops.stack_outputs import StackOutputs, StackOutputsError
from ops.status import command
from ops.status.sections import State
from tests.ops.status_world import DEAD, NOW, World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """The stack prod, whose outputs Pulumi tells."""
    world = World()
    monkeypatch.setattr(command, "stack_outputs", lambda stack: StackOutputs(stack, world.outputs))
    return world


def run(world: World, *arguments: str, sleep: Any = None) -> int:
    def account(region: str, profile: str | None) -> Account:
        return Account(region, profile, make_client=world.account.client)

    return command.main(["--stack", "prod", *arguments], make_account=account, sleep=sleep, clock=lambda: NOW)


def test_all_is_well_on_one_screen(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(world) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[0] == (
        "ai-platform, stack prod in eu-central-1, 2026-12-02 12:00:00 UTC: all is well"
    )
    assert "RAG service   ok 2 of 2 tasks running\n" in told
    assert len(told.splitlines()) <= 40, "it no longer fits a screen"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_long_lines_go_on_below_their_text_and_the_screen_stays_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    world.counts[DEAD] = (10, 2, 0)
    world.service.update(runningCount=1, events=[{"message": "unable to place a task because " * 5}])
    assert run(world) == 1
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80, (
        "the terminal would break lines inside words, and the columns would be gone"
    )
    assert len(lines) <= 40, "it no longer fits a screen"
    at = next(place for place, line in enumerate(lines) if "!! 1 of 2 tasks running" in line)
    assert lines[at + 1].startswith(" " * 17 + "unable to place a task")


def test_a_sleeping_stack_is_taken_for_one_by_its_file(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.metrics["ApproximateAgeOfOldestMessage"] = [7300.0]
    assert run(world) == 1
    config = load_stack_config(PROJECT_ROOT, "prod", {"asleep": True})
    monkeypatch.setattr(command, "load_stack_config", lambda root, stack: config)
    assert run(world) == 0
    assert "2 h 2 min old: the stack is asleep" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("stack", "changes", "there"),
    [
        ("dev", {}, {"RAG service", "GPU fleets", "Ingestion", "Vector index"}),
        ("staging", {}, {"RAG service", "GPU fleets", "Training", "Ingestion", "Vector index", "Alarms"}),
        (
            "prod",
            {},
            {"RAG service", "GPU fleets", "Training", "Ingestion", "Vector index", "Alarms", "Cost"},
        ),
        ("prod", {"asleep": True}, {"Training", "Ingestion", "Vector index", "Alarms", "Cost"}),
        ("dev", {"gpuFleets": []}, {"RAG service", "Ingestion", "Vector index"}),
        (
            "dev",
            dict.fromkeys(("vectorStore", "ragService", "orchestrator", "ingestion"), False)
            | {"gpuFleets": []},
            set(),
        ),
    ],
)
def test_every_kind_of_stack_is_read_from_the_outputs_of_the_program(
    stack: str, changes: dict[str, Any], there: set[str]
) -> None:
    recording = record(stack, changes=changes)
    world = World()
    world.outputs = dict(recording.exports)
    world.counts = {
        world.outputs.get("ingestion_queue", ""): (0, 0, 0),
        world.outputs.get("ingestion_dead_letters", ""): (0, 0, 0),
    }
    alarms = [
        each.name for each in recording.resources if each.type == "aws:cloudwatch/metricAlarm:MetricAlarm"
    ]
    world.alarms = dict.fromkeys(alarms, "OK")
    states = {title: section.state for title, section in world.sections().items()}
    assert {title for title, state in states.items() if state is State.OK} == there
    assert {state for title, state in states.items() if title not in there} <= {State.ABSENT}


def test_what_needs_somebody_stands_in_the_first_line_and_fails(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.service["runningCount"] = 0
    world.account.refused["GetResources"] = "AccessDeniedException"
    assert run(world) == 1
    told = capsys.readouterr().out
    assert "unhealthy: RAG service, Model server; unread: Alarms" in told.splitlines()[0]
    assert (
        "Alarms        ?? cannot be read: access denied to GetResources. Fix: allow tag:GetResources." in told
    )


def test_something_that_cannot_be_read_alone_fails(world: World) -> None:
    world.account.refused["GetResources"] = "AccessDeniedException"
    assert run(world) == 1, "a script would take what nobody saw for well"


def test_machines_get_one_document(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.alarms["training-run-failed"] = "ALARM"
    assert run(world, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["healthy"] is False
    states = {section["title"]: section["state"] for section in document["sections"]}
    assert [title for title, state in states.items() if state != "ok"] == ["Alarms"]
    [cost] = [section for section in document["sections"] if section["title"] == "Cost"]
    assert cost["lines"][0]["facts"] == {"spent_usd": 120.5, "limit_usd": 300.0}


def test_watching_looks_again_and_asks_aws_anew(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        world.service["runningCount"] = 1
        if len(slept) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(world, "--watch", "30", sleep=sleep)
    told = capsys.readouterr().out
    assert slept == [30, 30]
    assert told.index("2 of 2 tasks running") < told.index("1 of 2 tasks running")
    assert "\033" not in told, "what is no terminal gets no control codes"


@pytest.mark.parametrize(
    "arguments", [["--watch", "4"], ["--watch", "x"], ["--watch", "30", "--json"], ["--nothing"]]
)
def test_options_that_do_not_fit_are_wrong_usage(world: World, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(world, *arguments)
    assert stopped.value.code == 2


def test_an_unknown_stack_is_wrong_usage_and_one_without_outputs_a_failure(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--stack", "nowhere"]) == 2

    def never_deployed(stack: str) -> StackOutputs:
        raise StackOutputsError("it was never deployed")

    monkeypatch.setattr(command, "stack_outputs", never_deployed)
    assert run(world) == 1
    assert "never deployed" in capsys.readouterr().err


def test_a_profile_that_does_not_exist_is_told_in_every_part(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> Any:
        raise AwsCallError("AWS failed at connecting to AWS: The config profile (nobody) could not be found.")

    monkeypatch.setattr(world.account, "client", refuse)
    assert run(world) == 1
    assert capsys.readouterr().out.count("(nobody) could not be found") == len(command.AREAS)


def test_the_help_names_every_permission(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--help"])
    shown = capsys.readouterr().out
    for area in command.AREAS:
        assert all(action in shown for action in area.actions)
