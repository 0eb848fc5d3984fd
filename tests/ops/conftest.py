"""Prices that stay as they are, whatever the tables of `ops` say by now, so that a test may expect a sum or an answer."""

from functools import partial
from pathlib import Path

import pytest

from ops import instance_prices
from ops.cost import prices as service_prices

# Parts of both tables as they stood on that day: instances of us-east-1, and the units that `advise compute` compares.
FROZEN = Path(__file__).parent / "prices_of_2026_12_02"


@pytest.fixture
def frozen_instances() -> Path:
    """The table of instances as a file."""
    return FROZEN / "instances.csv"


@pytest.fixture
def frozen_prices(monkeypatch: pytest.MonkeyPatch, frozen_instances: Path) -> None:
    """Whoever looks a price up finds the frozen one."""
    tables = (instance_prices, frozen_instances), (service_prices, FROZEN / "services.csv")
    for module, table in tables:
        monkeypatch.setattr(module, "read_table", partial(module.read_table, table))
