"""What is left to do by hand after `ops bootstrap --create`, as commands. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from bootstrap.settings import BootstrapSettings
from ops.capture.program import PROJECT_ROOT

FOLDER = PROJECT_ROOT / "bootstrap"
# The state until it is moved; git ignores it.
LOCAL_STATE = FOLDER / ".state"
STACK = "account"
MAIN_ONLY = '{"deployment_branch_policy": {"protected_branches": false, "custom_branch_policies": true}}'


def next_steps(settings: BootstrapSettings, outputs: Mapping[str, Any]) -> str:
    """How to move the state into the bucket, and what GitHub has to be told. Commands for a shell in `bootstrap/`."""
    lines = [
        "Move the state into the bucket, in bootstrap/:",
        *_move_state(outputs),
        "",
        "Tell GitHub (needs `gh` and the rights of an administrator):",
        *_tell_github(settings, outputs),
        "",
        "Add reviewers to the environments that are to wait for approval (Settings, Environments).",
        "",
        "Make the stacks, in the folder above and with the same state bucket; commit what Pulumi writes into all stack files:",
        *_make_stacks(settings, outputs),
    ]
    return "\n".join(lines)


def unmade(outputs: Iterable[str]) -> dict[str, str]:
    """A word for each output: what the recording makes up for it could be taken for an account's own."""
    return {name: name.upper() for name in outputs}


def _move_state(outputs: Mapping[str, Any]) -> list[str]:
    return [
        f"  export PULUMI_CONFIG_PASSPHRASE=bootstrap PULUMI_BACKEND_URL='{LOCAL_STATE.as_uri()}'",
        f"  pulumi stack export --stack {STACK} --file state.json",
        f"  export PULUMI_BACKEND_URL='{outputs['backend_url']}'",
        f"  pulumi stack init {STACK}",
        f"  pulumi stack import --stack {STACK} --file state.json",
        f"  pulumi stack change-secrets-provider --stack {STACK} '{outputs['secrets_provider']}'",
        "  pulumi preview --expect-no-changes && rm -r state.json .state",
    ]


def _tell_github(settings: BootstrapSettings, outputs: Mapping[str, Any]) -> list[str]:
    """The variables of the workflows, and environments that only the main branch deploys to."""
    repository = settings.repository
    variables = {
        "AWS_REGION": settings.region,
        "PULUMI_STATE_BUCKET": outputs["state_bucket"],
        "PULUMI_BACKEND_URL": outputs["backend_url"],
        "AWS_PREVIEW_ROLE_ARN": outputs["preview_role_arn"],
        "AWS_PLAN_ROLE_ARN": outputs["plan_role_arn"],
        "AWS_DEPLOY_ROLE_ARN": outputs["deploy_role_arn"],
    }
    lines = [
        f"  gh variable set {name} --repo {repository} --body '{value}'" for name, value in variables.items()
    ]
    for name in settings.environments:
        place = f"repos/{repository}/environments/{name}"
        lines.append(f"  gh api --method PUT {place} --input - <<< '{MAIN_ONLY}'")
        lines.append(f"  gh api {place}/deployment-branch-policies -f name=main")
    pull_requests = (
        f"repos/{repository}/actions/permissions/workflow -F can_approve_pull_request_reviews=true"
    )
    lines.append(f"  gh api --method PUT {pull_requests}   # so that new prices can come as a pull request")
    return lines


def _make_stacks(settings: BootstrapSettings, outputs: Mapping[str, Any]) -> list[str]:
    secrets = f"--secrets-provider '{outputs['secrets_provider']}'"
    return ["  cd ..", *(f"  pulumi stack init {name} {secrets}" for name in settings.environments)]
