"""One comment, one issue: told once, changed afterwards, closed at the end; against a stand-in for GitHub's API."""

import json
import socket
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from ops.github import command
from ops.github.text import CUT, LONGEST_BODY, fenced
from tests.standins.loopback import Reply, Request, json_reply, serving

WORKFLOW = {"login": "github-actions[bot]"}
PREFIX = "/repos/octo-org/ai-platform/"


class FakeGitHub:
    """Comments of pull request 12, and issues; items come in pages, as GitHub sends them."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.issues: list[dict[str, Any]] = []
        self.refusal: Reply | None = None
        self.url = ""

    def answer(self, request: Request) -> Reply:
        if self.refusal:
            return self.refusal
        assert request.headers["authorization"] == "Bearer t0ken"
        path = request.path.removeprefix(PREFIX)
        body = json.loads(request.body) if request.body else {}
        if request.method == "GET":
            return self._list(path, parse_qs(request.query))
        if request.method == "POST":
            return self._add(path, body)
        kind, _, number = path.rpartition("/")
        items = self.comments if kind == "issues/comments" else self.issues
        next(item for item in items if item["id"] == int(number)).update(body)
        return json_reply({})

    def _list(self, path: str, query: dict[str, list[str]]) -> Reply:
        if path == "issues":
            items = [
                item
                for item in self.issues
                if item["state"] == query["state"][0] and item["user"]["login"] == query["creator"][0]
            ]
        else:
            items = self.comments
        size, page = int(query["per_page"][0]), int(query["page"][0])
        return json_reply(items[size * (page - 1) : size * page])

    def _add(self, path: str, body: dict[str, Any]) -> Reply:
        items = self.issues if path == "issues" else self.comments
        number = len(items) + 1
        items.append({"id": number, "number": number, "user": WORKFLOW, "state": "open", **body})
        return json_reply(items[-1], 201)

    def run(self, *arguments: str) -> int:
        environment = {
            "GITHUB_REPOSITORY": "octo-org/ai-platform", "GITHUB_TOKEN": "t0ken", "GITHUB_API_URL": self.url,
        }  # fmt: skip
        return command.main(arguments, environment)


@pytest.fixture
def github() -> Generator[FakeGitHub]:
    fake = FakeGitHub()
    with serving(fake.answer) as fake.url:
        yield fake


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.md"
    path.write_text("one resource more", encoding="utf-8")
    return path


def _comment(report: Path, about: str = "change-report") -> list[str]:
    return ["comment", "--number", "12", "--about", about, "--file", str(report)]


def _issue(report: Path) -> list[str]:
    return ["issue", "--about", "drift-prod", "--title", "Stack prod has drifted", "--file", str(report)]


def test_a_second_report_changes_the_first_comment(github: FakeGitHub, report: Path) -> None:
    assert github.run(*_comment(report)) == 0
    report.write_text("two resources more", encoding="utf-8")
    assert github.run(*_comment(report)) == 0
    (comment,) = github.comments
    assert comment["body"].endswith("two resources more"), "a pull request would fill with old reports"


def test_comments_of_other_names_and_other_people_are_left_alone(github: FakeGitHub, report: Path) -> None:
    stranger = {"id": 1, "user": {"login": "mallory"}, "body": "<!-- ai-platform: change-report -->\nmine"}
    github.comments.append(stranger)
    assert github.run(*_comment(report)) == 0
    assert github.run(*_comment(report, "another")) == 0
    assert len(github.comments) == 3
    assert stranger["body"].endswith("mine")


def test_the_comment_is_found_behind_a_page_of_others(github: FakeGitHub, report: Path) -> None:
    github.comments += [{"id": 0, "user": {"login": "people"}, "body": "hm"} for _ in range(100)]
    assert github.run(*_comment(report)) == 0
    assert github.run(*_comment(report)) == 0
    assert len(github.comments) == 101


def test_an_issue_is_opened_once_changed_and_closed(github: FakeGitHub, report: Path) -> None:
    assert github.run(*_issue(report)) == 0
    report.write_text("a queue, too", encoding="utf-8")
    assert github.run(*_issue(report)) == 0
    (issue,) = github.issues
    assert (issue["title"], issue["state"]) == ("Stack prod has drifted", "open")
    assert "a queue, too" in issue["body"] and "one resource more" not in issue["body"]
    report.write_text("", encoding="utf-8")
    assert github.run(*_issue(report)) == 0
    assert issue["state"] == "closed", "nobody would know that it is mended"
    assert github.run(*_issue(report)) == 0
    assert len(github.issues) == 1, "nothing to tell is no issue"


def test_an_issue_that_was_closed_is_not_opened_again_but_made_anew(github: FakeGitHub, report: Path) -> None:
    for text in ("drift", "", "drift again"):
        report.write_text(text, encoding="utf-8")
        assert github.run(*_issue(report)) == 0
    assert [issue["state"] for issue in github.issues] == ["closed", "open"]


@pytest.mark.parametrize("kind", [_comment, _issue])
def test_a_text_that_github_would_refuse_is_cut_and_says_so(
    github: FakeGitHub, report: Path, kind: Any
) -> None:
    report.write_text("x" * 100_000, encoding="utf-8")
    assert github.run(*kind(report)) == 0
    (told,) = github.comments or github.issues
    assert len(told["body"]) <= LONGEST_BODY
    assert CUT.strip() in told["body"]


def test_a_text_cannot_break_out_of_its_block() -> None:
    assert fenced("a\n```\n# b").splitlines() == ["````text", "a", "```", "# b", "````"]


def test_a_comment_of_somebody_who_has_left_is_passed_by(github: FakeGitHub, report: Path) -> None:
    github.comments.append({"id": 1, "user": None, "body": "was here"})
    assert github.run(*_comment(report)) == 0
    assert len(github.comments) == 2


def test_an_answer_that_is_no_list_is_told(
    github: FakeGitHub, report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    github.refusal = json_reply({"message": "moved"})
    assert github.run(*_comment(report)) == 1
    assert "something other than a list: {'message': 'moved'}" in capsys.readouterr().err


def _answer_half(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[")


def test_a_connection_that_breaks_is_told(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        half = threading.Thread(target=_answer_half, args=(listener,))
        half.start()
        environment = {
            "GITHUB_REPOSITORY": "octo-org/ai-platform", "GITHUB_TOKEN": "t0ken",
            "GITHUB_API_URL": f"http://127.0.0.1:{listener.getsockname()[1]}",
        }  # fmt: skip
        assert command.main(_comment(report), environment) == 1
        half.join()
    assert "GitHub could not be asked for GET issues/12/comments" in capsys.readouterr().err


def test_a_refusal_is_told_without_the_token(
    github: FakeGitHub, report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    github.refusal = json_reply({"message": "Resource not accessible by integration"}, 403)
    assert github.run(*_comment(report)) == 1
    told = capsys.readouterr().err
    assert "refused GET issues/12/comments" in told and "not accessible by integration" in told
    assert "Fix: give the job `issues: write`" in told and told.count("\n") == 1
    assert "t0ken" not in told


@pytest.mark.parametrize("missing", ["GITHUB_REPOSITORY", "GITHUB_TOKEN"])
def test_what_the_step_was_not_handed_is_named(
    missing: str, report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"GITHUB_REPOSITORY": "octo-org/ai-platform", "GITHUB_TOKEN": "t0ken"}
    del environment[missing]
    assert command.main(_comment(report), environment) == 1
    assert f"{missing} is not set" in capsys.readouterr().err


def test_summaries_of_one_job_follow_each_other(tmp_path: Path, report: Path) -> None:
    place = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    for title in ("Plan for dev", "Plan for prod"):
        assert command.main(["summary", "--title", title, "--file", str(report)], place) == 0
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("## Plan for dev\n\n```text\none resource more\n```\n")
    assert "## Plan for prod" in text


def test_a_file_that_is_not_there_fails_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    assert command.main(["summary", "--title", "x", "--file", str(tmp_path / "none.txt")], place) == 1
    assert "none.txt" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_or_written_is_told_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text"
    ask = ["summary", "--title", "x", "--file", str(text)]
    assert command.main(ask, {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}) == 1
    assert capsys.readouterr().err.startswith(f"--file {text} cannot be read: No such file")
    text.write_text("told", encoding="utf-8")
    assert command.main(ask, {"GITHUB_STEP_SUMMARY": str(tmp_path)}) == 1
    assert capsys.readouterr().err.startswith(f"GITHUB_STEP_SUMMARY = {tmp_path}: cannot be written: ")
