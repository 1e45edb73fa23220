"""Tests the notes of `sparkfuse cost`."""

from __future__ import annotations

from sparkfuse.commands.cost import notes
from sparkfuse_native_analytics.queries import CostRow, Costs, Waste

NOTHING = Waste(0.0, None)
TOTAL = CostRow("", "", 9, 0, 2, 1.0, 1.0, None, NOTHING, None, NOTHING, NOTHING, NOTHING, 0)


def test_notes_say_what_money_does_not_contain() -> None:
    """Prices that are off, runs without a price and rows that are not shown are sentences, not zeros."""
    off = notes(Costs("team", 0, "", None, None, TOTAL, [], 3))
    priced = notes(Costs("team", 0, "", "USD", "list prices of aws", TOTAL, [], 0))

    assert "Money is unknown" in off[0]
    assert off[1].startswith("2 of 9 runs are in no sum of money")
    assert off[2] == "3 more are not shown; use --limit."
    assert priced[0] == "Money is an estimate from list prices of aws."
