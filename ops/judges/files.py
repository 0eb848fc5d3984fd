"""Asks hadolint about Dockerfiles, and zizmor and actionlint about workflows."""

from pathlib import Path

from ops.capture.program import PROJECT_ROOT
from ops.judges.environment import ask, beside_python, isolated
from ops.judges.findings import Finding

DOCKERFILES = ("gpu_node/examples/Dockerfile", "rag_api/Dockerfile")
GITHUB = ".github"


def hadolint_findings(root: Path = PROJECT_ROOT) -> list[Finding]:
    """Complaints about the Dockerfiles: https://github.com/hadolint/hadolint. Raises JudgeMissing or JudgeFailed."""
    answer = ask([beside_python("hadolint"), "--format", "json", *DOCKERFILES], allowed=(0, 1), cwd=root)
    return [
        _finding("hadolint", item["code"], item["file"], item["line"], item["message"]) for item in answer
    ]


def zizmor_findings(root: Path = PROJECT_ROOT) -> list[Finding]:
    """Security faults of the workflows: https://docs.zizmor.sh. Raises JudgeMissing or JudgeFailed."""
    # It ends with 11 to 14 by the severity of what it found.
    answer = ask(
        [isolated("zizmor"), "--offline", "--format", "json", GITHUB], allowed=(0, 11, 12, 13, 14), cwd=root
    )
    found: list[Finding] = []
    for item in answer:
        place = next(one for one in item["locations"] if one["symbolic"]["kind"] == "Primary")
        path = place["symbolic"]["key"]["Local"]["verbatim_path"]
        line = place["concrete"]["location"]["start_point"]["row"] + 1
        found.append(_finding("zizmor", item["ident"], path, line, item["desc"]))
    return found


def actionlint_findings(root: Path = PROJECT_ROOT) -> list[Finding]:
    """Mistakes in the workflows: https://github.com/rhysd/actionlint. Raises JudgeMissing or JudgeFailed."""
    program = isolated("actionlint")
    files = sorted(path.relative_to(root) for path in (root / GITHUB / "workflows").glob("*.y*ml"))
    # What shell steps hold is shellcheck's; actionlint takes whichever lies on the PATH.
    shellcheck = f"-shellcheck={beside_python('shellcheck')}"
    answer = ask(
        [program, shellcheck, "-pyflakes=", "-format", "{{json .}}", *files], allowed=(0, 1), cwd=root
    )
    return [
        _finding("actionlint", item["kind"], item["filepath"], item["line"], item["message"])
        for item in answer or ()
    ]


def _finding(judge: str, rule: str, file: str, line: int, message: str) -> Finding:
    return Finding(judge=judge, rule=rule, subject=file, message=f"line {line}: {message}")
