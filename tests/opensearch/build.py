"""Fetches the jars of an OpenSearch node and compiles the class that starts it."""

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from ops.capture.program import PROJECT_ROOT

HERE = Path(__file__).parent
SOURCES = (HERE / "pom.xml", HERE / "OneNode.java")
BUILT = PROJECT_ROOT / ".opensearch"
STAMP = BUILT / "built"
TOOLS = ("java", "javac", "mvn")
MISSING = (
    "no OpenSearch to test with: run `python -m tests.opensearch build` (needs Java 17 or newer and Maven)"
)


class BuildError(Exception):
    """The node could not be built; the sentence is for the person who tried."""


def is_built() -> bool:
    """Whether a node of these very sources is there, and a Java to run it."""
    return shutil.which("java") is not None and STAMP.is_file() and STAMP.read_text() == _sources_hash()


def build() -> Path:
    """Makes `.opensearch/` anew and returns it. Raises `BuildError`."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise BuildError(
            f"{', '.join(missing)} not found. On Debian and Ubuntu: apt-get install openjdk-17-jdk-headless maven"
        )
    shutil.rmtree(BUILT, ignore_errors=True)
    jars = BUILT / "jars"
    jars.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        # Maven takes `target/` beside the POM for its own.
        shutil.copy(HERE / "pom.xml", folder)
        _run("mvn", "-B", "-q", "--strict-checksums", "-f", f"{folder}/pom.xml",
             "dependency:copy-dependencies", f"-DoutputDirectory={jars}")  # fmt: skip
    for archive in jars.glob("*.zip"):
        _unpack_jars(archive, jars)
    _run("javac", "-cp", f"{jars}/*", "-d", str(BUILT / "classes"), str(HERE / "OneNode.java"))
    STAMP.write_text(_sources_hash())
    return BUILT


def _unpack_jars(archive: Path, jars: Path) -> None:
    with zipfile.ZipFile(archive) as plugin:
        for name in plugin.namelist():
            if name.endswith(".jar"):
                plugin.extract(name, jars)
    archive.unlink()


def _run(*command: str) -> None:
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise BuildError(f"{command[0]} failed:\n{done.stdout[-4000:]}")


def _sources_hash() -> str:
    return hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()
