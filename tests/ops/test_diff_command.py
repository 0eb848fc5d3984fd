"""`python -m ops diff` from end to end: real repositories, both versions of the program really run."""

import json
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops import __main__ as ops
from ops.capture.program import PROJECT_ROOT
from ops.diff import command
from ops.diff.command import main
from tests.ops.diff_projects import committed, git, platform_repository, tiny_repository

OPENED = """        aws.vpc.SecurityGroupIngressRule(
            f"{name}-everybody",
            security_group_id=self._security_group.id,
            cidr_ipv4="0.0.0.0/0",
            ip_protocol="tcp",
            from_port=2049,
            to_port=2049,
            opts=child,
        )
        self.mount_targets = ["""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A tiny repository; what the verb makes for itself lies in a folder that must be empty afterwards."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    folder = tmp_path / "tiny"
    folder.mkdir()
    yield tiny_repository(folder)
    assert list(scratch.iterdir()) == [], "every run would leave a copy of the project behind"
    monkeypatch.setattr("tempfile.tempdir", None)


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_branch_that_opens_pays_and_renames_gets_a_report_to_stop_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = platform_repository(tmp_path)
    _edit(repository / "Pulumi.dev.yaml", "natGateways: none", "natGateways: single")
    _edit(repository / "components" / "shared_files.py", '''f"{name}-files"''', '''f"{name}-data"''')
    _edit(repository / "components" / "shared_files.py", "        self.mount_targets = [", OPENED)
    before = git(repository, "status", "--porcelain")

    assert main(["--base", "main", "--stack", "dev"], repository) == 1
    report = capsys.readouterr().out
    loud = [line for line in report.splitlines() if line.startswith("!! ")]
    assert any("shared-files-files is removed or renamed, and with it its files" in line for line in loud)
    assert "!! shared-files-mount-targets in tcp port 2049 from 0.0.0.0/0" in loud
    assert re.search(r"network, VPC NAT gateway: idle 0\.00 → [1-9][\d.]+, busy", report)
    assert "network-vpc-1 ec2.NatGateway" in report
    assert re.search(r"\+ subgraph .*1 NAT gateway", report)
    assert "error: shared-files-everybody lets 0.0.0.0/0 into" in report
    assert git(repository, "status", "--porcelain") == before, "the person's work was touched"
    _check_the_page(report)

    git(repository, "checkout", "--quiet", ".")
    assert main(["--base", "main", "--stack", "dev"], repository) == 0
    assert capsys.readouterr().out.rstrip().endswith("No change in dev.")


def _check_the_page(report: str) -> None:
    page = (PROJECT_ROOT / "docs" / "diff.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- diff dev -->\n```text\n(.*?)```", page, flags=re.DOTALL)
    assert found
    # The example is dated, since prices are renewed every month: its sums may be a little off, and nothing else.
    sums = re.compile(r"[\d,]+\.\d\d\b")
    shown = found[1].strip()
    printed = report[report.index("dev: ") :][: len(shown) + 50]
    assert sums.sub("N", printed).startswith(sums.sub("N", shown)), (
        "docs/diff.md shows what the verb does not print"
    )
    now, then = (
        [float(text.replace(",", "")) for text in sums.findall(one.splitlines()[0])]
        for one in (printed, shown)
    )
    assert then == pytest.approx(now, rel=0.2), "renew the example of docs/diff.md, and its date"
    assert then[2] == pytest.approx(then[1] - then[0], abs=0.005), (
        "the difference is not that of the sums beside it"
    )


def test_each_version_runs_its_own_modules_and_its_own_stack_file(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tiny / "components" / "words.py").write_text('NAME = "other"\n')
    (tiny / "Pulumi.dev.yaml").write_text("config:\n  tiny:encrypted: false\n")
    assert main(["--base", "main", "--json"], tiny) == 1
    (stack,) = json.loads(capsys.readouterr().out)["stacks"]
    assert [item["name"] for item in stack["added"]] == ["other"]
    assert [item["name"] for item in stack["removed"]] == ["files"]
    assert [item["message"][:25] for item in stack["findings"]["new"]][:1] == ["other is not encrypted, w"]


