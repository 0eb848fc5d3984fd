"""A secret that somebody puts into the stack file stays one: its value is in no plain text that the engine writes."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.engine.engine import Engine
from tests.engine.events import Result
from tests.engine.life import Life

MARKER = "correct-horse-battery-staple"
NO_SECRET = "shown-to-everybody"
# How the engine marks a secret in its state (Pulumi SDK, `pulumi.runtime.rpc`).
SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"
# Resources whose outputs are secrets, so that their values would be in the state.
HOLDERS = ("aws:secretsmanager/secretVersion:", "aws:iam/accessKey:", "aws:ssm/parameter:", "random:", "tls:")


@pytest.fixture(scope="module")
def deployed(pulumi: Path) -> Generator[Engine]:
    """The dev stack, deployed with a secret in its stack file that belongs to another tool."""
    with Engine(pulumi, "dev") as engine:
        engine.configure_secret("another-tool:token", MARKER)
        assert engine.up().ok
        yield engine


@contextmanager
def _stack_file_restored(engine: Engine) -> Generator[None]:
    stack_file = engine.project / f"Pulumi.{engine.stack}.yaml"
    before = stack_file.read_bytes()
    try:
        yield
    finally:
        stack_file.write_bytes(before)


def _plain_texts(engine: Engine, value: str) -> set[str]:
    """Where a value lies on disk: `project` with its stack file; `state` with backups and history; event logs."""
    home = engine.project.parent
    files = [path for folder in (home / "state", engine.project) for path in folder.rglob("*")]
    files += home.glob("*.json")
    found = [path for path in files if path.is_file() and value.encode() in path.read_bytes()]
    return {path.relative_to(home).parts[0] for path in found}


def _shown(engine: Engine, *results: Result) -> str:
    """Everything that a person, a log or a pipeline sees."""
    printed = "".join(result.output + result.errors for result in results)
    return printed + json.dumps(engine.export()) + json.dumps(engine.outputs())


def test_a_secret_of_another_tool_is_in_no_state_preview_or_output(deployed: Engine) -> None:
    preview, as_json = deployed.preview(), deployed.preview("--json")
    assert preview.ok and as_json.ok, preview.errors or as_json.output
    assert MARKER not in _shown(deployed, preview, as_json)
    assert not _plain_texts(deployed, MARKER), "whoever reads the state reads the secret"
    assert MARKER not in repr(list(deployed.account)), "the secret was sent to AWS as a setting"


@pytest.mark.parametrize(
    "key", ["ai-platform:openaiModel", "ai-platform:gpuFleets", "ai-platform:openaiApiKey"]
)
def test_a_secret_in_a_key_of_ours_is_refused_without_being_shown(deployed: Engine, key: str) -> None:
    with _stack_file_restored(deployed):
        deployed.configure_secret(key, MARKER)
        refused, as_json = deployed.preview(), deployed.preview("--json")
    assert not refused.ok and not as_json.ok, f"{key} would be used as if it were no secret"
    assert MARKER not in _shown(deployed, refused, as_json), "the error tells what nobody shall see"
    assert key.partition(":")[2] in refused.output, "nobody is told which key it is"


def test_a_value_that_is_no_secret_is_found_in_the_same_places(deployed: Engine) -> None:
    with _stack_file_restored(deployed):
        deployed.configure({"tags": {"Owner": NO_SECRET}})
        preview, up = deployed.preview("--json"), deployed.up()
        assert preview.ok and up.ok, preview.output or up.errors
        assert NO_SECRET in preview.output, "a secret is looked for where nothing is ever shown"
        assert NO_SECRET in _shown(deployed, up)
        assert _plain_texts(deployed, NO_SECRET) >= {"project", "state"}


def test_the_state_holds_the_names_of_secrets_and_no_value(life: Life) -> None:
    assert not [item["urn"] for item in life.resources if item["type"].startswith(HOLDERS)]
    assert SECRET_SIGNATURE not in json.dumps(life.resources), "something secret reached the state"
