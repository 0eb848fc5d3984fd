#!/bin/bash
# GPU or Neuron node of the ECS cluster. The agent reads its settings when it starts, after this script.
set -euo pipefail

prepare_scratch
run_extra_script
append_line /etc/ecs/ecs.config "ECS_CLUSTER=$ECS_CLUSTER"
append_line /etc/ecs/ecs.config "ECS_ENABLE_GPU_SUPPORT=$ECS_ENABLE_GPU_SUPPORT"
append_line /etc/ecs/ecs.config ECS_ENABLE_SPOT_INSTANCE_DRAINING=true
