#!/bin/bash
# What the ECS-optimized images (Amazon Linux 2023) need on an ECS node and on an AWS Batch node alike.
set -euo pipefail

# A node that is half set up must take no task and cost nothing: its group replaces it. The ECS agent has not
# started by then, since its unit waits for the user data to end.
on_failure() { shutdown -h now; }

stripe() {
  command -v mdadm >/dev/null ||
    retry 'installing mdadm' 5 timeout --kill-after=10 300 dnf install --assumeyes mdadm
  mdadm --create /dev/md0 --run --level=0 --raid-devices=$# "$@"
}

prepare_scratch() {
  local found device devices
  mkdir --parents /scratch
  found=$(instance_store_devices)
  if [[ -n $found ]]; then
    mapfile -t devices <<<"$found"
    device=${devices[0]}
    if ((${#devices[@]} > 1)); then
      stripe "${devices[@]}"
      device=/dev/md0
    fi
    mkfs.xfs -f -L scratch "$device"
    mount -o noatime "$device" /scratch
    append_line /etc/fstab 'LABEL=scratch /scratch xfs noatime,nofail 0 0'
  fi
  chmod 1777 /scratch
}
