"""The few calls of GitHub's REST API that the workflows need, with the token of a workflow run."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.parse import urlparse

TIMEOUT_SECONDS = 30
PAGE_SIZE = 100
# Who a workflow's token acts as.
WORKFLOWS = "github-actions[bot]"


class GitHubError(Exception):
    """GitHub could not be asked, or refused; the message says what was asked and what it answered."""


@dataclass(frozen=True, kw_only=True)
class GitHub:
    """One repository, as a workflow's environment names it."""

    repository: str
    token: str = field(repr=False)
    url: str = "https://api.github.com"

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "GitHub":
        """From GITHUB_REPOSITORY, GITHUB_TOKEN and GITHUB_API_URL. GitHubError names what is missing."""
        for name in ("GITHUB_REPOSITORY", "GITHUB_TOKEN"):
            if not environment.get(name):
                raise GitHubError(f"{name} is not set. Fix: in a workflow, hand it to the step in `env`.")
        url = environment.get("GITHUB_API_URL") or cls.url
        if urlparse(url).scheme not in ("http", "https"):
            raise GitHubError(f"GITHUB_API_URL = {url!r}: is not an http or https address. Fix: unset it.")
        return cls(repository=environment["GITHUB_REPOSITORY"], token=environment["GITHUB_TOKEN"], url=url)

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer to one request below the repository. GitHubError when it is refused."""
        request = urllib.request.Request(
            f"{self.url}/repos/{self.repository}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self.token}",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            told = " ".join(error.read(2000).decode(errors="replace").split())
            raise GitHubError(
                f"GitHub refused {method} {path} with {error.code}: {told}{_fix(error.code)}"
            ) from error
        except (OSError, HTTPException, ValueError) as error:
            raise GitHubError(f"GitHub could not be asked for {method} {path}: {error}") from error

    def all(self, path: str) -> Iterator[dict[str, Any]]:
        """Every item of a list, page by page; `path` may have a query already."""
        page, joint = 1, "&" if "?" in path else "?"
        while True:
            items = self.call("GET", f"{path}{joint}per_page={PAGE_SIZE}&page={page}")
            if not isinstance(items, list):
                raise GitHubError(
                    f"GitHub answered GET {path} with something other than a list: {items!r}"[:500]
                )
            yield from items
            if len(items) < PAGE_SIZE:
                return
            page += 1


def _fix(code: int) -> str:
    """What to do about a refusal, where one knows."""
    if code in (401, 403, 404):
        return ". Fix: give the job `issues: write` or `pull-requests: write`; a fork's pull request cannot have it."
    return ""
