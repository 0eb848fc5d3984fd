#!/bin/bash
# Installs the CloudWatch agent where the image has none, and starts it with the configuration beside this file.
set -euo pipefail

AGENT_CTL=/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl

log() { printf '%s agent: %s\n' "$(date --utc +%FT%TZ)" "$*"; }

# step WHAT COMMAND...: what a command says is told only when it fails, in one line.
step() {
  local what=$1 output
  shift
  if ! output=$("$@" 2>&1); then
    log "ERROR: $what failed: ${output//$'\n'/ }"
    exit 1
  fi
}

# The Deep Learning AMI brings it, and Amazon Linux 2023 has it in its own archive.
# https://docs.aws.amazon.com/dlami/latest/devguide/tutorial-gpu-monitoring-gpumon.html
[[ -x $AGENT_CTL ]] || step 'installing the CloudWatch agent' dnf install --assumeyes amazon-cloudwatch-agent
step 'starting the CloudWatch agent' "$AGENT_CTL" -a fetch-config -m ec2 -s -c "file:${0%/*}/config.json"
log 'this log, the log of the watcher and the metrics of this node go to CloudWatch'
