"""Which Bedrock models a stack calls, and how, by the policies of its roles."""

import json
from dataclasses import dataclass

from ops.preflight.fargate import TASK_DEFINITION
from ops.preflight.functions import FUNCTION
from ops.preflight.stack import Stack

INVOKE = "bedrock:InvokeModel"
MODEL, PROFILE = ":foundation-model/", ":inference-profile/"
# The keys under which functions and containers are told their models, and the configuration keys these come from.
MODEL_KEYS = {"ANSWER_MODEL_ID": "answerModel", "EMBEDDING_MODEL_ID": "embeddingModel"}


@dataclass(frozen=True, kw_only=True)
class Call:
    """A model as the stack calls it: by its own id, or through a profile.

    `allowed_regions` are those in which the stack's roles may use the model.
    """

    name: str
    model_id: str
    allowed_regions: frozenset[str]
    config_key: str

    @property
    def by_profile(self) -> bool:
        return self.name != self.model_id


def calls(stack: Stack) -> list[Call]:
    """What the roles of the stack may call, by the ARNs in their policies."""
    arns = stack.allowed_resources(INVOKE)
    regions: dict[str, set[str]] = {}
    for arn in arns:
        if MODEL in arn:
            regions.setdefault(arn.partition(MODEL)[2], set()).add(arn.split(":")[3])
    profiles = [arn.partition(PROFILE)[2] for arn in arns if PROFILE in arn]
    # A profile's id is a geography and the model's own id.
    through = {name.partition(".")[2]: name for name in profiles}
    keys = _config_keys(stack)
    return [
        Call(
            name=through.get(model_id, model_id),
            model_id=model_id,
            allowed_regions=frozenset(found),
            config_key=keys.get(through.get(model_id, model_id), "answerModel"),
        )
        for model_id, found in sorted(regions.items())
    ]


def _config_keys(stack: Stack) -> dict[str, str]:
    """Which configuration key names which model, by what functions and containers are told."""
    functions = [
        ((item.inputs.get("environment") or {}).get("variables") or {}) for item in stack.of_type(FUNCTION)
    ]
    containers = [
        {entry["name"]: entry["value"] for entry in container.get("environment", ())}
        for item in stack.of_type(TASK_DEFINITION)
        for container in json.loads(str(item.inputs["containerDefinitions"]))
    ]
    told = [*functions, *containers]
    return {
        variables[name]: key for variables in told for name, key in MODEL_KEYS.items() if name in variables
    }
