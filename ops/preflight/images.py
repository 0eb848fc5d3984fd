"""Whether the region has the machine images that a stack looks up by their public parameters."""

from collections.abc import Iterator

from ops.preflight.account import Account
from ops.preflight.checks import Check
from ops.preflight.findings import Finding, judged
from ops.preflight.stack import Stack

LOOKUP = "aws:ssm/getParameter:getParameter"
# https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html
MOST_NAMES = 10


def checks(stack: Stack) -> list[Check]:
    """One check for each ten parameters. Images pinned by id are for `python -m ops images`."""
    calls = [call for call in stack.recording.invokes if call.token == LOOKUP]
    names = sorted({str(call.arguments["name"]) for call in calls})
    return [_check(stack, names[start : start + MOST_NAMES]) for start in range(0, len(names), MOST_NAMES)]


def _check(stack: Stack, names: list[str]) -> Check:
    def ask(account: Account) -> Iterator[Finding]:
        answer = account.client("ssm").get_parameters(Names=names)
        found = {item["Name"]: item["Value"] for item in answer.get("Parameters", ())}
        for name in names:
            yield judged(
                name in found,
                f"machine image {name}",
                needed="an image id",
                found=found.get(name, "no such parameter"),
                detail="" if name in found else f"AWS publishes no such image in {stack.region}.",
                fix=f"set another nodeImage in Pulumi.{stack.name}.yaml, or pin an image id under machineImages",
            )

    # Public parameters belong to no account.
    arns = [f"arn:{stack.partition}:ssm:{stack.region}:*:parameter{name}" for name in names]
    return Check(what="machine images", ask=ask, actions=("ssm:GetParameters",), resources=tuple(arns))
