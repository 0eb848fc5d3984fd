"""Former URNs as the engine works them out: from an alias, from a parent's, and from both."""

import pytest
from pulumi.runtime.proto.alias_pb2 import Alias

from ops.capture.aliases import former_urns

ROOT = "urn:pulumi:dev::p::"
COMPONENT = f"{ROOT}p:index:New::new"
FILES = f"{ROOT}p:index:New$aws:efs/fileSystem:FileSystem::new-files"
KNOWN = {COMPONENT: (f"{ROOT}p:index:Old::old",)}
INHERITED = f"{ROOT}p:index:Old$aws:efs/fileSystem:FileSystem::old-files"


@pytest.mark.parametrize(
    ("aliases", "expected"),
    [
        ([], [INHERITED]),
        ([Alias(urn="urn:whole")], ["urn:whole", INHERITED]),
        ([Alias()], [INHERITED]),
        ([Alias(spec=Alias.Spec(noParent=True))], [INHERITED, f"{ROOT}aws:efs/fileSystem:FileSystem::new-files"]),
        (
            [Alias(spec=Alias.Spec(type="aws:efs/disk:Disk", name="disk"))],
            [INHERITED, f"{ROOT}p:index:New$aws:efs/disk:Disk::disk", f"{ROOT}p:index:Old$aws:efs/disk:Disk::disk"],
        ),
        (
            [Alias(spec=Alias.Spec(parentUrn=f"{ROOT}p:index:A$p:index:B::b"))],
            [INHERITED, f"{ROOT}p:index:A$p:index:B$aws:efs/fileSystem:FileSystem::new-files"],
        ),
        (
            [Alias(spec=Alias.Spec(project="q", stack="qa", noParent=True))],
            [INHERITED, "urn:pulumi:qa::q::aws:efs/fileSystem:FileSystem::new-files"],
        ),
    ],
)  # fmt: skip
def test_every_urn_that_a_resource_may_have_had(aliases: list[Alias], expected: list[str]) -> None:
    assert list(former_urns(FILES, COMPONENT, aliases, KNOWN)) == expected


def test_a_resource_without_a_past_has_none() -> None:
    assert former_urns(FILES, COMPONENT, (), {}) == ()
