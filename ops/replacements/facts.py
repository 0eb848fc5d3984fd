"""Which change of which input makes the AWS provider replace a resource, with the source of every fact.

The facts are those of the Terraform AWS provider's Go source, which pulumi-aws carries; it overrides none of them
(pulumi-aws `provider/resource_overrides.go`, no `ForceNew` for these types).
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from ops.replacements.conditions import CONDITIONS, Inputs

# Each source in the table is a package of this repository and the function or method in it. The inputs of these
# types in pulumi-aws 7.51.1 are all in it but one: autoRepairConfiguration of a capacity provider's managed instances.
PROVIDER = "hashicorp/terraform-provider-aws v6.58.0"
TABLE = Path(__file__).with_suffix(".csv")


class ReplacedWhen(StrEnum):
    """What happens to a property that makes its resource be replaced.

    Terraform's SDK passes `ForceNew` on to the items of a list of plain values and of a map, not to what lies in a
    block: there only the number of blocks counts (terraform-plugin-sdk `helper/schema/schema.go`, `diffList`).
    """

    CHANGED = "changed"
    CHANGED_INSIDE = "changed inside"
    ADDED_OR_REMOVED = "added or removed"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One property.

    `only_if` names a condition of `CONDITIONS`, "" for always. Without a value, AWS's own is kept where
    `kept_when_unset`: the provider's schema says optional and computed. `cloudformation_name` is "" when alike.
    """

    property: str
    replaced_when: ReplacedWhen
    only_if: str
    kept_when_unset: bool
    cloudformation_name: str
    source: str


def replacing_properties(type_token: str) -> frozenset[str]:
    """The properties that can make a resource be replaced; `a.b` lies in an object, `a[].b` in a list's items.

    LookupError for a type without facts: nothing of it would ever seem to be replaced.
    """
    return frozenset(facts_of(type_token))


def replaced_by(type_token: str, old: Inputs, new: Inputs) -> frozenset[str]:
    """The changes from `old` to `new` that replace the resource, as paths such as `volumes[0].name`; empty: none does.

    `old` and `new` are all inputs of the resource by their camelCase names. LookupError for a type without facts.
    """
    facts = facts_of(type_token)
    before, after = dict(_parts(old, "")), dict(_parts(new, ""))
    kept = [path for path in before.keys() - after.keys() if _is_kept(facts.get(_plain(path)))]
    return frozenset(
        path
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path) and not any(_lies_in(path, root) for root in kept)
        for fact in facts.values()
        if _concerns(fact, path, before, after) and (not fact.only_if or CONDITIONS[fact.only_if](old, new))
    )


def facts_of(type_token: str) -> Mapping[str, Fact]:
    """The facts of a type by property; LookupError for a type without facts."""
    if type_token not in FACTS:
        raise LookupError(
            f"{type_token} has no replacement facts; add what the provider's source says to {TABLE.name}"
        )
    return FACTS[type_token]


def _parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every path in `value`; an object stands for being there, a list for its length, and an empty list is absent."""
    if isinstance(value, Mapping):
        if path:
            yield path, ("object",)
        for key, item in value.items():
            yield from _parts(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        if value:
            yield path, ("items", len(value))
        for index, item in enumerate(value):
            yield from _parts(item, f"{path}[{index}]")
    elif value is not None:
        yield path, value


def _concerns(fact: Fact, path: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    plain = _plain(path)
    if fact.replaced_when is ReplacedWhen.CHANGED_INSIDE:
        return _lies_in(plain, fact.property)
    if fact.replaced_when is ReplacedWhen.CHANGED or path not in before or path not in after:
        return plain == fact.property
    return plain == fact.property and isinstance(after[path], tuple)


def _is_kept(fact: Fact | None) -> bool:
    return fact is not None and fact.kept_when_unset


def _lies_in(path: str, root: str) -> bool:
    return path == root or path.startswith((f"{root}.", f"{root}["))


def _plain(path: str) -> str:
    return re.sub(r"\[\d+\]", "[]", path)


def _read() -> dict[str, dict[str, Fact]]:
    facts: dict[str, dict[str, Fact]] = {}
    with TABLE.open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            fact = Fact(
                property=row["property"],
                replaced_when=ReplacedWhen(row["replaced_when"]),
                only_if=row["only_if"],
                kept_when_unset=row["kept_when_unset"] == "yes",
                cloudformation_name=row["cloudformation_name"],
                source=row["source"],
            )
            facts.setdefault(row["type"], {})[fact.property] = fact
    return facts


FACTS: Mapping[str, Mapping[str, Fact]] = _read()
# Every covered type with its properties and where the provider says so.
REPLACING: dict[str, dict[str, str]] = {
    type_token: {name: f"{PROVIDER} {fact.source}" for name, fact in facts.items()}
    for type_token, facts in FACTS.items()
}
