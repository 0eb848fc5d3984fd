import subprocess
import sys
from email import message_from_string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.node_archive import NODE_FOLDER
from components.user_data import (
    BOOT_FOLDER,
    BOOT_SCRIPTS,
    USER_DATA_LIMIT_BYTES,
    UserDataTooLargeError,
    export_lines,
    extra_script_fault,
    extra_script_function,
    render_multipart,
    render_user_data,
)

EXTRA_SCRIPT = "line one\nline two"
AGENT_VALUES = {"FLEET": "ai-cluster-dev-research", "NODE_LOG_GROUP": "gpu-research-node-logs-1a2b3c4"}
DLAMI_VALUES = {
    **AGENT_VALUES,
    "AWS_REGION": "eu-central-1",
    "FILE_SYSTEM_ID": "fs-0a1b2c3d4e5f60718",
    "DATASETS_ACCESS_POINT_ID": "fsap-0d",
    "CHECKPOINTS_ACCESS_POINT_ID": "fsap-0c",
    "CACHE_ACCESS_POINT_ID": "fsap-0a",
    "CHECKPOINT_FOLDER": "/mnt/shared-data/checkpoints/run-1",
    "AUTO_SCALING_GROUP_NAME": "ai-platform-dev-research",
    "LIFECYCLE_HOOK_NAME": "shared-files-mounted",
    "IDLE_MINUTES": "60",
    "MAXIMUM_LIFE_HOURS": "24",
}
VALUES = {
    "dlami": DLAMI_VALUES,
    "ecs": {"ECS_CLUSTER": "ai-cluster", "ECS_ENABLE_GPU_SUPPORT": "true", **AGENT_VALUES},
    "batch": AGENT_VALUES,
}
script_names = pytest.mark.parametrize("script_name", sorted(BOOT_SCRIPTS))
# Anything that a script can hold, with what shells take for their own made likely.
shell_texts = st.lists(st.sampled_from(["END_OF_EXTRA_SCRIPT\n", *"'\"\\$`(){}!*?[]~#&|;<>%= -\n\té€"])).map(
    "".join
)
texts = shell_texts | st.text(st.characters(codec="utf-8", exclude_characters="\0\r"))


def bash(script: str) -> str:
    return subprocess.run(["bash"], input=script.encode(), capture_output=True, check=True).stdout.decode()


@script_names
def test_the_script_is_one_that_cloud_init_runs(script_name: str) -> None:
    text = render_user_data(script_name, VALUES[script_name], EXTRA_SCRIPT)

    assert text.encode()[:2] == b"#!", "cloud-init would not take the user data for a script"
    assert "\r" not in text, "bash would look for commands that end in a carriage return"
    assert len(text.encode()) < USER_DATA_LIMIT_BYTES, "EC2 would refuse the launch template"
    subprocess.run(["bash", "-n"], input=text.encode(), check=True)


def test_the_limit_is_the_one_of_ec2() -> None:
    assert USER_DATA_LIMIT_BYTES == 16_384, (
        "user data that EC2 refuses would pass, or good user data be refused"
    )


