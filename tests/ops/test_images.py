"""Pinning machine images: which ones, what AWS says, and what is written."""

import json
import shutil
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError

from components.machine_images import IMAGE_PARAMETERS
from ops.aws_calls import AwsCallError
from ops.capture.program import PROJECT_ROOT, record
from ops.capture.stack_files import StackFileError
from ops.images import command
from ops.images.command import EVERY_IMAGE, images_in_use
from ops.images.lookup import ImageLookupError, described, newest_images
from tests.ops.preflight_account import FakeAccount

OLD, NEW = "ami-0aaaaaaaaaaaaaaaa", "ami-0bbbbbbbbbbbbbbbb"
REGION = "eu-central-1"
TODAY = date(2026, 12, 2)
UBUNTU = "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 20261120"
# A program that looks up one image, as the real one does where none is pinned.
PROGRAM = """
import pulumi_aws as aws

aws.Provider("aws", region="eu-central-1")
aws.ssm.get_parameter_output(name={parameter!r})
"""


class Images:
    """An account whose newest dlami is NEW, and which describes the images of `known`, the first page being empty."""

    def __init__(self) -> None:
        self.newest: dict[str, str] = {"dlami": NEW}
        self.known: dict[str, dict[str, Any]] = {OLD: image(), NEW: image()}
        self.account = FakeAccount()
        self.account.answers = {"GetParameters": self._parameters, "DescribeImages": self._images}

    def client(self, service: str) -> Any:
        return self.account.client(service, REGION)

    def _parameters(self, Names: Any) -> Mapping[str, Any]:
        values = {IMAGE_PARAMETERS[name]: value for name, value in self.newest.items()}
        answer = {
            "Parameters": [{"Name": name, "Value": values[name]} for name in Names if name in values],
            "InvalidParameters": [name for name in Names if name not in values],
        }
        # AWS leaves an empty list out.
        return {key: items for key, items in answer.items() if items}

    def _images(self, Filters: Any, NextToken: str = "", **rest: Any) -> Mapping[str, Any]:
        assert rest == {"IncludeDeprecated": True, "IncludeDisabled": True}, (
            "EC2 hides deprecated images otherwise, and a pin of one would seem to be withdrawn"
        )
        if not NextToken:
            return {"Images": [], "NextToken": "more"}
        rows = [{"ImageId": name, **self.known[name]} for name in Filters[0]["Values"] if name in self.known]
        return {"Images": [*rows, *rows[:1]]}


def image(name: str = UBUNTU, **more: Any) -> dict[str, Any]:
    return {"Name": name, "State": "available", "CreationDate": "2026-11-20T10:00:00.000Z", **more}


@pytest.fixture
def aws() -> Images:
    return Images()


@pytest.fixture
def project(tmp_path: Path) -> Callable[[str], Path]:
    """A project that uses the image dlami, with a stack file of the given text."""

    def make(stack_file: str) -> Path:
        shutil.copy(PROJECT_ROOT / "Pulumi.yaml", tmp_path)
        (tmp_path / "__main__.py").write_text(PROGRAM.format(parameter=IMAGE_PARAMETERS["dlami"]))
        path = tmp_path / "Pulumi.dev.yaml"
        path.write_text(stack_file)
        return path

    return make


def run(path: Path, aws: Images, *, check: bool = False, as_json: bool = False) -> int:
    return command.run(
        "dev",
        check=check,
        as_json=as_json,
        root=path.parent,
        make_client=aws.account.client,
        today=TODAY,
    )


def test_the_images_of_a_stack_are_those_its_fleets_and_jobs_use() -> None:
    assert list(images_in_use(record("dev", changes=EVERY_IMAGE))) == ["dlami"]
    assert list(images_in_use(record("prod", changes=EVERY_IMAGE))) == ["dlami", "ecs-gpu"]
    pinned = {"machineImages": {"dlami": OLD}}
    assert images_in_use(record("dev", changes=pinned)) == {}, (
        "a pinned image would be looked up all the same"
    )


def test_a_sleeping_stack_keeps_its_pins_up_to_date() -> None:
    assert list(images_in_use(record("dev", changes={"asleep": True, **EVERY_IMAGE}))) == ["dlami"]


