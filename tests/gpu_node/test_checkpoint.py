"""A folder of checkpoints: what is saved is complete, and what is not complete is not loaded."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_node.checkpoint import Checkpoint, CheckpointError, CheckpointFolder
from gpu_node.checkpoint.folder import HOST, MAXIMUM_STEP
from gpu_node.checkpoint.manifest import CopyCancelled

MIB = 1 << 20


def writes(content: bytes = b"weights") -> Callable[[Path], object]:
    return lambda folder: (folder / "model.bin").write_bytes(content)


def visible(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


class FullDisk:
    """A file that takes 10 MiB and no more."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self._free_bytes = 10 * MIB

    def write(self, content: bytes) -> None:
        if len(content) > self._free_bytes:
            self._file.close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._free_bytes -= self._file.write(content)


def test_a_full_disk_leaves_the_last_checkpoint_and_no_trace_of_the_next(tmp_path: Path) -> None:
    checkpoints = CheckpointFolder(tmp_path)
    checkpoints.save(100, writes())

    def write_64_mib(folder: Path) -> None:
        file = FullDisk(folder / "model.bin")
        for _ in range(64):
            file.write(bytes(MIB))

    with pytest.raises(CheckpointError, match="step 200 was not saved in .*No space left on device"):
        checkpoints.save(200, write_64_mib)
    assert visible(tmp_path) == ["step-100"], "a half-written checkpoint takes space or could be loaded"
    latest = checkpoints.latest()
    assert latest == Checkpoint(100, tmp_path / "step-100"), "the good checkpoint is lost"
    assert (latest.path / "model.bin").read_bytes() == b"weights"


def _flip(path: Path) -> None:
    content = bytearray((path / "model.bin").read_bytes())
    content[-1] ^= 1
    (path / "model.bin").write_bytes(content)


def _edit(path: Path, **changes: object) -> None:
    manifest = path / "checkpoint.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | changes))


def _point_outside(path: Path) -> None:
    entry = json.loads((path / "checkpoint.json").read_text())["files"]["model.bin"]
    (path.parent / "outside").write_bytes(b"weights")
    _edit(path, files={"../outside": entry})


def _link_file(path: Path) -> None:
    (path / "model.bin").rename(path.parent / "elsewhere")
    (path / "model.bin").symlink_to(path.parent / "elsewhere")


def _link_whole(path: Path) -> None:
    path.rename(path.parent / "elsewhere")
    path.symlink_to(path.parent / "elsewhere")


def _pipe(path: Path) -> None:
    (path / "model.bin").unlink()
    os.mkfifo(path / "model.bin")


