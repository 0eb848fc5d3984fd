"""What the README says about the platform on one machine is what it does there."""

import contextlib
import io
import json
import re
import shlex
import shutil
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.local.command import API_PORT, SAMPLES
from tests.local.environment import PROJECT_ROOT
from tests.local.platform import Options, Running, running

README = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")


def block(marker: str) -> str:
    """The code block after a marker."""
    found = re.search(rf"<!-- {marker} -->\n```\w+\n(.*?)```", README, flags=re.DOTALL)
    assert found, f"README.md has no block {marker}"
    return found[1]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    pytest.importorskip("wordllama", reason="there is no sentence model for this machine")
    folder, logs = tmp_path_factory.mktemp("documents"), tmp_path_factory.mktemp("logs")
    shutil.copytree(SAMPLES, folder, dirs_exist_ok=True)
    with running(Options(folder=folder, logs=logs)) as started:
        yield started


def ask_as_the_readme_does(address: str) -> dict[str, Any]:
    words = shlex.split(block("local ask"))
    url = next(word for word in words if word.startswith("http")).replace(
        f"http://127.0.0.1:{API_PORT}", address
    )
    data = words[words.index("-d") + 1].encode()
    name, _, value = words[words.index("-H") + 1].partition(": ")
    request = urllib.request.Request(url, data=data, headers={name: value})
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)


def is_shown(answer: dict[str, Any], shown: dict[str, Any]) -> bool:
    """Whether the answer says what the README shows of it, its best source first."""
    best = answer["sources"][:1]
    return (
        all(answer[key] == shown[key] for key in ("answer", "outcome"))
        and bool(best)
        and best[0].items() >= shown["sources"][0].items()
    )


def test_the_question_of_the_readme_gets_the_answer_of_the_readme(platform: Running) -> None:
    shown = json.loads(block("local answer"))
    answer = ask_as_the_readme_does(platform.api_url)
    give_up = time.monotonic() + 60
    while not is_shown(answer, shown) and time.monotonic() < give_up:
        answer = ask_as_the_readme_does(platform.api_url)
    assert is_shown(answer, shown), f"the README promises another answer than {answer}"


def test_the_python_of_the_readme_prints_the_answer(platform: Running) -> None:
    program = block("local openai").replace(f"http://127.0.0.1:{API_PORT}", platform.api_url)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {})
    assert printed.getvalue().strip() == json.loads(block("local answer"))["answer"]
