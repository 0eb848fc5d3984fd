"""What is read from the event log of one run."""

import json
from pathlib import Path
from typing import Any

from tests.engine.events import Step, read_events

URN = "urn:pulumi:dev::ai-platform::aiplatform:index:DataLake$aws:s3/bucket:Bucket::data-lake-bucket"


def _event(kind: str, operation: str, *changed: str) -> dict[str, Any]:
    return {kind: {"metadata": {"op": operation, "urn": URN, "detailedDiff": dict.fromkeys(changed, {})}}}


def _read(tmp_path: Path, *events: dict[str, Any]) -> tuple[tuple[Step, ...], str]:
    log = tmp_path / "events.json"
    log.write_text("\n".join(json.dumps(event) for event in events), encoding="utf-8")
    return read_events(log)


def test_a_step_has_operation_type_name_and_what_changed(tmp_path: Path) -> None:
    steps, _ = _read(
        tmp_path,
        _event("resourcePreEvent", "update", "tags.b", "tags.a"),
        _event("resOutputsEvent", "update"),
    )
    assert [(step.operation, step.type, step.name, step.changed, step.failed) for step in steps] == [
        ("update", "aws:s3/bucket:Bucket", "data-lake-bucket", ("tags.a", "tags.b"), False)
    ]


def test_a_refresh_is_what_it_found_and_later_steps_stand_beside_it(tmp_path: Path) -> None:
    steps, _ = _read(
        tmp_path,
        _event("resourcePreEvent", "refresh"),
        _event("resOutputsEvent", "delete"),
        _event("resourcePreEvent", "create"),
        _event("resOutputsEvent", "create"),
    )
    assert [step.operation for step in steps] == ["delete", "create"], (
        "a resource that is gone would go unseen"
    )


def test_a_failed_step_and_its_message_are_told(tmp_path: Path) -> None:
    error = {"diagnosticEvent": {"severity": "error", "message": "refused"}}
    warning = {"diagnosticEvent": {"severity": "warning", "message": "not pinned"}}
    steps, errors = _read(
        tmp_path, warning, _event("resourcePreEvent", "create"), _event("resOpFailedEvent", "create"), error
    )
    assert [step.failed for step in steps] == [True]
    assert errors == "refused"


def test_a_run_that_never_began_has_no_steps(tmp_path: Path) -> None:
    assert read_events(tmp_path / "absent.json") == ((), "")
