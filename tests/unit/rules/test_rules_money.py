"""Tests prices from prices.yaml and sparkfuse.yaml, and the costs that are computed from the prices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.knowledge.money import cost, cost_avoided, cost_sentence, readable_money
from sparkfuse_rules.prices import Prices, read_prices

PRICES = Prices("USD", core_hour=0.04, gib_hour=0.005, source="test")
HOUR_MS = 3_600_000


def prices_of(tmp_path, text: str) -> Prices | None:
    path = tmp_path / "sparkfuse.yaml"
    path.write_text(text)
    return read_prices(path)


@pytest.mark.parametrize(
    ("core_seconds", "gib_seconds", "prices", "expected"),
    [
        pytest.param(10 * 3600, 40 * 3600, PRICES, 0.6, id="ten core-hours and forty GiB-hours"),
        pytest.param(3600, 0, PRICES, 0.04, id="no memory"),
        pytest.param(None, 3600, PRICES, None, id="unknown cores"),
        pytest.param(0, 3600, PRICES, None, id="no executor was seen"),
        pytest.param(3600, None, PRICES, None, id="unknown memory"),
        pytest.param(3600, 3600, None, None, id="switched off"),
    ],
)
def test_cost_is_unknown_unless_every_part_is_known(core_seconds, gib_seconds, prices, expected):
    """A cost is the sum of its parts; if a part is unknown, the cost is unknown and not 0."""
    assert cost(core_seconds, gib_seconds, prices) == (None if expected is None else pytest.approx(expected))


@given(st.floats(1, 1e9), st.floats(0, 1e9), st.floats(0, 1e9))
def test_more_memory_never_costs_less(core_seconds, gib_seconds, more):
    """The cost does not decrease when the allocation grows."""
    assert cost(core_seconds, gib_seconds + more, PRICES) >= cost(core_seconds, gib_seconds, PRICES)


@pytest.mark.parametrize(
    ("so_far", "elapsed_ms", "remaining_ms", "expected"),
    [
        pytest.param(10.0, HOUR_MS, 2 * HOUR_MS, 20.0, id="twice as long as until now"),
        pytest.param(10.0, HOUR_MS, None, None, id="no expectation"),
        pytest.param(10.0, HOUR_MS, 0, None, id="the usual end has come"),
        pytest.param(10.0, HOUR_MS, -5, None, id="the usual end has passed"),
        pytest.param(10.0, 0, HOUR_MS, None, id="just started"),
        pytest.param(None, HOUR_MS, HOUR_MS, None, id="unknown cost"),
    ],
)
def test_avoided_cost_needs_an_expectation(so_far, elapsed_ms, remaining_ms, expected):
    """Without a usual end or a deadline in the future, the avoided cost is unknown."""
    assert cost_avoided(so_far, elapsed_ms, remaining_ms) == expected


def test_default_prices_are_those_of_the_default_cloud():
    """Without a sparkfuse.yaml, the list prices of AWS apply, and their source is named."""
    assert read_prices(None) == Prices("USD", 0.04048, 0.004445, "list prices of aws")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("rules: {}", (0.04048, 0.004445), id="no section"),
        pytest.param("prices: {cloud: gcp}", (0.031611, 0.004237), id="another cloud"),
        pytest.param("prices: {cloud: gcp, spot: true}", (0.031611 * 0.4, 0.004237 * 0.4), id="spot"),
        pytest.param("prices: {core_hour: 0.02}", (0.02, 0.004445), id="one price"),
        pytest.param(
            "prices: {core_hour: 0.02, gib_hour: 0, spot: true, spot_factor: 0.5, databricks: true, dbu: 0.2, "
            "dbu_per_core_hour: 0.25}",
            (0.02 * 0.5 + 0.05, 0.0), id="Databricks units are not cheaper on spot capacity",
        ),
    ],
)  # fmt: skip
def test_sparkfuse_yaml_overrides_prices(tmp_path, text, expected):
    """Each price can be set separately; the other prices keep the default of the cloud."""
    prices = prices_of(tmp_path, text)

    assert (prices.core_hour, prices.gib_hour) == pytest.approx(expected)


def test_costs_can_be_switched_off(tmp_path):
    """With ``prices: off`` there are no prices, so every cost is unknown."""
    assert prices_of(tmp_path, "prices: off") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("prices: {cloud: moon}", "prices.cloud: unknown cloud 'moon'"),
        ("prices: {core_hour: -1}", "prices.core_hour: must be 0 or more"),
        ("prices: {core_hour: cheap}", "prices.core_hour: must be a number"),
        ("prices: {spot: maybe}", "prices.spot: must be true or false"),
        ("prices: {databricks: true}", "prices.dbu_per_core_hour: must be set for Databricks"),
        ("prices: {core: 1}", "unknown key 'core'"),
    ],
)
def test_invalid_prices_name_the_place(tmp_path, text, reason):
    """An invalid price raises an error that names the key and the valid values."""
    with pytest.raises(RuleError) as caught:
        prices_of(tmp_path, text)

    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (None, "unknown"),
        (0.0, "0.00 USD"),
        (0.004, "less than 0.01 USD"),
        (12.5, "12.50 USD"),
        (1234.5, "1,234.50 USD"),
    ],
)
def test_money_is_readable(amount, expected):
    """An amount has two decimals and its currency; an unknown amount is not shown as 0."""
    assert readable_money(amount, "USD") == expected


@pytest.mark.parametrize(
    ("amount", "avoidable", "expected"),
    [
        (None, 5.0, ""),
        (1.5, None, "Estimated cost so far: 1.50 USD."),
        (1.5, 5.0, "Estimated cost so far: 1.50 USD; the rest of the run would cost 5.00 USD."),
    ],
)
def test_cost_sentence_leaves_out_what_is_unknown(amount, avoidable, expected):
    """The sentence of a finding names only costs that are known."""
    assert cost_sentence(amount, avoidable, "USD") == expected
