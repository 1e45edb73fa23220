"""Evaluates rules in ClickHouse on the rows of some runs, joined with their expected values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_native_analytics.backtest.ended_runs import Place, ask, literal, stage_table, within
from sparkfuse_native_analytics.backtest.expected_runs import EXPECTED, ExpectedRun
from sparkfuse_rules.compiler import columns, needed_columns, needs_sql, severity_sql
from sparkfuse_rules.rule import Rule

STAGES, APPLICATIONS = "stage_live", "app_live"
VIEWS_IN_HISTORY = (STAGES, APPLICATIONS)
# Maximum number of rows with expected values per statement, because ClickHouse limits its text to 256 KiB.
ROWS_AT_ONCE = 500
# Maximum number of rules per statement: a UInt64 has one bit per rule, set if the row has the rule's columns.
MOST_RULES = 60
_PLACE = "app_id, app_start_ms, app_attempt"
TYPES = {"string": "String", "bool": "Bool", "int32": "Int64", "int64": "Int64", "double": "Float64"}
_Row = tuple[Place, tuple[int, int] | None, Mapping[str, Any]]


@dataclass(frozen=True)
class Evaluation:
    """The result of one rule for one row that has all columns of the rule.

    ``severity`` is None if the rule does not match; ``stops`` is true if the conditions ``needs`` of its fuse match.
    ``stage`` is the stage's id and attempt, or None for the row of the application.
    """

    rule: str
    place: Place
    stage: tuple[int, int] | None
    severity: str | None
    stops: bool
    completeness: float


def evaluate_rules(client: Client, rules: Sequence[Rule], runs: Sequence[ExpectedRun]) -> Iterator[Evaluation]:
    """Yield the results of the rules for all rows of the runs. Raises StoreEmptyError, StoreOlderError."""
    for view in VIEWS_IN_HISTORY:
        of_view = [rule for rule in rules if rule.view == view]
        for start in range(0, len(of_view), MOST_RULES):
            some = of_view[start : start + MOST_RULES]
            for logged in (True, False):
                rows = list(_rows(view, [each for each in runs if each.run.logged is logged]))
                for first in range(0, len(rows), ROWS_AT_ONCE):
                    yield from _asked(client, view, some, logged, rows[first : first + ROWS_AT_ONCE])


def _rows(view: str, runs: Sequence[ExpectedRun]) -> Iterator[_Row]:
    for each in runs:
        if view == APPLICATIONS:
            yield each.run.place, None, each.application
        else:
            yield from ((each.run.place, stage, known) for stage, known in each.stages.items())


def _asked(
    client: Client, view: str, rules: Sequence[Rule], logged: bool, rows: Sequence[_Row]
) -> Iterator[Evaluation]:
    of_stages = view == STAGES
    keys = f"{_PLACE}, stage_id, stage_attempt" if of_stages else _PLACE
    known = " + ".join(f"bitShiftLeft(toUInt64({_evident(rule)}), {bit})" for bit, rule in enumerate(rules))
    stops = " + ".join(f"bitShiftLeft(toUInt64({_stops(rule)}), {bit})" for bit, rule in enumerate(rules))
    severities = ", ".join(f"ifNull({severity_sql(rule, 'clickhouse')}, '')" for rule in rules)
    sql = (
        f"SELECT {keys}, completeness, {known} AS known, {stops} AS stops, [{severities}] AS severities "
        f"FROM ({_joined(view, rules, logged, rows, keys)})"
    )
    for row in ask(client, sql):
        place = (row["app_id"], row["app_start_ms"], row["app_attempt"])
        stage = (row["stage_id"], row["stage_attempt"]) if of_stages else None
        for bit, rule in enumerate(rules):
            if row["known"] >> bit & 1:
                severity = row["severities"][bit] or None
                stopped = bool(row["stops"] >> bit & 1)
                yield Evaluation(rule.id, place, stage, severity, stopped, row["completeness"])


def _evident(rule: Rule) -> str:
    """Return a SQL condition that is true if the row has all columns that the rule requires."""
    needed = " AND ".join(f"`{name}` IS NOT NULL" for name in needed_columns(rule))
    return f"({needed})" if needed else "1"


def _stops(rule: Rule) -> str:
    """Return a SQL condition that is true if the conditions ``needs`` of the rule's fuse match."""
    return f"ifNull({needs_sql(rule, 'clickhouse')}, 0)" if rule.fuse else "1"


