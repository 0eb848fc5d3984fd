"""Pinning machine images: which ones, what AWS says, and what is written."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import NoCredentialsError
from botocore.stub import Stubber

from components.machine_images import IMAGE_PARAMETERS
from ops import images
from ops.capture.program import PROJECT_ROOT, record
from ops.images import EVERY_IMAGE, ImageLookupError, images_in_use, newest_images

OLD, NEW = "ami-0aaaaaaaaaaaaaaaa", "ami-0bbbbbbbbbbbbbbbb"
REGION = "eu-central-1"
# A program that looks up one image, as the real one does where none is pinned.
PROGRAM = """
import pulumi_aws as aws

aws.Provider("aws", region="eu-central-1")
aws.ssm.get_parameter_output(name={parameter!r})
"""


@pytest.fixture
def ssm() -> Iterator[Stubber]:
    """A client that answers only what a test has told it to."""
    client = boto3.client("ssm", region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def project(tmp_path: Path, ssm: Stubber, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A project that uses the image dlami, with a stack file of the given text."""

    def make(stack_file: str) -> Path:
        shutil.copy(PROJECT_ROOT / "Pulumi.yaml", tmp_path)
        (tmp_path / "__main__.py").write_text(PROGRAM.format(parameter=IMAGE_PARAMETERS["dlami"]))
        path = tmp_path / "Pulumi.dev.yaml"
        path.write_text(stack_file)
        return path

    monkeypatch.setattr(images, "ssm_client", lambda region, profile: ssm.client)
    return make


def answers(ssm: Stubber, found: dict[str, str], missing: tuple[str, ...] = ()) -> None:
    parameters = {IMAGE_PARAMETERS[name]: image for name, image in found.items()}
    absent = [IMAGE_PARAMETERS[name] for name in missing]
    # AWS leaves an empty list out.
    answer = {
        "Parameters": [{"Name": path, "Value": image} for path, image in parameters.items()],
        "InvalidParameters": absent,
    }
    ssm.add_response(
        "get_parameters",
        {key: items for key, items in answer.items() if items},
        {"Names": sorted([*parameters, *absent])},
    )


def test_the_images_of_a_stack_are_those_its_fleets_and_jobs_use() -> None:
    assert images_in_use(record("dev", changes=EVERY_IMAGE)) == ["dlami"]
    assert images_in_use(record("prod", changes=EVERY_IMAGE)) == ["dlami", "ecs-gpu"]
    pinned = {"machineImages": {"dlami": OLD}}
    assert images_in_use(record("dev", changes=pinned)) == [], (
        "a pinned image would be looked up all the same"
    )


def test_a_sleeping_stack_keeps_its_pins_up_to_date() -> None:
    assert images_in_use(record("dev", changes={"asleep": True, **EVERY_IMAGE})) == ["dlami"]


def test_the_newest_image_is_written_and_the_rest_of_the_file_stays(
    project: Callable[[str], Path], ssm: Stubber, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(f"config: # ours\n  ai-platform:machineImages: {{dlami: {OLD}}} # March\n")
    answers(ssm, {"dlami": NEW})
    assert images.run("dev", check=False, root=path.parent) == 0
    assert path.read_text() == f"config: # ours\n  ai-platform:machineImages: {{dlami: {NEW}}} # March\n"
    assert f"dlami: {OLD} -> {NEW}" in capsys.readouterr().out


def test_a_stack_without_pins_gets_them(
    project: Callable[[str], Path], ssm: Stubber, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project("config:\n  ai-platform:region: eu-central-1\n")
    answers(ssm, {"dlami": NEW})
    assert images.run("dev", check=False, root=path.parent) == 0
    assert f"machineImages: {{dlami: {NEW}}}" in path.read_text()
    assert f"dlami: not pinned -> {NEW}" in capsys.readouterr().out


def test_pins_that_are_the_newest_leave_the_file_alone(
    project: Callable[[str], Path], ssm: Stubber, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(f"config:\n  ai-platform:machineImages: {{dlami: '{NEW}'}}\n")
    before = path.read_bytes()
    for check in (False, True):
        answers(ssm, {"dlami": NEW})
        assert images.run("dev", check=check, root=path.parent) == 0
    assert path.read_bytes() == before
    assert f"dlami: unchanged {NEW}" in capsys.readouterr().out


@pytest.mark.parametrize("pin", [f"ai-platform:machineImages: {{dlami: {OLD}}}", "ai-platform:region: x"])
def test_a_check_tells_of_newer_images_and_writes_nothing(
    project: Callable[[str], Path], ssm: Stubber, pin: str
) -> None:
    path = project(f"config:\n  {pin}\n")
    answers(ssm, {"dlami": NEW})
    assert images.run("dev", check=True, root=path.parent) == 1
    assert path.read_text() == f"config:\n  {pin}\n"


def test_an_image_that_the_region_lacks_is_named(ssm: Stubber) -> None:
    answers(ssm, {"dlami": NEW}, missing=("ecs-neuron",))
    with pytest.raises(ImageLookupError, match=f"no image ecs-neuron in {REGION}"):
        newest_images(ssm.client, ["dlami", "ecs-neuron"])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "allow ssm:GetParameters"),
        ("ExpiredTokenException", "ExpiredTokenException"),
    ],
)
def test_a_refusal_says_what_is_missing(ssm: Stubber, code: str, words: str) -> None:
    ssm.add_client_error("get_parameters", service_error_code=code, service_message="no")
    with pytest.raises(ImageLookupError, match=words):
        newest_images(ssm.client, ["dlami"])


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

    monkeypatch.setattr(images, "ssm_client", lambda region, profile: Client)
    monkeypatch.setattr(images, "run", _with_root(images.run, path.parent))
    assert images.main(["--stack", "dev"]) == 1
    assert "AWS cannot be asked" in capsys.readouterr().err


def _with_root(run: Callable[..., int], root: Path) -> Callable[..., int]:
    return lambda stack, **options: run(stack, **options, root=root)


def test_an_unknown_profile_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(ImageLookupError, match="nobody"):
        images.ssm_client(REGION, "nobody")


def test_an_unknown_stack_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert images.main(["--stack", "nowhere"]) == 2
    assert "Pulumi.nowhere.yaml" in capsys.readouterr().err


def test_a_stack_without_nodes_asks_nobody(
    project: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = project("config: {}\n")
    (path.parent / "__main__.py").write_text("")
    assert images.run("dev", check=True, root=path.parent) == 0
    assert "uses no machine images" in capsys.readouterr().out
