#!/bin/bash
# GPU node of an AWS Batch compute environment: Batch itself writes the agent's settings and its cluster.
set -euo pipefail

prepare_scratch
start_watcher TARGETS=containers
run_extra_script
start_node_agent
