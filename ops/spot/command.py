"""`python -m ops spot`: what spot capacity costs in each zone, how likely it is to be had, and how often to save on it.

Nothing is bought and nothing is changed.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from ops.aws_calls import AwsCallError
from ops.capture.program import record
from ops.capture.stack_files import StackFileError
from ops.preflight.account import Account, UnansweredError
from ops.preflight.stack import Stack
from ops.price_table import PriceTableError
from ops.spot.market import Market, advice_for, offers_in, on_demand_prices, ranked
from ops.spot.options import parser
from ops.spot.plot import shows_blocks
from ops.spot.prices import Offer, read_offers
from ops.spot.report import as_json, as_text
from ops.spot.scores import FEW_TYPES, FEWEST_TYPES, placement_scores
from ops.spot.where import AWAKE, NothingToAskError, Where, where_of


def main(
    arguments: Sequence[str],
    make_account: Callable[[str, str | None], Account] = Account,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> int:
    """0 when the market is told, 1 when none is there or a part of it could not be read, 2 on wrong usage."""
    options_parser = parser()
    options = options_parser.parse_args(arguments)
    if bool(options.stack) == bool(options.types):
        options_parser.error("give either --stack, or --types and --region")
    if bool(options.types) != bool(options.region):
        options_parser.error("--types and --region belong together")
    try:
        where, account = _where(options, make_account)
        market = read_market(where, account, options, clock())
    except StackFileError as error:
        print(error, file=sys.stderr)
        return 2
    except (AwsCallError, NothingToAskError, PriceTableError, UnansweredError) as error:
        print(error, file=sys.stderr)
        return 1
    print(as_json(market) if options.json else as_text(market, blocks=shows_blocks(sys.stdout)))
    return int(bool(market.unread) or not market.offers)


def read_market(where: Where, account: Account, options: argparse.Namespace, now: datetime) -> Market:
    """Asks EC2. Without prices there is nothing to tell (AwsCallError); scores may be missing."""
    client = account.client("ec2")
    history = read_offers(client, where.instance_types, now, options.days)
    offers = offers_in(where, history.offers)
    scores, unread = _scores(client, where, history.offers, options.capacity)
    prices = on_demand_prices(where)
    notes = [FEW_TYPES] if scores and len(where.instance_types) < FEWEST_TYPES else []
    if history.bad_rows:
        notes.append(f"EC2 returned {history.bad_rows} rows without a price, which are left out.")
    return Market(
        where=where,
        start=now - timedelta(days=options.days),
        end=now,
        offers=offers,
        zones=ranked(where, offers, scores, prices),
        on_demand=prices,
        advice=advice_for(where, prices, options.save_seconds, options.interruptions_per_day),
        notes=tuple(notes),
        unread=tuple(unread),
    )


def _scores(
    client: object, where: Where, offers: Sequence[Offer], capacity: int
) -> tuple[dict[str, int], list[str]]:
    """The scores, and why there are none."""
    names = {offer.zone_id: offer.zone for offer in offers if offer.zone_id}
    try:
        return placement_scores(client, where.instance_types, where.region, capacity, names), []
    except AwsCallError as error:
        return {}, [str(error)]


def _where(
    options: argparse.Namespace, make_account: Callable[[str, str | None], Account]
) -> tuple[Where, Account]:
    if options.types:
        account = make_account(options.region, options.profile)
        return Where(region=options.region, instance_types=tuple(options.types)), account
    # The SDK takes a quarter of a second to import, which named types need not wait for.
    import pulumi

    try:
        stack = Stack(record(options.stack, changes=AWAKE))
    except pulumi.RunError as error:
        raise NothingToAskError(str(error)) from error
    account = make_account(stack.region, options.profile)
    try:
        return where_of(stack, account), account
    except _client_errors() as error:
        raise AwsCallError(
            f"The zones of the stack's subnets cannot be read: {error} Fix: allow ec2:DescribeSubnets."
        ) from error


def _client_errors() -> tuple[type[Exception], ...]:
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    return (BotoCoreError, ClientError, ResponseParserError)
