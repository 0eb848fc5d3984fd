"""The preview as text: headline, tree, exports, warnings and look-ups. The same recording gives the same bytes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ops.capture.recording import RecordedInvoke, RecordedResource, Recording
from ops.preview_access import Names, access_lines
from ops.preview_clauses import settings_of, shorten, shown

PROVIDER = "pulumi:providers:aws"
LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
BOLD, DIM, YELLOW, PLAIN = "\033[1m", "\033[2m", "\033[33m", "\033[0m"
LONGEST_LINE_VALUE = 140


@dataclass(frozen=True)
class Paint:
    """Colours, or nothing where they are not wanted."""

    colour: bool

    def __call__(self, style: str, text: str) -> str:
        return f"{style}{text}{PLAIN}" if self.colour and text else text


def render(recording: Recording, *, colour: bool = False) -> str:
    """The whole preview, without a newline at its end."""
    paint = Paint(colour)
    sections = [
        [headline(recording)],
        list(_Tree(recording, paint).lines()),
        _titled("Exports (what AWS decides is made up)", _export_lines(recording.exports)),
        _titled("Warnings", list(recording.warnings)),
        _titled("Looked up in AWS during a preview", _lookup_lines(recording.invokes)),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def counts(recording: Recording) -> dict[str, int]:
    """How many components, resources of AWS, and look-ups the run has."""
    custom = [resource for resource in recording.resources if resource.custom and resource.type != PROVIDER]
    return {
        "components": sum(not resource.custom for resource in recording.resources),
        "resources": len(custom),
        "lookups": len(recording.invokes),
    }


def region_of(recording: Recording) -> str:
    """The region that the stack's AWS provider is given, or an empty text."""
    return next((str(item.inputs.get("region", "")) for item in recording.of_type(PROVIDER)), "")


def headline(recording: Recording) -> str:
    number = counts(recording)
    place = region_of(recording)
    return (
        f"{recording.project}, stack {recording.stack}{f' in {place}' if place else ''}: "
        f"{number['components']} components, {number['resources']} resources, {number['lookups']} look-ups in AWS"
    )


def _titled(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _export_lines(exports: Mapping[str, Any]) -> list[str]:
    width = max(map(len, exports), default=0)
    return [
        f"{name:<{width}}  {shorten(shown(exports[name]), LONGEST_LINE_VALUE)}" for name in sorted(exports)
    ]


def _lookup_lines(invokes: tuple[RecordedInvoke, ...]) -> list[str]:
    lines = [f"{call.token.split(':')[-1]} {shown(call.arguments)}".strip() for call in invokes]
    return [shorten(line, LONGEST_LINE_VALUE) for line in lines]


class _Tree:
    """The resources as a tree, each below its parent."""

    def __init__(self, recording: Recording, paint: Paint) -> None:
        self._names = Names(recording)
        self._paint = paint
        self._children: dict[str | None, list[RecordedResource]] = {}
        for resource in recording.resources:
            self._children.setdefault(resource.parent, []).append(resource)

    def lines(self) -> Iterator[str]:
        for resource in self._children.get(None, []):
            yield from self._branch(resource, "", "")

    def _branch(self, resource: RecordedResource, first: str, rest: str) -> Iterator[str]:
        """A resource's line after `first`; what its policy and rules say, and its children, after `rest`."""
        paint = self._paint
        below = self._children.get(resource.urn, [])
        yield paint(DIM, first) + _line(resource, paint)
        for line in [*access_lines(resource, self._names), *_lifecycle_lines(resource)]:
            yield paint(DIM, f"{rest}{'│' if below else ' '}   ") + shorten(line, LONGEST_LINE_VALUE)
        for child in below:
            mark, space = ("└─ ", "   ") if child is below[-1] else ("├─ ", "│  ")
            yield from self._branch(child, rest + mark, rest + space)


def _line(resource: RecordedResource, paint: Paint) -> str:
    name = resource.name if resource.custom else paint(BOLD, resource.name)
    parts = [f"{name} {paint(DIM, short_type(resource.type))}"]
    clauses = ", ".join(settings_of(resource))
    parts += [clauses] if clauses else []
    marks = [word for word, is_set in _marks(resource) if is_set]
    parts += [paint(YELLOW, f"[{', '.join(marks)}]")] if marks else []
    return "  ".join(parts)


def _marks(resource: RecordedResource) -> tuple[tuple[str, bool], ...]:
    ignored = f"ignores changes of {' '.join(resource.ignore_changes)}"
    return (
        ("protected", resource.protect),
        ("kept on delete", resource.retain_on_delete),
        (ignored, bool(resource.ignore_changes)),
    )


def short_type(token: str) -> str:
    """`aws:ec2/subnet:Subnet` as `ec2.Subnet`; a component of the program as its class."""
    package, module, name = token.split(":")
    if package == "aiplatform":
        return name
    if package == "pulumi":
        return f"provider {name}"
    return f"{'' if package == 'aws' else package + '.'}{module.split('/')[0]}.{name}"


def _lifecycle_lines(resource: RecordedResource) -> list[str]:
    """What a bucket's lifecycle rules do, one line per rule."""
    if resource.type != LIFECYCLE:
        return []
    return [f"{rule['id']}: {'; '.join(_rule_clauses(rule))}" for rule in resource.inputs.get("rules") or ()]


def _rule_clauses(rule: Mapping[str, Any]) -> Iterator[str]:
    where = rule.get("filter") or {}
    prefix = where.get("prefix") or (where.get("and") or {}).get("prefix")
    yield f"below {prefix}" if prefix else "all objects"
    for move in rule.get("transitions") or ():
        yield f"{move['storageClass']} after {move['days']} days"
    for key, text in (
        ("expiration", "deleted after {} days"),
        ("noncurrentVersionExpiration", "old versions deleted after {} days"),
        ("abortIncompleteMultipartUpload", "unfinished uploads deleted after {} days"),
    ):
        value = rule.get(key) or {}
        days = value.get("days") or value.get("noncurrentDays") or value.get("daysAfterInitiation")
        if days:
            yield text.format(days)
