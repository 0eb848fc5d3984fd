"""Whether the account may call the Bedrock models of a stack, through the profiles it names, and for how long."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from ops.aws_calls import error_code
from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, Status, judged
from ops.preflight.model_calls import INVOKE, Call, calls
from ops.preflight.stack import Stack

END_OF_LIFE_DAYS = 180
LIFE_DATES = {"legacyTime": "legacy from", "endOfLifeTime": "end of life on"}
# Bedrock answers an id that it does not know with either.
NOT_THERE = ("ResourceNotFound", "ValidationException")
READ_MODEL = ("bedrock:GetFoundationModel", "bedrock:GetFoundationModelAvailability")


def checks(stack: Stack) -> list[Check]:
    """One check for each model or profile that any role may call."""
    return [_check(stack, call) for call in calls(stack)]


def _check(stack: Stack, call: Call) -> Check:
    def ask(account: Account) -> Iterator[Finding]:
        region = stack.region
        if call.by_profile:
            served = _profile_regions(account, call.name)
            yield _profile_finding(account, stack, call, served)
            if served is None:
                return
            # A profile may be called from a region that does not serve the model itself.
            region = region if region in served or not served else sorted(served)[0]
        yield from _model_findings(account, stack, call, region)

    actions = (*READ_MODEL, "bedrock:GetInferenceProfile") if call.by_profile else READ_MODEL
    return Check(what=f"model {call.name}", ask=ask, actions=actions)


def _profile_regions(account: Account, name: str) -> set[str] | None:
    """The regions to which the profile sends calls; None where there is no such profile."""
    profile = _found(account.client("bedrock").get_inference_profile, inferenceProfileIdentifier=name)
    if profile is None:
        return None
    # A global profile also names the model without a region.
    return {item["modelArn"].split(":")[3] for item in profile["models"]} - {""}


def _profile_finding(account: Account, stack: Stack, call: Call, served: set[str] | None) -> Finding:
    """A call that is sent to a region in which the roles may not use the model is refused now and then."""
    what = f"inference profile {call.name}"
    if served is None:
        choices = account.command("bedrock list-inference-profiles")
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


def _model_findings(account: Account, stack: Stack, call: Call, region: str) -> Iterator[Finding]:
    client = account.client("bedrock", region)
    answer = _found(client.get_foundation_model, modelIdentifier=call.model_id)
    choices = account.command("bedrock list-foundation-models", region)
    if answer is None:
        yield judged(False, f"model {call.model_id}", needed=f"offered in {region}", found="none",
                     fix=_another(stack, call, choices))  # fmt: skip
        return
    yield _lifecycle(stack, call, answer["modelDetails"].get("modelLifecycle", {}), choices)
    yield _access(account, call, client.get_foundation_model_availability(modelId=call.model_id), region)


def _lifecycle(stack: Stack, call: Call, lifecycle: Any, choices: str) -> Finding:
    """AWS tells ahead from when a model is legacy, which comes half a year before its end at the latest.

    https://docs.aws.amazon.com/bedrock/latest/userguide/model-lifecycle.html
    """
    status = lifecycle.get("status", "unknown")
    latest = datetime.now(UTC) + timedelta(days=END_OF_LIFE_DAYS)
    dates = [(words, lifecycle[key]) for key, words in LIFE_DATES.items() if lifecycle.get(key)]
    return judged(
        status == "ACTIVE" and all(when > latest for _, when in dates),
        f"life of model {call.model_id}",
        needed=f"ACTIVE for {END_OF_LIFE_DAYS} days more",
        found=", ".join([status, *(f"{words} {when:%Y-%m-%d}" for words, when in dates)]),
        # A model without a life cycle cannot be judged.
        otherwise=Status.FAILED if lifecycle else Status.UNCHECKED,
        fix=_another(
            stack, call, f"{choices} --query \"modelSummaries[?modelLifecycle.status=='ACTIVE'].modelId\""
        ),
    )


def _access(account: Account, call: Call, answer: Any, region: str) -> Finding:
    """Every part must be granted; what is missing first decides the fix."""
    agreement = answer["agreementAvailability"]["status"]
    parts = {
        "region": (answer["regionAvailability"] == "AVAILABLE", "choose a model that the region offers"),
        "authorization": (
            answer["authorizationStatus"] == "AUTHORIZED",
            f"allow {INVOKE} on {call.model_id} in the account's service control policies and to yourself",
        ),
        "agreement": (agreement == "AVAILABLE", _agree(account, call.model_id, region)),
        "entitlement": (
            answer["entitlementAvailability"] == "AVAILABLE",
            _agree(account, call.model_id, region),
        ),
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


def _agree(account: Account, model_id: str, region: str) -> str:
    """Anthropic asks once for a description of the use case; other models for an agreement.

    https://docs.aws.amazon.com/bedrock/latest/userguide/model-access.html
    """
    if model_id.startswith("anthropic."):
        return account.command(
            "bedrock put-use-case-for-model-access --form-data fileb://use-case.json", region
        )
    offers = account.command(f"bedrock list-foundation-model-agreement-offers --model-id {model_id}", region)
    agree = f"bedrock create-foundation-model-agreement --model-id {model_id} --offer-token TOKEN"
    return f"{offers}; then {account.command(agree, region)}"


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
