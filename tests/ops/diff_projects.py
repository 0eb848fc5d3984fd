"""Repositories of git for the tests of `ops diff`: the program itself, and a tiny one that records in a second."""

import shutil
import subprocess
from pathlib import Path

from ops.capture.program import PROJECT_ROOT

PARTS = ("components", "lambda_src", "gpu_node", "rag_api")
TINY = """
import pulumi
import pulumi_aws as aws
from components.words import NAME

aws.efs.FileSystem(NAME, encrypted=pulumi.Config("tiny").get_bool("encrypted"))
"""


def platform_repository(folder: Path) -> Path:
    """The program as it lies here, committed as `main`; the libraries that were downloaded for it are used again."""
    for name in PARTS:
        shutil.copytree(PROJECT_ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (PROJECT_ROOT / "__main__.py", *PROJECT_ROOT.glob("Pulumi*.yaml")):
        shutil.copy(file, folder)
    (folder / ".gitignore").write_text(".bundles\n")
    (PROJECT_ROOT / ".bundles").mkdir(exist_ok=True)
    (folder / ".bundles").symlink_to(PROJECT_ROOT / ".bundles")
    return committed(folder)


def tiny_repository(folder: Path, program: str = TINY) -> Path:
    """One resource, named in a module of the project."""
    (folder / "components").mkdir()
    (folder / "components" / "__init__.py").touch()
    (folder / "components" / "words.py").write_text('NAME = "files"\n')
    (folder / "__main__.py").write_text(program)
    (folder / "Pulumi.yaml").write_text("name: tiny\nruntime: python\n")
    (folder / "Pulumi.dev.yaml").write_text("config:\n  tiny:encrypted: true\n")
    (folder / ".gitignore").write_text(".bundles\n")
    return committed(folder)


def committed(folder: Path) -> Path:
    """All that lies in the folder as one more commit of `main`."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "change")
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Runs git without the settings of whoever runs the tests."""
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com", "-c", "commit.gpgsign=false")
    run = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return run.stdout.strip()
