"""The rule that secrets are named, never carried: AWS shows environments and boot scripts to many who may look."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ops.boot_files import shell_texts
from ops.capture.recording import RecordedResource, Secret
from policies.rule import Fault, RecordingRule, Severity
from policies.storage import INSTANCE, LAUNCH_TEMPLATE
from policies.texts import texts
from policies.view import JOB, TASK, View, containers, document, parts

MACHINE = "aws:sfn/stateMachine:StateMachine"
FUNCTION = "aws:lambda/function:Function"
BOOT_TEXTS = ("userData", "userDataBase64")
# Plain texts that people with permission to look at a resource, or at its logs, can read.
READABLE = {
    LAUNCH_TEMPLATE: ("userData",),
    FUNCTION: ("environment",),
    TASK: ("containerDefinitions",),
    JOB: ("containerProperties", "nodeProperties", "ecsProperties"),
    "aws:lambda/invocation:Invocation": ("input",),
    MACHINE: ("definition",),
    INSTANCE: BOOT_TEXTS,
    "aws:ssm/parameter:Parameter": ("value", "insecureValue"),
}
# How well-known services write their secrets: AWS, OpenAI and its like, Hugging Face, GitHub, Slack, web tokens, keys,
# and an address with a password in it.
SECRET_SHAPES = re.compile(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bhf_[A-Za-z0-9]{30,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{22,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"
    r"|\b[a-z][a-z0-9+]*://[^\s/:@$<{]+:[^\s/@$<{*]+@"
)
SECRET_NAMES = re.compile(
    r"(?:(?:^|_)(?:TOKEN|SECRET|PASS|PWD|CREDENTIALS?|(?:ACCESS|PRIVATE|SECRET|AUTH|SIGNING|ENCRYPTION|OPENAI)_?KEY)"
    r"|API_?KEY|PASSWORD|PASSWD)$",
    re.IGNORECASE,
)
# A value that only says where the secret is.
REFERENCE = re.compile(r"^(?:arn:|/|\$|`|\{\{resolve:)")
# In a script: a variable, or an option of a command. Values may hold further ones (Environment="TOKEN=..."), so that
# only the name is consumed. Short numbers and switches are counters and flags, such as second_pass=1.
ASSIGNMENT = re.compile(r"(?<![\w$])(\w+)=(?=(?:'([^'\n]*)'|\"([^\"\n]*)\"|([^\s'\";&|()]*)))")
SWITCH = re.compile(r"\d{1,3}|true|false|yes|no")
LOOKED_UP = re.compile(r"[$`]\S")


def _carried(view: View) -> Iterator[Fault]:
    for type_token, keys in READABLE.items():
        for resource in view.of(type_token):
            for key in _shaped(resource, keys):
                yield Fault(resource=resource, what=f"carries what looks like a secret in {key}")
            for name, value in _variables(resource):
                if _is_secret(name, value):
                    yield Fault(resource=resource, what=f"carries a secret in the variable {name}")
            for name, path in _assigned(resource):
                yield Fault(resource=resource, what=f"carries a secret in {name} of {path}")


def _shaped(resource: RecordedResource, keys: Iterable[str]) -> Iterator[str]:
    """The properties that hold a text shaped like a secret."""
    for key in keys:
        if any(SECRET_SHAPES.search(text) for text in texts(resource.inputs.get(key))):
            yield key


def _assigned(resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """The names to which boot scripts assign a secret, each with the script: user data, or one packed in it."""
    paths: dict[str, str] = {}
    for key in BOOT_TEXTS:
        for text in texts(resource.inputs.get(key)):
            for path, script in _shell_texts(text).items():
                paths.setdefault(script, path)
    found = {
        (match[1], path): None
        for script, path in paths.items()
        for match in ASSIGNMENT.finditer(script)
        if _is_given(match) and _is_secret(match[1], match[2] or match[3] or match[4])
    }
    yield from found


def _is_given(assignment: re.Match[str]) -> bool:
    """Whether the script holds the value: in single quotes all of it is letters, elsewhere a part may be looked up."""
    _, literal, *others = assignment.groups()
    value = literal or "".join(filter(None, others))
    return not SWITCH.fullmatch(value) and (bool(literal) or not LOOKED_UP.search(value))


def _shell_texts(text: str) -> dict[str, str]:
    """As ops/boot_files.py; an archive that no node can unpack carries nothing to it."""
    with contextlib.suppress(ValueError):
        return shell_texts(text)
    return {"user data": text}


def _variables(resource: RecordedResource) -> Iterator[tuple[str, Any]]:
    """The environment of a function, task or job."""
    if resource.type == FUNCTION:
        for environment in parts(resource.inputs.get("environment")):
            for variables in parts(environment.get("variables")):
                yield from variables.items()
    elif resource.type == MACHINE:
        yield from _overrides(document(resource.inputs.get("definition")))
    elif resource.type in (TASK, JOB):
        for container in containers(resource):
            for variable in parts(container.get("environment")):
                yield str(variable.get("name")), variable.get("value")


def _overrides(value: Any) -> Iterator[tuple[str, Any]]:
    """The variables that a state machine gives to tasks and jobs, wherever they stand in its definition."""
    if isinstance(value, list):
        for item in value:
            yield from _overrides(item)
    elif isinstance(value, Mapping):
        if isinstance(value.get("Name"), str) and "Value" in value:
            yield value["Name"], value["Value"]
        for item in value.values():
            yield from _overrides(item)


def _is_secret(name: str, value: Any) -> bool:
    """Whether the program marked the value as secret, or its name says so and it is no reference to one."""
    if isinstance(value, Secret):
        return True
    return isinstance(value, str) and bool(
        value and SECRET_NAMES.search(name) and not REFERENCE.search(value)
    )


SECRET_RULES = (
    RecordingRule(
        id="secrets-by-reference",
        severity=Severity.ERROR,
        promise="Environments, boot scripts and state machines name a secret by its ARN and never carry its value.",
        harm="whoever may look at the resource, its state or its logs has the secret",
        fix="keep it in Secrets Manager and pass the ARN: as `secrets` of a container, or read by the code with its role",
        check=_carried,
    ),
)
