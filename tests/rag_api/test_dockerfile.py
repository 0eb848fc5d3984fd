"""The container: what its Dockerfile promises, since no test can build it."""

import re
import subprocess
import sysconfig
from importlib.metadata import version
from pathlib import Path

import pytest

from ops.capture.program import PROJECT_ROOT
from rag_api import app

FOLDER = PROJECT_ROOT / "rag_api"
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
# A line that ends with a backslash goes on.
INSTRUCTIONS = [
    line
    for line in re.sub(r"\\\n\s*", "", DOCKERFILE).splitlines()
    if line.strip() and not line.startswith("#")
]


def arguments(instruction: str) -> list[str]:
    """What follows `instruction`, once per line that has it."""
    return [line.removeprefix(instruction).strip() for line in INSTRUCTIONS if line.startswith(instruction)]


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sysconfig.get_path("scripts")) / "hadolint"
    found = subprocess.run([hadolint, FOLDER / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_both_stages_start_from_the_same_image_named_by_tag_and_digest() -> None:
    bases = [base.split(" ")[0] for base in arguments("FROM ")]
    assert len(bases) == 2
    assert len(set(bases)) == 1, "packages would be made for another Python"
    assert re.fullmatch(r"python:3\.13\.\d+-slim-\w+@sha256:[0-9a-f]{64}", bases[0]), "builds would differ"


def test_nothing_in_it_depends_on_the_processor() -> None:
    assert not re.search(r"--platform|amd64|aarch64", "\n".join(INSTRUCTIONS))


def test_it_runs_as_a_numbered_user_that_is_not_root() -> None:
    (user,) = arguments("USER")
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user), "an orchestrator could not tell that it is not root"
    assert INSTRUCTIONS.index(f"USER {user}") < INSTRUCTIONS.index(f"CMD {arguments('CMD')[0]}")


@pytest.mark.parametrize("instruction", ["CMD", "HEALTHCHECK"])
def test_server_and_health_check_need_no_shell(instruction: str) -> None:
    (text,) = arguments(instruction)
    assert text.startswith('["') or 'CMD ["python"' in text, (
        "signals would reach a shell instead of the server"
    )


def test_the_server_serves_the_application_and_tells_nothing_about_itself() -> None:
    (command,) = arguments("CMD")
    words = re.findall(r'"([^"]*)"', command)
    assert words[:3] == ["uvicorn", "--factory", f"{app.__name__}:{app.application.__name__}"]
    assert {"--no-access-log", "--no-server-header"} <= set(words)
    assert words[words.index("--ws") + 1] == "none"


def test_what_is_copied_is_let_through_to_the_build() -> None:
    ignore = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert ignore[0] == "*", "secrets of the working directory could end up in the image"
    for copied in arguments("COPY"):
        if not copied.startswith("--from"):
            source = copied.split(" ")[0]
            assert (PROJECT_ROOT / source).exists()
            assert any(source.startswith(line.removeprefix("!")) for line in ignore[1:] if line[0] == "!")


def test_packages_are_locked_by_hash_and_are_the_ones_that_the_tests_ran_with() -> None:
    lock = (FOLDER / "requirements.txt").read_text(encoding="utf-8")
    assert "--require-hashes" in DOCKERFILE
    pins = dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", lock, re.MULTILINE))
    wanted = re.findall(r"^([a-z0-9-]+)==(\S+)$", (FOLDER / "requirements.in").read_text(), re.MULTILINE)
    assert {"fastapi", "uvicorn", "botocore", "urllib3"} <= dict(wanted).keys()
    assert dict(wanted).items() <= pins.items(), "the lock is older than what it is made from"
    for name, pinned in pins.items():
        assert pinned == version(name), f"the container runs another {name} than the tests"
    assert lock.count("--hash=sha256:") >= len(pins)


def test_the_service_imports_nothing_that_the_image_lacks() -> None:
    files = [*FOLDER.glob("*.py"), *(PROJECT_ROOT / "lambda_src" / "rag").glob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE))
    assert not imported & {"boto3", "requests", "httpx", "openai", "pulumi", "components"}
