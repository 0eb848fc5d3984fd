"""Each stack on the real engine, from the first preview to its end."""

from typing import Any

from tests.engine.events import Result
from tests.engine.life import Life

# The component registers the image once it knows the registry's URL, which a first preview does not.
SEEN_BY_UP_ONLY = {("create", "docker-build:index:Image", "latest")}


def _told(result: Result) -> str:
    return f"exit code {result.exit_code}: {result.errors or result.output[-3000:]}"


def test_up_works_from_nothing(life: Life) -> None:
    assert life.up.ok, _told(life.up)
    assert {step.operation for step in life.up.changes} == {"create"}


def test_a_first_preview_shows_what_up_creates(life: Life) -> None:
    assert life.preview.ok, _told(life.preview)
    assert life.up.changed() - SEEN_BY_UP_ONLY == life.preview.changed() - SEEN_BY_UP_ONLY, (
        "people approve a preview: what it does not show is built unseen"
    )


def test_a_second_preview_is_empty(life: Life) -> None:
    assert life.second_preview.ok, _told(life.second_preview)


def test_a_refresh_finds_nothing_that_changed(life: Life) -> None:
    assert life.refresh.ok, _told(life.refresh)
    assert not life.refresh.changes, "the state does not hold what was made"


def test_a_preview_after_a_refresh_is_empty(life: Life) -> None:
    assert life.preview_after_refresh.ok, _told(life.preview_after_refresh)


def test_a_stack_is_destroyed_unless_it_is_protected(life: Life) -> None:
    assert bool(_protected(life)) is (life.stack == "prod"), "the stack files say what may be destroyed"
    assert life.destroy.ok is not bool(_protected(life)), _told(life.destroy)


def test_a_refused_destroy_deletes_nothing(life: Life) -> None:
    made = sum(item["custom"] and not item["urn"].count("pulumi:providers:") for item in life.resources)
    assert len(life.kept) == (made if _protected(life) else 0), "a refusal came too late"


def test_a_refused_destroy_names_what_protects_the_stack(life: Life) -> None:
    protected = _protected(life)
    # What another protected resource depends on is not reached: that one is named.
    reached = protected.keys() - {
        urn for item in protected.values() for urn in item.get("dependencies") or ()
    }
    unnamed = [urn for urn in reached if f'"{urn}" cannot be deleted' not in life.destroy.output]
    assert not unnamed, "nobody is told what stands in the way"


def _protected(life: Life) -> dict[str, dict[str, Any]]:
    return {item["urn"]: item for item in life.resources if item.get("protect")}


def test_destroy_without_protection_leaves_what_is_retained_and_nothing_else(life: Life) -> None:
    assert life.unprotected_destroy.ok, _told(life.unprotected_destroy)
    retained = {
        item["urn"].rpartition("::")[2]
        for item in life.resources
        if item.get("retainOnDelete") and item["custom"]
    }
    assert {item.name for item in life.left} == retained, (
        "what stays behind is billed, and nobody knows of it"
    )
