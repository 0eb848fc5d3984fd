"""The shared file system: datasets, checkpoints and the model cache, the same on every node and in every container."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.config_sections import SharedFilesConfig
from components.iam import allow, document, grant
from components.network import Network

FOLDERS = ("datasets", "checkpoints", "cache")
NFS_PORT = 2049
# Everybody who mounts through an access point is this user, whoever runs the container.
USER_ID = 1000
FOLDER_PERMISSIONS = "0775"

MOUNT_ACTIONS = ("elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite")
CLIENT_ACTIONS = (*MOUNT_ACTIONS, "elasticfilesystem:ClientRootAccess")


@dataclass(frozen=True, kw_only=True)
class SharedFilesArgs:
    config: SharedFilesConfig
    network: Network
    protect: bool


class SharedFiles(pulumi.ComponentResource):
    """An encrypted file system that only granted roles can mount, over TLS, from granted security groups.

    It has one mount target in every zone of the network and one access point for each of its folders. With `protect`
    the file system survives destroy, and its policy stays with it.
    """

    file_system_id: pulumi.Output[str]
    file_system_arn: pulumi.Output[str]
    access_points: dict[str, aws.efs.AccessPoint]
    mount_targets: list[aws.efs.MountTarget]

    def __init__(self, name: str, args: SharedFilesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("aiplatform:index:SharedFiles", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        # A kept file system without its policy would let anybody who reaches it mount it.
        settings = pulumi.ResourceOptions(parent=self, retain_on_delete=args.protect)

        file_system = aws.efs.FileSystem(
            f"{name}-files",
            encrypted=True,
            throughput_mode="elastic",
            # One transition an object: the EFS API refuses both in one.
            lifecycle_policies=[
                {"transition_to_ia": "AFTER_30_DAYS"},
                {"transition_to_primary_storage_class": "AFTER_1_ACCESS"},
            ],
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect, retain_on_delete=args.protect),
        )
        self.file_system_id = file_system.id
        self.file_system_arn = file_system.arn

        aws.efs.FileSystemPolicy(
            f"{name}-policy",
            file_system_id=self.file_system_id,
            policy=pulumi.Output.json_dumps(tls_only_policy(self.file_system_arn)),
            opts=settings,
        )
        aws.efs.BackupPolicy(
            f"{name}-backup",
            file_system_id=self.file_system_id,
            backup_policy={"status": "ENABLED" if args.config.backup else "DISABLED"},
            opts=settings,
        )

        self._security_group = aws.ec2.SecurityGroup(
            f"{name}-mount-targets",
            description="NFS from granted clients",
            vpc_id=args.network.vpc_id,
            opts=child,
        )
        self.mount_targets = [
            self._mount_target(f"{name}-{zone}", subnet_id)
            for zone, subnet_id in args.network.mount_subnets.items()
        ]
        self.access_points = {folder: self._access_point(f"{name}-{folder}", folder) for folder in FOLDERS}
        self.register_outputs(
            {"file_system_id": self.file_system_id, "file_system_arn": self.file_system_arn}
        )

    def grant_mount(self, role: aws.iam.Role, security_group_id: pulumi.Input[str]) -> None:
        """Lets `role` mount the access points and write there, from members of the security group."""
        points = [point.arn for point in self.access_points.values()]
        condition = {"StringEquals": {"elasticfilesystem:AccessPointArn": points}}
        grant(self, "mount", role, [allow(MOUNT_ACTIONS, [self.file_system_arn], condition)])
        aws.vpc.SecurityGroupIngressRule(
            f"{self.pulumi_resource_name}-mount-{role.pulumi_resource_name}",
            security_group_id=self._security_group.id,
            description=f"NFS for {role.pulumi_resource_name}",
            referenced_security_group_id=security_group_id,
            ip_protocol="tcp",
            from_port=NFS_PORT,
            to_port=NFS_PORT,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _mount_target(self, name: str, subnet_id: pulumi.Input[str]) -> aws.efs.MountTarget:
        return aws.efs.MountTarget(
            name,
            file_system_id=self.file_system_id,
            subnet_id=subnet_id,
            security_groups=[self._security_group.id],
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _access_point(self, name: str, folder: str) -> aws.efs.AccessPoint:
        return aws.efs.AccessPoint(
            name,
            file_system_id=self.file_system_id,
            posix_user={"uid": USER_ID, "gid": USER_ID},
            root_directory={
                "path": f"/{folder}",
                # Without these EFS makes no folder, and every mount fails.
                "creation_info": {
                    "owner_uid": USER_ID,
                    "owner_gid": USER_ID,
                    "permissions": FOLDER_PERMISSIONS,
                },
            },
            opts=pulumi.ResourceOptions(parent=self),
        )


def tls_only_policy(file_system_arn: pulumi.Input[str]) -> dict[str, Any]:
    """Refuses clients without TLS, and allows nothing, so that only a role with a grant of its own gets in.

    Without any policy EFS lets every client mount that reaches a mount target; a policy replaces that rule.
    https://docs.aws.amazon.com/efs/latest/ug/iam-access-control-nfs-efs.html
    """
    statement = {
        "Sid": "DenyWithoutTls",
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": list(CLIENT_ACTIONS),
        "Resource": file_system_arn,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return document([statement])