def _plain_file(path: Path) -> None:
    path.rename(path.parent / "elsewhere")
    path.write_bytes(b"")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "flipped bit": _flip,
    "truncated file": lambda path: os.truncate(path / "model.bin", 3),
    "missing file": lambda path: (path / "model.bin").unlink(),
    "folder for a file": lambda path: ((path / "model.bin").unlink(), (path / "model.bin").mkdir()),
    "pipe for a file": _pipe,
    "link for a file": _link_file,
    "link for the whole": _link_whole,
    "file for the whole": _plain_file,
    "no manifest": lambda path: (path / "checkpoint.json").unlink(),
    "link for the manifest": lambda path: (
        (path / "checkpoint.json").rename(path.parent / "m"),
        (path / "checkpoint.json").symlink_to(path.parent / "m"),
    ),
    "truncated manifest": lambda path: os.truncate(path / "checkpoint.json", 20),
    "empty manifest": lambda path: os.truncate(path / "checkpoint.json", 0),
    "manifest of zeros": lambda path: (path / "checkpoint.json").write_bytes(bytes(99)),
    "nested manifest": lambda path: (path / "checkpoint.json").write_text("[" * 99999),
    "list for the files": lambda path: _edit(path, files=["model.bin"]),
    "manifest of another step": lambda path: _edit(path, step=100),
    "file outside": _point_outside,
    "absolute file": lambda path: _edit(path, files={"/etc/hostname": {"bytes": 1, "sha256": ""}}),
    "nameless file": lambda path: _edit(path, files={"": {"bytes": 1, "sha256": ""}}),
    "zero byte in a name": lambda path: _edit(path, files={"a\0b": {"bytes": 1, "sha256": ""}}),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_newest_checkpoint_is_skipped_with_a_warning(
    tmp_path: Path, damage: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints = CheckpointFolder(tmp_path)
    checkpoints.save(100, writes(b"older"))
    damage(checkpoints.save(200, writes()).path)

    latest = checkpoints.latest()

    assert latest is not None and latest.step == 100, (
        "training would resume from a damaged state, or from zero"
    )
    warning = capsys.readouterr().err
    assert warning.startswith(f"checkpoint: WARNING: skipped {tmp_path}/step-200: "), (
        "nobody learns of the damage"
    )
    assert warning.count("\n") == 1


def test_a_folder_that_cannot_be_listed_is_no_fresh_start(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"")
    with pytest.raises(CheckpointError, match="cannot be listed: .*Not a directory"):
        CheckpointFolder(tmp_path / "run").latest()
    assert CheckpointFolder(tmp_path / "new").latest() is None, "a first run could not start"


def _write_odd_names(folder: Path) -> None:
    for name in (
        "with blank.bin",
        "Größe.bin",
        "line\nbreak",
        "-rf",
        "deep/er/file",
        os.fsdecode(b"\xff\xfe"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode(errors="surrogateescape"))
    (folder / "empty").touch()


def test_odd_names_and_empty_files_are_saved_copied_and_found(tmp_path: Path) -> None:
    original = CheckpointFolder(tmp_path / "a b ü").save(7, _write_odd_names)
    CheckpointFolder(tmp_path / "copy").add(original)

    for folder in ("a b ü", "copy"):
        latest = CheckpointFolder(tmp_path / folder).latest()
        assert latest is not None, "a name makes a checkpoint unreadable"
        files = {path.relative_to(latest.path) for path in latest.path.rglob("*") if path.is_file()}
        assert len(files) == 8 and (latest.path / "empty").read_bytes() == b""
        assert (latest.path / "Größe.bin").read_text() == "Größe.bin"


def _keep(folder: Path, make: Callable[[Path], object]) -> None:
    writes()(folder)
    make(folder / "extra")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda folder: None, "nothing was written for step 5"),
        (lambda folder: (folder / "empty").mkdir(), "nothing was written for step 5"),
        (lambda folder: _keep(folder, lambda path: path.symlink_to("/etc/hostname")), "'extra' is a link"),
        (lambda folder: _keep(folder, lambda path: path.symlink_to("/etc")), "'extra' is a link"),
        (lambda folder: _keep(folder, os.mkfifo), "'extra' is a link or a device"),
        (lambda folder: (folder / "checkpoint.json").write_text("{}"), "is the manifest's own name"),
    ],
)
def test_what_could_not_be_restored_is_refused_when_it_is_saved(
    tmp_path: Path, write: Callable[[Path], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        CheckpointFolder(tmp_path).save(5, write)
    assert visible(tmp_path) == [], "a refused checkpoint leaves something behind"


@pytest.mark.parametrize("step", [-1, MAXIMUM_STEP + 1, 10**5000], ids=["below 0", "too high", "huge"])
def test_a_step_that_no_name_can_hold_is_refused(tmp_path: Path, step: int) -> None:
    with pytest.raises(ValueError, match="must be from 0 to 999999999999999999"):
        CheckpointFolder(tmp_path).save(step, writes())


def test_steps_are_ordered_as_numbers_whatever_the_clock_says(tmp_path: Path) -> None:
    checkpoints = CheckpointFolder(tmp_path, keep_last=9)
    for step in (9, 10, MAXIMUM_STEP, 0):
        checkpoints.save(step, writes())
    os.utime(tmp_path / f"step-{MAXIMUM_STEP}", (0, 0))
    os.utime(tmp_path / "step-0", (2**33, 2**33))
    for name in ("step-007", "step-\u0663", "step-1e3", "step-99 ", "latest"):
        (tmp_path / name).mkdir()

    assert [found.step for found in checkpoints.candidates()] == [MAXIMUM_STEP, 10, 9, 0]
    assert checkpoints.latest() == Checkpoint(MAXIMUM_STEP, tmp_path / f"step-{MAXIMUM_STEP}")


def test_only_the_last_are_kept_and_others_files_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    checkpoints = CheckpointFolder(tmp_path, keep_last=2)
    for step in range(5):
        checkpoints.save(step, writes())
    assert visible(tmp_path) == ["notes.txt", "step-3", "step-4"]
    with pytest.raises(ValueError, match="at least 1"):
        CheckpointFolder(tmp_path, keep_last=0)


def test_a_damaged_checkpoint_never_counts_as_one_that_is_kept(tmp_path: Path) -> None:
    checkpoints = CheckpointFolder(tmp_path, keep_last=2)
    for step in (1, 2, 3):
        checkpoints.save(step, writes())
    os.truncate(tmp_path / "step-3" / "model.bin", 0)
    (tmp_path / "step-9").mkdir()  # of a run that got further and was cut off
    checkpoints.save(4, writes())

    assert {"step-2", "step-4"} <= set(visible(tmp_path)), "a good one was deleted in favour of a damaged one"
    CheckpointFolder(tmp_path, keep_last=1).save(5, writes())
    assert visible(tmp_path) == ["step-5", "step-9"], "the only valid one has to stay, and nothing older"


def test_a_step_that_is_saved_again_takes_the_new_content(tmp_path: Path) -> None:
    checkpoints = CheckpointFolder(tmp_path)
    for content in (b"old", b"new"):
        path = checkpoints.save(3, writes(content)).path
    assert (path / "model.bin").read_bytes() == b"new"
    assert visible(tmp_path) == ["step-3"]


def test_a_step_that_is_saved_again_is_there_at_every_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints, rename = CheckpointFolder(tmp_path), os.rename
    final = checkpoints.save(3, writes(b"old")).path

    def die(source: Path, target: Path) -> None:
        if target == final:
            raise KeyboardInterrupt
        rename(source, target)

    with monkeypatch.context() as dying, pytest.raises(KeyboardInterrupt):
        dying.setattr(os, "rename", die)
        checkpoints.save(3, writes(b"new"))
    latest = checkpoints.latest()
    assert latest and latest.step == 3 and (latest.path / "model.bin").read_bytes() == b"old", (
        "step 3 is lost"
    )
    checkpoints.save(3, writes(b"new"))
    assert visible(tmp_path) == ["step-3"]


def test_what_is_being_deleted_has_no_name_of_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = CheckpointFolder(tmp_path, keep_last=1)
    checkpoints.save(1, writes())
    with monkeypatch.context() as dying:
        dying.setattr("shutil.rmtree", lambda *_, **__: None)
        checkpoints.save(2, writes())
    assert [found.step for found in checkpoints.candidates()] == [2], "half a checkpoint would keep its name"
    checkpoints.prepare()
    assert visible(tmp_path) == ["step-2"], "a deletion that was cut off is never finished"


def test_files_and_folders_are_flushed_before_the_name_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, str]] = []
    fsync, rename = os.fsync, os.rename

    def record_fsync(descriptor: int) -> None:
        events.append(("flush", os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def record_rename(source: Path, target: Path) -> None:
        events.append(("rename", str(target)))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "rename", record_rename)
    path = CheckpointFolder(tmp_path).save(1, _write_odd_names).path

    place = events.index(("rename", str(path)))
    flushed = {name for kind, name in events[:place] if kind == "flush"}
    names = {Path(name).name for name in flushed}
    assert {"empty", "file", "er", "deep", "checkpoint.json"} <= names, "a power cut would leave empty files"
    assert any(name.startswith(".checkpoint-") for name in names), "the names of the files could be lost"
    assert events[place + 1] == ("flush", str(tmp_path)), "the checkpoint itself could be lost"


def test_a_read_only_folder_is_found_before_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", refuse)
    checkpoints = CheckpointFolder(tmp_path)
    with pytest.raises(
        CheckpointError, match=f"no checkpoint can be saved in {tmp_path}.*Read-only file system"
    ):
        checkpoints.prepare()
    with pytest.raises(CheckpointError, match="step 1 was not saved.*Read-only file system"):
        checkpoints.save(1, writes())


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path) -> None:
    dead, alive, ours = 2**22 + 1, os.getppid(), os.getpid()  # no process number is above 2**22
    names = {
        f".checkpoint-{HOST}-{dead}-{'0' * 32}": False,
        f".checkpoint-{HOST}-{ours}-{'1' * 32}": False,
        f".checkpoint-{HOST}-{alive}-{'2' * 32}": True,
        f".checkpoint-other.host-1-{'3' * 32}": True,
        f".checkpoint-old-host-1-{'4' * 32}": False,
        ".checkpoint-notes": True,
    }
    for name in names:
        (tmp_path / name).mkdir()
    os.utime(tmp_path / f".checkpoint-old-host-1-{'4' * 32}", (0, 0))

    CheckpointFolder(tmp_path).prepare()

    kept = sorted(name for name, stays in names.items() if stays)
    assert visible(tmp_path) == kept, "a save of another node is destroyed, or leftovers fill the disk"


