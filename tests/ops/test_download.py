"""`python -m ops download` against a local S3: files that are whole or not there, and only below the folder."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ops.transfer import download, fetching, targets
from ops.transfer.targets import path_fault, targets_in
from tests.ops.transfer_lake import BUCKET, Lake, local_lake, signals_as_in_a_terminal, wrapping

MIB = 1024 * 1024


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    with local_lake(monkeypatch) as served:
        yield served


def run(*arguments: str | Path, make_client: Callable[..., Any] | None = None) -> int:
    options = {"make_client": make_client} if make_client else {}
    return download.main(["--bucket", BUCKET, *map(str, arguments)], **options)


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_lies_below_a_prefix_is_fetched_and_what_only_begins_alike_is_not(
    lake: Lake, tmp_path: Path
) -> None:
    large = os.urandom(11 * MIB)
    lake.put("models/onnx/a/model.onnx", large)
    lake.put("models/onnx/a/deep/é.json", b"{}")
    lake.put("models/onnx/a/empty", b"")
    lake.put("models/onnx/a/mark/", b"")
    lake.put("models/onnx/ab/other", b"other")
    assert run("models/onnx/a", tmp_path / "new") == 0
    assert files_in(tmp_path / "new") == {"model.onnx": large, "deep/é.json": b"{}", "empty": b""}


def test_one_object_is_fetched_by_its_key(lake: Lake, tmp_path: Path) -> None:
    lake.put("raw/a.txt", b"a")
    lake.put("raw/a.txt.old", b"old")
    assert run("raw/a.txt", tmp_path) == 0
    assert files_in(tmp_path) == {"a.txt": b"a"}


def gets(lake: Lake, seen: list[str]) -> Callable[..., Any]:
    def get_object(client: Any) -> Callable[..., Any]:
        def get(**asked: Any) -> Any:
            seen.append(asked["Key"])
            return client.get_object(**asked)

        return get

    return wrapping(get_object=get_object)


def test_what_is_here_with_the_same_bytes_is_not_fetched_and_one_flipped_byte_is(
    lake: Lake, tmp_path: Path
) -> None:
    lake.put("raw/a", b"aaaa")
    lake.put("raw/b", b"bbbb")
    assert run("raw/", tmp_path) == 0
    before = (tmp_path / "b").stat()
    (tmp_path / "b").write_bytes(b"bbcb")
    os.utime(tmp_path / "b", ns=(before.st_atime_ns, before.st_mtime_ns))
    seen: list[str] = []
    assert run("raw/", tmp_path, make_client=gets(lake, seen)) == 0
    assert seen == ["raw/b"], "only what differs needs the wire"
    assert files_in(tmp_path) == {"a": b"aaaa", "b": b"bbbb"}


def test_a_tree_comes_back_as_it_was_sent(lake: Lake, tmp_path: Path) -> None:
    from ops.transfer import upload

    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "set.bin").write_bytes(os.urandom(11 * MIB))
    (source / "a b").write_bytes(b"x")
    assert upload.main(["--bucket", BUCKET, str(source), "raw/x", "--part-size", "5M"]) == 0
    assert run("raw/x", tmp_path / "back") == 0
    assert files_in(tmp_path / "back") == files_in(source)


def test_damaged_bytes_do_not_become_a_file(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.put("raw/a", b"good")
    (tmp_path / "a").write_bytes(b"old")

    def head_object(client: Any) -> Callable[..., Any]:
        def head(**asked: Any) -> Any:
            return client.head_object(**asked) | {"ChecksumCRC32": "AAAAAA=="}

        return head

    assert run("raw/", tmp_path, make_client=wrapping(head_object=head_object)) == 1
    assert files_in(tmp_path) == {"a": b"old"}, "a damaged file would stand where a whole one was"
    assert "what arrived is not what the lake holds" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_by_a_signal_leaves_no_half_file(
    lake: Lake, tmp_path: Path, number: signal.Signals
) -> None:
    lake.put("raw/large", os.urandom(20 * MIB))

    def stopped(client: Any) -> Callable[..., Any]:
        def get_object(**asked: Any) -> Any:
            signal.pthread_kill(threading.main_thread().ident or 0, number)
            raise OSError(5, "the connection is gone")

        return get_object

    with signals_as_in_a_terminal(), pytest.raises(KeyboardInterrupt):
        run("raw/", tmp_path / "new", make_client=wrapping(get_object=stopped))
    assert files_in(tmp_path / "new") == {}, "half files would look like data"


def test_an_interrupted_run_leaves_no_half_file(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.put("raw/a", b"a")
    lake.put("raw/b", b"b")

    def interrupt(*given: Any) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(fetching, "_settle", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run("raw/", tmp_path)
    assert files_in(tmp_path) == {}, "a part of a file would be taken for the file"


def test_keys_that_lead_elsewhere_are_refused_and_the_others_come(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.put("raw/good", b"good")
    bad = {"raw/../../evil": 4, "raw//etc/passwd": 4, "raw/a/../b": 4}
    monkeypatch.setattr(download, "objects_below", lambda client, bucket, prefix: {"raw/good": 4, **bad})
    assert run("raw/", tmp_path / "in", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert {item["name"] for item in document["failed"]} == set(bad)
    assert files_in(tmp_path) == {"in/good": b"good"}, "a key could overwrite any file of the operator"


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/passwd", "a//b", "./a", "a/", "", "a\0b", ".."])
def test_no_such_key_is_a_path(name: str) -> None:
    assert path_fault(name)


@pytest.mark.parametrize("name", ["a", "a/b", "..a", "a..", "a b", "é", ".hidden"])
def test_such_a_key_is_a_path(name: str) -> None:
    assert not path_fault(name)


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to("../outside")
    found = targets_in(folder, "raw/", {"raw/link/a": 1, "raw/b": 1})
    assert [target.key for target in found.files] == ["raw/b"]
    assert found.failures == [("raw/link/a", "a link here leads out of the folder")]


def test_a_key_that_is_a_folder_of_another_cannot_be_a_file_too(tmp_path: Path) -> None:
    found = targets_in(tmp_path, "raw/", {"raw/a": 1, "raw/a/b": 1})
    assert [target.key for target in found.files] == ["raw/a/b"]
    assert found.failures == [("raw/a", "another key uses this name as a folder")]


def test_two_spellings_are_two_files_only_where_the_file_system_keeps_them_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = {"raw/A": 1, "raw/a": 1}
    assert len(targets_in(tmp_path, "raw/", objects).files) == 2
    monkeypatch.setattr(targets, "ignores_case", lambda folder: True)
    found = targets_in(tmp_path, "raw/", objects)
    assert found.failures == [("raw/a", "it would be the same file as raw/A")]
    accents = targets_in(tmp_path, "raw/", {"raw/e\u0301": 1, "raw/\u00e9": 1})
    assert len(accents.files) == 1, "one of two would silently replace the other"


def test_more_than_fits_is_not_begun(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.put("raw/a", bytes(2048))
    usage = type("Usage", (), {"free": 1024})
    monkeypatch.setattr(download.shutil, "disk_usage", lambda folder: usage)
    assert run("raw/", tmp_path) == 1
    assert "has 1.0 KiB free, and 2.0 KiB are to be fetched" in capsys.readouterr().err


def test_an_object_without_a_checksum_of_the_whole_is_fetched_and_that_is_said(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.client.put_object(Bucket=BUCKET, Key="raw/a", Body=b"a", ChecksumAlgorithm="SHA1")
    assert run("raw/", tmp_path) == 0
    assert files_in(tmp_path) == {"a": b"a"}
    assert "1 objects have no checksum of the whole" in capsys.readouterr().err


def test_a_dry_run_makes_nothing(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake.put("raw/a", b"a")
    assert run("raw/", tmp_path / "new", "--dry-run") == 0
    assert not (tmp_path / "new").exists()
    assert "To be fetched: 1 (1 bytes); unchanged: 0" in capsys.readouterr().out


def test_what_cannot_be_a_folder_is_told(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.put("raw/a", b"a")
    (tmp_path / "file").write_bytes(b"mine")
    assert run("raw/a", tmp_path / "file") == 2
    assert f"{tmp_path / 'file'} is a file. Fix: name a folder" in capsys.readouterr().err
    assert run("raw/a", tmp_path / "file" / "below") == 1
    assert "below cannot be made: Not a directory. Fix: " in capsys.readouterr().err
    assert (tmp_path / "file").read_bytes() == b"mine"


@pytest.mark.parametrize("source", ["/raw/a", f"s3://{BUCKET}/raw/a"])
def test_a_source_is_named_without_its_bucket(
    lake: Lake, tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.put("raw/a", b"a")
    assert run(source, tmp_path) == 2
    assert "Fix: name what follows the bucket, such as raw/pdfs/." in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["", "here"], ["raw/", ""]])
def test_an_empty_name_is_not_taken_for_everything_or_for_here(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(*arguments)
    assert stopped.value.code == 2


def test_nothing_there_is_a_failure(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("raw/nothing/", tmp_path) == 1
    assert "s3://lake-abc/raw/nothing/ holds nothing" in capsys.readouterr().err
