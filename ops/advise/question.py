"""What is asked: a task, a model, its load, a region. Pure."""

from dataclasses import dataclass, replace

from ops.advise.memory import Need, adapter_training, inference, training
from ops.advise.models import Model
from ops.advise.spot import Market, save_seconds, serving_share
from ops.instance_prices import InstancePrice
from ops.spot.advice import HOURS_OF_A_DAY, Interruptions, advise, interruptions_of

TASKS = ("inference", "lora", "full", "pretrain")
# Operations per active parameter and token: two forward, two for the gradients of what comes before, two for those of
# the weights, which frozen weights do without. https://arxiv.org/abs/2001.08361, section 2.1.
OPERATIONS = {"lora": 4, "full": 6, "pretrain": 6}
# Tokens that a model of a size should see: about 20 per parameter. https://arxiv.org/abs/2203.15556
TOKENS_PER_PARAMETER = 20
PRETRAINING_DAYS = 14.0
# Llama 3 trained at 38 to 43 percent of the peak of its H100 GPUs. https://arxiv.org/abs/2407.21783, section 3.3.
UTILISATION = 0.4


@dataclass(frozen=True, kw_only=True)
class Question:
    """`precision` is None where the answer may choose it; `load` is requests at once, or sequences per accelerator.

    `interruption_hours` is the person's own count on spot; without one, each type has that of its group.
    """

    task: str
    model: Model
    region: str
    precision: str | None = None
    context: int = 4096
    load: int = 1
    days: float | None = None
    tokens: float | None = None
    interruption_hours: float | None = None

    @property
    def trains(self) -> bool:
        return self.task != "inference"

    def with_precision(self, precision: str) -> "Question":
        return replace(self, precision=precision)

    def need(self) -> Need:
        """What must fit; a precision that is not chosen yet counts as bf16."""
        precision = self.precision or "bf16"
        if self.task == "inference":
            return inference(self.model, precision, self.context, self.load)
        if self.task == "lora":
            return adapter_training(self.model, precision, self.context, self.load)
        return training(self.model, self.context, self.load)

    def operations(self) -> float | None:
        """Of the whole training, where its tokens are known."""
        tokens = self.trained_tokens()
        return OPERATIONS[self.task] * self.model.active_parameters * tokens if tokens else None

    def trained_tokens(self) -> float | None:
        if self.tokens or self.task != "pretrain":
            return self.tokens if self.trains else None
        return TOKENS_PER_PARAMETER * self.model.active_parameters

    def wanted_days(self) -> float | None:
        """Only pre-training has a length unless one is told: it decides how many nodes."""
        return self.days or (PRETRAINING_DAYS if self.task == "pretrain" else None)

    def interruptions(self, price: InstancePrice | None) -> Interruptions:
        """On spot, of the type that has this price."""
        return interruptions_of(price, self._per_day, "--interruption-hours")

    def useful_share(self, instance_type: str, price: InstancePrice | None) -> float:
        """Of the hours paid on spot by one node."""
        if self.trains:
            return advise(instance_type, price, self.save_seconds(1), self._per_day).useful_share
        return serving_share(Market(hours_between_interruptions=1 / self.interruptions(price).per_hour))

    @property
    def _per_day(self) -> float | None:
        return HOURS_OF_A_DAY / self.interruption_hours if self.interruption_hours else None

    def save_seconds(self, nodes: int) -> float:
        """A checkpoint holds what is trained and its optimizer states; every node writes its part."""
        trained = ("adapters",) if self.task == "lora" else ("weights",)
        return save_seconds(self.need().of(*trained, "optimizer states") / nodes)
