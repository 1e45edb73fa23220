"""The SQL before the Python steps: which rows are sent to Python, and which rules match a row.

Each filter passes all rows that can have an effect in the next step. So the filters do not change the findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from sparkfuse_contracts.columns import view_specs
from sparkfuse_contracts.generated.limits import MOVING_TASK_ROW_MS
from sparkfuse_rules.catalog import Catalog
from sparkfuse_rules.compiler import when_sql
from sparkfuse_rules.knowledge.hosts import (
    MAX_BYTES_RATIO,
    MIN_LOST_MS,
    MIN_LOST_SHARE,
    MIN_STALLED_MS,
    MIN_SUCCEEDED,
)
from sparkfuse_rules.knowledge.projection import RUNNING, WAVES_BEFORE
from sparkfuse_rules.rule import Rule
from sparkfuse_rules.weakened import Constants
from sparkfuse_stream_jobs.detect.rule_evaluation import STALE_WINDOWS
from sparkfuse_stream_jobs.detect.rule_sql import severities_sql
from sparkfuse_stream_jobs.detect.stage_bounds import NOT_MOVED

# Views whose rows are mostly used to evaluate rules; most of these rows match no rule.
FILTERED = ("task_live", "executor_live", "stage_live")
FUNCTIONS: Mapping[str, str] = {
    "decode_window_end": "io.sparkfuse.detect.DecodeWindowEnd",
    "decode_live_row": "io.sparkfuse.detect.DecodeLiveRow",
    "split_frames": "io.sparkfuse.detect.SplitFrames",
    "live_row_filter": "io.sparkfuse.detect.LiveRowFilter",
    "finding_filter": "io.sparkfuse.detect.FindingFilter",
    "learn_stage_bounds": "io.sparkfuse.detect.LearnStageBounds",
}
# Rows that pass without a matching rule, because they report about hosts (host_observations.py). For stages, the
# condition is that of problem_of_stage.
_ALSO_PASSES: Mapping[str, str] = {
    "task_live": f"`task`.`stalled_ms` >= {MIN_STALLED_MS}",
    "stage_live": f"`stage`.`slowest_task_lost_ms` >= {MIN_LOST_MS} "
    f"AND `stage`.`slowest_task_lost_share` >= {MIN_LOST_SHARE} AND `stage`.`succeeded_tasks` >= {MIN_SUCCEEDED} "
    f"AND `stage`.`slowest_task_host` <> '' AND COALESCE(`stage`.`slowest_task_bytes_ratio`, 1) < {MAX_BYTES_RATIO}",
}
# The value of a column of detection, or NULL, in a row that the first filter may drop: stage_bounds.py.
_CONSTANTS: Mapping[str, Constants] = {"stage_live": {"moved": NOT_MOVED}}
_WITHOUT_PYTHON: Constants = {"runs_python": False}
_NEVER = "FALSE"
_INCOMPLETE = "COALESCE(`incomplete_since_ms` > 0, FALSE) AS `incomplete`"
# What the first filter compares with the bounds of a stage, and the rows after which Python computes other bounds: rows
# that change the number of slots, the job of the application, or the plan that names its stages.
_BOUNDED = (
    f"COALESCE(`stage`.`status` = '{RUNNING}', FALSE) AS `running`, "
    f"CASE WHEN `stage`.`succeeded_tasks` > {WAVES_BEFORE} * COALESCE(`stage`.`running_tasks`, 0) "
    "THEN `stage`.`succeeded_tasks` END AS `tasks`, "
    "`stage`.`elapsed_ms` AS `elapsed_ms`, "
    "COALESCE(`stage`.`finished_cpu_ms`, 0) + COALESCE(`stage`.`running_cpu_ms`, 0) AS `cpu_ms`, "
    "`kind` IN ('application_started', 'executor_added', 'executor_removed', 'sql_plan') AS `changes_bounds`, "
    "CASE WHEN `kind` = 'stage_started' THEN CONCAT('stage/', "
    "CAST(COALESCE(`stage_started`.`stage_id`, 0) AS STRING), '/', "
    "CAST(COALESCE(`stage_started`.`stage_attempt`, 0) AS STRING)) END AS `started`, `row_epoch_ms`, `row_seq`"
)


def decoded_sql(catalog: Catalog, window_ms: int) -> str:
    """Return a query of the records of ``live_by_window`` of this source, decoded, with columns for the first filter.

    The rows of other sources have an end before the epoch.
    """
    holds = " ".join(f"WHEN '{view_specs()[view].row}' THEN {may_match_sql(catalog, view)}" for view in FILTERED)
    without_python = may_match_sql(catalog, "stage_live", _WITHOUT_PYTHON)
    return (
        "SELECT `live_row`, `app_key`, `view`, `kind`, `subject`, `window_end_ms`, "
        f"COALESCE(CASE `kind` {holds} ELSE TRUE END, FALSE) AS `holds`, "
        f"COALESCE(CASE `kind` WHEN 'stage' THEN {without_python} END, FALSE) AS `holds_without_python`, "
        f"{_INCOMPLETE}, {_linger_sql(catalog, window_ms, FILTERED)} AS `linger_ms`, {_BOUNDED}, `window_end` "
        "FROM (SELECT * FROM live_by_window WHERE `window_end` >= TO_TIMESTAMP_LTZ(0, 3)) AS of_source, "
        "LATERAL TABLE(decode_live_row(`live_row`)) AS decoded"
    )


def filtered_sql(decoded: str, job: str) -> str:
    """Return a query of the rows that pass the first filter: (application attempt, encoded LiveRow).

    ``job`` identifies the run of the job whose bounds the filter uses.
    """
    return (
        f"SELECT `app_key`, `live_row`, `rowtime` AS `window_end` FROM live_row_filter(input => TABLE {decoded} "
        f"PARTITION BY `app_key`, job => '{job}', on_time => DESCRIPTOR(`window_end`), uid => 'live-gate')"
    )


def bounds_sql(rows: str) -> str:
    """Return a query of the bounds of stages among the records of ``rows``, by application attempt."""
    return f"SELECT `record_key` AS `app_key`, `payload` FROM {rows} WHERE `record_kind` = 'bounds'"


def learned_sql(bounds: str, job: str) -> str:
    """Return a query that gives the bounds in the view ``bounds`` to the first filter of ``job``; it has no rows.

    The key is the key of the first filter, so Flink runs both in the same task manager.
    """
    return (
        f"SELECT `app_key` FROM learn_stage_bounds(input => TABLE {bounds} "
        f"PARTITION BY `app_key`, job => '{job}', uid => 'stage-bounds')"
    )


def parts_sql(rows: str, kind: str) -> str:
    """Return a query of the single contents of the records of one kind among ``rows``, by their key."""
    return (
        f"SELECT `record_key`, `part` FROM (SELECT `record_key`, `payload` FROM {rows} WHERE `record_kind` = '{kind}') "
        "AS records_of_kind, LATERAL TABLE(split_frames(`payload`)) AS record_parts"
    )


def evaluated_sql(catalog: Catalog, rows: str, window_ms: int) -> str:
    """Return a query of the view ``rows`` with the rules' severities and the columns that the second filter needs."""
    return (
        f"SELECT `run_key`, `part` AS `payload`, {severities_sql(catalog)} AS `severities`, `kind`, `subject`, "
        "`window_end_ms`, "
        f"{_INCOMPLETE}, {_linger_sql(catalog, window_ms, view_specs())} AS `linger_ms`, "
        "COALESCE(`kind` IN ('stage_ended', 'executor_removed') OR `stage`.`status` IN ('succeeded', 'failed') "
        "OR `query`.`status` IN ('succeeded', 'failed'), FALSE) AS `ends`, `window_end` "
        f"FROM (SELECT `payload`, `window_end` FROM {rows} WHERE `record_kind` = 'rows') AS row_records, "
        "LATERAL TABLE(split_frames(`payload`)) AS row_parts, LATERAL TABLE(decode_live_row(`part`)) AS decoded"
    )


