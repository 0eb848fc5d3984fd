"""The workflows: what they run exists, what they may do is little, and nothing from outside gets into a shell."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bootstrap.settings import ENVIRONMENTS
from ops import __main__ as ops_main
from ops import bootstrap, instance_prices
from ops.capture.program import PROJECT_ROOT
from ops.capture.stack_files import load_stack_config
from ops.cost import prices as service_prices
from recordings import STACKS

FOLDER = PROJECT_ROOT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
ACTIONS = sorted((FOLDER / "actions").rglob("action.yml"))
FILES = [*WORKFLOWS, *ACTIONS]
DOCUMENTATION = (PROJECT_ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
# Contexts that hold nothing that a stranger can choose. `vars` are set by administrators.
SAFE = re.compile(r"(vars\.\w+|matrix\.stack|inputs\.stack|github\.(token|run_id|run_attempt|repository|workflow|ref)"
                  r"|github\.event\.pull_request\.(number|base\.sha)|needs\.plan\.outputs\.(digest|place)"
                  r"|steps\.plan\.outputs\.(digest|place)|runner\.os|hashFiles\('[^']*'\)"
                  r"|github\.ref != 'refs/heads/main')")  # fmt: skip


def _load(path: Path) -> dict[str, Any]:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    # YAML 1.1 reads the key `on` as true.
    return {("on" if key is True else key): value for key, value in document.items()}


def _jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in WORKFLOWS:
        for name, job in _load(path)["jobs"].items():
            yield f"{path.name}: {name}", job


def _steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for place, job in _jobs():
        yield from ((place, step) for step in job.get("steps", []))
    for path in ACTIONS:
        yield from ((path.parent.name, step) for step in _load(path)["runs"]["steps"])


def _job(workflow: str, name: str) -> dict[str, Any]:
    return _load(FOLDER / "workflows" / f"{workflow}.yml")["jobs"][name]


def _script(workflow: str, job: str) -> str:
    return "\n".join(step.get("run", "") for step in _job(workflow, job)["steps"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_hash_with_the_version_beside_it(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").splitlines():
        if found := re.search(r"\buses: (\S+)(.*)", line):
            pinned = re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", found[1]) and re.fullmatch(
                r" # v\d+\.\d+\.\d+", found[2]
            )
            assert pinned or found[1].startswith("$/.github/"), (
                f"a tag can be moved to other code: {line.strip()}"
            )


def test_an_action_has_one_version_everywhere() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    versions: dict[str, set[str]] = {}
    for action, version in re.findall(r"uses: ([\w.-]+/[\w.-]+)@(\S+)", text):
        versions.setdefault(action, set()).add(version)
    assert versions and not {action for action, found in versions.items() if len(found) > 1}


def test_every_own_action_and_workflow_that_is_used_exists() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    used = re.findall(r"uses: \$/(\S+)", text)
    assert used
    for target in used:
        assert (PROJECT_ROOT / target).exists(), f"{target} is used, and is not there"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_nothing_and_each_job_says_what_it_needs(path: Path) -> None:
    document = _load(path)
    assert document["permissions"] == {}
    for name, job in document["jobs"].items():
        assert "permissions" in job, f"{name} leaves open what it may do"


def test_what_each_job_may_write_is_what_it_is_there_for() -> None:
    writes = {
        place: sorted(key for key, value in job["permissions"].items() if value == "write")
        for place, job in _jobs()
    }
    assert {place: found for place, found in writes.items() if found} == {
        "deploy.yml: dev": ["id-token"],
        "deploy.yml: staging": ["id-token"],
        "deploy.yml: prod": ["id-token"],
        "deploy-stack.yml: plan": ["id-token"],
        "deploy-stack.yml: apply": ["id-token"],
        "drift.yml: drift": ["id-token", "issues"],
        "preview.yml: report": ["pull-requests"],
        "preview.yml: preview": ["id-token"],
        "prices.yml: read": ["id-token"],
        "prices.yml: propose": ["contents", "pull-requests"],
    }


def test_every_job_ends_by_itself() -> None:
    for place, job in _jobs():
        assert "uses" in job or 0 < job["timeout-minutes"] <= 60, f"{place} would run for six hours"


def test_no_checkout_leaves_a_token_behind() -> None:
    checkouts = [step for _, step in _steps() if "actions/checkout@" in step.get("uses", "")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_no_expression_gets_into_a_shell() -> None:
    for place, step in _steps():
        assert "${{" not in step.get("run", ""), f"{place}: a title or a branch could be a command"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_values_that_no_stranger_chooses_are_handed_on(path: Path) -> None:
    for expression in re.findall(r"\$\{\{ (.*?) \}\}", path.read_text(encoding="utf-8")):
        assert SAFE.fullmatch(expression), f"{path.name} hands on {expression}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_no_secret_is_read_and_no_fork_gets_a_token(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "secrets." not in text and "secrets:" not in text, "AWS is reached with a token of the run alone"
    assert not {"pull_request_target", "workflow_run"} & set(_load(path)["on"]), (
        "these give a fork's code the rights of this repository"
    )


def test_aws_is_reached_with_roles_from_variables_of_the_repository_only() -> None:
    roles = {
        place: step["with"]["role-to-assume"]
        for place, step in _steps()
        if "configure-aws-credentials@" in step.get("uses", "")
    }
    assert roles == {
        "deploy-stack.yml: plan": "${{ vars.AWS_PLAN_ROLE_ARN }}",
        "deploy-stack.yml: apply": "${{ vars.AWS_DEPLOY_ROLE_ARN }}",
        "drift.yml: drift": "${{ vars.AWS_PLAN_ROLE_ARN }}",
        "preview.yml: preview": "${{ vars.AWS_PREVIEW_ROLE_ARN }}",
        "prices.yml: read": "${{ vars.AWS_PLAN_ROLE_ARN }}",
    }
    for _, step in _steps():
        assert not {"aws-access-key-id", "aws-secret-access-key"} & set(step.get("with", {}))


def test_only_people_who_may_push_get_the_real_preview() -> None:
    condition = _job("preview", "preview")["if"]
    assert "github.event.pull_request.head.repo.full_name == github.repository" in condition
    assert "vars.AWS_PREVIEW_ROLE_ARN != ''" in condition, "it would fail until the role is there"
    comment = next(
        step for step in _job("preview", "report")["steps"] if "GITHUB_TOKEN" in step.get("env", {})
    )
    assert comment["if"] == "github.event.pull_request.head.repo.full_name == github.repository"
    assert "if" not in _job("preview", "report"), "a fork's pull request gets its report in the job's summary"


def test_jobs_on_the_main_branch_run_nowhere_else() -> None:
    """The plan role trusts the main branch only: elsewhere they could only fail."""
    for workflow, name in (("drift", "drift"), ("prices", "read")):
        assert "github.ref == 'refs/heads/main'" in _job(workflow, name)["if"]
    assert _load(FOLDER / "workflows" / "deploy.yml")["on"] == {"push": {"branches": ["main"]}}


def test_a_check_is_never_skipped() -> None:
    assert "if" not in _job("check", "check"), "GitHub takes a skipped job for a passed check"
    assert set(_load(FOLDER / "workflows" / "check.yml")["on"]) == {"push", "pull_request", "workflow_call"}


def test_ci_asks_for_exceptions_that_have_ended() -> None:
    """The tests judge by a day of their own, so that they give the same result on every day."""
    runs = [step.get("run", "") for step in _job("check", "check")["steps"]]
    assert runs[-2:] == [".ci/run", ".venv/bin/python -m ops lint"]


def test_prices_are_read_for_every_region_of_the_tables_and_stacks() -> None:
    script = _script("prices", "read")
    asked = {
        verb: set(regions.split())
        for regions, verb in re.findall(
            r"for region in ([a-z0-9 -]+); do\n.*python -m ops prices (\w+)", script
        )
    }
    stacks = {load_stack_config(PROJECT_ROOT, stack).values["ai-platform:region"] for stack in STACKS}
    assert asked == {
        "refresh": {region for _, region in instance_prices.read_table()} | stacks,
        "services": {region for _, _, region in service_prices.read_table()} | stacks,
    }, "a row that nobody reads anew grows old"
    assert script.index("make pages") > script.rindex("prices services"), "its checks would be red"


def test_stacks_are_deployed_one_after_the_other_and_only_when_the_checks_pass() -> None:
    jobs = _load(FOLDER / "workflows" / "deploy.yml")["jobs"]
    assert [(name, job.get("needs"), job.get("with", {}).get("stack")) for name, job in jobs.items()] == [
        ("check", None, None), ("dev", "check", "dev"), ("staging", "dev", "staging"), ("prod", "staging", "prod"),
    ]  # fmt: skip
    assert (
        {job["with"]["stack"] for job in jobs.values() if "with" in job} == set(STACKS) == set(ENVIRONMENTS)
    )


def test_the_plan_that_was_approved_is_the_plan_that_is_applied() -> None:
    plan, apply = _job("deploy-stack", "plan"), _job("deploy-stack", "apply")
    assert "environment" not in plan, "the plan has to be there before anybody can approve it"
    assert apply["environment"] == "${{ inputs.stack }}"
    assert apply["needs"] == "plan"
    assert apply["concurrency"] == {"group": "apply-${{ inputs.stack }}", "cancel-in-progress": False}, (
        "an update that is cancelled half-way leaves a locked stack"
    )
    assert "--save-plan plan.json" in _script("deploy-stack", "plan")
    script = _script("deploy-stack", "apply")
    fetched, checked, applied = (
        script.index(part)
        for part in (
            "aws s3 cp",
            "sha256sum --check --strict",
            'pulumi up --stack "$STACK" --yes --skip-preview',
        )
    )
    assert fetched < checked < applied, "a plan that somebody exchanged would be applied"
    assert "--plan plan.json" in script[applied:].splitlines()[0]


def test_a_plan_is_never_an_artifact_of_the_run() -> None:
    for _, step in _steps():
        if "upload-artifact@" in step.get("uses", ""):
            assert step["with"]["path"] == "prices.patch", "plans hold addresses and policies of the account"


def test_a_deployment_that_ecs_rolled_back_fails_the_job() -> None:
    steps = [step.get("run", "") for step in _job("deploy-stack", "apply")["steps"]]
    assert steps[-1] == '.venv/bin/python -m ops status --stack "$STACK"'
    assert not any("continue-on-error" in step for _, step in _steps())


def test_a_failure_to_look_is_no_drift() -> None:
    script = _script("drift", "drift")
    assert "--preview-only --expect-no-changes" in script
    assert re.search(r"0\) : > drift\.txt ;;\s+7\) ;;\s+\*\) exit \"\$code\" ;;", script)


def _commands() -> set[tuple[str, str, str]]:
    """Workflow, verb and options of every `python -m ops` command."""
    return {
        (place, verb, options)
        for place, step in _steps()
        for verb, options in re.findall(r"python -m ops ([a-z]+)([^\n>|]*)", step.get("run", ""))
    }


@pytest.mark.parametrize(("place", "verb", "options"), sorted(_commands()))
def test_every_operator_command_of_a_workflow_is_known(
    place: str, verb: str, options: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb in ops_main.VERBS, f"{place} runs a verb that does not exist"
    with pytest.raises(SystemExit) as ended:
        ops_main.main([verb, *re.findall(r"^ ([a-z]+)", options), "--help"])
    assert ended.value.code == 0
    assert set(re.findall(r"--[a-z-]+", options)) <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))


def test_every_other_command_of_ours_exists() -> None:
    makefile = (PROJECT_ROOT / "Makefile").read_text(encoding="utf-8")
    for _, step in _steps():
        run = step.get("run", "")
        for target in re.findall(r"\bmake (\S+)", run):
            assert re.search(rf"^{re.escape(target)}:", makefile, flags=re.M), (
                f"`make {target}` does not exist"
            )
        for path in re.findall(r"(?:^|\s)(\.(?:ci|github)/\S+)", run):
            assert (PROJECT_ROOT / path).exists(), f"{path} does not exist"


def test_the_command_line_is_the_one_that_the_tests_run_on() -> None:
    module = (PROJECT_ROOT / "tests" / "engine" / "cli" / "go.mod").read_text(encoding="utf-8")
    tested = re.search(r"pulumi/pkg/v3 v(\S+)", module)
    asked = [
        step["with"]["pulumi-version"] for _, step in _steps() if "pulumi/actions@" in step.get("uses", "")
    ]
    assert tested and asked
    assert set(asked) == {tested[1]}


def test_every_variable_of_the_workflows_is_told_by_the_bootstrap_and_documented() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    used = set(re.findall(r"\bvars\.(\w+)", text))
    settings = bootstrap.BootstrapSettings(repository="octo-org/ai-platform", region="eu-central-1")
    told = bootstrap.next_steps(settings, bootstrap.recorded(settings).exports)
    assert used == set(re.findall(r"gh variable set (\w+)", told))
    assert used == set(re.findall(r"`((?:AWS|PULUMI)_[A-Z_]+)`", DOCUMENTATION))


def test_every_workflow_is_documented() -> None:
    for path in WORKFLOWS:
        assert f"`{path.stem}`" in DOCUMENTATION
