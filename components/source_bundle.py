"""Which source files go into a function's archive, so that the same sources always make the same archive. Pure."""

from collections.abc import Sequence
from pathlib import Path

SOURCE_FOLDER = Path(__file__).resolve().parents[1] / "lambda_src"


def source_files(packages: Sequence[str], folder: Path = SOURCE_FOLDER) -> dict[str, Path]:
    """Every Python source file of `packages`, by its path in the archive, sorted.

    Nothing but sources gets in: a byte-code cache would change the archive, and with it the function, after every
    local test run. Raises ValueError when a package has no source file.
    """
    files: dict[str, Path] = {}
    for package in sorted(packages):
        found = sorted((folder / package).rglob("*.py"))
        if not found:
            raise ValueError(
                f"{folder.name}/{package} holds no Python file: name a folder of {folder.name}/."
            )
        files |= {path.relative_to(folder).as_posix(): path for path in found}
    return files
