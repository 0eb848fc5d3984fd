"""What is asked: a task, a model, its load, a region. Pure."""

from dataclasses import dataclass, field, replace

from ops.advise.memory import Need, adapter_training, inference, training
from ops.advise.models import Model
from ops.advise.spot import Market, save_seconds, serving_share, training_share

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
    """`precision` is None where the answer may choose it; `load` is requests at once, or sequences per accelerator."""

    task: str
    model: Model
    region: str
    precision: str | None = None
    context: int = 4096
    load: int = 1
    days: float | None = None
    tokens: float | None = None
    market: Market = field(default_factory=Market)

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

    def useful_share(self, nodes: int) -> float:
        """Of the hours paid on spot by one node."""
        if not self.trains:
            return serving_share(self.market)
        return training_share(self.save_seconds(nodes), self.market)

    def save_seconds(self, nodes: int) -> float:
        """A checkpoint holds what is trained and its optimizer states; every node writes its part."""
        trained = ("adapters",) if self.task == "lora" else ("weights",)
        return save_seconds(self.need().of(*trained, "optimizer states") / nodes)
