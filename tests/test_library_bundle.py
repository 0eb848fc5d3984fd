"""The libraries of a function: the same lock gives the same bytes, for Lambda's machines, small enough to be sent."""

import ast
import base64
import functools
import hashlib
import io
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from components.library_bundle import LibraryBundleError, library_folder
from components.source_bundle import SOURCE_FOLDER, source_files

REQUIREMENTS = sorted(SOURCE_FOLDER.glob("*/requirements.txt"))
# The first digits of a hash over names and contents. Two machines that differ here deploy two functions.
REAL_TREES = {"ingestion": "a8c8fde49845f236"}
# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
LARGEST_UPLOAD_BYTES = 50_000_000
LARGEST_UNPACKED_BYTES = 250_000_000
# Place and value of the machine in an ELF header, see elf(5): EM_AARCH64.
ELF_MACHINE = slice(18, 20)
AARCH64 = (183).to_bytes(2, "little")
CLOSED_PORT = "http://127.0.0.1:9/simple"


def make_wheel(folder: Path, text: str = "VALUE = 1\n", tag: str = "py3-none-any") -> Path:
    """A library with a module, a program and a list of its files, as an index would hold it."""
    contents = {
        "tiny/__init__.py": text,
        "tiny/data.bin": "data",
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": f"Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: {tag}\n",
        "tiny-1.0.dist-info/entry_points.txt": "[console_scripts]\ntiny = tiny:main\n",
    }
    digests = {name: hashlib.sha256(body.encode()).digest() for name, body in contents.items()}
    encoded = {
        name: base64.urlsafe_b64encode(digest).rstrip(b"=").decode() for name, digest in digests.items()
    }
    rows = [f"{name},sha256={digest}," for name, digest in encoded.items()]
    contents["tiny-1.0.dist-info/RECORD"] = "\n".join([*rows, "tiny-1.0.dist-info/RECORD,,", ""])
    path = folder / f"tiny-1.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, body in contents.items():
            wheel.writestr(name, body)
    return path


