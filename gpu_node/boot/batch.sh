#!/bin/bash
# GPU node of an AWS Batch compute environment: Batch itself writes the agent's settings and its cluster.
set -euo pipefail

prepare_scratch
start_watcher TARGETS=containers
run_extra_script
# Or Batch would try an interrupted job again on this very node, which still has a minute or more. Batch adds to the file.
append_line /etc/ecs/ecs.config ECS_ENABLE_SPOT_INSTANCE_DRAINING=true
start_node_agent
