"""Replays stored live rows of ended runs through the policy of one rule, to show where the fuse would have acted.

Only rows of `live` show the progress of running tasks, so a rule such as `stage_runaway_spill` cannot be decided by a
backtest over ended stages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.columns import VIEWS, view_specs
from sparkfuse_native_analytics.backtest.ended_runs import Place, Run, ask, chunks, ended_runs, within
from sparkfuse_native_analytics.backtest.evaluation import TYPES
from sparkfuse_rules.compiler import columns, needed_columns, needs_sql, severity_sql
from sparkfuse_rules.conditions import signal_conditions
from sparkfuse_rules.knowledge.training_samples import COMPLETE
from sparkfuse_rules.policies import policy_hash, policy_line
from sparkfuse_rules.rule import SEVERITIES, Rule

_PLACE = "app_id, app_start_ms, app_attempt"


@dataclass
class PolicyReplay:
    """The result of one policy; all lists contain application ids.

    ``healthy_runs`` succeeded and have rows with all columns of the rule; ``failed_runs`` did not succeed.
    ``false_runs`` are the healthy runs, ``right_runs`` the failed runs in which the policy would have acted.
    ``left_out`` lists the conditions that stored rows cannot show, because only the hook counts their columns.
    ``conclusive_runs`` are the healthy runs that show that the policy would not have acted: their rows are complete and
    have the columns of all conditions.
    """

    rule: str
    policy_hash: str
    left_out: tuple[str, ...]
    healthy_runs: list[str] = field(default_factory=list)
    false_runs: list[str] = field(default_factory=list)
    failed_runs: list[str] = field(default_factory=list)
    right_runs: list[str] = field(default_factory=list)
    conclusive_runs: list[str] = field(default_factory=list)


def replay_live_rows(
    client: Client, for_job: Callable[[str], Rule | None], since_ms: int, job_key: str | None = None
) -> list[PolicyReplay]:
    """Evaluate the policy on all live rows of ended runs that started at ``since_ms`` or later.

    ``for_job`` returns the rule for a job key, or None if the rule is off for the job. Columns that detection adds from
    earlier runs are not stored, so they count as unknown. Raises StoreEmptyError, StoreOlderError.
    """
    by_policy: dict[str, tuple[Rule, list[Run]]] = {}
    for run in ended_runs(client, job_key):
        rule = for_job(run.job_key)
        if run.started_ms >= since_ms and rule is not None and rule.fuse is not None:
            by_policy.setdefault(policy_hash(policy_line(rule)), (rule, []))[1].append(run)
    return [_replayed(client, key, rule, runs) for key, (rule, runs) in by_policy.items()]


def _replayed(client: Client, key: str, rule: Rule, runs: Sequence[Run]) -> PolicyReplay:
    result, shows_all = PolicyReplay(rule.id, key, _left_out(rule)), _shows_all(rule)
    for _, some in chunks(runs):
        acts = _acts(client, rule, some)
        for run in (each for each in some if each.place in acts):
            app_id, (would_act, complete) = run.place[0], acts[run.place]
            (result.healthy_runs if run.ended_well else result.failed_runs).append(app_id)
            if would_act:
                (result.false_runs if run.ended_well else result.right_runs).append(app_id)
            elif shows_all and complete and run.ended_well:
                result.conclusive_runs.append(app_id)
    return result


def _acts(client: Client, rule: Rule, runs: Sequence[Run]) -> Mapping[Place, tuple[bool, bool]]:
    """Return whether the policy acts on a run and whether its rows are complete.

    Only rows with all columns of the rule count; runs without such a row are left out.
    """
    needed = " AND ".join(f"`{name}` IS NOT NULL" for name in needed_columns(rule)) or "1"
    sql = (
        f"SELECT {_PLACE}, countIf({_would_act(rule)}) AS acts, min(completeness) AS least "
        f"FROM ({_rows(client, rule, runs)}) WHERE {needed} GROUP BY {_PLACE}"
    )
    return {
        (row["app_id"], row["app_start_ms"], row["app_attempt"]): (row["acts"] > 0, row["least"] >= COMPLETE)
        for row in ask(client, sql)
    }


def _would_act(rule: Rule) -> str:
    assert rule.fuse is not None, "only rules with a fuse are replayed"
    enough = ", ".join(f"'{each}'" for each in SEVERITIES[: SEVERITIES.index(rule.fuse.severity) + 1])
    conditions = [
        f"completeness >= {COMPLETE}",
        f"ifNull({severity_sql(rule, 'clickhouse')}, '') IN ({enough})",
        f"ifNull({needs_sql(rule, 'clickhouse')}, 0)",
    ]
    if "elapsed_ms" in VIEWS[rule.view]:
        conditions.append(f"ifNull(elapsed_ms, 0) >= {rule.fuse.after_ms}")
    return " AND ".join(f"({each})" for each in conditions)


def _rows(client: Client, rule: Rule, runs: Sequence[Run]) -> str:
    """Return SQL for the rows of the rule's view, with the names of its columns."""
    view = view_specs()[rule.view]
    stored = {row["name"] for row in ask(client, "SELECT name FROM system.columns WHERE table = 'live'")}
    counters = {each.column for each in signal_conditions(rule)}
    used = {*columns(rule), *needed_columns(rule), *counters, *_of_when(rule), "elapsed_ms"} & set(view.columns)
    chosen = ", ".join(
        f"{view.row}_{name} AS `{name}`"
        if f"{view.row}_{name}" in stored
        else f"CAST(NULL AS Nullable({TYPES[view.columns[name].type]})) AS `{name}`"
        for name in sorted(used)
    )
    places = within(run.place for run in runs)
    return (
        f"SELECT {_PLACE}, ifNull(completeness, 0) AS completeness, {chosen} "
        f"FROM live FINAL WHERE row = '{view.row}' AND {places}"
    )


def _of_when(rule: Rule) -> tuple[str, ...]:
    """Return all columns of the view if ``fuse.when`` may use one of them."""
    return tuple(VIEWS[rule.view]) if rule.fuse and rule.fuse.when != "TRUE" else ()


def _shows_all(rule: Rule) -> bool:
    """Return whether each row that is evaluated has all columns of the policy's conditions."""
    return {each.column for each in signal_conditions(rule)} <= set(needed_columns(rule))


def _left_out(rule: Rule) -> tuple[str, ...]:
    return tuple(
        f"{each.column} {each.operator} {each.threshold:g}"
        for each in signal_conditions(rule)
        if each.column not in VIEWS[rule.view]
    )
