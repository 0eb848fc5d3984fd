"""The configuration keys of everything that runs on accelerators: fleets, training, inference and the interruption drill.

Like `components/config_sections.py`, which collects these sections with the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from components.config_values import (
    CHECKPOINT_FOLDER,
    CONTAINER_IMAGE,
    FLEET_NAME,
    IMAGE_ID,
    INSTANCE_TYPE,
    NODE_IMAGES,
    PRICE,
    RESERVATION_ID,
    SCHEDULE,
    SECRET_ARN,
    SERVED_MODEL,
    SERVER_ARGUMENT,
    SPOT_STRATEGIES,
    TIME_ZONE,
)
from components.settings import Allowed, between, each, never_or, one_of, optional, setting


@dataclass(frozen=True, kw_only=True)
class GpuFleetConfig:
    """One Auto Scaling group of accelerator nodes."""

    name: str = setting("name", allowed=FLEET_NAME)
    purpose: str = setting("purpose", allowed=one_of("training", "inference"))
    # An Auto Scaling group takes up to 40 types (service model of the Auto Scaling API, LaunchTemplateOverrides).
    instance_types: tuple[str, ...] = setting("instanceTypes", allowed=each(INSTANCE_TYPE, 1, 40))
    weights: Mapping[str, int] = setting("weights", MappingProxyType({}), each(between(1, 999)))
    node_image: str = setting("nodeImage", allowed=one_of(*NODE_IMAGES))
    minimum: int = setting("minimum", 0, between(0, 1000))
    maximum: int = setting("maximum", allowed=between(1, 1000))
    on_demand_base: int = setting("onDemandBase", 0, between(0, 1000))
    on_demand_percentage: int = setting("onDemandPercentage", 0, between(0, 100, "percent"))
    spot_allocation_strategy: str = setting(
        "spotAllocationStrategy", "price-capacity-optimized", one_of(*SPOT_STRATEGIES)
    )
    spot_pool_count: int = setting("spotPoolCount", 0, between(0, 20))
    maximum_price_usd: str = setting("maximumPriceUsd", "", optional(PRICE))
    volume_size_gib: int = setting("volumeSizeGib", 200, between(30, 16384, "GiB"))
    capacity_block_reservation_id: str = setting("capacityBlockReservationId", "", optional(RESERVATION_ID))
    checkpoint_path: str = setting("checkpointPath", "", optional(CHECKPOINT_FOLDER))
    capacity_rebalancing: bool = setting("capacityRebalancing", False)
    instance_refresh: bool = setting("instanceRefresh", False)
    # A node boots for up to 30 minutes (components/gpu_group.py), in which nobody can use it.
    idle_minutes: int = setting("idleMinutes", 0, never_or(30, 10_080, "minutes"))
    maximum_life_hours: int = setting("maximumLifeHours", 0, never_or(1, 8760, "hours"))
    extra_boot_script: str = setting("extraBootScript", "")

    @property
    def runs_on_spot(self) -> bool:
        """Whether any node of the fleet can be a spot instance."""
        all_on_demand = self.on_demand_percentage == 100 or self.on_demand_base >= self.maximum
        return not (self.capacity_block_reservation_id or all_on_demand)

    @property
    def joins_cluster(self) -> bool:
        """Whether the nodes run the ECS agent, so that the fleet is a capacity provider of the cluster."""
        return self.node_image != "dlami"

    @property
    def ends_itself(self) -> bool:
        """Whether a node may end itself, and its group's wish for it."""
        return self.idle_minutes > 0 or self.maximum_life_hours > 0


