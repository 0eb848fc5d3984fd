"""Whether the account may call the Bedrock models of a stack, through the profiles it names, and for how long."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ops.aws_calls import error_code
from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, Status, judged
from ops.preflight.stack import Stack

INVOKE = "bedrock:InvokeModel"
MODEL, PROFILE = ":foundation-model/", ":inference-profile/"
END_OF_LIFE_DAYS = 180
# The keys under which functions and containers are told their models, and the configuration keys these come from.
MODEL_KEYS = {"ANSWER_MODEL_ID": "answerModel", "EMBEDDING_MODEL_ID": "embeddingModel"}
FUNCTION = "aws:lambda/function:Function"
# Bedrock answers an id that it does not know with either.
NOT_THERE = ("ResourceNotFound", "ValidationException")
READ_MODEL = ("bedrock:GetFoundationModel", "bedrock:GetFoundationModelAvailability")


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


def checks(stack: Stack) -> list[Check]:
    """One check for each model or profile that any role may call."""
    return [_check(stack, call) for call in calls(stack)]


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
    """Which configuration key names which model, by what the functions are told."""
    variables = [
        (item.inputs.get("environment") or {}).get("variables") or {} for item in stack.of_type(FUNCTION)
    ]
    return {told[name]: key for told in variables for name, key in MODEL_KEYS.items() if name in told}


def _check(stack: Stack, call: Call) -> Check:
    def ask(account: Account) -> Iterator[Finding]:
        region = stack.region
        if call.by_profile:
            served = _profile_regions(account, call.name)
            yield _profile_finding(stack, call, served)
            if served is None:
                return
            # A profile may be called from a region that does not serve the model itself.
            region = region if region in served or not served else sorted(served)[0]
        yield from _model_findings(stack, call, account.client("bedrock", region), region)

    actions = (*READ_MODEL, "bedrock:GetInferenceProfile") if call.by_profile else READ_MODEL
    return Check(what=f"model {call.name}", ask=ask, actions=actions)


def _profile_regions(account: Account, name: str) -> set[str] | None:
    """The regions to which the profile sends calls; None where there is no such profile."""
    profile = _found(account.client("bedrock").get_inference_profile, inferenceProfileIdentifier=name)
    if profile is None:
        return None
    # A global profile also names the model without a region.
    return {item["modelArn"].split(":")[3] for item in profile["models"]} - {""}


def _profile_finding(stack: Stack, call: Call, served: set[str] | None) -> Finding:
    """A call that is sent to a region in which the roles may not use the model is refused now and then."""
    what = f"inference profile {call.name}"
    if served is None:
        choices = f"aws bedrock list-inference-profiles --region {stack.region}"
        return judged(
            False,
            what,
            needed=f"callable from {stack.region}",
            found="none",
            fix=_another(stack, call, choices),
        )
    missing = sorted(set() if "" in call.allowed_regions else served - call.allowed_regions)
    detail = (
        f"Bedrock may send a call to {', '.join(missing)}, where the stack's roles may not use the model."
    )
    return judged(
        not missing,
        what,
        needed=f"regions within {', '.join(sorted(call.allowed_regions - {''}))}",
        found=", ".join(sorted(served)),
        detail=detail if missing else "",
        fix=f"add {', '.join(missing)} to PROFILE_REGIONS in components/bedrock.py",
    )


def _model_findings(stack: Stack, call: Call, client: Any, region: str) -> Iterator[Finding]:
    answer = _found(client.get_foundation_model, modelIdentifier=call.model_id)
    choices = f"aws bedrock list-foundation-models --region {region}"
    if answer is None:
        yield judged(False, f"model {call.model_id}", needed=f"offered in {region}", found="none",
                     fix=_another(stack, call, choices))  # fmt: skip
        return
    yield _lifecycle(stack, call, answer["modelDetails"].get("modelLifecycle", {}), choices)
    yield _access(call, client.get_foundation_model_availability(modelId=call.model_id), region)


def _lifecycle(stack: Stack, call: Call, lifecycle: Any, choices: str) -> Finding:
    status, ends = lifecycle.get("status", "unknown"), lifecycle.get("endOfLifeTime")
    soon = ends is not None and ends - datetime.now(UTC) <= timedelta(days=END_OF_LIFE_DAYS)
    return judged(
        status == "ACTIVE" and not soon,
        f"life of model {call.model_id}",
        needed=f"ACTIVE for {END_OF_LIFE_DAYS} days more",
        found=f"{status}, end of life on {ends:%Y-%m-%d}" if ends else status,
        # A model without a life cycle cannot be judged.
        otherwise=Status.FAILED if lifecycle else Status.UNCHECKED,
        fix=_another(
            stack, call, f"{choices} --query \"modelSummaries[?modelLifecycle.status=='ACTIVE'].modelId\""
        ),
    )


def _access(call: Call, answer: Any, region: str) -> Finding:
    """Every part must be granted; what is missing first decides the fix."""
    agreement = answer["agreementAvailability"]["status"]
    parts = {
        "region": (answer["regionAvailability"] == "AVAILABLE", "choose a model that the region offers"),
        "authorization": (
            answer["authorizationStatus"] == "AUTHORIZED",
            f"allow {INVOKE} on {call.model_id} in the account's service control policies and to yourself",
        ),
        "agreement": (agreement == "AVAILABLE", _agree(call.model_id, region)),
        "entitlement": (answer["entitlementAvailability"] == "AVAILABLE", _agree(call.model_id, region)),
    }
    lacking = [name for name, (good, _) in parts.items() if not good]
    return judged(
        not lacking,
        f"access to model {call.model_id}",
        needed="granted",
        found=f"lacking: {', '.join(lacking)}" if lacking else "granted",
        detail=f"agreement: {agreement}" if "agreement" in lacking else "",
        fix=next((parts[name][1] for name in lacking), ""),
    )


def _agree(model_id: str, region: str) -> str:
    """Anthropic asks once for a description of the use case; other models for an agreement.

    https://docs.aws.amazon.com/bedrock/latest/userguide/model-access.html
    """
    place = f"--region {region}"
    if model_id.startswith("anthropic."):
        return f"aws bedrock put-use-case-for-model-access --form-data fileb://use-case.json {place}"
    offers = f"aws bedrock list-foundation-model-agreement-offers --model-id {model_id} {place}"
    return f"{offers}; then aws bedrock create-foundation-model-agreement --model-id {model_id} --offer-token TOKEN {place}"


def _another(stack: Stack, call: Call, choices: str) -> str:
    """How to change to another model. Vectors of one model mean nothing to another."""
    command = f"{choices}; then pulumi config set --stack {stack.name} ai-platform:{call.config_key} MODEL"
    return f"{command}, and python -m ops reindex" if call.config_key == "embeddingModel" else command


def _found(ask: Any, **parameters: str) -> Any:
    """The answer, or None where Bedrock knows no such thing in the region."""
    from botocore.exceptions import ClientError

    try:
        return ask(**parameters)
    except ClientError as error:
        if error_code(error).startswith(NOT_THERE):
            return None
        raise
