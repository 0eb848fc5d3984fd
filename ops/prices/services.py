"""`python -m ops prices services`: reads what units of AWS's services cost in a region into the table of `ops cost`."""

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from ops.aws_calls import AwsCallError, aws_client, told
from ops.cost.prices import Key, Price, read_table, table_text
from ops.prices.asked import PRICE_LIST_REGION, PRICE_LIST_SOURCE, pages
from ops.prices.service_queries import BY_HAND, QUERIES, Query
from ops.progress import Progress
from ops.whole_file import replace_text

# AWS puts a short name of the region before a usage type, such as EUC1- or eu-central-1-, and none in us-east-1.
PREFIX = r"(?:[A-Z]{2,4}[0-9]?-|[a-z]{2}-[a-z]+-[0-9]-)?"
# A price that moves further than this more likely means that AWS counts in another unit now.
MOST_CHANGE = 3


def refresh(options: argparse.Namespace, today: date, table: Path) -> int:
    """0 when the table is up to date or has been made so; 1 when refused, or with --check out of date."""
    rows = read_table(table)
    answers = ask(options.region, options.profile)
    found = _listed(answers, options.region, today)
    changed = [
        key for key, price in found.items() if key not in rows or rows[key].price_usd != price.price_usd
    ]
    odd = [key for key in changed if key in rows and _far_apart(rows[key].price_usd, found[key].price_usd)]
    written = bool(found) and not options.check and (not odd or options.accept)
    if written:
        replace_text(table, table_text({**rows, **found}.values()))
        read_table.cache_clear()
    missing = [" ".join(key) for key, usd in answers.items() if usd is None]
    _tell(options, rows, found, changed, missing, written=written)
    if odd and not options.accept:
        names = "; ".join(_text(rows.get(key), found[key]) for key in odd)
        print(
            f"These prices changed by more than a factor of {MOST_CHANGE} and are perhaps in another unit: {names}. Nothing was written; --accept takes them.",
            file=sys.stderr,
        )
    return int((bool(odd) and not options.accept) or (options.check and bool(changed)))


def ask(region: str, profile: str | None) -> dict[tuple[str, str], float | None]:
    """What AWS asks for a unit of each row, in the row's unit; None where it lists nothing."""
    client = aws_client("pricing", PRICE_LIST_REGION, profile)
    answers = {}
    with Progress("prices read", len(QUERIES)) as progress:
        for key, query in QUERIES.items():
            answers[key] = unit_usd(client, region, query)
            progress.advance()
    return answers


def _listed(answers: Mapping[tuple[str, str], float | None], region: str, today: date) -> dict[Key, Price]:
    """The rows of what AWS lists."""
    return {
        (service, what, region): Price(
            service=service, what=what, region=region, unit=QUERIES[service, what].unit,
            price_usd=usd, source=PRICE_LIST_SOURCE, read_on=today,
        )
        for (service, what), usd in answers.items()
        if usd is not None
    }  # fmt: skip


def unit_usd(client: Any, region: str, query: Query) -> float | None:
    """The price of the first units that are not free, or None. AwsCallError also tells of two different prices."""
    filters = [
        {"Type": "TERM_MATCH", "Field": name, "Value": value}
        for name, value in {**query.filters, query.region_field: region}.items()
    ]
    found: set[float] = set()
    with told(f"reading the price of {query.usage_type}"):
        for page in pages(client.get_products, {"ServiceCode": query.service_code, "Filters": filters}):
            found |= set(filter(None, (_first_usd(item, query) for item in page.get("PriceList", ()))))
    if len(found) > 1:
        listed = ", ".join(f"{usd:g}" for usd in sorted(found))
        raise AwsCallError(
            f"AWS lists several prices of {query.usage_type} in {region} ({listed} USD), so none is used."
        )
    # Fifteen digits: what the factor adds beyond them is no price of AWS.
    return float(f"{found.pop() * query.factor:.15g}") if found else None


def _first_usd(product: Any, query: Query) -> float | None:
    try:
        document = json.loads(product) if isinstance(product, str) else product
        usage_type = document["product"]["attributes"].get("usagetype", "")
        if not re.fullmatch(PREFIX + re.escape(query.usage_type), usage_type):
            return None
        return next(_paid_tiers(document), None)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AwsCallError(
            f"AWS's price list entry of {query.usage_type} cannot be read ({error}). Try again later."
        ) from error


def _paid_tiers(document: Mapping[str, Any]) -> Iterator[float]:
    """Prices above zero, those of the first units first."""
    terms = document.get("terms", {}).get("OnDemand", {}).values()
    tiers = [tier for term in terms for tier in term["priceDimensions"].values()]
    for tier in sorted(tiers, key=lambda tier: float(tier.get("beginRange") or 0)):
        usd = float(tier["pricePerUnit"].get("USD", "0"))
        if 0 < usd < math.inf:
            yield usd


def _far_apart(before: float, after: float) -> bool:
    return not 1 / MOST_CHANGE <= after / before <= MOST_CHANGE


def _text(before: Price | None, after: Price) -> str:
    old = f"{before.price_usd:.10g}" if before else "not in the table"
    return f"{after.service} {after.what} in {after.region}: {old} -> {after.price_usd:.10g} / {after.unit}"


def _tell(options: argparse.Namespace, rows: Mapping[Key, Price], found: Mapping[Key, Price], changed: list[Key], missing: list[str], *, written: bool) -> None:  # fmt: skip
    lines = [_text(rows.get(key), found[key]) for key in changed]
    by_hand = [" ".join(key) for key in BY_HAND]
    if options.json:
        document = {"region": options.region, "asked": len(found) + len(missing), "changed": lines,
                    "not_listed": missing, "by_hand": by_hand, "written": written}  # fmt: skip
        print(json.dumps(document, indent=2))
        return
    print("\n".join(lines or [f"No price of {options.region} has changed."]))
    if missing:
        print(f"AWS lists none of these, which keep what they had: {', '.join(missing)}")
    print(f"Renewed by hand only: {', '.join(by_hand)}")
    print(f"{len(found)} prices read, {len(changed)} new, {'written' if written else 'nothing written'}.")
