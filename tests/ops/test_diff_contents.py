"""Files count by what is in them: those of functions, and those that an image copies."""

from pathlib import Path
from typing import Any

import pytest

from ops.capture.program import PROJECT_ROOT
from ops.capture.recording import RecordedResource, Recording
from ops.diff.contents import with_contents

FUNCTION = "aws:lambda/function:Function"
IMAGE = "awsx:ecr:Image"
DOCKERFILE = """FROM python AS build
COPY requirements.txt /
FROM python
COPY --from=build /venv /venv
COPY --chown=1:1 rag api/ /app/
CMD ["python"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("src", "rag", "api", ".bundles/libraries"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("src/handler.py", "rag/a.py", "api/b.py", "notes.md", ".bundles/libraries/x.so"):
        (tmp_path / name).write_text(name)
    (tmp_path / "requirements.txt").touch()
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    return tmp_path


def _contents(root: Path, type_token: str, **inputs: Any) -> dict[str, Any]:
    resource = RecordedResource(
        urn="urn", type=type_token, name="x", parent=None, inputs=inputs, outputs=inputs
    )
    recording = Recording(
        project="p", stack="dev", resources=(resource,), invokes=(), registered_outputs={}, exports={}
    )
    return dict(with_contents(recording, root).resources[0].inputs)


def _code(root: Path, path: str) -> Any:
    return _contents(root, FUNCTION, code={"x": {"file": path}})["code"]["x"]


@pytest.mark.parametrize("path", ["src/handler.py", "src"])
def test_another_content_is_another_value_and_a_cache_of_byte_code_is_not(project: Path, path: str) -> None:
    before = _code(project, path)
    assert before["file"] == path
    (project / "src" / "__pycache__").mkdir()
    (project / "src" / "__pycache__" / "handler.pyc").write_text("cache")
    assert _code(project, path) == before, "a test run would seem to change the function"
    (project / "src" / "handler.py").write_text("src/handler_py")
    assert _code(project, path) != before


def test_a_file_that_moves_within_a_folder_is_another_content(project: Path) -> None:
    before = _code(project, "src")
    (project / "src" / "handler.py").rename(project / "src" / "renamed.py")
    assert _code(project, "src") != before


def test_downloaded_libraries_are_known_by_their_lock_file_and_not_read(project: Path) -> None:
    path = ".bundles/libraries/x.so"
    assert _code(project, path) == {"file": path}


def test_a_file_that_is_not_there_keeps_its_path(project: Path) -> None:
    assert _code(project, "gone.py") == {"file": "gone.py"}


def test_an_image_is_what_its_dockerfile_copies(project: Path) -> None:
    image = {"context": ".", "dockerfile": "Dockerfile"}
    files = _contents(project, IMAGE, **image)["files"]
    assert list(files) == ["Dockerfile", "requirements.txt", "rag/a.py", "api/b.py"]
    (project / "notes.md").write_text("more")
    assert _contents(project, IMAGE, **image)["files"] == files
    (project / "rag" / "a.py").write_text("other")
    assert _contents(project, IMAGE, **image)["files"] != files, "the service would be deployed anew unseen"
    assert "files" not in _contents(project, FUNCTION, **image)


def test_the_image_of_the_program_is_seen_through(dev: Recording) -> None:
    (image,) = [item for item in with_contents(dev, PROJECT_ROOT).resources if item.type == IMAGE]
    files = image.inputs["files"]
    assert {"rag_api/app.py", "lambda_src/rag/search.py", "rag_api/requirements.txt"} <= files.keys()
    assert all(len(file["sha256"]) == 64 for file in files.values())
