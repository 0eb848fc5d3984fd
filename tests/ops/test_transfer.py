"""The plan of parts, the walk through odd trees, the lake's layout, and what tells that bytes are the same."""

import base64
import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from s3transfer.utils import ChunksizeAdjuster

from components.lake_layout import PREFIXES
from ops.transfer.checksums import crc32_text, holds_same_bytes
from ops.transfer.options import size
from ops.transfer.parts import (
    GIB,
    LARGEST_PART_BYTES,
    MIB,
    MOST_PARTS,
    SMALLEST_PART_BYTES,
    PartError,
    part_bytes,
    part_lengths,
)
from ops.transfer.places import TransferError, checked_destination, key_fault
from ops.transfer.tree import read_tree

LONGEST_OBJECT = MOST_PARTS * LARGEST_PART_BYTES


@pytest.mark.parametrize(
    ("length", "parts", "size_of_part"),
    [
        (0, 1, 8 * MIB),
        (1, 1, 8 * MIB),
        (5_242_880, 1, 8 * MIB),
        (8_388_608, 1, 8 * MIB),
        (83_886_080_000, 10_000, 8 * MIB),
        (83_886_080_001, 5_001, 16 * MIB),
        (107_374_182_400, 6_400, 16 * MIB),
    ],
)
def test_the_plan_of_parts(length: int, parts: int, size_of_part: int) -> None:
    plan = part_lengths(length, 8 * MIB)
    assert (len(plan), part_bytes(length, 8 * MIB), sum(plan)) == (parts, size_of_part, length)


@given(
    length=st.one_of(
        st.integers(0, 100 * GIB),
        st.integers(0, LONGEST_OBJECT),
        st.builds(
            lambda exponent, more: MOST_PARTS * 2**exponent + more, st.integers(20, 32), st.integers(-1, 1)
        ),
    ),
    wanted=st.integers(SMALLEST_PART_BYTES, LARGEST_PART_BYTES),
)
def test_every_plan_is_one_that_s3_takes_and_s3transfer_makes(length: int, wanted: int) -> None:
    chosen = part_bytes(length, wanted)
    assert chosen == ChunksizeAdjuster().adjust_chunksize(wanted, length), (
        "the plan would not be what is sent"
    )
    assert SMALLEST_PART_BYTES <= chosen <= LARGEST_PART_BYTES
    assert wanted <= chosen or chosen == LARGEST_PART_BYTES
    plan = part_lengths(length, wanted)
    assert 1 <= len(plan) <= MOST_PARTS
    assert sum(plan) == length
    assert set(plan[:-1]) <= {chosen}
    assert 0 <= plan[-1] <= chosen


def test_more_than_an_object_holds_is_refused() -> None:
    assert part_bytes(LONGEST_OBJECT) == LARGEST_PART_BYTES
    with pytest.raises(PartError, match="split it"):
        part_bytes(LONGEST_OBJECT + 1)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_place_of_the_layout_is_allowed(prefix: str) -> None:
    assert checked_destination(prefix) == prefix
    assert checked_destination(f"{prefix}mine/a.bin") == f"{prefix}mine/a.bin"


@pytest.mark.parametrize("place", ["raw/", "raw/a.pdf", "raw/contracts/", "models/first", "models/first/"])
def test_a_place_of_ones_own_below_the_layout_is_allowed(place: str) -> None:
    assert checked_destination(place) == place


@pytest.mark.parametrize("place", ["raw", "raw/pdfs", "logs/training", "models/fine-tuned"])
def test_a_folder_of_the_layout_is_one_without_its_slash_too(place: str) -> None:
    assert checked_destination(place) == f"{place}/", "a file sent there would become an object of that name"


@pytest.mark.parametrize(
    ("place", "nearest"),
    [
        ("model/adapters/x", "models/adapters/"),
        ("raw/pdf/x", "raw/pdfs/"),
        ("models/fine-tunes/x", "models/fine-tuned/"),
        ("log/training/", "logs/training/"),
        ("logs/", "logs/training/"),
    ],
)
def test_a_place_outside_is_refused_with_the_nearest(place: str, nearest: str) -> None:
    with pytest.raises(TransferError) as refused:
        checked_destination(place)
    assert str(refused.value).endswith(f"The nearest is {nearest}.")
    assert all(prefix in str(refused.value) for prefix in PREFIXES)


