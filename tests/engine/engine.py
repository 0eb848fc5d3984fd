"""Runs the real engine on a stack of the program, with the stub in place of AWS."""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from ops.capture.program import PROJECT_ROOT
from tests.engine.command_line import environment
from tests.engine.events import Result, read_events
from tests.engine.project import change_stack_file, make_project
from tests.engine.stub.account import Account
from tests.engine.stub.server import serving


class Engine:
    """One stack in an account and a backend of its own, gone when the context closes.

    `account` is what AWS would hold: tests change it from outside and script faults in it.
    """

    def __init__(
        self, pulumi: Path, stack: str, changes: Mapping[str, Any] | None = None, root: Path = PROJECT_ROOT
    ) -> None:
        self.stack = stack
        self.account = Account()
        self._pulumi = pulumi
        self._changes = changes or {}
        self._root = root
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._home = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="engine-")))
        self.project = self._home / "project"
        make_project(self.project, self._root)
        self._environment = environment(
            self._home, self._pulumi, self._open.enter_context(serving(self.account))
        )
        self.configure(self._changes)
        created = self._run("stack", "init")
        if created.returncode:
            raise RuntimeError(f"no stack could be made: {created.stdout}")
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.close()

    def configure(self, changes: Mapping[str, Any]) -> None:
        """Sets keys of the stack file; None takes a key out."""
        change_stack_file(self.project, self.stack, changes)

    def configure_secret(self, key: str, value: str) -> None:
        """`pulumi config set --secret`; `key` has its namespace."""
        stored = self._run("config", "set", "--secret", key, value)
        if stored.returncode:
            raise RuntimeError(f"{key} could not be set: {stored.stdout}")

    def use_program(self, root: Path) -> None:
        """Continues with the program in another folder, as after an upgrade; the stack file stays."""
        stack_file = (self.project / f"Pulumi.{self.stack}.yaml").read_bytes()
        for link in self.project.iterdir():
            link.unlink()
        make_project(self.project, root)
        (self.project / f"Pulumi.{self.stack}.yaml").write_bytes(stack_file)

    def preview(self, *flags: str) -> Result:
        return self._operate("preview", "--diff", *flags)

    def preview_is_empty(self) -> Result:
        """A preview that fails when it would change anything."""
        return self.preview("--expect-no-changes")

    def up(self, *flags: str) -> Result:
        return self._operate("up", "--yes", "--skip-preview", *flags)

    def refresh(self, *flags: str) -> Result:
        return self._operate("refresh", "--yes", "--skip-preview", *flags)

    def drift(self) -> Result:
        """A refresh that changes nothing, and fails where the account is not as the state says."""
        return self._operate("refresh", "--preview-only", "--expect-no-changes")

    def destroy(self, *flags: str) -> Result:
        """With its preview, since that is what refuses to destroy a protected stack before anything is gone."""
        return self._operate("destroy", "--yes", *flags)

    def unprotect_and_destroy(self) -> Result:
        """Takes every protection away, as a person must who means it, and destroys."""
        self._run("state", "unprotect", "--all", "--yes")
        return self.destroy("--skip-preview")

    def export(self, *flags: str) -> list[dict[str, Any]]:
        """The resources in the stack's state."""
        printed = self._run("stack", "export", *flags).stdout
        return json.loads(printed)["deployment"].get("resources", [])

    def outputs(self) -> dict[str, Any]:
        return json.loads(self._run("stack", "output", "--json").stdout)

    def judge_state(self, pack: Path) -> subprocess.CompletedProcess[str]:
        """`pulumi policy analyze` of the exported state: no program runs."""
        state = self._home / "exported.json"
        state.write_text(self._run("stack", "export").stdout, encoding="utf-8")
        return subprocess.run(
            [self._pulumi, "policy", "analyze", "--file", state, "--policy-pack", pack],
            cwd=self.project, env=self._environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def _operate(self, *arguments: str) -> Result:
        log = self._home / "events.json"
        log.unlink(missing_ok=True)
        done = self._run(*arguments, "--event-log", str(log))
        steps, errors = read_events(log)
        return Result(exit_code=done.returncode, output=done.stdout, steps=steps, errors=errors)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._pulumi), *arguments, "--stack", self.stack, "--non-interactive", "--color", "never"],
            cwd=self.project, env=self._environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