def test_the_newest_image_is_written_and_the_rest_of_the_file_stays(
    project: Callable[[str], Path], aws: Images, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(f"config: # ours\n  ai-platform:machineImages: {{dlami: {OLD}}} # March\n")
    assert run(path, aws) == 0
    assert path.read_text() == f"config: # ours\n  ai-platform:machineImages: {{dlami: {NEW}}} # March\n"
    told = capsys.readouterr().out
    assert f"dlami: {OLD} -> {NEW} (made on 2026-11-20, Ubuntu 24.04, supported until 2029-04-30)" in told
    assert "Written to Pulumi.dev.yaml." in told


def test_a_stack_without_pins_gets_them(
    project: Callable[[str], Path], aws: Images, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project("config:\n  ai-platform:region: eu-central-1\n")
    assert run(path, aws) == 0
    assert f"machineImages: {{dlami: {NEW}}}" in path.read_text()
    assert f"dlami: not pinned -> {NEW}" in capsys.readouterr().out


@pytest.mark.parametrize("check", [False, True])
def test_pins_that_are_the_newest_leave_the_file_alone(
    project: Callable[[str], Path], aws: Images, check: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(f"config:\n  ai-platform:machineImages: {{dlami: '{NEW}'}}\n")
    before = path.read_bytes()
    assert run(path, aws, check=check) == 0
    assert path.read_bytes() == before
    assert f"dlami: unchanged {NEW}" in capsys.readouterr().out


@pytest.mark.parametrize("pin", [f"ai-platform:machineImages: {{dlami: {OLD}}}", "ai-platform:region: x"])
def test_a_check_tells_of_newer_images_and_writes_nothing(
    project: Callable[[str], Path], aws: Images, pin: str
) -> None:
    path = project(f"config:\n  {pin}\n")
    assert run(path, aws, check=True) == 1
    assert path.read_text() == f"config:\n  {pin}\n"


def test_a_newest_image_past_its_end_of_support_is_not_written(
    project: Callable[[str], Path], aws: Images, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(f"config:\n  ai-platform:machineImages: {{dlami: {OLD}}}\n")
    aws.known[NEW] = image("amzn2-ami-ecs-gpu-hvm-2.0.20260620-x86_64-ebs")
    before = path.read_bytes()
    assert run(path, aws) == 1
    assert path.read_bytes() == before, "an image without security updates would be pinned"
    assert (
        f"REFUSED {NEW}: Amazon Linux 2 is past its end of support on 2026-06-30" in capsys.readouterr().out
    )


def test_a_pin_past_its_end_of_support_fails_the_check_and_is_told(
    project: Callable[[str], Path], aws: Images, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(f"config:\n  ai-platform:machineImages: {{dlami: {OLD}}}\n")
    aws.known[OLD] = image(DeprecationTime="2026-10-01T00:00:00.000Z")
    assert run(path, aws, check=True) == 1
    assert f"REFUSED the pin {OLD}: its owner deprecated it on 2026-10-01" in capsys.readouterr().out
    assert run(path, aws) == 0, "the newest image is the cure"
    assert NEW in path.read_text()


def test_a_pin_that_is_the_newest_and_past_its_end_fails(
    project: Callable[[str], Path], aws: Images, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(f"config:\n  ai-platform:machineImages: {{dlami: {NEW}}}\n")
    aws.known[NEW] = image("Deep Learning AMI GPU PyTorch 2.5.1 (Ubuntu 22.04) 20251101")
    assert run(path, aws, check=True) == 1
    assert "PyTorch 2.5 is past its end of support on 2025-11-24" in capsys.readouterr().out


def test_a_withdrawn_pin_is_told(
    project: Callable[[str], Path], aws: Images, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(f"config:\n  ai-platform:machineImages: {{dlami: {OLD}}}\n")
    del aws.known[OLD]
    assert run(path, aws, check=True) == 1
    assert f"REFUSED the pin {OLD}: EC2 does not know it" in capsys.readouterr().out


def test_where_images_may_not_be_described_nothing_is_written(
    project: Callable[[str], Path], aws: Images
) -> None:
    path = project(f"config:\n  ai-platform:machineImages: {{dlami: {OLD}}}\n")
    aws.account.refused["DescribeImages"] = "UnauthorizedOperation"
    with pytest.raises(ImageLookupError, match="allow ec2:DescribeImages"):
        run(path, aws)
    assert OLD in path.read_text()


def test_throttling_and_an_empty_page_are_got_over(aws: Images) -> None:
    aws.account.throttled = {"DescribeImages": 2, "GetParameters": 2}
    assert newest_images(aws.client("ssm"), {"dlami": IMAGE_PARAMETERS["dlami"]}) == {"dlami": NEW}
    assert set(described(aws.client("ec2"), [OLD, NEW])) == {OLD, NEW}


def test_machines_get_one_document(
    project: Callable[[str], Path], aws: Images, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(f"config:\n  ai-platform:machineImages: {{dlami: {OLD}}}\n")
    assert run(path, aws, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["written"] is True
    [found] = document["images"]
    assert (found["name"], found["pinned"], found["newest"]) == ("dlami", OLD, NEW)
    assert found["newest_support"]["ends"] == "2029-04-30"


def test_an_image_that_the_region_lacks_is_named(aws: Images) -> None:
    wanted = {name: IMAGE_PARAMETERS[name] for name in ("dlami", "ecs-neuron")}
    with pytest.raises(ImageLookupError, match=f"no image ecs-neuron in {REGION}"):
        newest_images(aws.client("ssm"), wanted)


def test_a_refusal_says_what_is_missing(aws: Images) -> None:
    for code, error, words in (
        ("AccessDeniedException", ImageLookupError, "allow ssm:GetParameters"),
        ("ExpiredTokenException", AwsCallError, "ExpiredTokenException"),
    ):
        aws.account.refused["GetParameters"] = code
        with pytest.raises(error, match=words):
            newest_images(aws.client("ssm"), {"dlami": IMAGE_PARAMETERS["dlami"]})


def test_missing_credentials_are_a_sentence_and_exit_code_1(
    project: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project("config: {}\n")

    def refuse(**arguments: Any) -> None:
        raise NoCredentialsError

    class Client:
        class meta:
            region_name = REGION

        get_parameters = staticmethod(refuse)

    def with_root(stack: str, run: Callable[..., int] = command.run, **options: Any) -> int:
        return run(stack, **options, root=path.parent, make_client=lambda *_: Client)

    monkeypatch.setattr(command, "run", with_root)
    assert command.main(["--stack", "dev"]) == 1
    assert "AWS failed at reading the newest images: Unable to locate credentials." in capsys.readouterr().err


@pytest.mark.parametrize("pins", ["ami-1", "[ami-1]", "{dlami: null}", "{dlami: 5}", "{secure: v1:abc}"])
def test_pins_of_another_shape_are_wrong_usage_and_stay(
    project: Callable[[str], Path], aws: Images, pins: str
) -> None:
    path = project(f"config:\n  ai-platform:machineImages: {pins}\n")
    before = path.read_bytes()
    with pytest.raises(StackFileError, match=r"machineImages in Pulumi\.dev\.yaml is .*Fix: write it as in"):
        run(path, aws)
    assert path.read_bytes() == before


def test_a_writing_that_fails_leaves_the_file_whole(
    project: Callable[[str], Path], aws: Images, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project(f"config:\n  ai-platform:machineImages: {{dlami: {OLD}}}\n")
    before = path.read_bytes()

    def full(self: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        run(path, aws)
    assert path.read_bytes() == before, "a stack file cut short loses the stack's configuration"
    assert [item.name for item in path.parent.iterdir() if item.name.endswith(".part")] == []


def test_an_unknown_stack_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--stack", "nowhere"]) == 2
    assert "Pulumi.nowhere.yaml" in capsys.readouterr().err


def test_a_stack_without_nodes_asks_nobody(
    project: Callable[[str], Path], aws: Images, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project("config: {}\n")
    (path.parent / "__main__.py").write_text("")
    assert run(path, aws, check=True) == 0
    assert aws.account.called == set()
    assert "uses no machine images" in capsys.readouterr().out
