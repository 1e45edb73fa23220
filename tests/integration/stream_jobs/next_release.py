"""A simulated later release of the windows job: it reads one more column, and has one more aggregate of a stage.

The release follows the recipe of docs/state.md: the new aggregates have a uid of their own, and the aggregates
of the last release finish the windows that were open in its savepoint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs import windows

COLUMN = "peak_execution_memory_bytes"
UIDS: Mapping[str, str] = {
    **windows.UIDS,
    "6_global-window-aggregate": rf"^GlobalWindowAggregate\b(?!.*{COLUMN}).*groupBy=\[[^]]*\bstage_attempt\]",
    "stage-windows-2": rf"^GlobalWindowAggregate\b.*groupBy=\[[^]]*\bstage_attempt\].*{COLUMN}",
}


def statement(name: str, settings: Settings) -> str:
    """Return the SQL of a name in the later release."""
    text = changed_in_place(name, settings)
    if name != "stage_windows":
        return text
    return _both_releases(text, windows.statement(name, settings))


def changed_in_place(name: str, settings: Settings) -> str:
    """Return the SQL of a release that changes the aggregates without the recipe; Flink refuses the savepoint."""
    text = windows.statement(name, settings)
    match name:
        case "facts":
            return _replace(text, "fetch_wait_ms BIGINT,", f"fetch_wait_ms BIGINT, {COLUMN} BIGINT,")
        case "stage_facts":
            return _replace(text, "task_ended.run_ms AS", f"task_ended.{COLUMN} AS {COLUMN},\n  task_ended.run_ms AS")
        case "stage_windows":
            return _replace(text, "MAX(success_ms) AS", f"MAX({COLUMN}) AS {COLUMN},\n  MAX(success_ms) AS")
    return text


def _both_releases(after: str, last: str) -> str:
    """Return the aggregates of the new release, and those of the last one, which get no facts."""
    select = re.findall(r"\bAS (\w+)(?=,?$)", after, re.MULTILINE)
    keys = "cluster, tenant, app_id, app_attempt, app_start_ms, stage_id, stage_attempt, happened_at"
    columns = [column for column in select if column != "happened_at"]
    before = [f"CAST(NULL AS BIGINT) AS {COLUMN}" if column == COLUMN else column for column in columns]
    drained = _replace(last, "TABLE stage_facts", "(SELECT * FROM stage_facts WHERE stage_id < 0)")
    return (
        f"SELECT {keys}, {', '.join(columns)} FROM ({after})\nUNION ALL\n"
        f"SELECT {keys}, {', '.join(before)} FROM ({drained})"
    )


def _replace(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)
