"""How often to save."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class SaveInterval:
    """How often to save: every `steps`, every `seconds`, or, with neither, at the Young-Daly optimum.

    A save on notice covers the interruptions that are announced, so only the others count for the optimum: missed
    notices, crashes, faults of the machine. The default is one in 40 hours: an interruption every four hours, of
    which one in ten comes without notice.
    """

    steps: int | None = None
    seconds: float | None = None
    unannounced_losses_per_hour: float = 0.025

    def __post_init__(self) -> None:
        if self.steps is not None and self.seconds is not None:
            raise ValueError("give the save interval in steps or in seconds, not in both")
        for name in ("steps", "seconds", "unannounced_losses_per_hour"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} is {value}: it must be above 0")

    def seconds_between_saves(self, save_seconds: float) -> float:
        return self.seconds or young_daly_seconds(save_seconds, self.unannounced_losses_per_hour)


def young_daly_seconds(save_seconds: float, losses_per_hour: float) -> float:
    """The work between two saves that wastes least: sqrt(2 * save time * mean time between losses)."""
    return math.sqrt(2 * save_seconds * 3600 / losses_per_hour)
