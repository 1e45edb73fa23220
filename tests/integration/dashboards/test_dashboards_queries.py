"""Every panel's statement runs on the ClickHouse engine and answers with the columns that the panel shows."""

from __future__ import annotations

import datetime as dt

import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.query import QueryResult

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
# The scenario's findings are of three rules.
QUIET_RULES = set(load_catalog()) - {"stage_slow", "stage_spill", "task_stuck"}


def _ask(client: Client, panel: PanelSpec, app_id: str = APP) -> QueryResult:
    return client.query(expand(panel.sql, RANGE, {"app_id": app_id}))


def _panel(spec: DashboardSpec, title: str) -> PanelSpec:
    return next(panel for panel in spec.panels if panel.title == title)


@pytest.mark.parametrize("panel", PANELS)
def test_panel_answers_with_its_columns(fleet_store, panel) -> None:
    """Names and order are the panel's; times are times, numbers numbers; the scenario has something for each."""
    answer = _ask(fleet_store, panel)

    assert bool(answer.result_rows) == (panel.title not in QUIET_RULES)
    if answer.result_rows:
        assert list(answer.column_names) == [column.name for column in panel.columns]
    for row in answer.result_rows:
        for column, value in zip(panel.columns, row, strict=True):
            wanted = {"time": dt.datetime, "text": str, "word": str, "app_id": str, "runbook": str}
            assert value is None or isinstance(value, wanted.get(column.unit, (int, float))), column.name


@pytest.mark.parametrize("panel", PANELS)
def test_panel_bears_an_unknown_application(fleet_store, panel) -> None:
    """An application that does not exist, with quotes in its name, gives an empty panel and no error."""
    if "app_id:" in panel.sql:
        assert _ask(fleet_store, panel, "it's \\ none").result_rows in ([], ())


def test_stages_against_their_history(fleet_store) -> None:
    """Stage 7 is measured against the median of its successful earlier runs; a row that came twice counts once."""
    panel = _panel(running_job(), "Stages against what was expected")
    rows = {row["stage"]: row for row in _ask(fleet_store, panel).named_results()}
    seventh = rows["7.0"]

    assert seventh["elapsed"] == 58_700
    assert seventh["expected"] == 31_000
    assert seventh["against_expected"] == pytest.approx(58.7 / 31)
    assert seventh["done"] == pytest.approx(118 / 200)
    assert rows["0.0"]["expected"] is None
    assert rows["0.0"]["work"] is None
    assert rows["0.0"]["spilled"] is None
    assert len(rows) == 2


def test_running_tasks_show_the_stalled_first(fleet_store) -> None:
    """The task that stands still comes with its stack, before the one that moves."""
    rows = list(_ask(fleet_store, _panel(running_job(), "Running tasks")).named_results())

    assert [(row["task"], row["activity"], row["stalled"]) for row in rows] == [
        (31, "idle", 48_000),
        (17, "moving", None),
    ]
    assert "BasePythonRunner" in rows[0]["stack"]


def test_findings_of_the_application(fleet_store) -> None:
    """The findings that name the application, the firing and worst first, each by its latest record."""
    rows = list(_ask(fleet_store, _panel(running_job(), "Findings")).named_results())

    assert [(row["state"], row["severity"], row["rule"]) for row in rows] == [
        ("firing", "critical", "task_stuck"),
        ("firing", "warning", "stage_slow"),
        ("resolved", "warning", "task_stuck"),
    ]
    assert rows[0]["resolved"] is None


def test_fleet_counts_what_fires(fleet_store) -> None:
    """A finding that resolved is not counted; the link of a finding is its latest run."""
    fires = _ask(fleet_store, _panel(fleet(load_catalog()), "Firing now, by rule")).result_rows
    findings = list(_ask(fleet_store, _panel(fleet(load_catalog()), "Findings")).named_results())

    assert sorted(fires) == [
        ("stage_slow", "warning", 1, 1),
        ("stage_spill", "info", 1, 0),
        ("task_stuck", "critical", 1, 1),
    ]
    assert next(row["app_id"] for row in findings if row["rule"] == "stage_slow") == APP


def test_applications_to_choose_from(fleet_store) -> None:
    """The choice above the panels: value first, then the label with the name."""
    (variable,) = running_job().variables
    rows = fleet_store.query(expand(variable.sql, RANGE)).result_rows

    assert (APP, f"{APP} nightly_orders 2026-11-21") in rows
    assert all(len(row) == 2 for row in rows)
