"""A change that costs data is told between two versions of the program."""

from ops.capture.recording import Recording
from policies.data import DATA_HOLDING, data_findings
from policies.storage import FILE_SYSTEM
from tests.policies.planting import changed, gone, options


def _renamed(recording: Recording, **more: object) -> Recording:
    system = recording.one(FILE_SYSTEM)
    return changed(
        recording, FILE_SYSTEM, system.name, options(name="files", urn=f"{system.urn}-new", **more)
    )


def test_a_change_of_nothing_is_no_finding(prod: Recording) -> None:
    assert data_findings(prod, prod, {}) == []


def test_a_renamed_file_system_is_a_finding(dev: Recording) -> None:
    (item,) = data_findings(dev, _renamed(dev), {})
    assert (
        item.name == "shared-files-files" and "is removed or renamed, and with it its files" in item.message
    )
    assert "aliases" in item.fix, "nobody would learn how to rename without losing it"


def test_an_alias_keeps_a_renamed_file_system(dev: Recording) -> None:
    kept = _renamed(dev, aliases=(dev.one(FILE_SYSTEM).urn,))
    assert data_findings(dev, kept, {}) == [], "the engine takes the new name for the old resource"


def test_protection_and_retention_change_what_happens(prod: Recording) -> None:
    (refused,) = data_findings(prod, changed(prod, FILE_SYSTEM, "shared-files-files", gone), {})
    assert "refuses" in refused.message
    loose = changed(prod, FILE_SYSTEM, "shared-files-files", options(protect=False))
    (left,) = data_findings(loose, changed(loose, FILE_SYSTEM, "shared-files-files", gone), {})
    assert "stays in AWS" in left.message


def test_a_replacement_names_the_property_and_the_loss(dev: Recording) -> None:
    replaced = {item.urn: ["kmsKeyId", "encrypted"] for item in dev.resources}
    found = data_findings(dev, dev, replaced)
    assert {item.name for item in found} == {
        item.name for item in dev.resources if item.type in DATA_HOLDING
    }, "only what holds data is judged"
    assert all("is replaced for encrypted, kmsKeyId, and with it" in item.message for item in found)


def test_every_protected_type_of_the_program_holds_data_or_belongs_to_what_does(prod: Recording) -> None:
    protected = {item.type for item in prod.resources if item.protect}
    beside = {
        "aws:opensearch/serverlessCollectionGroup:ServerlessCollectionGroup",
        "aws:opensearch/serverlessSecurityPolicy:ServerlessSecurityPolicy",
    }
    assert protected - beside == set(DATA_HOLDING), "a new thing that holds data would be replaced unseen"
