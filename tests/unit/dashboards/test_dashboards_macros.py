"""Tests that macros and variables of queries are expanded as in Grafana."""

from __future__ import annotations

import pytest

from sparkfuse_dashboards.macros import MacroError, TimeRange, expand

RANGE = TimeRange(from_ms=1_795_226_400_000, to_ms=1_795_230_000_500, interval_ms=15_000)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("${__from} ${__to}", "1795226400000 1795230000500"),
        ("${app_id:sqlstring}", "'it''s'"),
        ("${app_id:raw}", "it's"),
        ("$__fromTime", "toDateTime(1795226400)"),
        ("$__toTime_ms", "fromUnixTimestamp64Milli(1795230000500)"),
        ("$__timeFilter(at)", "at >= toDateTime(1795226400) AND at <= toDateTime(1795230000)"),
        (
            "$__timeFilter_ms(fromUnixTimestamp64Milli(x))",
            (
                "fromUnixTimestamp64Milli(x) >= fromUnixTimestamp64Milli(1795226400000) "
                "AND fromUnixTimestamp64Milli(x) <= fromUnixTimestamp64Milli(1795230000500)"
            ),
        ),
        ("INTERVAL $__interval_s SECOND", "INTERVAL 15 SECOND"),
        ("$__timeInterval(at)", "toStartOfInterval(toDateTime(at), INTERVAL 15 second)"),
    ],
)
def test_macros_and_variables_are_expanded(sql, expected) -> None:
    """Each macro, variable and format expands to the text that the documentation of the Grafana plugin shows."""
    assert expand(sql, RANGE, {"app_id": "it's"}) == expected


@pytest.mark.parametrize("sql", ["$__timeFiltre(at)", "${app}", "${app_id:csvv}"])
def test_unknown_macro_or_variable_is_rejected(sql) -> None:
    """A misspelt macro or variable is an error instead of an empty panel."""
    with pytest.raises(MacroError):
        expand(sql, RANGE, {"app_id": "a"})
