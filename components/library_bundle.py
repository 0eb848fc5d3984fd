"""The third-party libraries of a function, installed for Lambda from a lock file: the same lock gives the same bytes."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pulumi

BUNDLES_FOLDER = Path(__file__).resolve().parents[1] / ".bundles"
# Lambda's Python 3.13 runs on Amazon Linux 2023, whose C library is of version 2.34. pip takes each tag literally.
# https://docs.aws.amazon.com/linux/al2023/ug/core-glibc.html
PYTHON_VERSION = "3.13"
PLATFORMS = (
    "manylinux_2_34_aarch64", "manylinux_2_31_aarch64", "manylinux_2_28_aarch64", "manylinux_2_27_aarch64",
    "manylinux_2_26_aarch64", "manylinux_2_24_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64",
)  # fmt: skip
# What the installer writes about itself and its machine, and what nobody calls in a function.
USELESS = (
    "bin", "**/__pycache__", "*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/REQUESTED",
    "*.dist-info/direct_url.json",
)  # fmt: skip
SHOWN_LINES = 6
UNREACHABLE = ("connection broken", "NewConnectionError", "Max retries exceeded", "name resolution")


class LibraryBundleError(pulumi.RunError):
    """The libraries could not be installed; Pulumi prints the message without a traceback."""


def library_folder(requirements: Path, bundles: Path = BUNDLES_FOLDER) -> Path:
    """A folder with the libraries that `requirements` locks by hash, downloaded when it is not there yet.

    Processes may ask for it at the same time: each installs into a folder of its own, and the first to finish gives
    it the final name. Raises LibraryBundleError with the installer's last words.
    """
    package = requirements.parent.name
    target = bundles / f"{package}-{_fingerprint(requirements)}"
    if target.is_dir():
        return target
    pulumi.log.info(f"Downloading the libraries of lambda_src/{package}, this once")
    bundles.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{package}-", dir=bundles) as scratch:
        built = Path(scratch, "libraries")
        _install(requirements, built)
        _strip(built)
        try:
            built.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    return target


def _fingerprint(requirements: Path) -> str:
    """All that decides what the folder holds: the lock, and this file."""
    texts = [path.read_text(encoding="utf-8") for path in (requirements, Path(__file__))]
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:12]


def _install(requirements: Path, folder: Path) -> None:
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input",
        "--retries", "2", "--no-deps", "--no-compile", "--require-hashes", "--only-binary", ":all:",
        "--implementation", "cp", "--python-version", PYTHON_VERSION,
        *(part for platform in PLATFORMS for part in ("--platform", platform)),
        "--target", str(folder), "--requirement", str(requirements),
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise LibraryBundleError(_explain(requirements, run.stderr or run.stdout))


def _explain(requirements: Path, output: str) -> str:
    last = "\n".join(f"  {line}" for line in output.strip().splitlines()[-SHOWN_LINES:])
    offline = any(sign in output for sign in UNREACHABLE)
    fix = (
        "No package index could be reached; the first run needs one, later ones use what it downloaded"
        if offline
        else "The lock file, or the pip of this environment, is not as the project's set-up leaves it"
    )
    return f"The libraries of lambda_src/{requirements.parent.name} could not be installed. {fix}. pip says:\n{last}"


def _strip(folder: Path) -> None:
    """Takes out what varies between machines or is never used."""
    for pattern in USELESS:
        for path in list(folder.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
