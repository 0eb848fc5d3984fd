#!/bin/bash
# GPU or Neuron node of the ECS cluster. The agent reads its settings when it starts, after this script.
set -euo pipefail

prepare_scratch
start_watcher TARGETS=containers
run_extra_script
append_line /etc/ecs/ecs.config "ECS_CLUSTER=$ECS_CLUSTER"
append_line /etc/ecs/ecs.config "ECS_ENABLE_GPU_SUPPORT=$ECS_ENABLE_GPU_SUPPORT"
append_line /etc/ecs/ecs.config ECS_ENABLE_SPOT_INSTANCE_DRAINING=true
# Each task writes its log with its own execution role, so that nodes need no permission for it.
append_line /etc/ecs/ecs.config ECS_ENABLE_AWSLOGS_EXECUTIONROLE_OVERRIDE=true
start_node_agent
