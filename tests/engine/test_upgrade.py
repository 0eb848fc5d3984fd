"""From the last release to this program: a stack changes as CHANGELOG.md says, and in no other way."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from ops.capture.program import PROJECT_ROOT
from recordings import STACKS
from tests.engine.engine import Engine

# An operation of the engine and its word in the changelog.
VERBS = {"create": "creates", "update": "updates", "replace": "replaces", "delete": "deletes"}
NAMED = re.compile(r"^- (creates|updates|replaces|deletes) `([^`]+)` `([^`]+)`", re.MULTILINE)
NO_RELEASE = "there is no release tag yet"

Change = tuple[str, str, str]

SMALL_PROJECT = """
name: small
runtime: {name: python, options: {toolchain: pip, virtualenv: .venv}}
"""
BEFORE = """
import pulumi_aws as aws

aws.sqs.Queue("jobs", name="jobs")
aws.sqs.Queue("forgotten")
aws.cloudwatch.LogGroup("logs", retention_in_days=7)
aws.cloudwatch.LogGroup("untouched")
"""
AFTER = """
import pulumi_aws as aws

aws.sqs.Queue("jobs", name="tasks")
aws.sqs.Queue("added")
aws.cloudwatch.LogGroup("logs", retention_in_days=14)
aws.cloudwatch.LogGroup("untouched")
"""
CHANGELOG = """
## Unreleased

- replaces `aws:sqs/queue:Queue` `jobs`: its name changed; messages in it are lost
- deletes `aws:sqs/queue:Queue` `forgotten`
- creates `aws:sqs/queue:Queue` `added`
- updates `aws:cloudwatch/logGroup:LogGroup` `logs`

## 1.0.0

- deletes `aws:sqs/queue:Queue` `untouched`
"""


def latest_release() -> str | None:
    """The newest tag of the form v1.2.3; None where there is none, or no repository."""
    listed = subprocess.run(
        ["git", "tag", "--list", "v*", "--sort=-version:refname"],
        cwd=PROJECT_ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    tags = [tag for tag in listed.stdout.split() if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    return tags[0] if tags else None


def unpack(tag: str, folder: Path) -> Path:
    """The program of a release; it runs with the packages of today."""
    archive = subprocess.run(["git", "archive", tag], cwd=PROJECT_ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    for shared in (".venv", ".bundles"):
        (PROJECT_ROOT / shared).mkdir(exist_ok=True)
        (folder / shared).symlink_to(PROJECT_ROOT / shared)
    return folder


def named_changes(changelog: str) -> set[Change]:
    """What the section on the unreleased changes names, in the form that docs/engine.md describes."""
    unreleased = changelog.partition("\n## Unreleased\n")[2].partition("\n## ")[0]
    return {(verb, kind, name) for verb, kind, name in NAMED.findall(unreleased)}


def upgrade(pulumi: Path, stack: str, old: Path, new: Path) -> set[Change]:
    """What happens to a stack, deployed with one program, when the next one is deployed."""
    with Engine(pulumi, stack, root=old) as engine:
        deployed = engine.up()
        assert deployed.ok, deployed.output
        engine.use_program(new)
        upgraded = engine.up()
        assert upgraded.ok, upgraded.output
        return {
            (VERBS[operation], kind, name)
            for operation, kind, name in upgraded.changed()
            if operation in VERBS
        }


def disagreement(done: set[Change], named: set[Change]) -> str:
    """Lines to put into the changelog and to take out of it; empty when it is right."""
    return "\n".join([*_lines("missing", done - named), *_lines("does not happen", named - done)])


def _lines(problem: str, changes: Iterable[Change]) -> list[str]:
    return [f"{problem}: - {verb} `{kind}` `{name}`" for verb, kind, name in sorted(changes)]


def test_the_changelog_names_exactly_what_an_upgrade_changes(pulumi: Path, tmp_path: Path) -> None:
    tag = latest_release()
    if tag is None:
        pytest.skip(NO_RELEASE)
    old = unpack(tag, tmp_path)
    done = {change for stack in STACKS for change in upgrade(pulumi, stack, old, PROJECT_ROOT)}
    named = named_changes((PROJECT_ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert not disagreement(done, named), (
        f"whoever upgrades from {tag} is not told:\n{disagreement(done, named)}"
    )


@pytest.fixture(scope="module")
def small_upgrade(pulumi: Path, tmp_path_factory: pytest.TempPathFactory) -> set[Change]:
    """The same with two versions of a small program."""
    old, new = (_small(tmp_path_factory.mktemp("small"), program) for program in (BEFORE, AFTER))
    return upgrade(pulumi, "dev", old, new)


def _small(folder: Path, program: str) -> Path:
    for name, content in {
        "Pulumi.yaml": SMALL_PROJECT,
        "Pulumi.dev.yaml": "config: {}\n",
        "__main__.py": program,
    }.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / ".venv").symlink_to(PROJECT_ROOT / ".venv")
    return folder


def test_an_upgrade_that_the_changelog_describes_passes(small_upgrade: set[Change]) -> None:
    assert not disagreement(small_upgrade, named_changes(CHANGELOG))


@pytest.mark.parametrize("line", NAMED.findall(CHANGELOG.partition("## 1.0.0")[0]))
def test_a_change_that_the_changelog_forgets_is_told(small_upgrade: set[Change], line: Change) -> None:
    named = named_changes(CHANGELOG) - {line}
    assert disagreement(small_upgrade, named) == f"missing: - {line[0]} `{line[1]}` `{line[2]}`"


def test_a_change_that_does_not_happen_is_told(small_upgrade: set[Change]) -> None:
    named = named_changes(CHANGELOG) | {("deletes", "aws:s3/bucket:Bucket", "lake")}
    assert disagreement(small_upgrade, named) == "does not happen: - deletes `aws:s3/bucket:Bucket` `lake`"
