"""`Pulumi.yaml` and the program declare the same keys, and each stack file holds only what differs."""

from dataclasses import MISSING
from typing import Any, get_args, get_origin, get_type_hints

import pytest
import yaml

from components.config import section_types
from components.config_sections import NAMESPACE
from components.settings import as_typed, default_of, settings_of
from ops.capture.program import PROJECT_ROOT
from ops.capture.stack_files import load_stack_config
from recordings import STACKS
from typed_config import faults_of

PROJECT: dict[str, Any] = yaml.safe_load((PROJECT_ROOT / "Pulumi.yaml").read_text(encoding="utf-8"))
SCALARS = {bool: "boolean", int: "integer", str: "string"}


def declared(hint: Any) -> dict[str, Any]:
    """The type of a key in the words of the project file."""
    if get_origin(hint) is tuple:
        return {"type": "array", "items": {"type": "string" if get_args(hint)[0] is str else "object"}}
    return {"type": SCALARS.get(hint, "object")}


def program_keys() -> dict[str, dict[str, Any]]:
    keys = {}
    for cls in section_types().values():
        hints = get_type_hints(cls)
        for key, item in settings_of(cls).items():
            default = default_of(item)
            keys[key] = declared(hints[item.name]) | (
                {} if default is MISSING else {"default": as_typed(default)}
            )
    return keys


def test_the_project_file_declares_exactly_the_keys_types_and_defaults_of_the_program() -> None:
    in_file = {
        key: {name: part for name, part in entry.items() if name != "description"}
        for key, entry in PROJECT["config"].items()
    }
    assert in_file == program_keys(), "the command line and the program would disagree about what a key means"


def test_keys_stand_in_the_same_order_in_both() -> None:
    assert list(PROJECT["config"]) == list(program_keys()), "nobody finds a key"


def test_no_key_is_declared_twice_in_the_program() -> None:
    keys = [key for cls in section_types().values() for key in settings_of(cls)]
    assert len(keys) == len(set(keys))


def test_every_key_has_a_description_that_is_a_sentence() -> None:
    for key, entry in PROJECT["config"].items():
        description = entry["description"]
        assert description.endswith(".") and len(description.split()) > 1, f"{key} is not explained"


def test_the_project_is_the_namespace_of_the_program() -> None:
    assert PROJECT["name"] == NAMESPACE, "the program would read no key of its own project"


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_file_is_without_fault(stack: str) -> None:
    values = load_stack_config(PROJECT_ROOT, stack).values
    assert faults_of({key.removeprefix(f"{NAMESPACE}:"): value for key, value in values.items()}) == []


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_file_says_first_what_it_is_for(stack: str) -> None:
    first = (PROJECT_ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# For ") and first.endswith("."), "nobody knows what may be done to this stack"


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_file_holds_only_what_differs_from_the_defaults(stack: str) -> None:
    typed = yaml.safe_load((PROJECT_ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))["config"]
    for key, value in typed.items():
        assert key.startswith(f"{NAMESPACE}:"), f"{key} is not read by the program"
        entry = PROJECT["config"][key.removeprefix(f"{NAMESPACE}:")]
        assert entry.get("default") != value, f"{key} hides that the default has changed"
    for entry in (
        entry
        for value in typed.values()
        if isinstance(value, list)
        for entry in value
        if isinstance(entry, dict)
    ):
        assert 0 not in entry.values() and "" not in entry.values(), f"{entry} repeats a default"
