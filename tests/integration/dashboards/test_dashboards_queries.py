"""Tests that the SQL of every panel runs on the ClickHouse engine and returns the columns of the panel."""

from __future__ import annotations

import datetime as dt

import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.query import QueryResult

from sparkfuse_contracts.examples import examples_of
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_dashboards.dashboard import DashboardSpec
from sparkfuse_dashboards.fleet import fleet
from sparkfuse_dashboards.macros import TimeRange, expand
from sparkfuse_dashboards.panel import PanelSpec
from sparkfuse_dashboards.running_job import running_job
from sparkfuse_rules.catalog import load_catalog
from tests.integration.dashboards.scenario import APP, NOW_MS, START_MS

RANGE = TimeRange(from_ms=START_MS, to_ms=NOW_MS + 40_000)
PANELS = [
    pytest.param(panel, id=f"{spec.title.removeprefix('Sparkfuse: ')} / {panel.title}")
    for spec in (running_job(), fleet(load_catalog()))
    for panel in spec.panels
]
# The scenario has findings of three rules.
QUIET_RULES = set(load_catalog()) - {"stage_slow", "stage_spill", "task_stuck"}


def _ask(client: Client, panel: PanelSpec, app_id: str = APP) -> QueryResult:
    return client.query(expand(panel.sql, RANGE, {"app_id": app_id}))


def _panel(spec: DashboardSpec, title: str) -> PanelSpec:
    return next(panel for panel in spec.panels if panel.title == title)


@pytest.mark.parametrize("panel", PANELS)
def test_panel_returns_its_columns(fleet_store, panel) -> None:
    """A query returns the columns of its panel with their names, order and types.

    In the scenario, each panel has rows.
    """
    answer = _ask(fleet_store, panel)

    assert bool(answer.result_rows) == (panel.title not in QUIET_RULES)
    if answer.result_rows:
        assert list(answer.column_names) == [column.name for column in panel.columns]
    for row in answer.result_rows:
        for column, value in zip(panel.columns, row, strict=True):
            wanted = {"time": dt.datetime, "text": str, "word": str, "app_id": str, "runbook": str}
            assert value is None or isinstance(value, wanted.get(column.unit, (int, float))), column.name


@pytest.mark.parametrize("panel", PANELS)
def test_panel_is_empty_for_unknown_application(fleet_store, panel) -> None:
    """An unknown application with quotes in its id gives an empty panel and no error."""
    if "app_id:" in panel.sql:
        assert _ask(fleet_store, panel, "it's \\ none").result_rows in ([], ())


def test_stages_are_compared_with_their_expectation(fleet_store) -> None:
    """Stage 7 has the expected duration and cost that the detect job published; a duplicate row counts once."""
    panel = _panel(running_job(), "Stages and their expected duration")
    rows = {row["stage"]: row for row in _ask(fleet_store, panel).named_results()}
    seventh = rows["7.0"]

    assert seventh["elapsed"] == 58_700
    assert seventh["expected"] == 31_000
    assert seventh["against_expected"] == pytest.approx(58.7 / 31)
    assert (seventh["p95"], seventh["cost"], seventh["currency"]) == (39_500, 0.0083, "USD")
    assert seventh["done"] == pytest.approx(118 / 200)
    assert rows["0.0"]["expected"] is None
    assert rows["0.0"]["cost"] is None
    assert rows["0.0"]["work"] is None
    assert rows["0.0"]["spilled"] is None
    assert len(rows) == 2


def test_queries_and_stages_have_display_names(fleet_store) -> None:
    """Display names come from the table `names`; a stage without a name shows its id."""
    queries = list(_ask(fleet_store, _panel(running_job(), "Queries")).named_results())
    stages = {
        row["stage"]: row["name"]
        for row in _ask(fleet_store, _panel(running_job(), "Stages and their expected duration")).named_results()
    }

    assert [(row["id"], row["query"]) for row in queries] == [(2, examples_of(DisplayName)["query"].name)]
    assert stages["7.0"] == examples_of(DisplayName)["stage"].name
    assert stages["0.0"] == "stage 0"


def test_stalled_tasks_are_listed_first(fleet_store) -> None:
    """A stalled task is listed with its stack, before tasks that make progress."""
    rows = list(_ask(fleet_store, _panel(running_job(), "Running tasks")).named_results())

    assert [(row["task"], row["activity"], row["stalled"]) for row in rows] == [
        (31, "idle", 48_000),
        (17, "moving", None),
    ]
    assert "BasePythonRunner" in rows[0]["stack"]


def test_findings_of_the_application(fleet_store) -> None:
    """The findings of the application are listed by state and severity, each with its latest record."""
    rows = list(_ask(fleet_store, _panel(running_job(), "Findings")).named_results())

    assert [(row["state"], row["severity"], row["rule"]) for row in rows] == [
        ("firing", "critical", "task_stuck"),
        ("firing", "warning", "stage_slow"),
        ("resolved", "warning", "task_stuck"),
    ]
    assert rows[0]["resolved"] is None


def test_fleet_counts_firing_findings(fleet_store) -> None:
    """The fleet dashboard counts only firing findings.

    The link of a finding leads to the finding's latest run.
    """
    fires = _ask(fleet_store, _panel(fleet(load_catalog()), "Firing now, by rule")).result_rows
    findings = list(_ask(fleet_store, _panel(fleet(load_catalog()), "Findings")).named_results())

    assert sorted(fires) == [
        ("stage_slow", "warning", 1, 1),
        ("stage_spill", "info", 1, 0),
        ("task_stuck", "critical", 1, 1),
    ]
    assert next(row["app_id"] for row in findings if row["rule"] == "stage_slow") == APP


def test_variable_lists_the_applications(fleet_store) -> None:
    """The dashboards' variable has the application id as its value and the application name in its label."""
    (variable,) = running_job().variables
    rows = fleet_store.query(expand(variable.sql, RANGE)).result_rows

    assert (APP, f"{APP} nightly_orders 2026-11-21") in rows
    assert all(len(row) == 2 for row in rows)
