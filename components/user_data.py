"""EC2 user data: one boot script from the files in gpu_node/boot, the interruption watcher and a stack's values. Pure."""

import functools
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

from components.node_archive import agent_texts, archive, watcher_texts, without_comment_lines

BOOT_FOLDER = Path(__file__).resolve().parent.parent / "gpu_node" / "boot"
SHEBANG = "#!/bin/bash\n"

# EC2 user guide, instance user data: 16 KB in raw form, before base64. Exactly 16,384 bytes are refused too:
# their base64 text is one character longer than the API accepts (21,847).
USER_DATA_LIMIT_BYTES = 16_384


class UserDataTooLargeError(ValueError):
    """EC2 would refuse the user data for its size; the message addresses who wrote the extra script."""


@dataclass(frozen=True, kw_only=True)
class BootScript:
    """The files of one boot script, in order, and its values with the longest text that each can have."""

    files: tuple[str, ...]
    watcher_target: str
    longest_value_characters: Mapping[str, int]
    multipart: bool = False


# What every node's CloudWatch agent is told; no log group is no agent. Both are names of ours: see below.
AGENT_VALUES = {"FLEET": 64, "NODE_LOG_GROUP": 64}
# Lengths of ids from the EFS API model (without the ARN form); of the checkpoint folder, and of the parts of names
# that people type, from their patterns in components/config_values.py: a fleet's full name has 52 letters at most.
BOOT_SCRIPTS: Mapping[str, BootScript] = {
    "dlami": BootScript(
        files=("common.sh", "dlami.sh"),
        watcher_target="processes",
        longest_value_characters={
            "AWS_REGION": 32,
            "FILE_SYSTEM_ID": 43,
            "DATASETS_ACCESS_POINT_ID": 45,
            "CHECKPOINTS_ACCESS_POINT_ID": 45,
            "CACHE_ACCESS_POINT_ID": 45,
            "CHECKPOINT_FOLDER": 255,
            "AUTO_SCALING_GROUP_NAME": 64,
            "LIFECYCLE_HOOK_NAME": 32,
            "IDLE_MINUTES": 5,
            "MAXIMUM_LIFE_HOURS": 4,
            **AGENT_VALUES,
        },
    ),
    "ecs": BootScript(
        files=("common.sh", "container_host.sh", "ecs.sh"),
        watcher_target="containers",
        longest_value_characters={"ECS_CLUSTER": 64, "ECS_ENABLE_GPU_SUPPORT": 5, **AGENT_VALUES},
    ),
    "batch": BootScript(
        files=("common.sh", "container_host.sh", "batch.sh"),
        watcher_target="containers",
        longest_value_characters=AGENT_VALUES,
        multipart=True,
    ),
}


def render_user_data(script_name: str, values: Mapping[str, str], extra_script: str = "") -> str:
    """One bash script as plain text (the caller encodes it in base64) that runs the extra script as a file.

    Every value reaches bash unchanged. Raises ValueError for missing or unknown values and for text that no
    script can hold, UserDataTooLargeError for what EC2 would refuse.
    """
    parts = _parts(script_name, values, extra_script)
    text = _script(parts)
    _check_size(script_name, text, parts)
    return text


def render_multipart(script_name: str, values: Mapping[str, str], extra_script: str = "") -> str:
    """The same script as the only part of a MIME archive, to which AWS Batch adds parts of its own.

    The same inputs give the same text. Source: AWS Batch user guide, "Use Amazon EC2 launch templates".
    """
    parts = _parts(script_name, values, extra_script)
    script = _script(parts)
    # cloud-init reads the archive with Python's email parser, which damages letters outside ASCII in a part
    # without transfer encoding; MIMEText gives a utf-8 part base64.
    part = MIMEText(script, "x-shellscript", "us-ascii" if script.isascii() else "utf-8")
    archive = MIMEMultipart(boundary=_absent_from(script, "==AI-PLATFORM-BOOT=="))
    archive.attach(part)
    text = archive.as_string()
    _check_size(script_name, text, parts)
    return text