def test_shellcheck_has_no_complaint_about_any_script(tmp_path: Path) -> None:
    rendered = []
    for script_name, values in VALUES.items():
        rendered.append(tmp_path / f"{script_name}.sh")
        rendered[-1].write_text(render_user_data(script_name, values, EXTRA_SCRIPT), encoding="utf-8")

    shellcheck = Path(sys.executable).with_name("shellcheck")
    result = subprocess.run(
        [shellcheck, *rendered, *NODE_FOLDER.rglob("*.sh"), NODE_FOLDER / "watcher/interruption-run"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, f"a boot script has a known shell trap:\n{result.stdout}{result.stderr}"


def test_every_boot_file_belongs_to_a_script_and_starts_strict() -> None:
    used = {"unpack.sh", *(file_name for script in BOOT_SCRIPTS.values() for file_name in script.files)}
    assert {path.name for path in BOOT_FOLDER.iterdir()} == used, "a boot file is dead, or one is missing"

    lenient = [name for name in sorted(used) if "euo pipefail" not in (BOOT_FOLDER / name).read_text()]
    assert lenient == [], "a failing command in it would be passed over"


@settings(max_examples=50, deadline=None)
@given(st.lists(texts, min_size=len(DLAMI_VALUES), max_size=len(DLAMI_VALUES)))
def test_every_value_reaches_bash_unchanged(drawn: list[str]) -> None:
    values = dict(zip(DLAMI_VALUES, drawn, strict=True))

    printed = bash(export_lines(values) + "".join(f"printf '%s\\0' \"${name}\"\n" for name in values))

    assert printed.split("\0")[:-1] == drawn, "a node would boot with another value than the one configured"


@settings(max_examples=50, deadline=None)
@given(texts)
def test_the_extra_script_reaches_bash_unchanged(extra_script: str) -> None:
    printed = bash(extra_script_function(extra_script) + "extra_script\n")

    wanted = extra_script.removesuffix("\n") + "\n" if extra_script.strip() else ""
    assert printed == wanted, "a node would run another script than the operator wrote"


def test_a_value_cannot_run_as_a_command() -> None:
    values = DLAMI_VALUES | {"LIFECYCLE_HOOK_NAME": "$(touch /tmp/x); '`id`"}

    line = "export LIFECYCLE_HOOK_NAME='$(touch /tmp/x); '\"'\"'`id`'\n"
    assert line in render_user_data("dlami", values), "text from the configuration would run as root"


@script_names
@pytest.mark.parametrize(
    ("extra_script", "sentence"),
    [("echo one\r\necho two", "a carriage return in line 1"), ("echo one\n\0", "a NUL character in line 2")],
)
def test_text_that_no_script_can_hold_is_refused(script_name: str, extra_script: str, sentence: str) -> None:
    fault = extra_script_fault(script_name, extra_script)

    assert fault is not None and sentence in fault, "the operator would not learn which character is wrong"


def test_a_value_that_no_script_can_hold_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="The value AWS_REGION holds a carriage return in line 1"):
        render_user_data("dlami", DLAMI_VALUES | {"AWS_REGION": "eu-central-1\r"})


def test_half_a_surrogate_pair_is_refused_with_a_sentence() -> None:
    fault = extra_script_fault("ecs", "echo \ud800")

    assert fault == "The extra boot script holds half of a surrogate pair: write it as valid UTF-8 text."


@script_names
def test_an_extra_script_that_does_not_fit_is_refused_before_any_resource(script_name: str) -> None:
    fault = extra_script_fault(script_name, "x" * 17_000)

    assert fault is not None, "the launch template would fail in the middle of an update"
    for told in ("fewer than 16,384", "The largest part is the extra boot script with 17,0", "keep it in S3"):
        assert told in fault, "the operator would not learn what is too large and what to do"


@script_names
def test_a_short_extra_script_is_accepted(script_name: str) -> None:
    assert extra_script_fault(script_name, EXTRA_SCRIPT) is None


@script_names
def test_what_passes_the_early_check_fits_with_the_longest_values(script_name: str) -> None:
    longest = {name: "a" * n for name, n in BOOT_SCRIPTS[script_name].longest_value_characters.items()}
    render = render_multipart if BOOT_SCRIPTS[script_name].multipart else render_user_data
    low, high = 0, USER_DATA_LIMIT_BYTES
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if extra_script_fault(script_name, "x" * middle) is None else (low, middle)

    assert 3_000 < low < 16_000, "the platform's own script leaves the operator too little room"
    assert len(render(script_name, longest, "x" * low).encode()) < USER_DATA_LIMIT_BYTES
    with pytest.raises(UserDataTooLargeError):
        render(script_name, longest, "x" * (low + 100))


def test_a_value_that_is_longer_than_the_early_check_assumed_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="The value FLEET has 65 characters, and 64 at most"):
        render_user_data("ecs", VALUES["ecs"] | {"FLEET": "f" * 65})


@pytest.mark.parametrize("change", [{"FILE_SYSTEM": "fs-1"}, {"AWS_REGION": None}])
def test_a_missing_or_unknown_value_is_refused_by_name(change: dict[str, str | None]) -> None:
    values = {name: value for name, value in (DLAMI_VALUES | change).items() if value is not None}

    with pytest.raises(ValueError, match=r"missing: \['AWS_REGION'\]|unknown: \['FILE_SYSTEM'\]"):
        render_user_data("dlami", values)


@pytest.mark.parametrize(
    "extra_script", ["echo one", "echo 'déjà vu €'", "--==AI-PLATFORM-BOOT==--", "From me"]
)
def test_the_archive_for_batch_holds_exactly_the_script(extra_script: str) -> None:
    text = render_multipart("batch", AGENT_VALUES, extra_script)

    assert text == render_multipart("batch", AGENT_VALUES, extra_script), (
        "every preview would show another template"
    )
    archive = message_from_string(text)
    assert archive.get_content_type() == "multipart/mixed", "AWS Batch refuses user data that is no archive"
    contents = {part.get_content_type(): part.get_payload(decode=True) for part in archive.walk()}
    script = render_user_data("batch", AGENT_VALUES, extra_script).encode()
    assert contents == {"multipart/mixed": None, "text/x-shellscript": script}, (
        "the node would run another script"
    )
