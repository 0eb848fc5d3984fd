"""Who may do what, told from the policies of a recording in one line per statement. Pure."""

from ops.capture.recording import RecordedResource, Recording
from ops.permissions import LAMBDA_PERMISSION, ROLE, Permission, permissions_of

SHOWN_ACTIONS = 4
SHOWN_RESOURCES = 2


class Names:
    """What the program calls things that policies know by names and ARNs of AWS."""

    def __init__(self, recording: Recording) -> None:
        found = {
            (value, resource.name)
            for resource in recording.resources
            for value in (
                resource.outputs.get("arn"),
                resource.outputs.get("name") if resource.type == ROLE else None,
            )
            if isinstance(value, str)
        }
        self._names = dict(sorted(found))

    def of(self, text: str) -> str:
        """`text` with the longest known ARN at its start replaced; other ARNs without partition, region and account."""
        end = len(text)
        while end > 0:
            if text[:end] in self._names:
                return self._names[text[:end]] + text[end:]
            end = max(text.rfind(mark, 0, end) for mark in "/:")
        parts = text.split(":", 5)
        return f"{parts[2]}:{parts[5]}" if len(parts) == 6 and parts[0] == "arn" else text


def access_lines(resource: RecordedResource, names: Names) -> list[str]:
    """One line per statement of the resource's policy; nothing for a resource without one."""
    if resource.type == LAMBDA_PERMISSION:  # its clauses say it
        return []
    return [_line(item, names) for item in permissions_of(resource) if item.actions]


def _line(permission: Permission, names: Names) -> str:
    if not permission.resources and not permission.principals:
        return permission.actions[0]
    who = ", ".join("anybody" if name == "*" else names.of(name) for name in permission.principals)
    verb = "may" if permission.effect == "Allow" else "must not"
    line = f"{who} {verb} {_actions(list(permission.actions))}"
    resources = [names.of(arn) for arn in permission.resources]
    if resources:
        line += f" on {_first(resources, SHOWN_RESOURCES)}"
    conditions = [
        f"{item.key}={_first([names.of(text) for text in item.values], 1)}" for item in permission.conditions
    ]
    return f"{line} if {', '.join(conditions)}" if conditions else line


def _actions(actions: list[str]) -> str:
    """Actions, each service named once."""
    shown: list[str] = []
    service = ""
    for action in actions:
        prefix, _, verb = action.rpartition(":")
        shown.append(verb if prefix == service else action)
        service = prefix
    return _first(shown, SHOWN_ACTIONS)


def _first(items: list[str], count: int) -> str:
    rest = len(items) - count
    return ", ".join(items[:count]) + (f" and {rest} more" if rest > 0 else "")
