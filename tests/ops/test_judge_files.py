"""Boot scripts and Dockerfiles: what is there passes, and a planted fault is seen."""

import base64
import os
from dataclasses import replace
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest

from ops.boot_files import scripts_in, shell_texts
from ops.capture.program import PROJECT_ROOT
from ops.judges.environment import JudgeFailed, JudgeMissing, ask, beside_python, isolated
from ops.judges.files import DOCKERFILES, hadolint_findings
from ops.judges.scripts import LAUNCH_TEMPLATE, script_findings
from recordings import STACKS, recorded
from tests.policies.plants import packed


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_every_boot_script_of_the_stacks_passes() -> None:
    recordings = {stack: recorded(stack) for stack in STACKS}
    assert script_findings(recordings) == []
    templates = [item for one in recordings.values() for item in one.of_type(LAUNCH_TEMPLATE)]
    carried = [shell_texts(base64.b64decode(item.inputs["userData"]).decode()) for item in templates]
    assert all({"user data", "boot.sh", "agent/install.sh"} <= set(item) for item in carried), (
        "a script was never asked about"
    )


def test_a_fault_in_a_boot_script_is_seen() -> None:
    recording = recorded("dev")
    template = recording.one(LAUNCH_TEMPLATE)
    bad = replace(template, inputs={"userData": encoded("#!/bin/bash\nrm -rf $SCRATCH/*\n")})
    found = script_findings({"dev": replace(recording, resources=(bad,))})
    assert {item.rule for item in found} == {"SC2086", "SC2115"}
    assert found[0].subject == f"{template.name} ({LAUNCH_TEMPLATE})" and found[0].stack == "dev"


def test_a_fault_in_a_packed_script_is_told_once_with_the_script_and_its_line() -> None:
    recording = recorded("dev")
    template = recording.one(LAUNCH_TEMPLATE)
    text = packed("set -e\nbroken() { if [ $1 = x ]; then echo $2; fi; }\n", "boot.sh")
    bad = replace(template, inputs={"userData": encoded(text)})
    bad_too = replace(bad, inputs={"userData": encoded(f"{text}true\n")})
    found = script_findings({"dev": replace(recording, resources=(bad, bad_too))})
    assert [item.message for item in found if item.rule == "SC2086"] == [
        "line 2 of boot.sh: Double quote to prevent globbing and word splitting."
    ] * 2, "two expansions of one script, which two templates share"


def test_an_archive_that_cannot_be_unpacked_is_no_clean_script() -> None:
    recording = recorded("dev")
    text = packed("true\n", "boot.sh").replace("cat <<'END'\n", "cat <<'END'\n~~~~~~\n")
    bad = replace(recording.one(LAUNCH_TEMPLATE), inputs={"userData": encoded(text)})
    with pytest.raises(JudgeFailed, match=f"{bad.name}: The archive of packed files"):
        script_findings({"dev": replace(recording, resources=(bad,))})


def test_the_scripts_in_a_text_of_several_parts_are_found() -> None:
    mail = MIMEMultipart()
    for kind, text in (("x-shellscript", "#!/bin/bash\ntrue\n"), ("cloud-config", "a: 1\n")):
        mail.attach(MIMEText(text, kind, "us-ascii"))
    assert [text.strip() for text in scripts_in(mail.as_string())] == ["#!/bin/bash\ntrue"]


def test_every_dockerfile_of_the_project_passes() -> None:
    assert hadolint_findings() == []
    ours = [
        path
        for path in PROJECT_ROOT.rglob("Dockerfile")
        if not path.relative_to(PROJECT_ROOT).parts[0].startswith(".")
    ]
    assert {path.relative_to(PROJECT_ROOT).as_posix() for path in ours} == set(DOCKERFILES)


def test_a_fault_in_a_dockerfile_is_seen(tmp_path: Path) -> None:
    for name in DOCKERFILES:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("FROM python:latest\nRUN cd /srv\n", encoding="utf-8")
    found = hadolint_findings(tmp_path)
    assert {(item.rule, item.subject) for item in found} >= {("DL3007", name) for name in DOCKERFILES}


def test_a_judge_that_is_not_there_is_told_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(JudgeMissing, match="Fix: `make judges`"):
        isolated("checkov", tmp_path)
    with pytest.raises(JudgeMissing, match="no-such-linter is not installed"):
        beside_python("no-such-linter")


def test_a_judge_that_breaks_down_is_not_taken_for_one_that_finds_nothing(tmp_path: Path) -> None:
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho '[]'\necho out of memory >&2\nexit 3\n", encoding="utf-8")
    os.chmod(program, 0o755)
    with pytest.raises(JudgeFailed, match="broken exited with 3: out of memory"):
        ask([program], allowed=(0, 1))


@pytest.mark.parametrize(
    ("printed", "told"), [("Usage: lint FILE", "Usage: lint FILE"), ("", "nothing at all")]
)
def test_a_judge_that_gives_no_json_has_broken_down(tmp_path: Path, printed: str, told: str) -> None:
    program = tmp_path / "chatty"
    program.write_text(f"#!/bin/sh\necho '{printed}'\n", encoding="utf-8")
    os.chmod(program, 0o755)
    with pytest.raises(JudgeFailed, match=f"chatty gave no JSON: {told}"):
        ask([program], allowed=(0,))