def lock(folder: Path, wheel: Path, note: str = "") -> Path:
    """A lock file of a function `answer` that names the wheel by its hash."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    path = folder / "answer" / "requirements.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{note}tiny==1.0 --hash=sha256:{digest}\n", encoding="utf-8")
    return path


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock file whose library comes from a folder, and pip without a way to an index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return lock(tmp_path, make_wheel(tmp_path))


def test_the_same_lock_gives_the_same_bytes(tmp_path: Path, requirements: Path) -> None:
    first, second = (library_folder(requirements, tmp_path / name) for name in ("one", "another-place"))
    assert first.name == second.name
    assert tree(first) == tree(second), "the function would be deployed again from every other machine"
    assert tree(first)["tiny/__init__.py"] == b"VALUE = 1\n"


def test_nothing_is_kept_that_tells_of_the_machine_that_installed_it(
    tmp_path: Path, requirements: Path
) -> None:
    files = tree(library_folder(requirements, tmp_path / "bundles"))
    assert set(files) == {
        "tiny/__init__.py", "tiny/data.bin", "tiny-1.0.dist-info/METADATA", "tiny-1.0.dist-info/WHEEL",
        "tiny-1.0.dist-info/entry_points.txt",
    }  # fmt: skip
    assert not [name for name, content in files.items() if sys.executable.encode() in content]


def test_a_folder_that_is_there_is_not_made_again(
    tmp_path: Path, requirements: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = library_folder(requirements, tmp_path / "bundles")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert library_folder(requirements, tmp_path / "bundles") == made, "every preview would install again"


def test_another_lock_gets_another_folder(tmp_path: Path, requirements: Path) -> None:
    before = library_folder(requirements, tmp_path / "bundles")
    changed = lock(tmp_path, make_wheel(tmp_path, "VALUE = 2\n"))
    after = library_folder(changed, tmp_path / "bundles")
    assert after != before, "the function would go on with the old libraries"
    assert tree(after)["tiny/__init__.py"] == b"VALUE = 2\n"


def test_several_runs_at_once_end_with_one_folder_and_no_rest(tmp_path: Path, requirements: Path) -> None:
    bundles = tmp_path / "bundles"
    with ThreadPoolExecutor(3) as pool:
        folders = list(pool.map(lambda _: library_folder(requirements, bundles), range(3)))
    assert len(set(folders)) == 1
    assert [path.name for path in bundles.iterdir()] == [folders[0].name], "half-made folders are left"


@pytest.mark.parametrize(
    "tag",
    ["cp313-cp313-manylinux_2_17_aarch64", "cp311-abi3-manylinux_2_34_aarch64", "cp313-cp313-manylinux2014_aarch64"],
)  # fmt: skip
def test_a_library_for_lambdas_machines_is_taken(tmp_path: Path, requirements: Path, tag: str) -> None:
    (tmp_path / "tiny-1.0-py3-none-any.whl").unlink()
    lock(tmp_path, make_wheel(tmp_path, tag=tag))
    assert (library_folder(requirements, tmp_path / "bundles") / "tiny").is_dir()


@pytest.mark.parametrize(
    "tag",
    [
        "cp313-cp313-manylinux_2_17_x86_64", "cp312-cp312-manylinux_2_17_aarch64", "cp313-cp313-macosx_11_0_arm64",
        "cp313-cp313-manylinux_2_39_aarch64",
    ],
)  # fmt: skip
def test_a_library_for_other_machines_is_refused(tmp_path: Path, requirements: Path, tag: str) -> None:
    (tmp_path / "tiny-1.0-py3-none-any.whl").unlink()
    lock(tmp_path, make_wheel(tmp_path, tag=tag))
    with pytest.raises(LibraryBundleError, match=r"tiny==1\.0"):
        library_folder(requirements, tmp_path / "bundles")


def test_a_library_that_is_not_the_locked_one_is_refused(tmp_path: Path, requirements: Path) -> None:
    make_wheel(tmp_path, "import os\n")
    with pytest.raises(LibraryBundleError, match="lambda_src/answer could not be installed") as caught:
        library_folder(requirements, tmp_path / "bundles")
    assert "hash" in str(caught.value).lower(), "pip's own words are not shown"
    assert not list((tmp_path / "bundles").iterdir()), "the next run would take what is half there"


def test_a_library_without_a_hash_is_refused(tmp_path: Path, requirements: Path) -> None:
    requirements.write_text("tiny==1.0\n", encoding="utf-8")
    with pytest.raises(LibraryBundleError, match="Hashes are required"):
        library_folder(requirements, tmp_path / "bundles")


def test_whoever_has_no_network_is_told_so(
    tmp_path: Path, requirements: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", CLOSED_PORT)
    with pytest.raises(
        LibraryBundleError, match="No package index could be reached; the first run needs one"
    ):
        library_folder(requirements, tmp_path / "bundles")


@functools.cache
def real_tree(requirements: Path) -> dict[str, bytes]:
    return tree(library_folder(requirements))


@pytest.mark.parametrize("requirements", REQUIREMENTS, ids=lambda path: path.parent.name)
class TestRealLibraries:
    """The libraries that the functions really carry."""

    def test_are_the_same_bytes_everywhere(self, requirements: Path) -> None:
        digest = hashlib.sha256()
        for name, content in real_tree(requirements).items():
            digest.update(f"{name} {len(content)} ".encode() + content)
        assert digest.hexdigest()[:16] == REAL_TREES[requirements.parent.name], (
            "another lock wants its new value in this file; with the same lock, the function would differ here"
        )

    def test_are_built_for_lambdas_machines(self, requirements: Path) -> None:
        built = {name: content for name, content in real_tree(requirements).items() if ".so" in name}
        assert built, "nothing is compiled, so this test judges nothing"
        for name, content in built.items():
            assert content[:4] == b"\x7fELF"
            assert content[ELF_MACHINE] == AARCH64, f"{name} cannot be loaded on arm64"

    def test_fit_into_one_upload_with_the_sources(self, requirements: Path) -> None:
        packed, unpacked = io.BytesIO(), 0
        sources = source_files([requirements.parent.name, "rag"])
        files = {name: path.read_bytes() for name, path in sources.items()}
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, content in (files | real_tree(requirements)).items():
                archive.writestr(name, content)
                unpacked += len(content)
        assert packed.tell() < LARGEST_UPLOAD_BYTES, "Lambda takes larger archives from a bucket only"
        assert unpacked < LARGEST_UNPACKED_BYTES, "Lambda would refuse the function"

    def test_take_no_name_of_ours(self, requirements: Path) -> None:
        brought = {path.name for path in library_folder(requirements).iterdir()}
        assert not brought & {path.name for path in SOURCE_FOLDER.iterdir()}, "one of the two would not load"
        assert not brought & {"boto3", "botocore"}, "Lambda brings these and keeps them up to date"

    def test_do_not_break_what_lambda_brings(self, requirements: Path) -> None:
        """The archive comes before Lambda's own libraries, which then import ours."""
        found = metadata.distributions(path=[str(library_folder(requirements))])
        brought = {canonicalize_name(item.name): item.version for item in found}
        for line in metadata.requires("botocore") or []:
            wanted = Requirement(line)
            version = brought.get(canonicalize_name(wanted.name))
            assert version is None or version in wanted.specifier, (
                f"boto3 would not load: it wants {wanted}, and the archive holds {version}"
            )

    def test_are_all_that_the_sources_import(self, requirements: Path) -> None:
        brought = {path.stem.split(".")[0] for path in library_folder(requirements).iterdir()}
        ours = {path.name for path in SOURCE_FOLDER.iterdir()}
        known = brought | ours | set(sys.stdlib_module_names) | {"boto3", "botocore", "urllib3"}
        for name, path in source_files([requirements.parent.name, "rag"]).items():
            for module in _imported(path):
                assert module in known, f"{name} imports {module}, which is not in the archive"


def _imported(path: Path) -> set[str]:
    """The first part of every module that a source file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    named = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {module.split(".")[0] for module in (*plain, *named)}