def extra_script_fault(script_name: str, extra_script: str) -> str | None:
    """Why EC2 or bash would refuse this extra script, as a sentence, or None.

    It needs no resource: it assumes the longest values that AWS allows, so what passes here fits later too.
    """
    script = BOOT_SCRIPTS[script_name]
    # A number sign makes shlex quote the value: no id or name of that length takes more bytes.
    values = {name: "#" * characters for name, characters in script.longest_value_characters.items()}
    render = render_multipart if script.multipart else render_user_data
    try:
        render(script_name, values, extra_script)
    except ValueError as error:
        return str(error)
    return None


def export_lines(values: Mapping[str, str]) -> str:
    """One `export` line per value, quoted for bash."""
    for name, value in values.items():
        _check_text(f"The value {name}", value)
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def extra_script_function(extra_script: str) -> str:
    """A bash function that prints the extra script: a quoted here-document stays readable in the console."""
    _check_text("The extra boot script", extra_script)
    if not extra_script.strip():
        return "extra_script() { :; }\n"
    body = extra_script if extra_script.endswith("\n") else f"{extra_script}\n"
    delimiter = _absent_from(body, "END_OF_EXTRA_SCRIPT")
    return f"extra_script() {{\n  cat <<'{delimiter}'\n{body}{delimiter}\n}}\n"


@functools.cache
def platform_files_function(files: tuple[str, ...], watcher_target: str) -> str:
    """A bash function that prints the archive of the boot script, as boot.sh, of the watcher and of the agent."""
    boot = "\n".join(map(_file_body, files))
    lines = archive(
        {"boot.sh": without_comment_lines(boot), **watcher_texts(watcher_target), **agent_texts()}
    )
    delimiter = _absent_from(lines, "END_OF_FILES")
    return f"platform_files() {{\n  cat <<'{delimiter}'\n{lines}{delimiter}\n}}\n"


def _parts(script_name: str, values: Mapping[str, str], extra_script: str) -> dict[str, str]:
    script = BOOT_SCRIPTS[script_name]
    expected = set(script.longest_value_characters)
    if set(values) != expected:
        raise ValueError(
            f"The boot script {script_name!r} takes exactly the values {sorted(expected)}; "
            f"missing: {sorted(expected - set(values))}, unknown: {sorted(set(values) - expected)}."
        )
    for name, longest in script.longest_value_characters.items():
        if len(values[name]) > longest:
            raise ValueError(f"The value {name} has {len(values[name])} characters, and {longest} at most.")
    return {
        "the values": export_lines(values),
        "the extra boot script": extra_script_function(extra_script),
        "the platform's own script": platform_files_function(script.files, script.watcher_target)
        + _file_body("unpack.sh"),
    }


def _script(parts: Mapping[str, str]) -> str:
    return SHEBANG + "\n".join(parts.values())


def _file_body(file_name: str) -> str:
    return (BOOT_FOLDER / file_name).read_text(encoding="utf-8").removeprefix(SHEBANG)


def _absent_from(text: str, marker: str) -> str:
    while marker in text:
        marker += "="
    return marker


def _check_text(what: str, text: str) -> None:
    for character, description in (("\0", "a NUL character"), ("\r", "a carriage return")):
        if character in text:
            line = text[: text.index(character)].count("\n") + 1
            raise ValueError(
                f"{what} holds {description} in line {line}, which bash cannot take: "
                "remove it, and save files with Unix line ends."
            )
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{what} holds half of a surrogate pair: write it as valid UTF-8 text.")


def _check_size(script_name: str, text: str, parts: Mapping[str, str]) -> None:
    size = len(text.encode())
    if size < USER_DATA_LIMIT_BYTES:
        return
    part_bytes = {what: len(part.encode()) for what, part in parts.items()}
    largest = max(part_bytes, key=lambda what: part_bytes[what])
    raise UserDataTooLargeError(
        f"The user data of boot script {script_name!r} is {size:,} bytes, and EC2 takes fewer than "
        f"{USER_DATA_LIMIT_BYTES:,}. The largest part is {largest} with {part_bytes[largest]:,} bytes: "
        f"shorten the extra boot script by at least {size - USER_DATA_LIMIT_BYTES + 1:,} bytes, or keep it "
        "in S3 and let a short one fetch and run it."
    )
