"""The SQL in front of detection's steps: which rows are worth the way into Python, and what the rules say of a row.

Both gates let pass a superset of what the step behind them answers to, so what is found is the same without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkfuse_contracts.columns import view_specs
from sparkfuse_rules.catalog import Catalog
from sparkfuse_rules.compiler import columns, when_sql
from sparkfuse_rules.knowledge.hosts import MIN_STALLED_MS
from sparkfuse_rules.rule import Rule
from sparkfuse_stream_jobs.detect.lifecycle import STALE_WINDOWS
from sparkfuse_stream_jobs.detect.rule_select import severities_sql

# Views of which nothing is remembered across rows but by the lifecycle: on most of their rows no rule holds.
FILTERED = ("task_live", "executor_live")
FUNCTIONS: Mapping[str, str] = {
    "decode_window_end": "io.sparkfuse.detect.DecodeWindowEnd",
    "decode_live_row": "io.sparkfuse.detect.DecodeLiveRow",
    "split_frames": "io.sparkfuse.detect.SplitFrames",
    "live_row_filter": "io.sparkfuse.detect.LiveRowFilter",
    "finding_filter": "io.sparkfuse.detect.FindingFilter",
}
# What is taken of a row besides the rules' answers: news of hosts (host_news.py).
_TAKEN_BESIDES: Mapping[str, str] = {"task_live": f"`task`.`stalled_ms` >= {MIN_STALLED_MS}"}
_NEVER = "FALSE"


def read_sql(catalog: Catalog, window_ms: int) -> str:
    """All records of ``live_by_window``, read, with what the gate in front of Python asks."""
    holds = " ".join(f"WHEN '{view_specs()[view].row}' THEN {may_hold_sql(catalog, view)}" for view in FILTERED)
    return (
        "SELECT `live_row`, `app_key`, `view`, `kind`, `unit`, `window_end_ms`, "
        f"COALESCE(CASE `kind` {holds} ELSE TRUE END, FALSE) AS `holds`, "
        f"{_linger_sql(catalog, window_ms, FILTERED)} AS `linger_ms`, `window_end` "
        "FROM live_by_window, LATERAL TABLE(decode_live_row(`live_row`)) AS decoded"
    )


def gated_sql(read: str) -> str:
    """The rows that detection looks at: (application attempt, encoded LiveRow)."""
    return (
        f"SELECT `app_key`, `live_row`, `rowtime` AS `window_end` FROM live_row_filter(input => TABLE {read} "
        "PARTITION BY `app_key`, on_time => DESCRIPTOR(`window_end`), uid => 'live-gate')"
    )


def ruled_sql(catalog: Catalog, judged: str, window_ms: int) -> str:
    """The rows of ``judged`` with what the rules say of them, and with what the gate in front of the lifecycle asks."""
    return (
        f"SELECT `run_key`, `part` AS `payload`, {severities_sql(catalog)} AS `severities`, `kind`, `unit`, "
        "`window_end_ms`, "
        f"{_linger_sql(catalog, window_ms, view_specs())} AS `linger_ms`, "
        "COALESCE(`kind` IN ('stage_ended', 'executor_removed') OR `stage`.`status` IN ('succeeded', 'failed'), FALSE)"
        " AS `ends`, `window_end` "
        f"FROM (SELECT `payload`, `window_end` FROM {judged} WHERE `made` = 'rows') AS made_rows, "
        "LATERAL TABLE(split_frames(`payload`)) AS made_parts, LATERAL TABLE(decode_live_row(`part`)) AS decoded"
    )


def watched_sql(ruled: str) -> str:
    """The rows that can begin, go on with or end a finding: (run, severities and encoded LiveRow as parts)."""
    return (
        f"SELECT `run_key`, `watched`, `rowtime` AS `window_end` FROM finding_filter(input => TABLE {ruled}"
        " PARTITION BY `run_key`, on_time => DESCRIPTOR(`window_end`), uid => 'finding-gate')"
    )


def may_hold_sql(catalog: Catalog, view: str) -> str:
    """A predicate that is true on each row of ``view`` on which a rule may hold, for whatever job, or that is taken.

    A rule that reads what detection itself adds to the row cannot be asked before that: all rows pass then.
    """
    rules = [variant for rule in catalog.of_view(view) for variant in _forms(rule)]
    if any(_reads_what_is_added(rule) for rule in rules):
        return "TRUE"
    asked = [when_sql(rule, "flink", view_specs()[view].row) for rule in rules]
    taken = [_TAKEN_BESIDES[view]] if view in _TAKEN_BESIDES else []
    return " OR ".join(f"({each})" for each in dict.fromkeys([*asked, *taken])) or _NEVER


def linger_ms(catalog: Catalog, view: str, window_ms: int) -> int:
    """How long rows of a thing pass after a rule of ``view`` last held for it.

    Until then the lifecycle has resolved it by a row, or by its timer because none came.
    """
    kept_ms = (variant.keep_firing_ms for rule in catalog.of_view(view) for variant in (rule, *_forms(rule)))
    return max(kept_ms, default=0) + STALE_WINDOWS * window_ms


def _forms(rule: Rule) -> list[Rule]:
    """The rule as it holds for any job: as the catalog has it, and as it is set for some."""
    forms = [rule] if rule.enabled else []
    return [*forms, *(variant for _, variant in rule.variants if variant)]


def _reads_what_is_added(rule: Rule) -> bool:
    view = view_specs()[rule.view]
    return any("detect" in view.columns[name].tags for name in columns(rule))


def _linger_sql(catalog: Catalog, window_ms: int, views: Iterable[str]) -> str:
    cases = (f"WHEN '{view_specs()[view].row}' THEN {linger_ms(catalog, view, window_ms)}" for view in views)
    return f"CAST(CASE `kind` {' '.join(cases)} END AS BIGINT)"
