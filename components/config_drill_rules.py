"""Rules over the interruption drill. Pure."""

from collections.abc import Iterator

from components.config_sections import Sections
from components.settings import Fault, fault


def drill_rules(sections: Sections) -> Iterator[Fault]:
    if sections.interruption_drill.enabled and not sections.training.enabled:
        yield fault("interruptionDrill", True, "interrupts nodes of training jobs, which are switched off",
                    "set training to true, or remove it", "training")  # fmt: skip
