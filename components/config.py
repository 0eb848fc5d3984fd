"""The platform's configuration, and the only code that reads Pulumi config.

The keys, their defaults and ranges are in `components/config_sections.py` and `components/config_gpu_sections.py`; `Pulumi.yaml` describes the same keys for
the command line, and a test holds the two together.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_type_hints

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env, get_config_secret_keys_env, is_config_secret

from components.config_gpu_sections import (
    GpuFleetConfig,
    InferenceConfig,
    InterruptionDrillConfig,
    MachineImages,
    TrainingConfig,
)
from components.config_rules import cross_field_faults
from components.config_sections import (
    NAMESPACE,
    AnswersConfig,
    BudgetConfig,
    ClusterConfig,
    DataLakeConfig,
    GeneralConfig,
    IngestionConfig,
    NetworkConfig,
    OrchestratorConfig,
    RagServiceConfig,
    Sections,
    SharedFilesConfig,
    VectorStoreConfig,
)
from components.settings import WITHHELD, Fault, settings_of
from components.settings_reader import Source, read_section, unknown_key_faults

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
    node_metrics: bool
    training: TrainingConfig | None
    inference: InferenceConfig | None
    interruption_drill: InterruptionDrillConfig | None
    cluster: ClusterConfig
    vector_store: VectorStoreConfig | None
    answers: AnswersConfig
    rag_service: RagServiceConfig | None
    builds_rag_image: bool
    orchestrator: OrchestratorConfig | None
    ingestion: IngestionConfig | None
    budget: BudgetConfig | None

    @classmethod
    def load(cls) -> "PlatformConfig":
        """Reads the running stack's configuration; raises ConfigError with every fault at once."""
        values = _typed_values()
        secret_keys = [key for key in values if _is_secret(PREFIX + key)]
        sections, faults = read_sections(values, secret_keys)
        faults = [*_namespace_faults(), *faults]
        if faults:
            raise ConfigError(faults, pulumi.get_stack())
        return build(sections, pulumi.get_project(), pulumi.get_stack())


def section_types() -> dict[str, type]:
    """The dataclasses that declare configuration keys, by their place in `Sections`."""
    hints = get_type_hints(Sections)
    return {item.name: hints[item.name] for item in fields(Sections)}


def read_sections(
    values: Mapping[str, Any], secret_keys: Collection[str] = ()
) -> tuple[Sections, list[Fault]]:
    """Reads keys (without namespace) into `Sections`, with every fault: of single values first, then across keys.

    The sections are fit for use only when there is no fault. The value of a secret key is never looked at.
    """
    known = [key for cls in section_types().values() for key in settings_of(cls)]
    secret = sorted(set(secret_keys) & set(known))
    visible = {key: WITHHELD if key in secret_keys else value for key, value in values.items()}
    faults = unknown_key_faults(Source(values=visible, prefix=PREFIX), known)
    faults += [_secret_fault(key) for key in secret]

    single: list[Fault] = []
    source = Source(values={key: visible[key] for key in visible if key not in secret}, prefix=PREFIX)
    read: dict[str, Any] = {name: read_section(cls, source, single) for name, cls in section_types().items()}
    sections = Sections(**read)
    faults += [fault for fault in single if fault.key.removeprefix(PREFIX) not in secret]

    faulty = {place for fault in faults for place in _places(fault.key.removeprefix(PREFIX))}
    for fault in cross_field_faults(sections):
        entry = _places(fault.key)[-1]
        if not faulty & {entry, *fault.related}:
            faults.append(replace(fault, key=PREFIX + fault.key))
    return sections, faults


def _places(key: str) -> tuple[str, ...]:
    """The setting and, in a list, its entry: gpuFleets and gpuFleets[0] for gpuFleets[0].weights."""
    setting, separator, rest = re.split(r"([\[.])", f"{key}.", maxsplit=1)
    return (setting, f"{setting}[{rest.partition(']')[0]}]") if separator == "[" else (setting,)


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
        node_metrics=sections.gpu.node_metrics,
        training=sections.training if sections.training.enabled else None,
        inference=sections.inference if sections.inference.enabled and awake else None,
        interruption_drill=sections.interruption_drill
        if sections.interruption_drill.enabled and sections.training.enabled
        else None,
        cluster=sections.cluster,
        vector_store=sections.vector_store if sections.vector_store.enabled else None,
        answers=sections.answers,
        rag_service=sections.rag_service if sections.rag_service.enabled and awake else None,
        # Kept while the service sleeps: images are data, and may be protected.
        builds_rag_image=sections.rag_service.enabled and not sections.rag_service.image,
        orchestrator=sections.orchestrator if sections.orchestrator.enabled else None,
        ingestion=sections.ingestion if sections.ingestion.enabled else None,
        budget=sections.budget if sections.budget.email else None,
    )


def _typed_values() -> dict[str, Any]:
    """This program's keys without their namespace, as the command line hands them over."""
    everything = {**get_config_env(), **CONFIG.get()}
    return {key.removeprefix(PREFIX): value for key, value in everything.items() if key.startswith(PREFIX)}


def _namespace_faults() -> list[Fault]:
    """Keys of a namespace that is nearly ours: the command line hands them over, and nobody would read them."""
    spaces = {key.split(":")[0] for key in [*get_config_env(), *CONFIG.get()]} - {
        NAMESPACE,
        pulumi.get_project(),
    }
    return [
        Fault(
            key=f"{space}:",
            value="a namespace in the stack file",
            allowed=f"is not read by this program, whose namespace is {NAMESPACE}",
            fix=f"write {PREFIX} if that is what you meant",
        )
        for space in sorted(difflib.get_close_matches(NAMESPACE, spaces, cutoff=0.8))
    ]


def _is_secret(key: str) -> bool:
    return is_config_secret(key) or key in get_config_secret_keys_env()


def _secret_fault(key: str) -> Fault:
    return Fault(
        key=PREFIX + key,
        value=WITHHELD,
        allowed="is set as a secret, but settings end in names, plans and templates, which are shown",
        fix=f"set {key} without --secret; keep secrets in Secrets Manager and name them by ARN",
    )