def lifecycle_rows_sql(evaluated: str) -> str:
    """Return a query of the rows that can start, continue or end a finding.

    Its columns: the run, the severities with the encoded LiveRow (``watched``), and the end of the window.
    """
    return (
        f"SELECT `run_key`, `watched`, `rowtime` AS `window_end` FROM finding_filter(input => TABLE {evaluated}"
        " PARTITION BY `run_key`, on_time => DESCRIPTOR(`window_end`), uid => 'finding-gate')"
    )


def may_match_sql(catalog: Catalog, view: str, known: Constants = MappingProxyType({})) -> str:
    """Return a predicate that is true on each row of ``view`` that a rule may match for any job, or that must pass.

    A condition on a column that a later step fills cannot be evaluated yet, so it counts as true. Exceptions are the
    columns ``known``, which have this value or are NULL, and the column ``moved`` of a stage: the bounds of the stage
    show that it is ``none``.
    """
    rules = [variant for rule in catalog.of_view(view) for variant in _variants(rule)]
    constants = {**_CONSTANTS.get(view, {}), **known}
    unknown = {
        name for name, column in view_specs()[view].columns.items() if "detect" in column.tags
    } - constants.keys()
    predicates = [when_sql(rule, "flink", view_specs()[view].row, unknown, constants) for rule in rules]
    others = [_ALSO_PASSES[view]] if view in _ALSO_PASSES else []
    found = dict.fromkeys(each for each in [*predicates, *others] if each != _NEVER)
    return "TRUE" if "TRUE" in found else " OR ".join(f"({each})" for each in found) or _NEVER


def linger_ms(catalog: Catalog, view: str, window_ms: int) -> int:
    """Return how long rows of a subject pass the filter after a rule of ``view`` last matched for the subject.

    After this time the lifecycle has resolved the findings of the subject, either at a row or with its timer.
    """
    kept_ms = (variant.keep_firing_ms for rule in catalog.of_view(view) for variant in (rule, *_variants(rule)))
    interval_ms = MOVING_TASK_ROW_MS if view == "task_live" else 0
    return max(kept_ms, default=0) + STALE_WINDOWS * window_ms + interval_ms


def _variants(rule: Rule) -> list[Rule]:
    """Return the rule itself, if it is enabled, and its variants for some jobs."""
    variants = [rule] if rule.enabled else []
    return [*variants, *(variant for _, variant in rule.variants if variant)]


def _linger_sql(catalog: Catalog, window_ms: int, views: Iterable[str]) -> str:
    cases = (f"WHEN '{view_specs()[view].row}' THEN {linger_ms(catalog, view, window_ms)}" for view in views)
    return f"CAST(CASE `kind` {' '.join(cases)} END AS BIGINT)"
