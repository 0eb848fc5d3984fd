import json
from collections.abc import Callable
from typing import Any

import boto3
import pulumi_aws as aws
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from components.aws_account import AwsAccount
from components.config import PlatformConfig
from components.iam import trust_policy
from components.network import Network, NetworkArgs
from components.shared_files import SharedFiles, SharedFilesArgs
from ops.capture.computed import Computed
from ops.capture.program import PROJECT_ROOT, record_program
from ops.capture.recording import RecordedResource, Recording
from ops.capture.stack_files import load_stack_config

ACCESS_POINT = "aws:efs/accessPoint:AccessPoint"
BACKUP = "aws:efs/backupPolicy:BackupPolicy"
FILE_SYSTEM = "aws:efs/fileSystem:FileSystem"
FILE_SYSTEM_POLICY = "aws:efs/fileSystemPolicy:FileSystemPolicy"
INGRESS_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
MOUNT_TARGET = "aws:efs/mountTarget:MountTarget"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"

FILE_SYSTEM_ARN = "arn:aws:elasticfilesystem:eu-central-1:111122223333:file-system/fs-0a1b2c3d4e5f60718"
FIELD_VALUES = Computed(resources={FILE_SYSTEM: {"id": "fs-0a1b2c3d4e5f60718", "arn": FILE_SYSTEM_ARN}})
PROTECTED = {"protectData": True, "allowedAccountIds": ["111122223333"]}
SUBNET_ZONES = {"subnet-a1": "eu-central-1a", "subnet-a2": "eu-central-1a", "subnet-b1": "eu-central-1b"}
EXISTING = {
    "availabilityZones": [],
    "existingVpcId": "vpc-0123456789abcdef0",
    "existingVpcCidr": "10.60.0.0/16",
    "existingSubnets": [
        {"id": subnet_id, "zone": zone, "tier": "private"} for subnet_id, zone in SUBNET_ZONES.items()
    ],
}

Register = Callable[..., Recording]


def build() -> None:
    config = PlatformConfig.load()
    account = AwsAccount.connect(config)
    network_args = NetworkArgs(
        config=config.network, region=account.region, asleep=config.general.asleep, log_retention_days=7
    )
    network = Network("network", network_args, account.options)
    args = SharedFilesArgs(config=config.shared_files, network=network, protect=config.general.protect_data)
    shared_files = SharedFiles("shared-files", args, account.options)
    role = aws.iam.Role("nodes", assume_role_policy=trust_policy("ec2.amazonaws.com"), opts=account.options)
    shared_files.grant_mount(role, "sg-0123456789abcdef0")


@pytest.fixture(scope="module")
def built() -> Recording:
    """The shared files of the dev stack, with the values of the field cases."""
    return record_program(build, load_stack_config(PROJECT_ROOT, "dev"), "dev", computed=FIELD_VALUES)


def resource_id(resource: RecordedResource) -> str:
    """The id, which is how its ARN ends."""
    return resource.outputs["arn"].rpartition("/")[2]


def mount_in_moto(subnets: list[str]) -> None:
    """Makes one mount target in each of `subnets`, in a made-up account with the same zones."""
    with mock_aws():
        ec2 = boto3.client("ec2", region_name="eu-central-1")
        efs = boto3.client("efs", region_name="eu-central-1")
        vpc_id = ec2.create_vpc(CidrBlock="10.20.0.0/16")["Vpc"]["VpcId"]
        made = {
            subnet_id: ec2.create_subnet(
                VpcId=vpc_id, AvailabilityZone=zone, CidrBlock=f"10.20.{place}.0/24"
            )["Subnet"]["SubnetId"]
            for place, (subnet_id, zone) in enumerate(SUBNET_ZONES.items())
        }
        file_system_id = efs.create_file_system(CreationToken="shared")["FileSystemId"]
        for subnet_id in subnets:
            efs.create_mount_target(FileSystemId=file_system_id, SubnetId=made[subnet_id])


def test_files_are_encrypted(built: Recording) -> None:
    assert built.one(FILE_SYSTEM).inputs["encrypted"] is True, "data sets would lie in clear"


def test_throughput_follows_the_load(built: Recording) -> None:
    assert built.one(FILE_SYSTEM).inputs["throughputMode"] == "elastic", (
        "a nearly empty file system would be too slow for a checkpoint within the spot notice"
    )


def test_files_that_nobody_opens_move_to_cheaper_storage_and_back(built: Recording) -> None:
    assert built.one(FILE_SYSTEM).inputs["lifecyclePolicies"] == [
        {"transitionToIa": "AFTER_30_DAYS"},
        {"transitionToPrimaryStorageClass": "AFTER_1_ACCESS"},
    ], "EFS takes one transition in each object"


def test_clients_without_tls_or_without_a_role_are_kept_out(built: Recording) -> None:
    inputs = built.one(FILE_SYSTEM_POLICY).inputs
    assert inputs["fileSystemId"] == "fs-0a1b2c3d4e5f60718"
    statements = json.loads(inputs["policy"])["Statement"]
    assert not [item for item in statements if item["Effect"] != "Deny"], (
        "what the policy allows, it allows to clients that never showed a role"
    )
    [statement] = statements
    assert statement["Principal"] == {"AWS": "*"}
    assert statement["Resource"] == FILE_SYSTEM_ARN
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}, (
        "files could cross the network in clear"
    )
    assert set(statement["Action"]) == {
        "elasticfilesystem:ClientMount",
        "elasticfilesystem:ClientWrite",
        "elasticfilesystem:ClientRootAccess",
    }


