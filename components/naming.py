"""Names: the few that people type, and names shortened to an AWS limit without becoming equal. Pure."""

import hashlib
import json
import re

HASH_LENGTH = 8


def typed_name(name: str, suffix: str) -> str:
    """A name that people type, with the stack's suffix so that two stacks can share an account."""
    return f"{name}-{suffix}" if suffix else name


def short_name(*parts: str, limit: int) -> str:
    """Lower-case letters, digits and single hyphens, letter first, at least 3 and at most `limit` characters.

    A name that is not plainly its parts joined by hyphens ends in a hash of the parts, so that two different inputs
    of as many parts never become one name. `limit` is 12 or more.
    """
    wanted = "-".join(parts)
    clean = re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-")
    if not clean[:1].isalpha():
        clean = f"a{clean}"
    if clean == wanted and 3 <= len(clean) <= limit and _tells_its_parts(parts):
        return clean
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:HASH_LENGTH]
    return f"{clean[: limit - HASH_LENGTH - 1].rstrip('-')}-{digest}"


def _tells_its_parts(parts: tuple[str, ...]) -> bool:
    """Whether the joined parts could not come from other parts, nor from a name that was shortened."""
    hyphens_come_first = not any("-" in part for part in parts[1:])
    looks_shortened = re.fullmatch(rf"[0-9a-f]{{{HASH_LENGTH}}}", "-".join(parts).rpartition("-")[2])
    return hyphens_come_first and not looks_shortened
