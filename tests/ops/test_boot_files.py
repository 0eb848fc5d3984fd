"""What a node gets packed is read back, whatever form the user data has."""

import base64

import pytest

from components.node_archive import archive
from components.user_data import BOOT_SCRIPTS, render_multipart, render_user_data
from ops.boot_files import packed_files, scripts_in, shell_texts


def _rendered(script_name: str, extra_script: str = "") -> str:
    script = BOOT_SCRIPTS[script_name]
    values = dict.fromkeys(script.longest_value_characters, "x")
    return (render_multipart if script.multipart else render_user_data)(script_name, values, extra_script)


@pytest.mark.parametrize("script_name", BOOT_SCRIPTS)
@pytest.mark.parametrize("extra_script", ["", "echo 'größer'\n"])
def test_every_boot_script_gives_its_packed_files_back(script_name: str, extra_script: str) -> None:
    files = packed_files(_rendered(script_name, extra_script))
    assert "start_node_agent" in files["boot.sh"], "the script that does the work is judged by nobody"
    assert "agent/install.sh" in files and "watcher/interruption.py" in files


def test_the_shell_scripts_among_them_are_told_by_path() -> None:
    assert set(shell_texts(_rendered("dlami"))) == {
        "user data", "boot.sh", "agent/install.sh", "watcher/interruption-run",
    }, "a script without .sh is missed, or a Python file is taken for one"  # fmt: skip
    assert set(shell_texts(_rendered("batch"))) == {"user data", "boot.sh", "agent/install.sh"}


def test_a_part_with_letters_outside_ascii_is_read_as_text() -> None:
    (script,) = scripts_in(_rendered("batch", "echo 'größer'\n"))
    assert "echo 'größer'" in script, "such a part is base64, which shellcheck cannot judge"


@pytest.mark.parametrize("text", ["", "{}", "#!/bin/bash\necho hello\n", "#cloud-config\nruncmd: []\n"])
def test_a_text_without_an_archive_carries_no_files(text: str) -> None:
    assert packed_files(text) == {}


@pytest.mark.parametrize(
    "lines", ["AAAA\n", f"{archive({'boot.sh': 'x'})[:20]}\n", base64.b85encode(b"{}").decode() + "\n"]
)
def test_an_archive_that_no_node_can_unpack_is_an_error(lines: str) -> None:
    text = f"#!/bin/bash\nplatform_files() {{\n  cat <<'END'\n{lines}END\n}}\n"
    with pytest.raises(ValueError, match="packed files in user data cannot be read"):
        packed_files(text)
