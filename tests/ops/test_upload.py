"""`python -m ops upload` against a local S3: what arrives, what is skipped, and what is left after a failure."""

import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from ops import __main__ as ops
from ops.transfer import upload
from ops.transfer.small_objects import SmallObjects
from tests.ops.transfer_lake import BUCKET, Lake, local_lake, signals_as_in_a_terminal, wrapping

MIB = 1024 * 1024
REFUSED = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "UploadPart")


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    with local_lake(monkeypatch) as served:
        yield served


def run(*arguments: str | Path, make_client: Callable[..., Any] | None = None) -> int:
    options = {"make_client": make_client} if make_client else {}
    return upload.main(["--bucket", BUCKET, *map(str, arguments)], **options)


def test_a_tree_arrives_under_its_keys_with_odd_names_and_empty_files(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["plain.txt", "with space & plus+.txt", "é/ü.txt", "deep/er/100%.txt", "empty", "q?s#t='~.txt"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if name == "empty" else name, encoding="utf-8")
    (tmp_path / "nothing").mkdir()
    assert run(tmp_path, "raw/pdfs") == 0
    assert lake.objects() == {
        f"raw/pdfs/{name}": b"" if name == "empty" else name.encode() for name in names
    }, "a file would be missing from the lake or have another's bytes"
    told = capsys.readouterr()
    assert "6 sent" in told.out
    assert "1 empty folders are left out" in told.err


def test_a_large_file_is_sent_once_whatever_the_size_of_its_parts(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "set.bin"
    path.write_bytes(os.urandom(11 * MIB))
    assert run(path, "raw/databases/", "--part-size", "5M") == 0
    assert lake.objects() == {"raw/databases/set.bin": path.read_bytes()}
    assert run(path, "raw/databases/", "--part-size", "5M") == 0
    assert run(path, "raw/databases/", "--part-size", "6M") == 0
    assert lake.sent() == 1, "eleven mebibytes would be sent again for nothing"
    assert not lake.open_uploads()


@pytest.mark.parametrize("length", [20_000, 11 * MIB])
def test_one_flipped_byte_is_sent_although_size_and_time_are_the_same(
    lake: Lake, tmp_path: Path, length: int
) -> None:
    path = tmp_path / "set.bin"
    data = bytearray(os.urandom(length))
    path.write_bytes(data)
    before = path.stat()
    assert run(path, "raw/", "--part-size", "5M") == 0
    data[length // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run(path, "raw/", "--part-size", "5M") == 0
    assert lake.sent() == 2
    assert lake.objects()["raw/set.bin"] == bytes(data), "the lake would keep the old bytes for good"


def test_an_object_whose_checksum_says_nothing_about_the_whole_is_sent_again(
    lake: Lake, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"a")
    lake.client.put_object(Bucket=BUCKET, Key="raw/a", Body=b"a", ChecksumAlgorithm="SHA1")
    assert run(tmp_path, "raw") == 0
    assert lake.sent() == 2
    assert run(tmp_path, "raw") == 0
    assert lake.sent() == 2


def part_three_fails(client: Any) -> Callable[..., Any]:
    def upload_part(**asked: Any) -> Any:
        if asked["PartNumber"] == 3:
            raise REFUSED
        return client.upload_part(**asked)

    return upload_part


def test_a_part_that_always_fails_leaves_nothing_open_and_its_error_is_told(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "set.bin").write_bytes(os.urandom(16 * MIB))
    (tmp_path / "small").write_bytes(b"small")
    make_client = wrapping(upload_part=part_three_fails)
    assert run(tmp_path, "raw/", "--part-size", "5M", make_client=make_client) == 1
    assert not lake.open_uploads(), "parts of a failed upload would be billed"
    assert list(lake.objects()) == ["raw/small"], "one bad file would stop the others"
    told = capsys.readouterr()
    assert "set.bin: AWS refused sending" in told.err
    assert "AccessDenied, no." in told.err
    assert "1 sent" in told.out
    assert "1 failed" in told.out
    # The next run sends what is missing, and only that.
    assert run(tmp_path, "raw/") == 0
    assert lake.sent() == 2


def raised_in_the_thread(client: Any) -> Callable[..., Any]:
    def upload_part(**asked: Any) -> Any:
        if asked["PartNumber"] == 2:
            raise KeyboardInterrupt
        return client.upload_part(**asked)

    return upload_part


def signalled(client: Any, number: signal.Signals) -> Callable[..., Any]:
    def upload_part(**asked: Any) -> Any:
        if asked["PartNumber"] == 2:
            signal.pthread_kill(threading.main_thread().ident or 0, number)
            raise OSError(5, "the connection is gone")
        return client.upload_part(**asked)

    return upload_part


def pressed_on_the_keyboard(client: Any) -> Callable[..., Any]:
    return signalled(client, signal.SIGINT)


def machine_is_stopped(client: Any) -> Callable[..., Any]:
    return signalled(client, signal.SIGTERM)


def terminal_is_closed(client: Any) -> Callable[..., Any]:
    return signalled(client, signal.SIGHUP)


INTERRUPTS = [raised_in_the_thread, pressed_on_the_keyboard, machine_is_stopped, terminal_is_closed]


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_an_interrupt_during_a_part_leaves_nothing_open(
    lake: Lake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interrupt: Callable[[Any], Callable[..., Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "set.bin").write_bytes(os.urandom(16 * MIB))
    real = upload.main
    make_client = wrapping(upload_part=interrupt)
    monkeypatch.setattr(upload, "main", lambda arguments: real(arguments, make_client))
    arguments = ["upload", "--bucket", BUCKET, str(tmp_path), "raw", "--part-size", "5M"]
    with signals_as_in_a_terminal():
        assert ops.main(arguments) == 130
    assert not lake.open_uploads(), "parts of an interrupted upload would be billed"
    assert not lake.objects()
    assert "Interrupted." in capsys.readouterr().err


def test_a_size_that_is_expected_of_a_file_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_bytes(b"a")
    with pytest.raises(SystemExit) as ended:
        run(tmp_path, "raw/", "--expected-size", "1G")
    assert ended.value.code == 2
    assert "--expected-size is for standard input" in capsys.readouterr().err


def test_an_upload_that_cannot_be_given_up_is_told_with_the_command_that_does(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "set.bin").write_bytes(os.urandom(16 * MIB))

    def refuse(client: Any) -> Callable[..., Any]:
        def abort(**asked: Any) -> Any:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "AbortMultipartUpload")

        return abort

    make_client = wrapping(upload_part=part_three_fails, abort_multipart_upload=refuse)
    assert run(tmp_path, "raw", "--part-size", "5M", make_client=make_client) == 1
    assert lake.open_uploads() == ["raw/set.bin"]
    assert "aws s3api abort-multipart-upload --bucket lake-abc --key 'raw/set.bin'" in capsys.readouterr().err


def test_a_large_file_that_changes_while_it_is_sent_does_not_become_an_object(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "set.bin"
    path.write_bytes(os.urandom(11 * MIB))

    def writing(client: Any) -> Callable[..., Any]:
        def upload_part(**asked: Any) -> Any:
            with path.open("r+b") as file:
                file.write(b"new")
            os.utime(path, ns=(1, 1))
            return client.upload_part(**asked)

        return upload_part

    assert run(path, "raw/", make_client=wrapping(upload_part=writing)) == 1
    assert not lake.objects(), "half of the old file and half of the new would be taken for data"
    assert not lake.open_uploads()
    assert "changed while it was read" in capsys.readouterr().err


def test_a_small_file_that_changes_is_a_failure(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a")

    def changing(sender: SmallObjects, file: Any) -> bool:
        path.write_bytes(b"longer")
        return False

    monkeypatch.setattr(SmallObjects, "send", changing)
    assert run(path, "raw/") == 1
    assert "changed while it was read" in capsys.readouterr().err


@pytest.mark.parametrize("length", [0, 5, 8 * MIB, 11 * MIB + 1])
def test_a_stream_of_unknown_length_arrives_whole(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    data = os.urandom(length)
    stream = io.TextIOWrapper(io.BytesIO(data))
    monkeypatch.setattr(sys, "stdin", stream)
    assert run("-", "raw/databases/shop.sql", "--part-size", "5M") == 0
    assert lake.objects() == {"raw/databases/shop.sql": data}


def test_a_stream_that_breaks_leaves_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaking(io.BytesIO):
        def read(self, amount: int | None = -1) -> bytes:
            if self.tell() > 9 * MIB:
                raise OSError(5, "Input/output error")
            return super().read(amount)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Breaking(bytes(20 * MIB))))
    assert run("-", "raw/shop.sql", "--part-size", "5M") == 1
    assert not lake.open_uploads()
    assert not lake.objects()


def test_a_dry_run_sends_nothing_and_tells_what_it_would(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_bytes(b"a")
    assert run(tmp_path, "raw", "--dry-run", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["planned"] == [{"key": "raw/a", "bytes": 1}]
    assert document["sent"] == []
    assert not lake.objects()


def test_json_tells_every_failure(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "gone").symlink_to("nowhere")
    assert run(tmp_path, "raw", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["sent"] == ["raw/a"]
    assert document["failed"] == [
        {"name": str(tmp_path / "gone"), "reason": "it is a link that leads nowhere"}
    ]


def test_after_ten_failures_the_rest_is_not_tried(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        (tmp_path / f"{number:03}").write_bytes(b"x")
    tries: list[str] = []

    def refuse(client: Any) -> Callable[..., Any]:
        def put_object(**asked: Any) -> Any:
            tries.append(asked["Key"])
            raise REFUSED

        return put_object

    monkeypatch.setattr(SmallObjects, "send", lambda sender, file: False)
    make_client = wrapping(put_object=refuse)
    assert run(tmp_path, "raw", "--concurrency", "1", make_client=make_client) == 1
    assert len(tries) < 30, "a refusal of everything would be asked for again and again"
    told = capsys.readouterr()
    assert "AccessDenied" in told.err
    assert told.err.count("FAILED") == 1, "the first error would be lost among the others"


@pytest.mark.parametrize("status", ["403", "503"])
def test_what_the_short_way_cannot_send_goes_by_the_transfer_manager(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    for number in range(12):
        (tmp_path / f"{number:03}").write_bytes(b"x")
    tries: list[str] = []

    def refused(sender: SmallObjects, key: str, data: bytes) -> bool:
        tries.append(key)
        if status == "503":
            raise OSError("connection reset")
        return False

    monkeypatch.setattr(SmallObjects, "_put", refused)
    assert run(tmp_path, "raw", "--concurrency", "1") == 0
    assert len(lake.objects()) == 12, "files would be lost where a proxy or a throttle stands in the way"
    assert len(tries) == 3, "a way that does not work would be tried for every file"


def test_small_files_take_the_short_way(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b+ü%").write_bytes(b"x")

    def put_object(client: Any) -> Callable[..., Any]:
        def refuse(**asked: Any) -> Any:
            raise AssertionError("the ordinary client was asked")

        return refuse

    assert run(tmp_path, "raw", make_client=wrapping(put_object=put_object)) == 0
    assert lake.objects() == {"raw/a b+ü%": b"x"}
    head = lake.client.head_object(Bucket=BUCKET, Key="raw/a b+ü%", ChecksumMode="ENABLED")
    assert head["ChecksumCRC32"] == "jNwWgw==", "without a checksum it would be sent each time"


def test_behind_a_proxy_there_is_no_short_way(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert SmallObjects(lake.client, BUCKET)._open is None, "a proxy would be passed by"


def test_a_bucket_that_refuses_the_listing_is_told(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_bytes(b"a")
    assert upload.main(["--bucket", "not-there", str(tmp_path), "raw"]) == 1
    assert "AWS refused listing s3://not-there/raw/: NoSuchBucket" in capsys.readouterr().err


def test_a_place_outside_of_the_layout_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "model/adapters/") == 2
    assert "The nearest is models/adapters/." in capsys.readouterr().err
    assert run(tmp_path / "nowhere", "raw/") in (1, 2)


def test_an_empty_source_is_not_taken_for_the_folder_one_stands_in(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run("", "raw/")
    assert stopped.value.code == 2, '`upload "$UNSET" raw/` would send everything that lies here'
    assert "argument source: it is empty" in capsys.readouterr().err


def test_a_part_goes_out_at_once_and_in_one_piece(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "set.bin").write_bytes(os.urandom(11 * MIB))
    parts: list[tuple[type, bool]] = []

    def watching(client: Any) -> Callable[..., Any]:
        def look(request: Any, **rest: Any) -> None:
            parts.append((type(request.body), "Expect" in request.headers))

        client.meta.events.register("before-send.s3.UploadPart", look)
        return client.upload_part

    assert run(tmp_path, "raw", make_client=wrapping(upload_part=watching)) == 0
    assert parts == [(bytes, False)] * 2, "every part would wait for an answer before it is sent"


def test_neither_stack_nor_bucket_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        upload.main([str(tmp_path), "raw"])
    assert stopped.value.code == 2
