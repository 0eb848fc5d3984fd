"""What a comparison says, as sections of lines that the text and the Markdown share. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ops.capture.recording import RecordedResource
from ops.diff.comparison import Comparison
from ops.diff.costs import CostChange, cents
from ops.diff.successors import successor_of
from ops.openings import Opening
from ops.preview_text import PROVIDER, short_type
from policies.rule import Finding

# Changes of one resource beyond these are counted.
SHOWN_CHANGES = 12


class Code(str):
    """A part of a line that stands as it is: a name, a path, a value."""


Line = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Section:
    """Lines under a title. A loud one is shown first and never shortened."""

    title: str
    lines: tuple[Line, ...]
    loud: bool = False


def sections(item: Comparison) -> list[Section]:
    """The sections that say something, the loud ones first."""
    built = [
        Section(title="DATA AT RISK", lines=tuple(_data_lines(item)), loud=True),
        Section(title="DATA NO LONGER PROTECTED", lines=tuple((one,) for one in item.unprotected), loud=True),
        Section(title="ZONES MOVED", lines=tuple((line,) for line in item.moved_zones), loud=True),
        Section(title="OPEN TO THE INTERNET", lines=tuple(map(_opening, item.internet_openings)), loud=True),
        Section(title=_cost_title(item.cost), lines=tuple(_cost_lines(item.cost))),
        _counted("Replaced, likely", list(_replaced_lines(item))),
        _counted("Updated with what they refer to", list(_updated_lines(item))),
        _counted("Replaced or not: nobody knows", [_resource(one) for one in item.replaced.unjudged]),
        _listed("Added", item.added),
        _listed("Removed", item.removed),
        _counted("Renamed in place", list(_renamed_lines(item))),
        _counted("Changed", list(_changed_lines(item)), len(item.changed)),
        _counted("Permissions gained", [(line,) for line in item.permissions_gained]),
        _counted("Permissions lost", [(line,) for line in item.permissions_lost]),
        _counted("Network openings gained", list(map(_opening, item.openings_gained))),
        _counted("Network openings lost", list(map(_opening, item.openings_lost))),
        _counted("Policy findings, new", list(map(_finding, item.findings_new))),
        _counted("Policy findings, gone", list(map(_finding, item.findings_gone))),
        _counted(
            "Exports", [(Code(one.path), ": ", Code(one.old), " → ", Code(one.new)) for one in item.exports]
        ),
    ]
    return [section for section in built if section.lines]


def headline(item: Comparison) -> str:
    """The change in one sentence."""
    if item.is_same:
        return "no change"
    parts = [
        (how_many(item.added), "added"),
        (how_many(item.removed), "removed"),
        (len(item.changed), "changed"),
        (len(item.replaced.because), "likely replaced"),
    ]
    counts = ", ".join(f"{count} {word}" for count, word in parts if count) or "only names or exports changed"
    new = "the stack is new: " if item.is_new else ""
    return f"{new}{counts}; {money(item.cost)}"


def how_many(resources: Sequence[RecordedResource]) -> str:
    """Resources of AWS, components and providers, each by itself as `ops preview` counts them; "" for none."""
    providers = sum(one.type == PROVIDER for one in resources)
    components = sum(not one.custom for one in resources)
    numbers = {
        "resource": len(resources) - components - providers,
        "component": components,
        "provider": providers,
    }
    told = [f"{number} {word}{'s' * (number != 1)}" for word, number in numbers.items() if number]
    return " and ".join([", ".join(told[:-1]), told[-1]] if told[1:] else told)


def money(cost: CostChange) -> str:
    """A month from and to, idle and busy. Costs without a price are counted: the sums do without them."""
    sums = [
        (cents(cost.base.idle_usd), cents(cost.head.idle_usd), "idle"),
        (cents(cost.base.busy_usd), cents(cost.head.busy_usd), "busy"),
    ]
    count = cost.not_priced
    missing = f" (not all priced: {count} line{'s' * (count != 1)})" if count else ""
    if all(old == new for old, new, _ in sums):
        return f"the same cost ({sums[0][1]:,.2f} USD a month idle, {sums[1][1]:,.2f} busy){missing}"
    told = ", ".join(
        f"{_from_to(old, new)} {word}{f' ({new - old:+,.2f})' if old != new else ''}"
        for old, new, word in sums
    )
    return f"USD a month: {told}{missing}"


def _from_to(old: float, new: float) -> str:
    """One number where both look alike."""
    return f"{new:,.2f}" if cents(old) == cents(new) else f"{old:,.2f} → {new:,.2f}"


def _counted(title: str, lines: Sequence[Line], count: int | None = None) -> Section:
    return Section(title=f"{title}: {len(lines) if count is None else count}", lines=tuple(lines))


def _listed(title: str, resources: Sequence[RecordedResource]) -> Section:
    return Section(title=f"{title}: {how_many(resources)}", lines=tuple(map(_resource, resources)))


def _resource(resource: RecordedResource) -> Line:
    return Code(resource.name), f" {short_type(resource.type)}"


def _opening(opening: Opening) -> Line:
    return (Code(str(opening)),)


def _finding(found: Finding) -> Line:
    return (f"{found.severity}: {found.message} ({found.rule}). Fix: {found.fix}.",)


def _data_lines(item: Comparison) -> Iterator[Line]:
    for found in item.data:
        yield (f"{found.message}. {successor_of(found.urn, item) or f'Fix: {found.fix}'}.",)


def _renamed_lines(item: Comparison) -> Iterator[Line]:
    for urn, former in item.renamed.items():
        yield Code(_name(former)), " → ", Code(_name(urn))


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _replaced_lines(item: Comparison) -> Iterator[Line]:
    for urn, paths in item.replaced.because.items():
        source = item.replaced.followed.get(urn)
        follows = (" follows ", Code(source)) if source else ()
        yield Code(_name(urn)), f" {_type(urn)}", *follows, ": ", Code(", ".join(sorted(paths)))


def _updated_lines(item: Comparison) -> Iterator[Line]:
    for urn, source in item.replaced.updated.items():
        yield Code(_name(urn)), f" {_type(urn)} follows ", Code(source)


def _type(urn: str) -> str:
    return short_type(urn.split("::")[2].rpartition("$")[2])


def _changed_lines(item: Comparison) -> Iterator[Line]:
    for resource, changes in item.changed:
        yield _resource(resource)
        for change in changes[:SHOWN_CHANGES]:
            yield "    ", Code(change.path), ": ", Code(change.old), " → ", Code(change.new)
        if len(changes) > SHOWN_CHANGES:
            yield (f"    and {len(changes) - SHOWN_CHANGES} more properties",)


def _cost_title(cost: CostChange) -> str:
    return f"Cost, {money(cost)}"


def _cost_lines(cost: CostChange) -> Iterator[Line]:
    for part in cost.parts:
        idle, busy = (_from_to(*pair) for pair in zip(part.base, part.head, strict=True))
        yield (f"{part.component}, {part.what}: idle {idle}, busy {busy}",)
    for name, why in cost.unpriced:
        yield (f"not priced: {name}: {why}",)
    for name, why in cost.unpriced_before:
        yield (f"not priced before: {name}: {why}",)
