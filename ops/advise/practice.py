"""What people take for the well-known questions, as rules that the memory model is held to. Pure."""

from dataclasses import dataclass

from ops.advise.models import BILLION
from ops.advise.question import Question


@dataclass(frozen=True, kw_only=True)
class Practice:
    """Sizes that count as the band are a little wider than its name: Llama 3 8B, Qwen 14B and 72B are meant too."""

    task: str
    band: str
    from_billions: float
    to_billions: float
    instance_type: str
    cheaper: str = ""
    least_nodes: int = 1


PRACTICES = (
    Practice(task="inference", band="7B-13B", from_billions=6.5, to_billions=14.8,
             instance_type="g5.xlarge", cheaper="inf2.xlarge"),
    Practice(task="lora", band="7B-13B", from_billions=6.5, to_billions=14.8, instance_type="g5.2xlarge"),
    Practice(task="lora", band="30B-70B", from_billions=28, to_billions=73, instance_type="p4d.24xlarge"),
    Practice(task="full", band="30B-70B", from_billions=28, to_billions=73, instance_type="p4d.24xlarge"),
    Practice(task="pretrain", band="any size", from_billions=0, to_billions=10_000,
             instance_type="p5.48xlarge", least_nodes=2),
)  # fmt: skip
# In this order a precision is chosen where none is asked for.
PRECISIONS = ("bf16", "int8", "int4")


def practice_for(question: Question) -> Practice | None:
    """None for a question that practice has no one answer to."""
    size = question.model.parameters / BILLION
    for practice in PRACTICES:
        if practice.task == question.task and practice.from_billions <= size <= practice.to_billions:
            return practice
    return None
