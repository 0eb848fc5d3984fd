"""The platform's configuration, and the only code that reads Pulumi config.

The keys, their defaults and ranges are in `components/config_sections.py`; `Pulumi.yaml` describes the same keys for
the command line, and a test holds the two together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_type_hints

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env, get_config_secret_keys_env, is_config_secret

from components.config_rules import cross_field_faults
from components.config_sections import (
    NAMESPACE,
    AnswersConfig,
    BudgetConfig,
    ClusterConfig,
    DataLakeConfig,
    GeneralConfig,
    GpuFleetConfig,
    IngestionConfig,
    MachineImages,
    NetworkConfig,
    OrchestratorConfig,
    RagServiceConfig,
    Sections,
    SharedFilesConfig,
    TrainingConfig,
    VectorStoreConfig,
)
from components.settings import Fault, Source, read_section, settings_of, unknown_key_faults

PREFIX = f"{NAMESPACE}:"


class ConfigError(pulumi.RunError):
    """The configuration is wrong; the message lists every fault, and Pulumi prints it without a traceback."""

    def __init__(self, faults: Iterable[Fault], stack: str) -> None:
        self.faults = tuple(faults)
        count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
        lines = "".join(f"\n  - {fault}" for fault in self.faults)
        super().__init__(f"The configuration of stack {stack} has {count}:{lines}")


@dataclass(frozen=True, kw_only=True)
class PlatformConfig:
    """Everything a stack decides. A workload that the stack leaves out, or that sleeps, is None."""

    project: str
    stack: str
    general: GeneralConfig
    network: NetworkConfig
    data_lake: DataLakeConfig
    shared_files: SharedFilesConfig
    gpu_fleets: tuple[GpuFleetConfig, ...]
    machine_images: MachineImages
    training: TrainingConfig | None
    cluster: ClusterConfig
    vector_store: VectorStoreConfig | None
    answers: AnswersConfig
    rag_service: RagServiceConfig | None
    orchestrator: OrchestratorConfig | None
    ingestion: IngestionConfig | None
    budget: BudgetConfig | None

    @classmethod
    def load(cls) -> "PlatformConfig":
        """Reads the running stack's configuration; raises ConfigError with every fault at once."""
        values = _typed_values()
        secret = {key for key in values if _is_secret(PREFIX + key)}
        plain = {key: value for key, value in values.items() if key not in secret}
        sections, faults = read_sections(plain)
        faults = [_secret_fault(key) for key in sorted(secret)] + [
            fault for fault in faults if fault.key.removeprefix(PREFIX) not in secret
        ]
        if sections is None or faults:
            raise ConfigError(faults, pulumi.get_stack())
        return build(sections, pulumi.get_project(), pulumi.get_stack())


def section_types() -> dict[str, type]:
    """The dataclasses that declare configuration keys, by their place in `Sections`."""
    hints = get_type_hints(Sections)
    return {item.name: hints[item.name] for item in fields(Sections)}


def read_sections(values: Mapping[str, Any]) -> tuple[Sections | None, list[Fault]]:
    """Reads keys (without namespace) into `Sections`, with every fault: of single values first, then across keys."""
    faults: list[Fault] = []
    source = Source(values=values, prefix=PREFIX)
    known = [key for cls in section_types().values() for key in settings_of(cls)]
    faults += unknown_key_faults(source, known)
    read: dict[str, Any] = {name: read_section(cls, source, faults) for name, cls in section_types().items()}
    if any(section is None for section in read.values()):
        return None, faults
    sections = Sections(**read)
    faulty = {fault.key.removeprefix(PREFIX).split("[")[0] for fault in faults}
    for fault in cross_field_faults(sections):
        if not faulty & {fault.key.split("[")[0], *fault.related}:
            faults.append(replace(fault, key=PREFIX + fault.key))
    return sections, faults


def build(sections: Sections, project: str, stack: str) -> PlatformConfig:
    """The decisions that `sections` amount to: what is switched off is left out, and what sleeps is taken down."""
    awake = not sections.general.asleep
    return PlatformConfig(
        project=project,
        stack=stack,
        general=sections.general,
        network=sections.network,
        data_lake=sections.data_lake,
        shared_files=sections.shared_files,
        gpu_fleets=sections.gpu.fleets if awake else (),
        machine_images=sections.machine_images,
        training=sections.training if sections.training.enabled else None,
        cluster=sections.cluster,
        vector_store=sections.vector_store if sections.vector_store.enabled else None,
        answers=sections.answers,
        rag_service=sections.rag_service if sections.rag_service.enabled and awake else None,
        orchestrator=sections.orchestrator if sections.orchestrator.enabled else None,
        ingestion=sections.ingestion if sections.ingestion.enabled else None,
        budget=sections.budget if sections.budget.email else None,
    )


def _typed_values() -> dict[str, Any]:
    """This program's keys without their namespace, as the command line hands them over."""
    everything = {**get_config_env(), **CONFIG.get()}
    return {key.removeprefix(PREFIX): value for key, value in everything.items() if key.startswith(PREFIX)}


def _is_secret(key: str) -> bool:
    return is_config_secret(key) or key in get_config_secret_keys_env()


def _secret_fault(key: str) -> Fault:
    return Fault(
        key=PREFIX + key,
        value="[secret]",
        allowed="is set as a secret, but settings end in names, plans and templates that are shown",
        fix=f"set {key} without --secret; keep secrets in Secrets Manager and name them by ARN",
    )
