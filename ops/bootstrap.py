"""`python -m ops bootstrap`: what the workflows need in AWS before the first deployment, shown or made.

State bucket, key, GitHub's identity provider and three roles are a Pulumi program of their own, in `bootstrap/`. Its
first state has nowhere to lie but on this machine; how to move it into the new bucket is told at the end.
"""

import argparse
import json
import os
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from bootstrap.settings import ENVIRONMENTS, PROJECT, BootstrapSettings, SettingsError
from ops.bootstrap_steps import FOLDER, LOCAL_STATE, STACK, next_steps, unmade
from ops.capture.computed import Computed
from ops.capture.program import record_program
from ops.capture.recording import Recording
from ops.capture.stack_files import StackConfig
from ops.command_line import verb_parser
from ops.preview import wants_colour
from ops.preview_text import render

EXAMPLES = """examples:
  python -m ops bootstrap --repository octo-org/ai-platform --region eu-central-1
  python -m ops bootstrap --repository octo-org/ai-platform --owner-id 123 --repository-id 456 --create

Repositories made or renamed since 2026-07-15 need both numbers; this tells them:
  gh api repos/octo-org/ai-platform --jq '[.owner.id, .id]'

An account takes one identity provider for GitHub. Where there is one, its audiences must have sts.amazonaws.com, and this
tells its ARN:
  aws iam list-open-id-connect-providers

exit code: 0 shown or made, 1 a command failed, 2 wrong usage
"""

Run = Callable[[Sequence[str], Mapping[str, str]], "subprocess.CompletedProcess[str]"]


class BootstrapError(Exception):
    """A command failed; the message says which."""


def parser() -> argparse.ArgumentParser:
    top = verb_parser("bootstrap", __doc__, EXAMPLES)
    top.add_argument("--repository", required=True, metavar="OWNER/NAME", help="whose workflows are trusted")
    top.add_argument("--region", default="eu-central-1", help="where the state lies (default: eu-central-1)")
    top.add_argument("--owner-id", default="", metavar="NUMBER", help="GitHub's number for the owner")
    top.add_argument(
        "--repository-id", default="", metavar="NUMBER", help="GitHub's number for the repository"
    )
    top.add_argument(
        "--environments", default=list(ENVIRONMENTS), nargs="+", metavar="NAME",
        help="GitHub environments that may deploy to this account (default: dev staging prod)",
    )  # fmt: skip
    top.add_argument(
        "--identity-provider-arn",
        default="",
        metavar="ARN",
        help="GitHub's provider, where the account has one",
    )
    top.add_argument("--create", action="store_true", help="make it, after Pulumi has shown it and asked")
    top.add_argument("--yes", action="store_true", help="with --create: do not ask")
    top.add_argument("--json", action="store_true", help="print resources and commands as JSON for machines")
    return top


def main(arguments: Sequence[str], run: Run | None = None) -> int:
    """0 when shown or made, 1 when a command failed, 2 on wrong usage."""
    top = parser()
    options = top.parse_args(arguments)
    if options.json and options.create:
        top.error("--json shows what would be made; leave it out to --create")
    try:
        settings = BootstrapSettings(
            repository=options.repository, region=options.region, owner_id=options.owner_id,
            repository_id=options.repository_id, environments=tuple(options.environments),
            identity_provider_arn=options.identity_provider_arn,
        )  # fmt: skip
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        return (
            _create(settings, run or _run, yes=options.yes)
            if options.create
            else _show(settings, options.json)
        )
    except BootstrapError as error:
        print(error, file=sys.stderr)
        return 1


def recorded(settings: BootstrapSettings) -> Recording:
    """What the program in `bootstrap/` would register."""
    config = StackConfig(
        project=PROJECT,
        values={f"{PROJECT}:{key}": value for key, value in configuration(settings).items()},
        secret_keys=(),
    )
    return record_program(
        lambda: runpy.run_path(str(FOLDER / "__main__.py"), run_name="__main__"),
        config, STACK, computed=Computed(region=settings.region), root=FOLDER,
    )  # fmt: skip


def configuration(settings: BootstrapSettings) -> dict[str, str]:
    """The settings as keys of the stack file, all of them, so that none is left from an earlier run."""
    return {
        "repository": settings.repository,
        "region": settings.region,
        "repositoryOwnerId": settings.owner_id,
        "repositoryId": settings.repository_id,
        "environments": " ".join(settings.environments),
        "identityProviderArn": settings.identity_provider_arn,
    }


def commands(settings: BootstrapSettings) -> list[list[str]]:
    """What `--create` runs, in `bootstrap/` and with a state on this machine."""
    sets = [["pulumi", "config", "set", key, value] for key, value in configuration(settings).items()]
    return [["pulumi", "stack", "select", "--create", STACK], *sets, ["pulumi", "up"]]


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Pulumi's own settings for a state on this machine. It has no secrets, so that its passphrase guards nothing."""
    return {**variables, "PULUMI_BACKEND_URL": LOCAL_STATE.as_uri(), "PULUMI_CONFIG_PASSPHRASE": "bootstrap"}


def _show(settings: BootstrapSettings, as_json: bool) -> int:
    recording = recorded(settings)
    lines = [shlex.join(command) for command in commands(settings)]
    if as_json:
        resources = [{"type": each.type, "name": each.name} for each in recording.resources if each.custom]
        print(json.dumps({"resources": resources, "commands": lines}, indent=2))
        return 0
    print(render(recording, colour=wants_colour()))
    print("\nNothing has been made. --create runs, in bootstrap/, with a state on this machine:")
    print("\n".join(f"  {line}" for line in lines))
    print("\nThen, with the names that --create tells:\n" + next_steps(settings, unmade(recording.exports)))
    return 0


def _create(settings: BootstrapSettings, run: Run, *, yes: bool) -> int:
    LOCAL_STATE.mkdir(parents=True, exist_ok=True)
    variables = environment(os.environ)
    for command in commands(settings):
        flags = ["--yes"] if yes and command[1] == "up" else []
        _must(run, [*command, *flags], variables)
    outputs = json.loads(_must(run, ["pulumi", "stack", "output", "--json"], variables).stdout)
    print(next_steps(settings, outputs))
    return 0


def _must(
    run: Run, command: Sequence[str], variables: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    done = run(command, variables)
    if done.returncode:
        raise BootstrapError(
            f"`{shlex.join(command)}` failed. Fix what it says, and run this again; for a provider that exists already, --identity-provider-arn takes its ARN."
        )
    return done


def _run(command: Sequence[str], variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """On this terminal, so that Pulumi can ask; only `stack output` is read."""
    if shutil.which(command[0], path=variables.get("PATH")) is None:
        raise BootstrapError(
            "There is no `pulumi` on the PATH. Fix: https://www.pulumi.com/docs/iac/download-install/"
        )
    read = subprocess.PIPE if "output" in command else None
    return subprocess.run(command, cwd=FOLDER, env=dict(variables), stdout=read, text=True, check=False)