def test_json_is_all_that_is_printed(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _edit(tiny / "__main__.py", "import pulumi\n", "import pulumi\nprint('noise')\n")
    assert main(["--base", "main", "--json"], tiny) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["commit"] == git(tiny, "rev-parse", "main")
    assert [(item["stack"], item["is_same"]) for item in document["stacks"]] == [("dev", True)]
    assert printed.err.endswith("Recorded: 2 of 2\n"), "what the program prints would count as a recording"


def test_a_new_stack_is_all_added_and_one_whose_file_is_gone_is_told(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tiny / "Pulumi.dev.yaml").rename(tiny / "Pulumi.test.yaml")
    assert main(["--base", "main"], tiny) == 1
    report = capsys.readouterr().out
    assert "test: the stack is new: 1 resource added" in report
    assert "dev: its file is gone. What it has deployed stays" in report


@pytest.mark.parametrize("form", [[], ["--markdown"], ["--json"]])
def test_a_program_that_fails_is_told_and_does_not_hide_the_other_stacks(
    tiny: Path, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    shutil.copy(tiny / "Pulumi.dev.yaml", tiny / "Pulumi.test.yaml")
    committed(tiny)
    failing = "if pulumi.get_stack() == 'dev':\n    raise ValueError('no such zone')\n"
    (tiny / "__main__.py").write_text((tiny / "__main__.py").read_text() + failing)
    (tiny / "Pulumi.test.yaml").write_text("config:\n  tiny:encrypted: false\n")
    assert main(["--base", "main", *form], tiny) == 1
    report = capsys.readouterr().out
    assert "the program as it is now fails: ValueError: no such zone" in report
    assert "encrypted" in report


def test_a_base_that_fails_is_told_with_its_commit(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tiny / "__main__.py").write_text("import nothing_of_this_name\n")
    committed(tiny)
    git(tiny, "checkout", "--quiet", "main~1", "__main__.py")
    assert main(["--base", "main"], tiny) == 1
    short = git(tiny, "rev-parse", "main")[:10]
    assert (
        f"dev: the program of {short} fails, so that nothing can be compared: "
        "ModuleNotFoundError: No module named 'nothing_of_this_name'"
    ) in capsys.readouterr().out


@pytest.mark.parametrize("name", ["__main__.py", "Pulumi.yaml"])
def test_a_base_from_before_the_program_is_told(
    tiny: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text = (tiny / name).read_text(encoding="utf-8")
    (tiny / name).unlink()
    committed(tiny)
    (tiny / name).write_text(text, encoding="utf-8")
    assert main(["--base", "main"], tiny) == 2
    short = git(tiny, "rev-parse", "main")[:10]
    said = capsys.readouterr().err
    assert said.startswith(f"--base: the commit {short} has no {name}: it is older than the program")
    assert said.count("\n") == 1


def test_a_program_that_ends_the_process_is_told_in_one_sentence(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tiny / "__main__.py").write_text("import os, sys\nprint('I give up', file=sys.stderr)\nos._exit(3)\n")
    assert main(["--base", "main"], tiny) == 1
    assert "The program as it is now ended by itself: I give up" in capsys.readouterr().err


def test_a_base_with_commits_of_its_own_is_told(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(tiny, "checkout", "--quiet", "-b", "feature")
    git(tiny, "checkout", "--quiet", "main")
    (tiny / "Pulumi.dev.yaml").write_text("config:\n  tiny:encrypted: false\n")
    committed(tiny)
    git(tiny, "checkout", "--quiet", "feature")
    main(["--base", "main"], tiny)
    report = capsys.readouterr().out
    ancestor = git(tiny, "rev-parse", "main~1")[:10]
    assert "main has commits that are not in here" in report and f"--base {ancestor}" in report


def test_a_pull_request_is_compared_with_what_it_was_merged_into(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    git(tiny, "checkout", "--quiet", "-b", "feature")
    (tiny / "components" / "words.py").write_text('NAME = "other"\n')
    committed(tiny)
    git(tiny, "checkout", "--quiet", "main")
    (tiny / "Pulumi.qa.yaml").write_text("config: {}\n")
    committed(tiny)
    git(tiny, "merge", "--quiet", "feature")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{tiny}", str(clone))
    workflow = (PROJECT_ROOT / ".github" / "workflows" / "preview.yml").read_text(encoding="utf-8")
    (base,) = re.findall(r'ops diff --base "\$\(git (.+?)\)"', workflow)
    assert "fetch-depth: 2 " in workflow

    main(["--base", git(clone, *base.split()), "--json"], clone)
    document = json.loads(capsys.readouterr().out)
    assert document["commit"] == git(tiny, "rev-parse", "main^1")
    assert [item["is_new"] for item in document["stacks"]] == [False, False], "what others merged is not told"
    assert [item["name"] for item in document["stacks"][0]["added"]] == ["other"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--base", "nowhere"], "--base nowhere: git knows no such commit. Fix: name a branch"),
        (["--base", "--help-me"], "expected one argument"),
        (["--base", "main", "--stack", "qa"], "--stack qa: neither version has a file Pulumi.qa.yaml. Fix: use one of dev."),
        ([], "the following arguments are required: --base"),
        (["--base", "main", "--json", "--markdown"], "not allowed with"),
    ],
)  # fmt: skip
def test_wrong_usage_is_two_and_says_what_is_right(
    tiny: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    try:
        code: object = main(arguments, tiny)
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    assert told in capsys.readouterr().err


def test_a_link_that_leads_out_of_the_project_is_unpacked_as_a_link(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tiny / "elsewhere").symlink_to("/nowhere")
    committed(tiny)
    assert main(["--base", "main"], tiny) == 0
    assert "No change in dev." in capsys.readouterr().out


def test_a_folder_without_git_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base", "main"], tmp_path) == 2
    assert f"{tmp_path} is no repository of git that can be read here: " in capsys.readouterr().err


def test_a_machine_without_git_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--base", "main"], tmp_path) == 2
    assert "git cannot be run: No such file or directory. Fix: install git." in capsys.readouterr().err


def test_a_project_in_a_folder_of_a_larger_repository_is_compared_by_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "platform"
    project.mkdir()
    shutil.rmtree(tiny_repository(project) / ".git")
    committed(tmp_path)
    (project / "Pulumi.dev.yaml").write_text("config:\n  tiny:encrypted: false\n")
    assert main(["--base", "main"], project) == 1
    assert "files is replaced for encrypted, and with it its files" in capsys.readouterr().out


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_stops_it_leaves_nothing_behind(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stop: signal.Signals
) -> None:
    (tiny / "__main__.py").write_text("import threading\nthreading.Event().wait()\n")

    class Interrupted(command.Progress):
        def advance(self, count: int = 1) -> None:
            signal.raise_signal(stop)

    monkeypatch.setattr(command, "Progress", Interrupted)
    monkeypatch.setattr(command.main, "__defaults__", (tiny,))
    assert ops.main(["diff", "--base", "main"]) == 130, "the head, which never ends, would be waited for"
    assert capsys.readouterr().err.endswith("Interrupted.\n")
