"""What the archives rely on: imports that work from the archive's root and touch nothing outside."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ["orchestrator", "ingestion", "training_progress", "vector_index"]
HANDLERS = [f"{package}.handler" for package in PACKAGES]
PROGRAM = """
import sys, importlib, boto3
def refuse(*arguments, **options):
    raise SystemExit("a client was made at import")
boto3.client = boto3.Session = boto3.resource = refuse
sys.path[:0] = ["lambda_src"]
for name in sys.argv[1:]:
    assert callable(importlib.import_module(name).lambda_handler)
slow = {name.split(".")[0] for name in sys.modules} & {"pypdf", "trafilatura", "lxml", "arro3"}
assert not slow, f"every start waits for {slow}, which only some documents need"
outside = {name.split(".")[0] for name in sys.modules} & {"pulumi", "components", "rag_api", "requests", "moto"}
sys.exit(f"the runtime does not bring {outside}" if outside else 0)
"""


def test_handlers_import_with_nothing_but_the_bundle_and_boto3_and_make_no_client() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *HANDLERS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_a_function_uses_no_package_but_its_own_and_the_shared_one(package: str) -> None:
    others = set(PACKAGES) - {package}
    for path in [*(ROOT / "lambda_src" / package).glob("*.py"), *(ROOT / "lambda_src" / "rag").glob("*.py")]:
        words = path.read_text().split()
        imported = {
            after.split(".")[0]
            for word, after in zip(words, words[1:], strict=False)
            if word in ("from", "import")
        }
        assert not imported & others, f"{path.name} needs a package that is not in the archive of {package}"
