"""Which resource was which before: aliases as the engine works them out, and names that go over."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pulumi
import pulumi_aws as aws
import pytest

from ops.capture.program import PROJECT_ROOT, record_program
from ops.capture.recording import Recording
from ops.capture.stack_files import load_stack_config
from ops.diff.comparison import compared
from ops.diff.matching import SHORTEST_IDENTITY, former_urns, identities, names_in
from ops.diff.sections import sections
from ops.diff.successors import successor_of
from policies.storage import BUCKET, FILE_SYSTEM

ACCESS_POINT = "aws:efs/accessPoint:AccessPoint"
ROLE = "aws:iam/role:Role"
OLD_URN = "urn:pulumi:dev::ai-platform::aiplatform:index:Files$aws:efs/fileSystem:FileSystem::old-files"
Aliases = Sequence[pulumi.Input[str | pulumi.Alias]] | None


class Files(pulumi.ComponentResource):
    """A file system, who uses it, and what that one may do."""

    def __init__(self, name: str, files: str, aliases: Aliases, opts: pulumi.ResourceOptions) -> None:
        super().__init__("aiplatform:index:Files", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        system = aws.efs.FileSystem(
            f"{name}-{files}", encrypted=True, opts=pulumi.ResourceOptions(parent=self, aliases=aliases)
        )
        aws.efs.AccessPoint(f"{name}-point", file_system_id=system.id, opts=child)
        role = aws.iam.Role(f"{name}-role", assume_role_policy="{}", opts=child)
        statement = {"Effect": "Allow", "Action": "elasticfilesystem:ClientMount", "Resource": system.arn}
        policy = pulumi.Output.json_dumps({"Statement": [statement]})
        aws.iam.RolePolicy(f"{name}-policy", role=role.name, policy=policy, opts=child)
        self.register_outputs({})


def _recorded(name: str, files: str, of_component: Aliases = None, of_files: Aliases = None) -> Recording:
    def program() -> None:
        Files(name, files, of_files, pulumi.ResourceOptions(aliases=of_component))

    return record_program(program, load_stack_config(PROJECT_ROOT, "dev"), "dev")


@pytest.mark.parametrize(
    "head",
    [
        lambda: _recorded("old", "disk", None, [pulumi.Alias(name="old-files")]),
        lambda: _recorded("old", "disk", None, [OLD_URN]),
        lambda: _recorded("new", "files", [pulumi.Alias(name="old")]),
        lambda: _recorded("new", "disk", [pulumi.Alias(name="old")], [pulumi.Alias(name="new-files")]),
        lambda: _recorded("new", "disk", [pulumi.Alias(name="old")], [pulumi.Alias(name="old-files")]),
    ],
)
def test_what_an_alias_carries_over_changes_nothing(head: Callable[[], Recording]) -> None:
    found = compared(_recorded("old", "files"), head())
    assert found.renamed, "nobody would learn that it has another name now"
    assert not found.is_same
    assert not (found.added or found.removed or found.changed), "it keeps its name and id in AWS"
    assert not (found.data or found.replaced.because or found.permissions_gained or found.findings_new)


def test_an_alias_may_name_another_parent_or_none() -> None:
    def program(parent: pulumi.Input[str] | pulumi.Resource | None) -> Recording:
        def run() -> None:
            component = Files("old", "files", None, pulumi.ResourceOptions())
            given = component if parent is Files else parent
            aws.efs.FileSystem("moved", opts=pulumi.ResourceOptions(aliases=[pulumi.Alias(parent=given)]))

        return record_program(run, load_stack_config(PROJECT_ROOT, "dev"), "dev")

    chain = "urn:pulumi:dev::ai-platform::aiplatform:index:Files$aws:efs/fileSystem:FileSystem::moved"
    by_resource = program(Files)  # ty: ignore[invalid-argument-type]
    assert by_resource.one(FILE_SYSTEM, "moved").aliases == (chain,)
    by_urn = program("urn:pulumi:dev::ai-platform::aiplatform:index:Files::old")
    assert by_urn.one(FILE_SYSTEM, "moved").aliases == (chain,)
    assert program(None).one(FILE_SYSTEM, "moved").aliases == (), "it has no parent now either"


def test_without_an_alias_a_new_name_is_another_resource() -> None:
    found = compared(_recorded("old", "files"), _recorded("old", "disk"))
    assert [item.name for item in found.added] == ["old-disk"]
    assert [item.name for item in found.removed] == ["old-files"]
    assert {urn.rpartition("::")[2]: sorted(paths) for urn, paths in found.replaced.because.items()} == {
        "old-point": ["fileSystemId"]
    }
    (item,) = found.data
    assert item.message.startswith("old-files is removed or renamed")


def _boxed(box: str | None, files: str, aliases: Aliases = None) -> Recording:
    """A file system in one of two boxes, each of a type of its own, or in none."""

    def program() -> None:
        boxes = {name: pulumi.ComponentResource(f"tests:index:{name}", name) for name in ("first", "second")}
        options = pulumi.ResourceOptions(parent=boxes[box] if box else None, aliases=aliases)
        aws.efs.FileSystem(files, encrypted=True, opts=options)

    return record_program(program, load_stack_config(PROJECT_ROOT, "dev"), "dev")


@pytest.mark.parametrize(
    ("old", "new", "looks"),
    [
        (("first", "files"), ("second", "files"), "moved to second"),
        (("first", "files"), (None, "files"), "moved to the top of the program"),
        ((None, "files"), ("first", "files"), "moved to first"),
        (("first", "files"), ("first", "disk"), "like a rename to disk"),
        (("first", "files"), ("second", "disk"), "like a rename to disk"),
    ],
)
def test_the_alias_that_a_report_advises_keeps_the_data(
    old: tuple[str | None, str], new: tuple[str | None, str], looks: str
) -> None:
    found = compared(_boxed(*old), _boxed(*new))
    told = next(section for section in sections(found) if section.title == "DATA AT RISK")
    line = "".join(told.lines[0])
    advised = re.search(rf" It looks {looks}\. Fix: .*aliases=\[(.+)\] into the options of {new[1]}\.$", line)
    assert advised, line
    expression = advised[1].replace("pulumi.get_stack()", "'dev'")
    kept = compared(_boxed(*old), _boxed(*new, [eval(expression, {"pulumi": pulumi})]))
    assert kept.renamed and not kept.data and not kept.removed


def test_what_is_in_a_renamed_component_is_kept_by_an_alias_of_that() -> None:
    found = compared(_recorded("old", "files"), _recorded("new", "files"))
    advice = successor_of(found.data[0].urn, found)
    assert advice.startswith("It looks like a rename to new-files. ")
    assert 'aliases=[pulumi.Alias(name="old")] into the options of new' in advice


def test_of_two_that_it_might_be_none_is_advised() -> None:
    def program() -> None:
        for name in ("one", "other"):
            aws.efs.FileSystem(name, encrypted=True)

    head = record_program(program, load_stack_config(PROJECT_ROOT, "dev"), "dev")
    found = compared(_boxed(None, "files"), head)
    assert successor_of(found.data[0].urn, found) == ""


def test_one_old_name_is_taken_by_one_new_resource_only(dev: Recording) -> None:
    system = dev.one(FILE_SYSTEM)
    heirs = [
        replace(system, urn=f"{system.urn}-{number}", name=f"heir-{number}", aliases=(system.urn,))
        for number in (1, 2)
    ]
    head = replace(dev, resources=(*(item for item in dev.resources if item is not system), *heirs))
    assert former_urns(dev, head) == {heirs[0].urn: system.urn}


def test_an_alias_of_something_that_is_still_there_means_nothing(dev: Recording) -> None:
    bucket = dev.one(BUCKET)
    copy = replace(bucket, urn=f"{bucket.urn}-copy", aliases=(bucket.urn,))
    found = compared(dev, replace(dev, resources=(*dev.resources, copy)))
    assert not found.renamed
    assert [item.urn for item in found.added] == [copy.urn]


def test_an_alias_of_a_resource_that_has_a_past_of_its_own_saves_nothing(dev: Recording) -> None:
    lost, kept = dev.one(FILE_SYSTEM), dev.one(BUCKET)
    base = replace(dev, resources=(*dev.resources, replace(lost, urn=f"{lost.urn}-lost", name="lost")))
    head = replace(dev, resources=tuple(
        replace(item, aliases=(f"{lost.urn}-lost",)) if item is kept else item for item in dev.resources
    ))  # fmt: skip
    (item,) = compared(base, head).data
    assert item.name == "lost", "the engine finds the bucket by its own URN and deletes the file system"


def test_a_name_that_the_program_chose_is_no_identity(dev: Recording) -> None:
    system, cluster = dev.one(FILE_SYSTEM), dev.one("aws:ecs/cluster:Cluster")
    assert {"arn", "id", "name"} <= identities(system).keys()
    assert not identities(cluster), "it keeps its name, and with it its ARN, when it is replaced"
    task = dev.one("aws:ecs/taskDefinition:TaskDefinition")
    assert task.id not in identities(task).values(), "the family is given"
    assert "region" not in identities(dev.one(BUCKET)), (
        "whatever names the Region would seem to name the bucket"
    )


def test_no_name_is_so_short_that_any_number_might_be_it(platform: Recording) -> None:
    short = [text for text in names_in(platform) if len(text) < SHORTEST_IDENTITY]
    assert not short, "a memory of 1024 would be shown, and replaced, as something of revision 1"


def test_made_up_names_are_shown_by_the_names_of_the_program(dev: Recording) -> None:
    names = names_in(dev)
    assert names[dev.one(ACCESS_POINT, "shared-files-cache").outputs["arn"]] == "shared-files-cache"
    lengths = [len(text) for text in names]
    assert lengths == sorted(lengths, reverse=True), "a part of an ARN would be written over first"
