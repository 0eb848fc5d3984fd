"""The containers of the tasks and jobs on a node of ECS or AWS Batch."""

from __future__ import annotations

import json
import subprocess
from signal import Signals
from typing import NamedTuple

TIMEOUT_SECONDS = 10
# The ECS agent gives these labels to every container of a task, and not to itself. AWS Batch lets nobody set labels.
TASK_LABEL = "com.amazonaws.ecs.task-arn"
NAME_LABEL = "com.amazonaws.ecs.container-name"
# The agent's own helpers inside of a task, such as the one that holds its network.
HELPER_PREFIX = "~internal~"
# A service sets it to ecs-drains: ECS takes its tasks out of the load balancer before it stops them.
OPT_OUT_LABEL = "ai-platform.interruption"


class Container(NamedTuple):
    """`pid` is the host's number of the first process in it."""

    id: str
    pid: int

    def __str__(self) -> str:
        return f"container {self.id[:12]}"


class Containers:
    """Every container of a task, service tasks that opted out excepted."""

    def running(self) -> list[Container]:
        """The containers that run now; raises OSError or subprocess.SubprocessError when Docker gives no answer."""
        ids = self._ids()
        if not ids:
            return []
        # Fails for a container that ended meanwhile, and tells of all others.
        lines = _docker("inspect", "--format", "{{.Id}} {{.State.Pid}} {{json .Config.Labels}}", *ids)
        found = [line.split(" ", 2) for line in lines.splitlines() if line]
        untold = set(ids) - {id for id, _, _ in found}
        if untold and untold & set(self._ids()):
            raise OSError(f"Docker tells nothing of {len(untold)} containers that run")
        return [Container(id, int(pid)) for id, pid, labels in found if _is_work(json.loads(labels))]

    def _ids(self) -> list[str]:
        return _docker("ps", "--quiet", "--no-trunc", "--filter", f"label={TASK_LABEL}", check=True).split()

    def send(self, container: Container, signal: Signals) -> None:
        """Signals the first process of a container."""
        _docker("kill", "--signal", signal.name, container.id, check=True)


def _is_work(labels: dict[str, str]) -> bool:
    helper = labels.get(NAME_LABEL, "").startswith(HELPER_PREFIX)
    return not helper and labels.get(OPT_OUT_LABEL) != "ecs-drains"


def _docker(*arguments: str, check: bool = False) -> str:
    result = subprocess.run(
        ["docker", *arguments], stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_SECONDS, check=check
    )
    return result.stdout
