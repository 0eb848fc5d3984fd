"""What ingestion relies on S3 for, against moto's S3 as well as the stand-in in memory."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from ingestion.bucket import ArchivedError, Bucket, ConflictError
from ingestion.claims import BusyError, Claims
from ingestion.manifest import Manifest, ManifestError, Superseded
from ingestion.store import DocumentStore, chunks_key, claim_key, pack, part_key, unpack
from rag.errors import UnavailableError
from tests.lambda_src.ingestion_fakes import MemoryS3

KEY = "raw/Ä b+c%20.txt"
REVISION = "0123456789ab"
MANIFEST = Manifest(
    document_key=KEY, document_etag='"e"', fingerprint="f", state="indexed", revision=REVISION, model_id="m",
    dimensions=256, index="documents-1", chunks=5, parts=3, chunks_per_part=2, chunk_ids=("a", "b"),
    superseded=(Superseded(revision="ba9876543210", chunks=1, parts=1, chunk_ids=("c",)),),
)  # fmt: skip


@pytest.fixture(params=["moto", "moto, versioned", "memory"])
def s3(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    if request.param == "memory":
        yield MemoryS3()
        return
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="lake")
        if "versioned" in request.param:
            client.put_bucket_versioning(Bucket="lake", VersioningConfiguration={"Status": "Enabled"})
        yield client


@pytest.fixture
def bucket(s3: Any) -> Bucket:
    return Bucket(s3, "lake")


@pytest.fixture
def store(bucket: Bucket) -> DocumentStore:
    return DocumentStore(bucket)


def test_what_is_written_is_read_and_what_is_missing_is_none(bucket: Bucket) -> None:
    etag = bucket.write(KEY, b"text")
    assert bucket.read(KEY) == (b"text", etag)
    assert (bucket.head(KEY) or {})["ETag"] == etag
    bucket.delete([KEY, "raw/never there.txt"])
    assert bucket.read(KEY) is None, "a delete marker counts as a document"
    assert bucket.head(KEY) is None


def test_of_two_that_create_an_object_one_learns_that_it_came_second(bucket: Bucket) -> None:
    bucket.create(KEY, b"first")
    with pytest.raises(ConflictError):
        bucket.create(KEY, b"second")
    assert (bucket.read(KEY) or (b"",))[0] == b"first"


def test_an_object_that_was_deleted_can_be_created_again(bucket: Bucket) -> None:
    bucket.create(KEY, b"first")
    bucket.delete([KEY])
    bucket.create(KEY, b"second")
    assert (bucket.read(KEY) or (b"",))[0] == b"second"


def test_an_object_is_replaced_only_in_the_state_that_was_read(bucket: Bucket) -> None:
    old = bucket.create(KEY, b"first")
    new = bucket.replace(KEY, b"second", old)
    assert new != old
    with pytest.raises(ConflictError):
        bucket.replace(KEY, b"third", old)
    with pytest.raises(ConflictError):
        bucket.replace("raw/never there.txt", b"x", old)


def test_an_object_is_deleted_only_in_the_state_that_was_read(bucket: Bucket) -> None:
    old = bucket.create(KEY, b"first")
    new = bucket.replace(KEY, b"second", old)
    with pytest.raises(ConflictError):
        bucket.delete_version(KEY, old)
    bucket.delete_version(KEY, new)
    with pytest.raises(ConflictError):
        bucket.delete_version(KEY, new)


def test_listings_go_through_all_pages_and_one_level(bucket: Bucket) -> None:
    for number in range(8):
        bucket.write(f"p/{number}.txt", b"x")
        bucket.write(f"p/f{number}/inner.txt", b"x")
    assert bucket.keys("p/") == [f"p/{number}.txt" for number in range(8)]
    assert bucket.folders("p/") == [f"f{number}" for number in range(8)]


def test_more_objects_than_one_call_takes_are_deleted(bucket: Bucket) -> None:
    names = [f"p/{number}\x01" for number in range(2)]
    if isinstance(bucket._s3, MemoryS3):
        names += [f"p/{number}" for number in range(1500)]
    for name in names:
        bucket.write(name, b"")
    bucket.delete(names)
    assert not any(bucket.read(name) for name in names)


def test_objects_that_were_not_deleted_are_an_error() -> None:
    class Refusing(MemoryS3):
        def delete_objects(self, **arguments: Any) -> dict[str, Any]:
            return {"Errors": [{"Key": "a", "Code": "InternalError"}]}

    with pytest.raises(UnavailableError, match="1 objects were not deleted: InternalError"):
        Bucket(Refusing(), "lake").delete(["a"])


def test_an_archived_object_is_told_from_a_missing_one() -> None:
    s3 = MemoryS3()
    s3.objects["a"] = b""
    s3.archived.add("a")
    with pytest.raises(ArchivedError):
        Bucket(s3, "lake").read("a")


def test_a_manifest_is_read_as_it_was_written(store: DocumentStore) -> None:
    written = store.write_manifest(MANIFEST, None)
    assert store.read_manifest(KEY) == written
    with pytest.raises(ConflictError):
        store.write_manifest(MANIFEST, None)
    again = store.write_manifest(written, written)
    store.delete_manifest(again)
    assert store.read_manifest(KEY) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"chunk_ids": [], "superseded": [{}]}', b"\xff"])
def test_a_damaged_manifest_says_what_to_do(content: bytes) -> None:
    with pytest.raises(ManifestError, match="delete the manifest object"):
        Manifest.from_json(content, '"e"')


def test_the_objects_of_a_document_are_told_from_those_of_one_below_its_name(store: DocumentStore) -> None:
    below = f"{KEY}/{REVISION}/x.txt"
    for key in (KEY, below):
        store.write_chunks(key, REVISION, [{"text": "a"}])
        store.bucket.write(part_key(key, REVISION, 0), pack([{"id": "1"}]))
        store.bucket.write(claim_key(key, REVISION, 1), b"{}")
        store.bucket.write(store.mark_key(key, "aaaaaaaaaaaa"), b"{}")
    found = [(one.revision, one.part, one.is_claim) for one in store.part_objects(KEY)]
    assert sorted(found) == [(REVISION, 0, False), (REVISION, 1, True)], (
        "another document would lose its rows"
    )
    assert store.done_parts(KEY, REVISION) == {0}
    assert store.chunks_revisions(KEY) == [REVISION]
    assert store.marks(KEY) == [f"processed/embeddings/{KEY}/aaaaaaaaaaaa.mark"]
    assert store.read_chunks(KEY, REVISION) == [{"text": "a"}]
    assert store.has_chunks(KEY, REVISION) and not store.has_chunks(KEY, "ba9876543210")
    assert store.bucket.keys(f"processed/chunks/{KEY}/") == [chunks_key(KEY, REVISION)]


def test_the_same_rows_make_the_same_bytes() -> None:
    rows = [{"text": "a\ud800\n\u2028", "page": None}, {"text": "b", "page": 1}]
    assert pack(rows) == pack(rows)
    assert unpack(pack(rows)) == rows, "a line ends within a text"


def claims(store: DocumentStore, now: list[float], left: float = 300) -> Claims:
    return Claims(store=store, generation="CLASSIC", clock=lambda: now[0], remaining_seconds=lambda: left)


def test_a_claim_keeps_others_away_until_its_run_is_over_for_certain(store: DocumentStore) -> None:
    now = [1000.0]
    first, follows = claims(store, now).take(MANIFEST, 1)
    assert not follows
    assert first.numbers == range(2, 4)
    now[0] += 300
    with pytest.raises(BusyError):
        claims(store, now).take(MANIFEST, 1)
    now[0] += 120
    second, follows = claims(store, now).take(MANIFEST, 1)
    assert follows, "what the first run left is not cleared away"
    assert second.run != first.run


def test_a_dropped_claim_leaves_nothing(store: DocumentStore) -> None:
    now = [1000.0]
    claim, _ = claims(store, now).take(MANIFEST, 0)
    claims(store, now).drop(claim)
    assert claims(store, now).read(KEY, REVISION, 0) is None


def test_a_run_that_ends_with_an_error_shortens_its_claim(store: DocumentStore) -> None:
    now = [1000.0]
    claim, _ = claims(store, now, left=800).take(MANIFEST, 0)
    claims(store, now).break_off(claim)
    now[0] += 121
    assert claims(store, now).take(MANIFEST, 0)[1]


def test_a_claim_whose_reply_was_lost_is_ones_own() -> None:
    class Forgetful(MemoryS3):
        def put_object(self, **arguments: Any) -> dict[str, str]:
            super().put_object(**arguments)
            # botocore repeats a call without a reply, and the repetition meets what the first one wrote.
            return super().put_object(**arguments)

    now = [1000.0]
    claim, _ = claims(DocumentStore(Bucket(Forgetful(), "lake")), now).take(MANIFEST, 0)
    assert claim.version, "the run would wait for itself"
