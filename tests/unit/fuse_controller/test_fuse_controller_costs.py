"""Tests the costs in the audit log and in the report of the fuse."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_native_analytics.fuse_controller.act_registry import Act
from sparkfuse_native_analytics.fuse_controller.outcomes import Outcome
from sparkfuse_native_analytics.fuse_controller.records import verified_record
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_native_analytics.fuse_operator.rule_costs import RuleCosts, costs_of
from sparkfuse_native_analytics.fuse_operator.state import AuditLogView, report
from tests.unit.fuse_controller.scene import MINUTE_MS, NOW_MS, RULE, START_MS, finding, live_row

RUN = Run("prod", "app-1", 0, START_MS)
HASH = "f00d"


def costs(record: AuditRecord) -> tuple[float | None, float | None, str]:
    known = {name: getattr(record, name) if record.HasField(name) else None for name in ("cost", "cost_avoided")}
    return known["cost"], known["cost_avoided"], record.currency


def record(step: str, signal_id: str = "s1", **fields) -> AuditRecord:
    given = {"mode": "act", "policy_hash": HASH, "app_id": "app-1", "app_start_ms": START_MS, "at_ms": NOW_MS, **fields}
    return AuditRecord(step=step, signal_id=signal_id, rule=RULE, **given)


@pytest.mark.parametrize(
    ("of_run", "currency", "expected"),
    [
        ({"cost": 12.5, "cost_avoidable": 80.25}, "USD", (12.5, 80.25, "USD")),
        ({"cost": 12.5}, "USD", (12.5, None, "USD")),
        ({}, "", (None, None, "")),
    ],
)
def test_audit_record_has_the_costs_of_the_finding(make_controller, show, world, of_run, currency, expected):
    """The record of a step contains the costs that detection estimated; an unknown cost is absent, and not 0."""
    controller = make_controller(mode="shadow")
    found = finding(**of_run)
    if currency:
        found.currency = currency
    show(controller, live_row(), found)
    controller.evaluate(world)

    assert [costs(each) for each in world.records] == [expected]


@pytest.mark.parametrize(("outcome", "expected"), [("ended", 80.25), ("unfreed", None), ("unknown", None)])
def test_only_an_act_that_ended_avoids_cost(outcome, expected):
    """If an act did not end the work, the cost that the act avoided is unknown."""
    act = Act("s1", NOW_MS, "act", "cancel_stage", RUN, RULE, "orders", "sales", "data",
              cost_avoided=80.25, currency="USD")  # fmt: skip

    assert costs(verified_record(act, Outcome(outcome, ""), NOW_MS))[1] == expected


def test_report_sums_costs_of_acts_and_probes():
    """The report sums three costs: of each run (counted once), avoided by acts, and missed.

    The missed cost is the cost of a run from a would-act probe until the probed stage failed.
    """
    records = [
        record("sent", "s1", cost=10.0, cost_avoided=4.0, currency="USD"),
        record("verified", "s1", outcome="unfreed"),
        record("sent", "s2", cost=12.0, cost_avoided=3.0, currency="USD"),
        record("verified", "s2", outcome="ended", cost_avoided=3.0, currency="USD"),
        record("sent", "s3", app_id="app-2"),
        record("verified", "s3", outcome="ended"),
        record("would_act", "p1", mode="shadow", cost=6.0, currency="USD", at_ms=START_MS + 60 * MINUTE_MS),
        record(
            "probe_scored", "p1", mode="", outcome="true_positive", observed={"ended_after_ms": str(10 * MINUTE_MS)}
        ),
        record("would_act", "p2", mode="shadow", currency="USD"),
        record("probe_scored", "p2", mode="", outcome="true_positive", observed={"ended_after_ms": "60000"}),
    ]
    [row] = report(AuditLogView(records, ()))

    assert row.costs == RuleCosts("USD", 12.0, 3.0, 1, 1.0)


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([record("sent"), record("verified", outcome="ended")], id="no record has a cost"),
        pytest.param(
            [record("sent", cost=1.0, currency="USD"), record("sent", "s2", cost=1.0, currency="EUR")],
            id="two currencies",
        ),
    ],
)
def test_unknown_costs_of_a_rule_are_not_zero(records):
    """If costs are unknown or in several currencies, the sums are unknown."""
    assert costs_of(records, RULE, HASH) == RuleCosts()
