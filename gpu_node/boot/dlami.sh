#!/bin/bash
# Interactive training node on the AWS Deep Learning Base AMI (Ubuntu 24.04). It goes into service only when
# the shared files are mounted and the extra script has run; on any failure its launch is abandoned.
set -euo pipefail

SHARED_DATA=/mnt/shared-data
# Where the image mounts the local NVMe disks (DLAMI release notes, "nvme_location").
IMAGE_NVME=/opt/dlami/nvme
METADATA=http://169.254.169.254/latest
# AWS's own package for Ubuntu, which is in no Ubuntu archive (github.com/aws/efs-utils, INSTALL.md).
EFS_UTILS_INSTALLER=https://amazon-efs-utils.aws.com/efs-utils-installer.sh
MANAGER_SETTINGS=/etc/systemd/system.conf.d/ai-platform.conf
export DEBIAN_FRONTEND=noninteractive HF_HOME=$SHARED_DATA/cache

instance_id() {
  local token
  token=$(curl --fail --silent --show-error --max-time 5 --request PUT "$METADATA/api/token" \
    --header 'X-aws-ec2-metadata-token-ttl-seconds: 60') &&
    curl --fail --silent --show-error --max-time 5 "$METADATA/meta-data/instance-id" \
      --header "X-aws-ec2-metadata-token: $token"
}

complete_launch() {
  local id
  id=$(instance_id) && aws autoscaling complete-lifecycle-action --region "$AWS_REGION" \
    --auto-scaling-group-name "$AUTO_SCALING_GROUP_NAME" --lifecycle-hook-name "$LIFECYCLE_HOOK_NAME" \
    --instance-id "$id" --lifecycle-action-result "$1"
}

on_failure() { retry 'telling the launch lifecycle hook ABANDON' 5 complete_launch ABANDON; }

install_efs_utils() {
  local installer
  installer=$(mktemp) &&
    curl --fail --silent --show-error --location --proto '=https' --max-time 60 \
      --output "$installer" "$EFS_UTILS_INSTALLER" &&
    timeout --kill-after=10 300 sh "$installer" --install &&
    command -v mount.efs
}

mount_access_point() {
  local path=$SHARED_DATA/$1 options=tls,iam,_netdev,accesspoint=$2
  mkdir --parents "$path"
  # Without its mount the directory refuses every write, so nothing trains onto the root disk by mistake.
  chattr +i "$path"
  # The NFS client waits for ever for a mount target that it cannot reach.
  retry "mounting EFS $FILE_SYSTEM_ID ($2) at $path" 10 \
    timeout --kill-after=10 90 mount -t efs -o "$options" "$FILE_SYSTEM_ID:/" "$path"
  append_line /etc/fstab "$FILE_SYSTEM_ID:/ $path efs $options 0 0"
}

bind_scratch() {
  mkdir --parents /scratch
  if [[ -n $(instance_store_devices) ]]; then
    retry "waiting for the image to mount $IMAGE_NVME" 8 mountpoint --quiet "$IMAGE_NVME"
    mount --bind "$IMAGE_NVME" /scratch
    append_line /etc/fstab "$IMAGE_NVME /scratch none bind,nofail,x-systemd.requires=dlami-nvme.service 0 0"
  fi
  chmod 1777 /scratch
}

# Known to login shells by the one file, and by the other two ways to services, now and after a reboot.
set_for_everybody() {
  append_line /etc/environment "$1=$2"
  append_line "$MANAGER_SETTINGS" "DefaultEnvironment=\"$1=${2//%/%%}\""
  systemctl set-environment "$1=$2" || log "WARNING: services know no $1 before a reboot"
}

# First, so that the log of a boot that fails is kept: the agent is in this image, and nothing waits for it.
start_node_agent
# The first boot's own package updates can hold the lock for minutes: hence the many attempts.
command -v mount.efs >/dev/null || retry 'installing efs-utils' 10 install_efs_utils
mount_access_point datasets "$DATASETS_ACCESS_POINT_ID"
mount_access_point checkpoints "$CHECKPOINTS_ACCESS_POINT_ID"
mount_access_point cache "$CACHE_ACCESS_POINT_ID"
bind_scratch
mkdir --parents "${MANAGER_SETTINGS%/*}"
append_line "$MANAGER_SETTINGS" '[Manager]'
set_for_everybody HF_HOME "$HF_HOME"
if [[ -n $CHECKPOINT_FOLDER ]]; then
  mkdir --parents "$CHECKPOINT_FOLDER"
  set_for_everybody CHECKPOINT_FOLDER "$CHECKPOINT_FOLDER"
fi
# The shells of Session Manager read no file: they have the environment of its agent, whose unit is named after its
# package (github.com/aws/amazon-ssm-agent, agent/session/shell/shell_unix.go).
systemctl try-restart '*amazon-ssm-agent*.service' || log 'WARNING: Session Manager knows no HF_HOME before a reboot'
start_watcher TARGETS=processes "AWS_REGION=$AWS_REGION" "IDLE_MINUTES=$IDLE_MINUTES" \
  "MAXIMUM_LIFE_HOURS=$MAXIMUM_LIFE_HOURS" "STARTED_AT=$EPOCHSECONDS"
install --mode=755 "$PLATFORM/watcher/interruption-run" /usr/local/bin/interruption-run
run_extra_script
retry 'telling the launch lifecycle hook CONTINUE' 5 complete_launch CONTINUE
