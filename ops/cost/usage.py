"""What a busy month is: the use of the platform that an estimate assumes, each number with its meaning."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any


class UsageError(Exception):
    """A number of the usage is none, or nobody knows its name; the message says which and what there is."""


def _assumed(default: float, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, kw_only=True)
class Usage:
    """One busy month, the same for every stack, so that stacks compare. An idle month has none of it."""

    api_questions: float = _assumed(30_000, "questions to the RAG API")
    function_questions: float = _assumed(5_000, "questions to the orchestrator function")
    answer_seconds: float = _assumed(6, "seconds that the function takes for a question")
    question_tokens: float = _assumed(30, "tokens of a question, which are embedded")
    context_tokens: float = _assumed(2_500, "tokens that go into the model with a question")
    answer_tokens: float = _assumed(300, "tokens of an answer")
    peak_hours: float = _assumed(40, "hours in which a service runs its most tasks instead of its fewest")
    search_hours: float = _assumed(
        200, "hours in which a vector store that scales to zero is awake for searches, with 2 OCU"
    )
    documents: float = _assumed(2_000, "documents ingested")
    document_tokens: float = _assumed(5_000, "tokens of a document, which are embedded")
    document_seconds: float = _assumed(10, "seconds that ingestion takes for a document")
    indexing_hours: float = _assumed(
        40, "hours in which a vector store that scales to zero is awake for indexing, with 1 OCU"
    )
    vector_gb: float = _assumed(5, "GB in the vector index")
    lake_gb: float = _assumed(200, "GB in the data lake, young")
    lake_infrequent_gb: float = _assumed(50, "GB in the lake that are old enough for infrequent access")
    lake_archive_gb: float = _assumed(100, "GB in the lake that are old enough for an archive")
    lake_writes: float = _assumed(100_000, "objects written to the lake")
    lake_reads: float = _assumed(1_000_000, "objects read from the lake")
    files_gb: float = _assumed(50, "GB of shared files in use")
    files_infrequent_gb: float = _assumed(
        200, "GB of shared files that nobody has touched for the lifecycle's days"
    )
    files_read_gb: float = _assumed(500, "GB read from the shared files")
    files_written_gb: float = _assumed(100, "GB written to the shared files")
    fleet_hours: float = _assumed(
        60, "hours of nodes in each GPU fleet, above those that it or its service always keeps"
    )
    fleet_nodes: float = _assumed(1, "nodes at once in a GPU fleet, which the on-demand base counts for")
    opening_hours: float = _assumed(217, "hours that a service with opening hours is open")
    training_spot_hours: float = _assumed(40, "node hours of training jobs on spot")
    training_on_demand_hours: float = _assumed(5, "node hours of training jobs that spot had no capacity for")
    training_multi_node_hours: float = _assumed(8, "node hours of multi-node training jobs")
    training_runs: float = _assumed(20, "training runs")
    run_transitions: float = _assumed(200, "steps that the state machine takes for a training run")
    run_checks: float = _assumed(40, "looks of the progress function at a training run")
    drills: float = _assumed(2, "interruption drills, each of 2 minutes of action")
    images_kept: float = _assumed(10, "container images in the registry, of which an idle stack has one")
    image_gb: float = _assumed(0.25, "GB that an image adds to the registry")
    log_gb: float = _assumed(0.5, "GB of log that each log group takes in")
    flow_log_gb: float = _assumed(5, "GB of flow logs")
    insights_metrics: float = _assumed(
        25, "metrics of Container Insights for a cluster, also while nobody asks anything"
    )
    alarm_emails: float = _assumed(20, "messages that the alarms send")
    nat_gb: float = _assumed(100, "GB through all NAT gateways together")
    endpoint_gb: float = _assumed(10, "GB through each interface endpoint")
    internet_gb: float = _assumed(20, "GB out to the internet")

    def __post_init__(self) -> None:
        for item in fields(self):
            _check(item.name, getattr(self, item.name))


def meanings() -> dict[str, str]:
    """What each number of the usage means."""
    return {item.name: item.metadata["meaning"] for item in fields(Usage)}


def changed(usage: Usage, settings: Sequence[str]) -> Usage:
    """The usage with settings such as `documents=500`; UsageError tells of one that is none."""
    changes: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"{setting} sets nothing. Fix: write NAME=NUMBER, as in documents=500.")
        changes[name.strip()] = text.strip()
    return _replaced(usage, changes)


def read(path: Path) -> Usage:
    """The usage of a YAML file of names and numbers; what it leaves out keeps its default. UsageError tells what is wrong."""
    import yaml

    from ops.capture.stack_files import CheckedLoader

    try:
        # It is a SafeLoader, which refuses a name that is written twice.
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=CheckedLoader) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, Mapping):
        raise UsageError(f"{path} must be a mapping of names and numbers, as in documents: 500.")
    return _replaced(Usage(), content)


def _replaced(usage: Usage, changes: Mapping[Any, Any]) -> Usage:
    unknown = [str(name) for name in changes if name not in meanings()]
    if unknown:
        known = ", ".join(sorted(meanings()))
        raise UsageError(f"The usage has no {', '.join(unknown)}. Fix: use one of {known}.")
    return replace(usage, **{name: _number(name, value) for name, value in changes.items()})


def _number(name: str, value: Any) -> float:
    """The number that a file or an option gives, perhaps as text."""
    try:
        return _check(name, value if isinstance(value, bool) else float(value))
    except (TypeError, ValueError) as error:
        raise _no_number(name, value) from error


def _check(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise _no_number(name, value)
    return value


def _no_number(name: str, value: Any) -> UsageError:
    return UsageError(
        f"{name} = {value}: is no number of a month. Fix: use a number from 0 up, as in {name}=100."
    )