def test_an_existing_vpc_with_two_subnets_in_a_zone_gets_one_mount_target_a_zone(register: Register) -> None:
    targets = register(build, changes=EXISTING).of_type(MOUNT_TARGET)
    zones = [SUBNET_ZONES[target.inputs["subnetId"]] for target in targets]
    assert sorted(zones) == ["eu-central-1a", "eu-central-1b"], (
        "EFS refuses a second one in a zone, and nodes in a zone without one cannot mount"
    )
    mount_in_moto([target.inputs["subnetId"] for target in targets])


def test_the_replay_would_notice_a_second_mount_target_in_a_zone() -> None:
    with pytest.raises(ClientError, match="MountTargetConflict"):
        mount_in_moto(list(SUBNET_ZONES))


def test_mount_targets_are_in_the_private_subnet_of_every_zone(built: Recording) -> None:
    recording = built
    private = {
        resource_id(item) for item in recording.of_type("aws:ec2/subnet:Subnet") if "-private-" in item.name
    }
    targets = recording.of_type(MOUNT_TARGET)
    assert {target.inputs["subnetId"] for target in targets} == private
    assert [target.name for target in targets] == [
        "shared-files-eu-central-1a",
        "shared-files-eu-central-1b",
    ], "named by position, another order of zones would replace them all"


def test_mount_targets_do_not_join_the_default_security_group(built: Recording) -> None:
    recording = built
    group = recording.one(SECURITY_GROUP)
    for target in recording.of_type(MOUNT_TARGET):
        assert target.inputs["securityGroups"] == [resource_id(group)], "mounts would hang"


def test_only_granted_security_groups_reach_the_files(built: Recording) -> None:
    recording = built
    group, rule = recording.one(SECURITY_GROUP), recording.one(INGRESS_RULE)
    assert "ingress" not in group.inputs, "rules beside the granted ones would let others in"
    assert rule.inputs == {
        "securityGroupId": resource_id(group),
        "description": "NFS for nodes",
        "referencedSecurityGroupId": "sg-0123456789abcdef0",
        "ipProtocol": "tcp",
        "fromPort": 2049,
        "toPort": 2049,
    }, "the files would be open to addresses rather than to granted clients"


def test_a_granted_role_mounts_through_the_access_points_only(built: Recording) -> None:
    recording = built
    policy = recording.one("aws:iam/rolePolicy:RolePolicy", "shared-files-mount-nodes").inputs
    assert policy["role"] == recording.one("aws:iam/role:Role").outputs["name"]
    points = [item.outputs["arn"] for item in recording.of_type(ACCESS_POINT)]
    [statement] = json.loads(policy["policy"])["Statement"]
    assert statement["Action"] == ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"], (
        "a node could act as root on everybody's files"
    )
    assert statement["Resource"] == [FILE_SYSTEM_ARN]
    condition = statement["Condition"]["StringEquals"]["elasticfilesystem:AccessPointArn"]
    assert sorted(condition) == sorted(points), "a node could mount the whole file system"


def test_each_folder_is_made_at_its_first_mount_for_one_user(built: Recording) -> None:
    recording = built
    points = {item.inputs["rootDirectory"]["path"]: item.inputs for item in recording.of_type(ACCESS_POINT)}
    assert set(points) == {"/datasets", "/checkpoints", "/cache"}
    for path, inputs in points.items():
        assert inputs["posixUser"] == {"uid": 1000, "gid": 1000}, (
            f"{path}: jobs could not read each other's files"
        )
        assert inputs["rootDirectory"]["creationInfo"] == {
            "ownerUid": 1000,
            "ownerGid": 1000,
            "permissions": "0775",
        }, f"{path} would not exist, and every mount of it fail"


@pytest.mark.parametrize(("backup", "status"), [(True, "ENABLED"), (False, "DISABLED")])
def test_backup_is_a_choice(register: Register, backup: bool, status: str) -> None:
    inputs = register(build, changes={"efsBackup": backup}).one(BACKUP).inputs
    assert inputs["backupPolicy"] == {"status": status}


def test_a_protected_file_system_survives_with_its_policy(register: Register) -> None:
    recording = register(build, changes=PROTECTED)
    file_system = recording.one(FILE_SYSTEM)
    assert file_system.protect, "destroy would take the checkpoints"
    assert file_system.retain_on_delete, "removing the files from the program would delete them"
    for setting in (FILE_SYSTEM_POLICY, BACKUP):
        assert recording.one(setting).retain_on_delete, (
            "without its policy anybody in the network could mount it"
        )


def test_files_that_are_not_protected_can_be_destroyed(built: Recording) -> None:
    kept = [item.name for item in built.resources if item.protect or item.retain_on_delete]
    assert not kept, "a stack for trying things out could not be taken down"


def test_a_sleeping_stack_keeps_its_files_where_they_are(register: Register) -> None:
    awake = register(build, changes={"natGateways": "single"})
    asleep = register(build, changes={"natGateways": "single", "asleep": True})
    for type_token in (FILE_SYSTEM, MOUNT_TARGET, ACCESS_POINT):
        assert [item.inputs for item in asleep.of_type(type_token)] == [
            item.inputs for item in awake.of_type(type_token)
        ], "waking up would replace what holds data"


@pytest.mark.parametrize("answers", [{"preview": True}, {"computed": Computed(empty=True)}])
def test_what_is_not_known_yet_changes_no_resource(built: Recording, answers: dict[str, Any]) -> None:
    early = record_program(build, load_stack_config(PROJECT_ROOT, "dev"), "dev", **answers)
    assert {item.urn for item in early.resources} == {item.urn for item in built.resources}, (
        "a preview would hide resources"
    )
