"""What the documentation shows is what the program does."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from components.config import ConfigError
from ingestion.extraction import MIB, SUFFIXES, max_bytes
from ops import __main__ as ops_main
from ops import configuration_page, preview
from ops.capture.program import PROJECT_ROOT, record
from recordings import STACKS, recorded

README = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [PROJECT_ROOT / "README.md", *sorted((PROJECT_ROOT / "docs").rglob("*.md"))]


def _block(marker: str) -> list[str]:
    """The lines of the code block after a marker."""
    found = re.search(rf"<!-- {marker}[^>]*-->\n```text\n(.*?)```", README, flags=re.DOTALL)
    assert found, f"README.md has no block {marker}"
    return found[1].splitlines()


def test_the_readme_shows_lines_of_the_real_preview_in_their_order() -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert preview.main(["--stack", "dev"]) == 0
    shown = iter(output.getvalue().splitlines())
    for line in _block("preview dev"):
        assert line in shown, f"the preview does not say: {line}"


def test_the_readme_shows_the_real_message_for_a_wrong_configuration() -> None:
    found = re.search(r"<!-- faults dev ([^>]*) -->", README)
    assert found
    changes = dict(change.split("=", 1) for change in found[1].split())
    with pytest.raises(ConfigError) as raised:
        record("dev", changes=changes)
    assert str(raised.value).splitlines() == _block("faults dev")


def test_the_configuration_page_is_made_from_the_program() -> None:
    page = configuration_page.PAGE.read_text(encoding="utf-8")
    assert page == configuration_page.render(), "run `python -m ops.configuration_page`"


def test_every_make_command_in_the_readme_exists() -> None:
    makefile = (PROJECT_ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z-]+)", README)) - {"are"}:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"`make {target}` does not exist"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"


def test_the_page_of_lookups_lists_exactly_the_calls_of_the_program() -> None:
    page = (PROJECT_ROOT / "docs" / "lookups.md").read_text(encoding="utf-8")
    called = {call.token for stack in STACKS for call in recorded(stack).invokes}
    # awsx.ecr.Image calls this one by itself, out of the recording's sight (awsx, ecr/auth.ts).
    hidden = {"aws:ecr/getAuthorizationToken:getAuthorizationToken"}
    assert set(re.findall(r"`(aws:[^`]+)`", page)) == called | hidden


def test_every_resource_named_on_the_page_of_real_accounts_exists() -> None:
    page = (PROJECT_ROOT / "docs" / "real-account.md").read_text(encoding="utf-8")
    names = {resource.name for resource in recorded("dev").resources}
    for name in re.findall(r"resource `([^`]+)`", page):
        assert name in names
    for key in re.findall(r"stack output (\w+)", page):
        assert key in recorded("dev").exports


def test_the_page_of_documents_lists_every_format_with_its_limit() -> None:
    text = (PROJECT_ROOT / "docs" / "rag.md").read_text(encoding="utf-8")
    table = text.split("<!-- formats -->")[1].split("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    told = {suffix: size.strip() for suffixes, size in rows for suffix in re.findall(r"`([^`]+)`", suffixes)}
    assert told == {suffix: f"{max_bytes(f'raw/a{suffix}') // MIB} MiB" for suffix in SUFFIXES}


def _ops_commands() -> set[tuple[str, str]]:
    """Verb and options of every `python -m ops` command in the documentation."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    return set(re.findall(r"python -m ops ([a-z]+)([^\n`#]*)", text))


@pytest.mark.parametrize(("verb", "options"), sorted(_ops_commands()))
def test_every_operator_command_in_the_documentation_is_known(
    verb: str, options: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verbs = [verb, *re.findall(r"^ ([a-z]+)", options)]
    with pytest.raises(SystemExit):
        ops_main.main([*verbs, "--help"])
    assert set(re.findall(r"--[a-z-]+", options)) <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
