"""A region with a spot market, on which the tests of `ops spot` run the command."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ops.preflight.account import Account
from ops.spot import command
from tests.ops.preflight_account import REGION, FakeAccount

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
TYPES = ("g5.2xlarge", "g6.2xlarge", "g6e.2xlarge")
ZONES = {f"{REGION}{letter}": f"euc1-az{number}" for number, letter in enumerate("abc", 1)}


class World:
    """A region in which each type has a price in each zone, told in texts; the first page is empty, a row comes twice."""

    def __init__(self) -> None:
        self.prices = {(name, zone): 0.5 + 0.1 * place for name in TYPES for place, zone in enumerate(ZONES)}
        self.more: list[dict[str, Any]] = []
        self.scores: Mapping[str, int] = {"euc1-az1": 3, "euc1-az2": 7, "euc1-az3": 7}
        self.ids_told = True
        self.asked: list[Mapping[str, Any]] = []
        self.account = FakeAccount()
        self.account.answers |= {
            "DescribeSpotPriceHistory": self._history,
            "GetSpotPlacementScores": self._scores,
            "DescribeAvailabilityZones": lambda **asked: {
                "AvailabilityZones": [
                    {"ZoneId": zone_id, "ZoneName": zone} for zone, zone_id in ZONES.items()
                ]
            },
        }

    def run(self, *arguments: str) -> int:
        def account(region: str, profile: str | None) -> Account:
            return Account(region, profile, make_client=self.account.client)

        named = arguments or ("--types", ",".join(TYPES), "--region", REGION)
        return command.main(named, make_account=account, clock=lambda: NOW)

    def _history(self, InstanceTypes: Any, NextToken: str = "", **asked: Any) -> Mapping[str, Any]:
        self.asked.append({"InstanceTypes": InstanceTypes, **asked})
        if not NextToken:
            return {"SpotPriceHistory": [], "NextToken": "more"}
        rows = [
            row(name, zone, usd, hours_ago, told_id=self.ids_told)
            for (name, zone), usd in self.prices.items()
            if name in InstanceTypes
            for hours_ago, usd in ((200, usd * 2), (48, usd * 1.5), (1, usd))
        ]
        return {"SpotPriceHistory": [*rows[:1], *rows, *self.more]}

    def _scores(self, **asked: Any) -> Mapping[str, Any]:
        self.asked.append(asked)
        rows = [
            {"Region": REGION, "AvailabilityZoneId": zone, "Score": score}
            for zone, score in self.scores.items()
        ]
        return {"SpotPlacementScores": rows}


def row(name: str, zone: str, usd: object, hours_ago: float, *, told_id: bool = True) -> dict[str, Any]:
    ids = {"AvailabilityZoneId": ZONES[zone]} if told_id else {}
    when = NOW - timedelta(hours=hours_ago)
    return {"InstanceType": name, "AvailabilityZone": zone, "SpotPrice": str(usd), "Timestamp": when, **ids}


def document(
    world: World, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0
) -> dict[str, Any]:
    named = arguments or ("--types", ",".join(TYPES), "--region", REGION)
    assert world.run(*named, "--json") == code
    return json.loads(capsys.readouterr().out)
