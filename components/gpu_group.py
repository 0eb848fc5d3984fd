"""What the Auto Scaling group of a GPU fleet is told: how it mixes instances, replaces them and holds new ones. Pure."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from components.config_gpu_sections import GpuFleetConfig

LIFECYCLE_HOOK_NAME = "boot-finished"
# The boot script's waits for package locks and mounts, and as long again for the extra script; AWS takes 30 to 7,200.
BOOT_LIMIT_SECONDS = 1800


def mixed_instances(
    config: GpuFleetConfig, template_id: pulumi.Input[str], version: pulumi.Input[str]
) -> aws.autoscaling.GroupMixedInstancesPolicyArgsDict:
    """All types from one template. Base and percentage are always said: AWS's default is 100 percent on demand."""
    return {
        "instances_distribution": {
            "on_demand_base_capacity": config.on_demand_base,
            "on_demand_percentage_above_base_capacity": config.on_demand_percentage,
            "spot_allocation_strategy": config.spot_allocation_strategy,
            "spot_instance_pools": config.spot_pool_count or None,
            "spot_max_price": config.maximum_price_usd or None,
        },
        "launch_template": {
            "launch_template_specification": {"launch_template_id": template_id, "version": version},
            "overrides": [
                {
                    "instance_type": instance_type,
                    "weighted_capacity": str(config.weights[instance_type]) if config.weights else None,
                }
                for instance_type in config.instance_types
            ],
        },
    }


def instance_refresh(config: GpuFleetConfig) -> aws.autoscaling.GroupInstanceRefreshArgsDict:
    """Starts the new node before it ends the old one, which ECS drains first."""
    return {
        "strategy": "Rolling",
        "preferences": {
            "min_healthy_percentage": 100,
            "max_healthy_percentage": 110,
            # Every node of an ECS image is protected from scaling in, and AWS would wait for that to end.
            "scale_in_protected_instances": "Refresh" if config.joins_cluster else "Ignore",
        },
    }


def launch_hook() -> aws.autoscaling.GroupInitialLifecycleHookArgsDict:
    """Holds a node out of service until its boot script reports, and ends one that does not."""
    return {
        "name": LIFECYCLE_HOOK_NAME,
        "lifecycle_transition": "autoscaling:EC2_INSTANCE_LAUNCHING",
        "default_result": "ABANDON",
        "heartbeat_timeout": BOOT_LIMIT_SECONDS,
    }


def node_tags(config: GpuFleetConfig, stack_tags: Mapping[str, str], name: str) -> dict[str, str]:
    """What a node is for and where its work is saved, told to whoever looks at it; a stack's own tags win."""
    saved = {"CheckpointPath": config.checkpoint_path} if config.checkpoint_path else {}
    return {"Purpose": config.purpose, **saved, **stack_tags, "Name": name}