def test_what_another_node_left_half_written_goes_once_it_is_old_even_while_a_process_runs(
    tmp_path: Path,
) -> None:
    checkpoints = CheckpointFolder(tmp_path)
    checkpoints.prepare()
    others, own = (tmp_path / f".checkpoint-{host}-{os.getpid()}-{'5' * 32}" for host in ("lost-node", HOST))
    for folder in (others, own):
        folder.mkdir()
    checkpoints.save(1, writes())
    assert visible(tmp_path) == sorted([others.name, own.name, "step-1"]), "another node may still write"
    os.utime(others, (0, 0))
    checkpoints.save(2, writes())
    assert visible(tmp_path) == [own.name, "step-1", "step-2"], (
        "what a killed save left is paid for ever, or a copy of this process is destroyed"
    )


def test_a_copy_of_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    source = CheckpointFolder(tmp_path / "scratch").save(1, writes())
    _flip(source.path)
    with pytest.raises(CheckpointError, match="its copy differs from its manifest"):
        CheckpointFolder(tmp_path / "shared").add(source)
    assert visible(tmp_path / "shared") == [], "the damage would spread"


def test_a_cancelled_copy_leaves_nothing(tmp_path: Path) -> None:
    def cancel() -> None:
        raise CopyCancelled

    source = CheckpointFolder(tmp_path / "scratch").save(1, writes())
    with pytest.raises(CopyCancelled):
        CheckpointFolder(tmp_path / "shared").add(source, cancel)
    assert visible(tmp_path / "shared") == []
