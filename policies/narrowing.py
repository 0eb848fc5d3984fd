"""Whether a condition of a statement really keeps anybody out. Pure."""

import re
from collections.abc import Iterable

from ops.openings import is_internet
from ops.permissions import Condition

# Who or what asks, by keys that AWS fills in and that a caller cannot choose.
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html, "The meaning of public"
ASKING = frozenset(
    {
        "aws:principalaccount",
        "aws:principalarn",
        "aws:principalorgid",
        "aws:principalorgpaths",
        "aws:sourceaccount",
        "aws:sourcearn",
        "aws:sourceip",
        "aws:sourceorgid",
        "aws:sourceorgpaths",
        "aws:sourcevpc",
        "aws:sourcevpce",
        "aws:vpcsourceip",
        "kms:calleraccount",
        "s3:dataaccesspointaccount",
    }
)
# With `IfExists` and `ForAllValues` a request without the key passes; a negation leaves out a few and lets in the rest.
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
LETS_PASS = re.compile(r"^null$|not|ifexists$|^forallvalues:", re.IGNORECASE)
# `*`, and an ARN whose account and resource are both open.
EVERYTHING = re.compile(r"[*?]+|arn:[^:]*:[^:]*:[^:]*:[*?]*:[*?]+")
# A resource whose own name is open, its kind at most said: `*`, `job/*`, `log-group:*`.
OPEN_NAME = re.compile(r"(?:[\w-]+[/:])?[*?][*?/:]*")


def narrows_who(conditions: Iterable[Condition]) -> bool:
    """Whether the conditions leave out most of those who may ask."""
    return any(item.key.lower() in ASKING and _keeps_out(item) for item in conditions)


def narrows_what(conditions: Iterable[Condition]) -> bool:
    """Whether the conditions leave out most resources, by a tag of theirs."""
    return any(item.key.lower().startswith("aws:resourcetag/") and _keeps_out(item) for item in conditions)


def _keeps_out(condition: Condition) -> bool:
    return not LETS_PASS.search(condition.operator) and not any(
        EVERYTHING.fullmatch(value) or is_internet(value) for value in condition.values
    )


def is_open(resource: str) -> bool:
    """Whether a statement's resource stands for all of a kind, such as `arn:aws:s3:::*`; `arn:aws:s3:::lake/*` does not."""
    name = resource.split(":", 5)[-1] if resource.startswith("arn:") else resource
    return OPEN_NAME.fullmatch(name) is not None
