"""Names: the few that people type, and names shortened to an AWS limit without becoming equal. Pure."""

import hashlib
import re

HASH_LENGTH = 8


def typed_name(name: str, suffix: str) -> str:
    """A name that people type, with the stack's suffix so that two stacks can share an account."""
    return f"{name}-{suffix}" if suffix else name


def short_name(*parts: str, limit: int) -> str:
    """Lower-case letters, digits and single hyphens, letter first, at most `limit` characters, at least 3.

    A name that had to be changed ends in a hash of the original parts, so that two different inputs never become
    one name by shortening.
    """
    wanted = "-".join(parts)
    clean = re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-")
    if not clean[:1].isalpha():
        clean = f"a{clean}"
    if clean == wanted and 3 <= len(clean) <= limit:
        return clean
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:HASH_LENGTH]
    return f"{clean[: limit - HASH_LENGTH - 1].rstrip('-')}-{digest}"
