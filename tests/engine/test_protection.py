"""What a stack's protection keeps: the recording lists it, destroy refuses it, and a change cannot take it away."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from recordings import recorded
from tests.engine.engine import Engine
from tests.engine.events import Result
from tests.engine.life import Life

BUCKET = "aws:s3/bucket:Bucket"
REPOSITORY = "aws:ecr/repository:Repository"

# What holds data or cannot be had again as it was: written down here, so that nobody drops one unnoticed.
PROTECTED = {
    (BUCKET, "data-lake-bucket"),
    ("aws:efs/fileSystem:FileSystem", "shared-files-files"),
    ("aws:opensearch/serverlessCollection:ServerlessCollection", "vector-store-collection"),
    ("aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup", "vector-store-group"),
    ("aws:opensearch/serverlessSecurityPolicy:ServerlessSecurityPolicy", "vector-store-encryption"),
    (REPOSITORY, "rag-build-repository"),
}
PROTECTION = {"protectData": True, "allowedAccountIds": ["111122223333"]}


@pytest.fixture(scope="module")
def protected_dev(pulumi: Path) -> Generator[Engine]:
    """The dev stack, deployed with protection."""
    with Engine(pulumi, "dev", PROTECTION) as engine:
        engine.up()
        yield engine


def test_prod_protects_what_holds_data(lives: dict[str, Life]) -> None:
    on_engine = {
        (item["type"], item["urn"].rpartition("::")[2])
        for item in lives["prod"].resources
        if item.get("protect")
    }
    assert on_engine == PROTECTED
    assert on_engine == {(item.type, item.name) for item in recorded("prod").resources if item.protect}


def test_what_the_recording_retains_is_what_remains(life: Life) -> None:
    retained = {(item.type, item.name) for item in recorded(life.stack).resources if item.retain_on_delete}
    assert {(item.type, item.name) for item in life.left} == retained, "the preview lists something else"
    assert bool(retained) is (life.stack == "prod"), "dev and staging shall leave nothing that is billed"


def test_what_is_protected_is_kept_even_after_it_was_unprotected(lives: dict[str, Life]) -> None:
    assert {(item.type, item.name) for item in lives["prod"].left} >= PROTECTED


def test_a_protected_stack_refuses_to_be_destroyed(lives: dict[str, Life]) -> None:
    prod = lives["prod"]
    assert not prod.destroy.ok
    assert "data-lake-bucket" in prod.destroy.output, "nobody is told what stands in the way"
    made = {(item.type, item.name) for item in recorded("prod").resources if item.type.startswith("aws:")}
    assert made <= {(item.type, item.name) for item in prod.kept}, "a refusal came too late"


def test_a_workload_left_out_does_not_take_its_protected_data_along(protected_dev: Engine) -> None:
    before = list(protected_dev.account)
    protected_dev.configure({"ragService": False})
    refused = protected_dev.up()
    protected_dev.configure({"ragService": None})
    assert not refused.ok
    assert "rag-build-repository" in refused.output
    assert protected_dev.account.one(REPOSITORY) in before, "images that run would be gone"


def test_a_lake_with_documents_outlives_a_destroy_by_mistake(engine: Callable[..., Engine]) -> None:
    with engine("dev") as dev:
        dev.up()
        dev.account.add_object("raw/pdfs/a.pdf")
        destroyed: Result = dev.destroy()
        assert not destroyed.ok
        assert dev.account.one(BUCKET).objects == ["raw/pdfs/a.pdf"], "documents are gone with one command"
