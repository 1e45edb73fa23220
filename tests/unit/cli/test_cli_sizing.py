"""Tests `sparkfuse sizing`: the formulas, the table in the documents, and wrong options."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sparkfuse.commands.application import application
from sparkfuse.commands.sizing import table
from sparkfuse.sizing import MEASURED, Plan, Workload, estimate
from sparkfuse_rules.prices import Prices

PRICES = Prices("USD", 0.04, 0.004, "test")
DOCUMENT = Path(__file__).parents[3] / "docs" / "sizing.md"


def sizing(*arguments: str):
    return CliRunner().invoke(application, ["sizing", *arguments])


def test_estimate_follows_the_formulas():
    """A day of 86,400 tasks without progress facts, at an even load: each figure can be computed by hand."""
    measured = replace(
        MEASURED, facts_per_task=10, facts_per_task_second=0, rows_per_task=1, rows_per_task_second=0,
        kafka_bytes_per_fact=100, kafka_bytes_per_row=50, store_bytes_per_fact=20, store_bytes_per_row=10,
        windows_cpu_seconds_per_fact=0.1, detect_cpu_seconds_per_row=1.0, loader_cpu_seconds_per_record=0.01,
        broker_cpu_seconds_per_record=0.01, slot_bytes=2**30, running_tasks_per_slot=1_000,
    )  # fmt: skip
    plan = Plan(kafka_copies=3, kafka_days=1, store_copies=2, fact_days=30, row_days=90, use=0.5, disk_price=0.1)
    found = estimate(Workload(86_400, task_seconds=5, peak=1), plan, PRICES, measured)

    assert (found.facts_per_second, found.rows_per_second, found.running_tasks) == pytest.approx((10, 1, 5))
    assert (found.windows_slots, found.detect_slots, found.partitions) == (2, 2, 4)
    assert (found.loader_cores, found.broker_cores) == pytest.approx((0.44, 0.66))
    assert found.kafka_bytes_per_second == pytest.approx(1_050)
    assert found.kafka_disk_bytes == pytest.approx(1_050 * 86_400 * 3)
    assert found.store_bytes_per_day == pytest.approx(210 * 86_400)
    assert found.store_disk_bytes == pytest.approx((200 * 30 + 10 * 90) * 86_400 * 2)
    disk = (1_050 * 3 + 13_800) * 86_400 / 1e9 * 0.1
    assert found.money == pytest.approx((5.1 * 0.04 + 4 * 0.004) * 730 + disk)


@given(st.floats(1e3, 1e11), st.floats(0.1, 3_600), st.floats(1, 20))
def test_more_work_never_needs_less(tasks, seconds, peak):
    """More tasks, longer tasks or a higher peak never lower a figure; ten times the tasks cost at most ten times."""
    work = Workload(tasks, seconds, peak)
    doubled = ({"tasks_per_day": 2 * tasks}, {"task_seconds": 2 * seconds}, {"peak": 2 * peak})
    of = [estimate(each, Plan(), PRICES, MEASURED) for each in (work, *(replace(work, **more) for more in doubled))]

    for more in of[1:]:
        assert more.money >= of[0].money
        assert more.partitions >= of[0].partitions
        assert more.facts_per_second >= of[0].facts_per_second
    assert of[1].money <= 2 * of[0].money * (1 + 1e-9)


def test_document_has_the_figures_of_the_command():
    """docs/sizing.md contains the table that the command prints without options."""
    printed = json.loads(sizing("--json").stdout)
    works = [Workload(each) for each in (1e7, 1e8, 1e9)]
    rows = table([estimate(each, Plan(), PRICES, MEASURED) for each in works], "USD")
    text = DOCUMENT.read_text()

    assert [each["tasks_per_day"] for each in printed] == [1e7, 1e8, 1e9]
    for name, *cells in rows:
        if not name.startswith("money"):  # the prices of this test are not the list prices
            assert f"| {name} | {' | '.join(cells)} |" in text
    for each in printed:
        assert f"{each['money']:,.0f} USD a month" in text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("0",), "tasks a day"),
        (("1e14",), "tasks a day"),
        (("nan",), "tasks a day"),
        (("1e7", "--task-seconds", "0"), "tasks a day"),
        (("1e7", "--peak", "0.5"), "tasks a day"),
        (("1e7", "--fact-days", "-1"), "days and prices"),
        (("1e7", "--disk-price", "inf"), "days and prices"),
    ],
)
def test_impossible_workload_is_refused(arguments, reason):
    found = sizing(*arguments)

    assert reason in str(found.exception)
