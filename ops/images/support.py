"""How long machine images are supported: a dated table, and what AWS says of each image."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

# A warning comes this long before the end.
SOON_DAYS = 180
POLICY = "https://docs.aws.amazon.com/dlami/latest/devguide/dlami-support-policy-table.html"
READ_ON = date(2026, 12, 2)


@dataclass(frozen=True, kw_only=True)
class Family:
    """Images whose name or description matches `pattern` get no security updates after `ends`."""

    what: str
    pattern: str
    ends: date
    source: str = POLICY
    read_on: date = READ_ON


# What AWS calls the end of patches: of the operating systems, and of the frameworks inside Deep Learning images.
FAMILIES = (
    Family(what="Amazon Linux 2", pattern=r"\bamzn2-|\bamazon linux 2\b(?!\d)", ends=date(2026, 6, 30)),
    Family(what="Amazon Linux 2023", pattern=r"\bal2023-|\bamazon linux 2023\b", ends=date(2029, 6, 30)),
    Family(what="Ubuntu 22.04", pattern=r"\bubuntu 22\.04\b|\bubuntu-jammy-", ends=date(2027, 4, 30)),
    Family(what="Ubuntu 24.04", pattern=r"\bubuntu 24\.04\b|\bubuntu-noble-", ends=date(2029, 4, 30)),
    Family(what="PyTorch 2.5", pattern=r"\bpytorch 2\.5\b", ends=date(2025, 11, 24)),
    Family(what="PyTorch 2.6", pattern=r"\bpytorch 2\.6\b", ends=date(2026, 1, 29)),
    Family(what="PyTorch 2.7", pattern=r"\bpytorch 2\.7\b", ends=date(2026, 4, 23)),
    Family(what="PyTorch 2.8", pattern=r"\bpytorch 2\.8\b", ends=date(2026, 8, 6)),
    Family(what="PyTorch 2.9", pattern=r"\bpytorch 2\.9\b", ends=date(2026, 10, 15)),
)


@dataclass(frozen=True, kw_only=True)
class Support:
    """`refusal` says why an image must not be used, "" when it may be; `note` is what else to know of it."""

    name: str = ""
    refusal: str = ""
    note: str = ""
    ends: date | None = None


def support_of(image: Any | None, today: date) -> Support:
    """What is known of an image as EC2 describes it; None is one that EC2 does not know (any more)."""
    if image is None:
        return Support(
            refusal="EC2 does not know it in this region: it was withdrawn, or belongs to another region"
        )
    name = str(image.get("Name") or "")
    state = image.get("State", "available")
    if state != "available":
        return Support(name=name, refusal=f"it is {state}, so that no node starts from it")
    family = earliest_end(f"{name} {image.get('Description') or ''}")
    deprecated = deprecated_on(image)
    ends = family.ends if family else None
    if family and today > family.ends:
        return Support(
            name=name,
            ends=ends,
            refusal=f"{family.what} is past its end of support on {family.ends} ({family.source}, read on {family.read_on})",
        )
    if deprecated and today >= deprecated:
        return Support(name=name, ends=ends, refusal=f"its owner deprecated it on {deprecated}")
    return Support(name=name, ends=ends, note=_note(family, deprecated, image, today))


def earliest_end(text: str) -> Family | None:
    """The family in `text` whose support ends first, or None where the table has none."""
    found = [family for family in FAMILIES if re.search(family.pattern, text, re.IGNORECASE)]
    return min(found, key=lambda family: family.ends, default=None)


def deprecated_on(image: Any) -> date | None:
    """The day from which its owner advises against an image. EC2 gives it as text."""
    return _day(image.get("DeprecationTime"))


def _note(family: Family | None, deprecated: date | None, image: Any, today: date) -> str:
    created = _day(image.get("CreationDate"))
    parts = [f"made on {created}"] if created else []
    if family is None:
        parts.append("its end of support is not in the table")
    else:
        soon = "only " if (family.ends - today).days <= SOON_DAYS else ""
        parts.append(f"{family.what}, supported {soon}until {family.ends}")
    if deprecated and (deprecated - today).days <= SOON_DAYS:
        parts.append(f"deprecated from {deprecated}")
    return ", ".join(parts)


def _day(text: Any) -> date | None:
    """The day of a time as EC2 writes it, such as 2028-09-20T17:09:44.000Z; None for what is no time."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).date()
    except ValueError:
        return None