@dataclass(frozen=True, kw_only=True)
class MachineImages:
    """Pinned machine image ids by node image; an image that is not pinned is looked up at each preview."""

    pinned: Mapping[str, str] = setting(
        "machineImages",
        MappingProxyType({}),
        Allowed(
            f"must map {' or '.join(NODE_IMAGES)} to ids such as ami-0123456789abcdef0",
            lambda images: all(
                key in NODE_IMAGES and IMAGE_ID.accepts(value) for key, value in images.items()
            ),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class GpuConfig:
    """The GPU fleets."""

    fleets: tuple[GpuFleetConfig, ...] = setting("gpuFleets", ())
    node_metrics: bool = setting("nodeMetrics", True)


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Training jobs on AWS Batch."""

    enabled: bool = setting("training", False)
    image: str = setting("trainingImage", "", optional(CONTAINER_IMAGE))
    instance_types: tuple[str, ...] = setting("trainingInstanceTypes", (), each(INSTANCE_TYPE))
    maximum_vcpus: int = setting("trainingMaximumVcpus", 96, between(1, 100_000, "vCPUs"))
    volume_size_gib: int = setting("trainingVolumeSizeGib", 200, between(30, 16384, "GiB"))
    job_vcpus: int = setting("trainingJobVcpus", 4, between(1, 448, "vCPUs"))
    job_memory_mib: int = setting("trainingJobMemoryMib", 14336, between(1024, 4_194_304, "MiB"))
    job_gpus: int = setting("trainingJobGpus", 1, between(1, 16, "GPUs"))
    attempts: int = setting("trainingAttempts", 5, between(1, 10))
    timeout_hours: int = setting("trainingTimeoutHours", 72, between(1, 672, "hours"))
    capacity_wait_minutes: int = setting("trainingCapacityWaitMinutes", 30, between(1, 1440, "minutes"))
    spot_submissions: int = setting("trainingSpotSubmissions", 2, between(1, 20))
    submissions: int = setting("trainingSubmissions", 5, between(1, 50))
    run_hours: int = setting("trainingRunHours", 168, between(1, 672, "hours"))
    nodes: int = setting("trainingNodes", 1, between(1, 64, "nodes"))
    stale_minutes: int = setting("trainingStaleMinutes", 180, never_or(10, 1440, "minutes"))


@dataclass(frozen=True, kw_only=True)
class InferenceConfig:
    """A model server on one of the inference fleets."""

    enabled: bool = setting("inference", False)
    fleet: str = setting("inferenceFleet", "", optional(FLEET_NAME))
    model: str = setting("inferenceModel", "", optional(SERVED_MODEL))
    image: str = setting("inferenceImage", "", optional(CONTAINER_IMAGE))
    accelerators: int = setting("inferenceAccelerators", 1, between(1, 16, "accelerators"))
    context_tokens: int = setting("inferenceContextTokens", 12_288, between(256, 10_485_760, "tokens"))
    server_arguments: tuple[str, ...] = setting("inferenceServerArguments", (), each(SERVER_ARGUMENT))
    hugging_face_token_secret_arn: str = setting("huggingFaceTokenSecretArn", "", optional(SECRET_ARN))
    minimum_tasks: int = setting("inferenceMinimumTasks", 1, between(1, 1000, "tasks"))
    maximum_tasks: int = setting("inferenceMaximumTasks", 2, between(1, 1000, "tasks"))
    requests_per_target: int = setting(
        "inferenceRequestsPerTarget", 120, between(1, 100_000, "requests a minute")
    )
    waiting_requests: int = setting("inferenceWaitingRequests", 4, between(1, 10_000, "requests"))
    # ECS takes up to 2,147,483,647 seconds; a model that is not loaded in four hours never will be.
    start_minutes: int = setting("inferenceStartMinutes", 20, between(5, 240, "minutes"))
    start_schedule: str = setting("inferenceStartSchedule", "", optional(SCHEDULE))
    stop_schedule: str = setting("inferenceStopSchedule", "", optional(SCHEDULE))
    schedule_time_zone: str = setting("inferenceScheduleTimeZone", "UTC", TIME_ZONE)


@dataclass(frozen=True, kw_only=True)
class InterruptionDrillConfig:
    """A rehearsal that interrupts one training node."""

    enabled: bool = setting("interruptionDrill", False)
