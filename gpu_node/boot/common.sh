#!/bin/bash
# Shared by every boot script, which defines on_failure: what to do with a node that must not take work.
set -Eeuo pipefail

failure=''
failed_command=''

log() { printf '%s boot: %s\n' "$(date --utc +%FT%TZ)" "$*"; }

fail() {
  failure="$*"
  exit 1
}

# The one place that reports: a failure is one line with ERROR, whether it was foreseen (fail) or not.
finish() {
  local status=$?
  trap - EXIT
  if ((status != 0)); then
    log "ERROR: ${failure:-${failed_command:-the boot script} ended with status $status}"
    (on_failure) || log "ERROR: the node could not be taken out of service after that failure"
  fi
  exit "$status"
}
trap 'failed_command="line $LINENO: ${BASH_COMMAND//$'\''\n'\''/ }"' ERR
trap finish EXIT

# retry WHAT ATTEMPTS COMMAND...: waits 5, 10, 20, 40 and then 60 seconds between the attempts.
retry() {
  local what=$1 attempts=$2 wait_seconds=5 attempt output
  shift 2
  for ((attempt = 1; attempt <= attempts; attempt++)); do
    if output=$("$@" 2>&1); then return; fi
    if ((attempt < attempts)); then
      log "$what: attempt $attempt of $attempts failed, the next one in $wait_seconds s"
      sleep "$wait_seconds"
      wait_seconds=$((wait_seconds < 40 ? wait_seconds * 2 : 60))
    fi
  done
  fail "$what: failed $attempts times, last answer: ${output//$'\n'/ }"
}

append_line() { printf '%s\n' "$2" | tee --append "$1" >/dev/null; }

# The local NVMe disks, one path per line; nothing where the instance type has none.
instance_store_devices() {
  lsblk --noheadings --nodeps --paths --output NAME,MODEL | awk '/Instance Storage/ { print $1 }'
}

# start_watcher NAME=VALUE...: from here on the work on this node is told of an interruption.
start_watcher() {
  printf '%s\0' "$@" >"$PLATFORM/watcher/settings"
  systemctl enable --now "$PLATFORM/watcher/interruption-watcher.service"
}

# The boot log, the watcher's log and metrics go to CloudWatch, from a service of its own: a node without it works
# all the same, so that no boot waits for it, and its failure is a line in the log.
start_node_agent() {
  [[ -n $NODE_LOG_GROUP ]] || return 0
  local folder=$PLATFORM/agent
  if ! python3 "$folder/configure.py" >"$folder/config.json" ||
    ! systemctl enable --now --no-block "$folder/node-agent.service"; then
    log 'WARNING: the CloudWatch agent cannot be set up: this log and the metrics stay on the node'
  fi
}

# The operator's text stops at its first failing command, and that failure is the node's.
run_extra_script() {
  local path
  path=$(mktemp --suffix=-extra-boot.sh)
  extra_script >"$path"
  bash -e "$path" || fail "the extra boot script ended with status $?"
}
