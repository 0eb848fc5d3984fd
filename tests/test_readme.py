"""What the documentation shows is what the program does."""

import ast
import contextlib
import functools
import io
import re
from pathlib import Path
from typing import Any

import botocore.session
import pytest
import yaml
from botocore import xform_name

from components.accelerators import find
from components.config import PREFIX, ConfigError, read_sections
from components.model_servers import SERVERS
from components.model_sizes import BYTES_PER_WEIGHT, GIB
from ingestion.extraction import MIB, SUFFIXES, max_bytes
from ops import __main__ as ops_main
from ops import configuration_page, preview
from ops.capture.program import PROJECT_ROOT, record
from ops.capture.stack_files import load_stack_config
from recordings import STACKS, recorded

README = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [PROJECT_ROOT / "README.md", *sorted((PROJECT_ROOT / "docs").rglob("*.md"))]
SERVING = (PROJECT_ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
# Commands of the AWS command line that are no operation of a service, and options that every command takes.
AWS_TOOLS = {("s3", "cp"), ("s3", "sync"), ("logs", "tail"), ("ecr", "get-login-password")}
AWS_OPTIONS = {"--query", "--output", "--cli-binary-format", "--region"}


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


def _stack_file_parts() -> list[dict[str, Any]]:
    """The stack file of the guide to serving, part by part; a part without fleets adds to the first."""
    parts = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", SERVING, flags=re.DOTALL)]
    typed = [{key.removeprefix(PREFIX): value for key, value in part.items()} for part in parts]
    return [part if "gpuFleets" in part else {**typed[0], **part} for part in typed]


@pytest.mark.parametrize("part", range(len(_stack_file_parts())))
def test_every_stack_file_of_the_guide_to_serving_is_without_fault(part: int) -> None:
    values = load_stack_config(PROJECT_ROOT, "dev", _stack_file_parts()[part]).values
    faults = read_sections({key.removeprefix(PREFIX): value for key, value in values.items()})[1]
    assert not faults, "a reader could not do what the guide says"


def test_the_guide_to_serving_reads_outputs_that_its_stack_has() -> None:
    exports = record("dev", changes=_stack_file_parts()[0]).exports
    asked = set(re.findall(r"pulumi stack output (\w+)", SERVING))
    assert asked == {"cluster", "bucket", "inference_url", "inference_model"}
    assert asked <= set(exports)
    assert exports["inference_model"] in SERVING.split("curl -s")[1], (
        "the server knows its model by another name"
    )


def test_the_guide_to_serving_names_groups_that_its_stack_has() -> None:
    recording = record("dev", changes=_stack_file_parts()[0])
    names = {resource.inputs.get("name") for resource in recording.resources}
    assert {"ai-cluster-dev-serving", "/ecs/inference-dev"} <= names
    assert '"$(pulumi stack output cluster)-serving"' in SERVING
    assert "/ecs/inference-dev" in SERVING
    assert recording.exports["cluster"] == "ai-cluster-dev"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_configuration_key_on_a_page_exists(page: Path) -> None:
    """The page of the configuration has every key, since it is made from the program."""
    known = configuration_page.PAGE.read_text(encoding="utf-8")
    # Fields of what `aws ecs describe-tasks` answers.
    answers = set(_service_model("ecs").shape_for("Task").members)
    words = re.findall(r"`([a-z]+[A-Z]\w+)(?::[^`]*)?`", page.read_text(encoding="utf-8"))
    for word in set(words) - answers:
        assert f"`{word}`" in known, f"{page.name} speaks of {word}, which is no key"


@functools.cache
def _service_model(service: str) -> Any:
    return botocore.session.Session().get_service_model(service)


def _aws_commands() -> set[tuple[str, str, frozenset[str]]]:
    """Service, operation and options of every command of the AWS command line in the documentation."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES).replace("\\\n", " ")
    found = re.findall(r"\baws ([a-z0-9-]+) ([a-z0-9-]+)((?: [^\n`]*)?)", text)
    return {
        (service, verb, frozenset(re.findall(r"(?<=\s)--[a-z-]+", rest))) for service, verb, rest in found
    }


@pytest.mark.parametrize(
    ("service", "verb", "options"),
    sorted(_aws_commands(), key=lambda command: (command[0], command[1], sorted(command[2]))),
)
def test_every_aws_command_in_the_documentation_exists_with_its_options(
    service: str, verb: str, options: frozenset[str]
) -> None:
    if (service, verb) in AWS_TOOLS:
        return
    model = _service_model("s3" if service == "s3api" else service)
    operations = {xform_name(name, "-"): name for name in model.operation_names}
    assert verb in operations, f"`aws {service} {verb}` does not exist"
    shape = model.operation_model(operations[verb]).input_shape
    known = {f"--{xform_name(member, '-')}" for member in (shape.members if shape else {})}
    assert options <= known | AWS_OPTIONS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_piece_of_python_on_a_page_is_python(page: Path) -> None:
    for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        assert ast.parse(code).body


def _table(marker: str) -> list[list[str]]:
    """The cells of a table of the guide to serving, without its head."""
    text = SERVING.split(f"<!-- {marker} -->\n")[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_the_guide_to_serving_shows_the_table_of_servers() -> None:
    assert _table("servers") == [
        [f"`{server.node_image}`", f"`{server.image}`", server.platform, server.driver_at_least,
         server.node_driver, ", ".join(server.accelerators)]
        for server in SERVERS.values()
    ]  # fmt: skip
    for server in SERVERS.values():
        assert f"Read on {server.read_on}" in SERVING


def test_the_guide_to_serving_multiplies_its_prices_right() -> None:
    rows = _table("prices")
    assert len(rows) > 5
    for name, gib, model, on_demand, month, spot, spot_month, by_day in rows:
        entry = find(name.partition(",")[0])
        assert entry
        assert float(gib) == entry.accelerator_memory_gib_total
        assert model == f"{int(float(gib) * GIB / 1.2 / BYTES_PER_WEIGHT / 1e9)}B", (
            "a fifth of the memory is promised"
        )
        for hours, price, product in (
            (730, on_demand, month),
            (730, spot, spot_month),
            (217, on_demand, by_day),
        ):
            assert abs(hours * float(price) - int(product)) <= 1
