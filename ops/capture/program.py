"""Runs the real program with a real stack file on the recording monitor: no AWS account, no command line."""

import asyncio
import logging
import runpy
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from components.config_sections import NAMESPACE
from ops.capture.computed import Computed
from ops.capture.recording import RecordedResource, Recording
from ops.capture.stack_files import StackConfig, load_stack_config

if TYPE_CHECKING:
    from ops.capture.monitor import RecordingMonitor

PROJECT_ROOT = Path(__file__).resolve().parents[2]


def record(
    stack: str,
    *,
    changes: Mapping[str, Any] | None = None,
    computed: Computed | None = None,
    preview: bool = False,
    project: str | None = None,
    root: Path = PROJECT_ROOT,
) -> Recording:
    """Everything that `pulumi up` of `stack` would register.

    `changes` replaces configuration keys; `project` the project's name. With `preview` nothing that AWS computes is
    known, as in a first preview. Raises StackFileError or the program's own error, ConfigError among them.
    """
    config = load_stack_config(root, stack, changes)
    if project:
        config = replace(config, project=project)
    return record_program(
        lambda: run_main(root), config, stack, computed=computed, preview=preview, root=root
    )


def record_program(
    program: Callable[[], Any],
    config: StackConfig,
    stack: str,
    *,
    computed: Computed | None = None,
    preview: bool = False,
    root: Path = PROJECT_ROOT,
) -> Recording:
    """Everything that `program`, run as stack `stack` with `config`, registers."""
    # The SDK takes a quarter of a second to import, which `--help` of a verb need not wait for.
    from ops.capture.monitor import RecordingMonitor

    chosen = computed or Computed()
    region = chosen.region or config.values.get(f"{NAMESPACE}:region", "us-east-1")
    monitor = RecordingMonitor(config.project, stack, root, replace(chosen, region=region, known=not preview))
    messages = _Messages()
    _run(monitor, messages, program, config, stack, preview, root)
    exports = monitor.registered_outputs.pop(monitor.stack_urn, {})
    return Recording(
        project=config.project,
        stack=stack,
        resources=tuple(_in_source_order(monitor.recorded.values())),
        invokes=tuple(sorted(monitor.invokes, key=lambda call: (call.token, str(call.arguments)))),
        registered_outputs=monitor.registered_outputs,
        exports=exports,
        warnings=tuple(sorted(messages.texts)),
    )


class _Messages(logging.Handler):
    """Keeps what the program warns about."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.add(record.getMessage())


def _run(
    monitor: "RecordingMonitor",
    messages: _Messages,
    program: Callable[[], Any],
    config: StackConfig,
    stack: str,
    preview: bool,
    root: Path,
) -> None:
    from pulumi.runtime import set_all_config
    from pulumi.runtime.mocks import MockEngine, MockSettings
    from pulumi.runtime.settings import configure
    from pulumi.runtime.stack import run_in_stack

    logger = logging.Logger("recording")
    logger.addHandler(messages)
    set_all_config(dict(config.values), list(config.secret_keys))
    configure(
        MockSettings(
            monitor=monitor, monitor_features=set(), engine=MockEngine(logger), project=config.project, stack=stack,
            dry_run=preview, organization=None, callbacks=None, root_directory=str(root),
            # Of its own: a run that fails leaves tasks behind, on which the next one would wait for ever.
            outputs=set(), lock=threading.Lock(),
        )
    )  # fmt: skip
    _forget_stack()
    try:
        with asyncio.Runner() as runner:
            runner.run(run_in_stack(program))
    finally:
        _forget_stack()
        set_all_config({}, [])


def _forget_stack() -> None:
    """The next run makes its own stack resource; the SDK types this setter for setting only."""
    from pulumi.runtime.settings import set_root_resource

    set_root_resource(cast(Any, None))


def run_main(root: Path = PROJECT_ROOT) -> None:
    """Runs the program's entry point, as the language host does."""
    runpy.run_path(str(root / "__main__.py"), run_name="__main__")


def _in_source_order(recorded: Iterable[RecordedResource]) -> list[RecordedResource]:
    """Parents before children, siblings by their place in the source; registration order depends on threads."""
    children: dict[str | None, list[RecordedResource]] = {}
    for resource in recorded:
        children.setdefault(resource.parent, []).append(resource)
    ordered: list[RecordedResource] = []
    pending = sorted(children.get(None, []), key=_place, reverse=True)
    while pending:
        resource = pending.pop()
        ordered.append(resource)
        pending += sorted(children.get(resource.urn, []), key=_place, reverse=True)
    return ordered


def _place(resource: RecordedResource) -> tuple[str, int, str, str]:
    return (*resource.position, resource.type, resource.name)