@pytest.mark.parametrize("place", ["elsewhere/", "elsewhere", "documents/x", "r/x"])
def test_a_place_that_is_like_none_gets_the_layout_and_no_guess(place: str) -> None:
    with pytest.raises(TransferError, match="Allowed: a name below raw/, processed/, models/,") as refused:
        checked_destination(place)
    assert "nearest" not in str(refused.value), "files would be sent where nobody meant them to go"


@pytest.mark.parametrize("place", ["", "/", "/raw/x", "raw/../x", "s3://lake/raw/x", "raw//x", "raw/\n"])
def test_what_is_no_place_is_refused(place: str) -> None:
    with pytest.raises(TransferError):
        checked_destination(place)


@pytest.mark.parametrize(
    ("key", "word"),
    [
        ("raw/" + "é" * 511, "1026 bytes"),
        ("raw/\udcff", "UTF-8"),
        ("raw/a\nb", "control"),
        ("raw/./a", ". or .."),
    ],
)
def test_names_that_s3_cannot_hold_are_refused_before_anything_is_sent(key: str, word: str) -> None:
    assert word in key_fault(key)
    assert not key_fault("raw/" + "é" * 510)


def test_links_are_followed_and_loops_are_not(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "f00").write_bytes(b"weights")
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    (snapshot / "model.bin").symlink_to("../blobs/f00")
    (snapshot / "again").symlink_to("../blobs")
    (snapshot / "loop").symlink_to("..")
    (snapshot / "self").symlink_to("self")
    tree = read_tree(snapshot, "models/onnx/")
    assert {file.key for file in tree.files} == {
        "models/onnx/model.bin",
        "models/onnx/again/f00",
        "models/onnx/loop/blobs/f00",
    }, "a model cache is made of links, and would arrive empty"
    reasons = dict(tree.failures)
    assert "a loop" in reasons[str(snapshot / "loop" / "snapshot")]
    assert str(snapshot / "self") in reasons


def test_two_ways_to_write_an_accent_are_one_key_and_never_two_files(tmp_path: Path) -> None:
    (tmp_path / "e\u0301.txt").write_bytes(b"decomposed")
    assert [file.key for file in read_tree(tmp_path, "raw").files] == ["raw/\u00e9.txt"]
    (tmp_path / "\u00e9.txt").write_bytes(b"composed")
    (tmp_path / "a").write_bytes(b"a")
    tree = read_tree(tmp_path, "raw")
    assert [file.key for file in tree.files] == ["raw/a"], "one file would silently replace the other"
    assert "rename one" in tree.failures[0][1]


def test_what_is_no_file_or_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "ok").write_bytes(b"x")
    bad = os.path.join(os.fsencode(tmp_path), b"bad\xff")
    with open(bad, "wb"):
        pass
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "secret" not in str(path) and may(path, mode))
    tree = read_tree(tmp_path, "raw")
    assert [file.key for file in tree.files] == ["raw/ok"]
    reasons = sorted(reason for _, reason in tree.failures)
    assert reasons[0] == "it is neither a file nor a folder"
    assert reasons[1] == "it may not be read"
    assert reasons[2].startswith("its name is not UTF-8")


def test_a_source_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="is not there"):
        read_tree(tmp_path / "gone", "raw/")


def test_a_checksum_of_the_whole_tells_and_one_of_parts_does_not(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"123456789")
    # The check value of this CRC, from the catalogue of parametrised CRC algorithms: cbf43926.
    assert crc32_text(b"123456789") == base64.b64encode(bytes.fromhex("cbf43926")).decode()
    same = {"ChecksumCRC32": crc32_text(b"123456789"), "ChecksumType": "FULL_OBJECT"}
    assert holds_same_bytes(str(path), same) is True
    assert holds_same_bytes(str(path), same | {"ChecksumCRC32": "AAAAAA=="}) is False
    assert holds_same_bytes(str(path), same | {"ChecksumType": "COMPOSITE"}) is None
    assert holds_same_bytes(str(path), {"ChecksumCRC32": same["ChecksumCRC32"] + "-3"}) is None
    assert holds_same_bytes(str(path), {"ETag": '"25f9e794323b453885f5181f1b624d0b"'}) is None
    sha = base64.b64encode(hashlib.sha256(b"123456789").digest()).decode()
    assert holds_same_bytes(str(path), {"ChecksumSHA256": sha}) is True


@pytest.mark.parametrize(
    ("text", "length"), [("500", 500), ("64M", 64 * MIB), ("1.5GiB", 3 * GIB // 2), ("5 kb", 5120)]
)
def test_lengths_are_read_as_people_write_them(text: str, length: int) -> None:
    assert size(text) == length