def _joined(view: str, rules: Sequence[Rule], logged: bool, rows: Sequence[_Row], keys: str) -> str:
    """Return SQL for the rows of history joined with the columns that baselines fill."""
    mentioned = {name for rule in rules for name in (*columns(rule), *_of_fuse(rule))}
    filled = {*EXPECTED, "judged_ms"} if view == STAGES else set(EXPECTED)
    own = [name for name in VIEWS[view] if name in mentioned and name not in filled]
    given = [name for name in VIEWS[view] if name in filled and name != "judged_ms"]
    stored = ", ".join(f"s.`{name}` AS `{name}`" for name in own if name not in keys.split(", "))
    filled_sql = ", ".join(f"e.`{name}` AS `{name}`" for name in given)
    # History does not contain the progress of running tasks, so the elapsed time is used instead of a projection.
    judged = ["if(e.expected_ms IS NULL, NULL, s.elapsed_ms) AS judged_ms"] if "judged_ms" in filled else []
    chosen = ", ".join([each for each in (stored, filled_sql) if each] + judged)
    places = ", ".join(f"s.{name} AS {name}" for name in keys.split(", "))
    return (
        f"SELECT {places}, s.completeness AS completeness, {chosen} "
        f"FROM ({_stored(view, {*own, 'elapsed_ms'}, logged, rows, keys)}) AS s "
        f"INNER JOIN ({_given(view, given, rows, keys)}) AS e USING ({keys})"
    )


def _of_fuse(rule: Rule) -> tuple[str, ...]:
    return tuple(VIEWS[rule.view]) if rule.fuse and rule.fuse.needs else ()


def _stored(view: str, names: set[str], logged: bool, rows: Sequence[_Row], keys: str) -> str:
    places = {place for place, *_ in rows}
    inside = within(places)
    if view == STAGES:
        chosen = ", ".join([keys, *sorted(names - set(keys.split(", ")))])
        return (
            f"SELECT {chosen}, ifNull(completeness, 0) AS completeness FROM {stage_table(logged)} FINAL WHERE {inside}"
        )
    chosen = ", ".join([keys, *(f"application_{name} AS `{name}`" for name in sorted(names))])
    whole = "ifNull(completeness, 0) AS completeness"
    if logged:
        return f"SELECT {chosen}, {whole} FROM history FINAL WHERE row = 'application' AND {inside}"
    return (
        f"SELECT {chosen}, {whole} FROM live WHERE row = 'application' AND {inside} "
        f"ORDER BY row_epoch_ms DESC, row_seq DESC LIMIT 1 BY {keys}"
    )


def _given(view: str, names: Sequence[str], rows: Sequence[_Row], keys: str) -> str:
    types = {"app_id": "String", "app_start_ms": "Int64", "app_attempt": "Int32", "stage_id": "Int32",
             "stage_attempt": "Int32"}  # fmt: skip
    structure = [f"{name} {types[name]}" for name in keys.split(", ")]
    structure += [f"{name} Nullable({TYPES[VIEWS[view][name].type]})" for name in names]
    lines = ", ".join(_line(row, names) for row in rows)
    return f"SELECT * FROM values('{', '.join(structure)}', {lines})"


def _line(row: _Row, names: Sequence[str]) -> str:
    (app_id, start, attempt), stage, known = row
    values = [literal(app_id), str(start), str(attempt), *(map(str, stage or ()))]
    return f"({', '.join([*values, *(_value(known.get(name)) for name in names)])})"


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    return literal(value) if isinstance(value, str) else str(value)
