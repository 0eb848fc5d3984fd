"""Cron expressions of scheduled scaling: six fields, judged before AWS judges them in the middle of an update. Pure.

https://docs.aws.amazon.com/autoscaling/application/userguide/scheduled-scaling-using-cron-expressions.html and the
reference that it names, https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-cron-expressions.html
"""

import re
from dataclasses import dataclass, field

MONTHS = dict(zip(("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), range(1, 13), strict=True))  # fmt: skip
DAYS = dict(zip(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), range(1, 8), strict=True))


@dataclass(frozen=True, kw_only=True)
class CronField:
    """One field: its name, its least and largest number, names of numbers, and other items it may hold."""

    name: str
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict)
    special: str = ""


FIELDS = (
    CronField(name="minutes", low=0, high=59),
    CronField(name="hours", low=0, high=23),
    CronField(name="day of month", low=1, high=31, special=r"\?|L|LW|([1-9]|[12]\d|3[01])W"),
    CronField(name="month", low=1, high=12, names=MONTHS),
    CronField(name="day of week", low=1, high=7, names=DAYS, special=r"\?|L|[1-7]L|[1-7]#[1-5]"),
    CronField(name="year", low=1970, high=2199),
)


def cron_fault(schedule: str) -> str | None:
    """What is wrong with a schedule of six fields in `cron(...)`, as half a sentence; None for one that AWS takes."""
    parts = schedule.removeprefix("cron(").removesuffix(")").split(" ")
    for cron_field, text in zip(FIELDS, parts, strict=True):
        if not all(_is_item(cron_field, item) for item in text.split(",")):
            return (
                f"has no valid {cron_field.name} ({text}), which takes {cron_field.low} to {cron_field.high}"
            )
    if (parts[2] == "?") == (parts[4] == "?"):
        return "must have ? in exactly one of day of month and day of week"
    return None


def _is_item(cron_field: CronField, item: str) -> bool:
    """A number or its name, a range, either with a step, or `*`."""
    if cron_field.special and re.fullmatch(cron_field.special, item):
        return True
    values, slash, step = item.partition("/")
    if slash and not (re.fullmatch(r"[0-9]{1,3}", step) and int(step)):
        return False
    ends = [_number(cron_field, end) for end in values.split("-")]
    return values == "*" or (len(ends) < 3 and None not in ends)


def _number(cron_field: CronField, text: str) -> int | None:
    named = cron_field.names.get(text.upper())
    number = named or (int(text) if re.fullmatch(r"[0-9]{1,4}", text) else -1)
    return number if cron_field.low <= number <= cron_field.high else None
