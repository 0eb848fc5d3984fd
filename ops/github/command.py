"""`python -m ops github`: how the workflows tell people: one comment, one issue, and the summary of a job.

What was written before under the same name is updated, never written twice.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ops.command_line import verb_parser
from ops.github.api import WORKFLOWS, GitHub, GitHubError
from ops.github.text import LONGEST_BODY, LONGEST_SUMMARY_BYTES, cut, fenced, marker

EXAMPLES = """examples:
  python -m ops github comment --number 12 --about change-report --file report.md
  python -m ops github issue --about drift-prod --title "Stack prod has drifted" --file drift.txt
  python -m ops github summary --title "Plan for prod" --file preview.txt

comment and issue take GITHUB_TOKEN and GITHUB_REPOSITORY from the environment, summary GITHUB_STEP_SUMMARY.

exit code: 0 told, 1 GitHub refused or could not be asked, or the file cannot be read, 2 wrong usage
"""


class UntoldError(Exception):
    """A file cannot be read or written here; the message says which and why."""


def parser() -> argparse.ArgumentParser:
    top = verb_parser("github", __doc__, EXAMPLES)
    verbs = top.add_subparsers(dest="action", required=True, metavar="{comment,issue,summary}")
    comment = verbs.add_parser("comment", help="write Markdown into a pull request, once")
    comment.add_argument("--number", required=True, type=int, help="the pull request's number")
    issue = verbs.add_parser("issue", help="open or update an issue; an empty file closes it")
    issue.add_argument("--title", required=True, help="title of a new issue")
    summary = verbs.add_parser("summary", help="show a text in the summary of the job")
    summary.add_argument("--title", required=True, help="heading above the text")
    for verb in (comment, issue):
        verb.add_argument("--about", required=True, help="name under which it is found again")
    for verb in (comment, issue, summary):
        verb.add_argument("--file", required=True, type=Path, help="what to tell")
    return top


def main(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> int:
    """0 when it has been told, 1 when it could not be, 2 on wrong usage."""
    options = parser().parse_args(arguments)
    try:
        text = _text_of(options.file)
        if options.action == "summary":
            print(summarise(options.title, text, environment))
        elif options.action == "comment":
            print(comment_once(GitHub.of(environment), options.number, options.about, text))
        else:
            print(keep_issue(GitHub.of(environment), options.about, options.title, text))
    except (GitHubError, UntoldError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UntoldError(
            f"--file {path} cannot be read: {error.strerror}. Fix: name a file with what to tell."
        ) from error


def comment_once(github: GitHub, number: int, about: str, text: str) -> str:
    """Changes our comment of that name, or writes the first."""
    first = marker(about)
    body = {"body": cut(f"{first}\n{text}")}
    for comment in github.all(f"issues/{number}/comments"):
        # Whoever has left GitHub has no user.
        if (comment["user"] or {}).get("login") == WORKFLOWS and comment["body"].startswith(first):
            github.call("PATCH", f"issues/comments/{comment['id']}", body)
            return f"Comment {comment['id']} changed."
    return f"Comment {github.call('POST', f'issues/{number}/comments', body)['id']} written."


def keep_issue(github: GitHub, about: str, title: str, text: str) -> str:
    """One open issue of that name as long as there is a text, none without."""
    first = marker(about)
    ours = f"issues?state=open&creator={WORKFLOWS.replace('[', '%5B').replace(']', '%5D')}"
    opened = next((item for item in github.all(ours) if (item["body"] or "").startswith(first)), None)
    if not text.strip():
        if opened is None:
            return "Nothing to report, and no issue is open."
        github.call("POST", f"issues/{opened['number']}/comments", {"body": "This no longer applies."})
        github.call("PATCH", f"issues/{opened['number']}", {"state": "closed"})
        return f"Issue {opened['number']} closed."
    # The fence that ends the block would be cut off with the text.
    body = f"{first}\n{fenced(cut(text, LONGEST_BODY - 1000))}"
    if opened is None:
        return f"Issue {github.call('POST', 'issues', {'title': title, 'body': body})['number']} opened."
    github.call("PATCH", f"issues/{opened['number']}", {"body": body})
    return f"Issue {opened['number']} changed."


def summarise(title: str, text: str, environment: Mapping[str, str]) -> str:
    """Adds a heading and the text to the summary of the job."""
    place = environment.get("GITHUB_STEP_SUMMARY")
    if not place:
        raise GitHubError("GITHUB_STEP_SUMMARY is not set. Fix: run this in a step of a workflow.")
    shown = cut(text, LONGEST_SUMMARY_BYTES // 4)  # a character takes four bytes at most
    try:
        with Path(place).open("a", encoding="utf-8") as summary:
            summary.write(f"## {title}\n\n{fenced(shown)}\n")
    except OSError as error:
        raise UntoldError(
            f"GITHUB_STEP_SUMMARY = {place}: cannot be written: {error.strerror}. Fix: run this in a step of a workflow."
        ) from error
    return f"{title}: written to the summary of the job."
