"""Names queries and stages by their physical plans, and reports each name when it becomes known or changes.

A name depends on the newest version of the plan. If a query has a new version, the name of a stage is computed again at
the stage's next row. At the end of the query, all names are computed again, from the final plan. Offline analysis
computes the same names from the event log, with the same functions.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator
from dataclasses import replace

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_rules.knowledge import stage_names
from sparkfuse_rules.knowledge.call_sites import user_description
from sparkfuse_rules.knowledge.stage_names import QueryName, StageName
from sparkfuse_stream_jobs.detect.queries import plans_of, put_query, query_of
from sparkfuse_stream_jobs.detect.state.run_state import (
    QueryState,
    RunState,
    StageState,
    application_of,
    started_stage,
)

log = logging.getLogger(__name__)
QUERY, STAGE = "query", "stage"
NO_PLAN = -1
# Maximum number of stages of one query whose names are computed again at the end of the query.
MAX_STAGES_OF_QUERY = 1_000
# Errors that an unexpected plan may cause. A row with such a plan must still reach the rules; its stage or query is
# then named by its number.
_UNNAMEABLE = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError, zlib.error)


def fill_stage(row: LiveRow, state: RunState) -> Iterator[DisplayName]:
    """Add the names of a stage to its row, and report them if they changed."""
    columns = row.stage
    stage = started_stage(columns.stage_id, state)
    if stage is None:
        columns.stage_name = columns.stage_title = _unknown_stage(columns.stage_id)
        return
    if stage.named_version != _version(query_of(stage.sql_execution_id, state)):
        yield from _name_stage(row, columns.stage_id, stage, state)
        stage = started_stage(columns.stage_id, state) or stage
    columns.stage_name, columns.stage_title = stage.display_name, stage.display_title


def stage_name(stage_id: int, state: RunState) -> str:
    """Return the short name of a stage, for rows of its tasks and failures."""
    stage = started_stage(stage_id, state)
    if stage is None:
        return _unknown_stage(stage_id)
    return stage.display_name or _compute_stage(stage_id, stage, state).name


def fill_query(row: LiveRow, state: RunState) -> Iterator[DisplayName]:
    """Add name, sources and sink of a query to its row, and report them if they changed."""
    columns = row.query
    yield from name_query(row, columns.query_id, state)
    query = query_of(columns.query_id, state)
    columns.query_name = query.name if query and query.name else f"q{columns.query_id}"
    for field, value in (("sources", query.sources), ("sink", query.sink)) if query else ():
        if value:
            setattr(columns, field, value)


def name_query(row: LiveRow, query_id: int, state: RunState) -> Iterator[DisplayName]:
    """Compute the names of a query after a new version of its plan, and report them if they changed."""
    query = query_of(query_id, state)
    if query is None or query.named_version == _version(query):
        return
    names = _compute_query(query_id, query, state)
    named = replace(
        query, named_version=_version(query), name=names.name, title=names.title, sources=names.sources, sink=names.sink
    )
    put_query(query_id, named, state)
    if replace(named, named_version=query.named_version) == query:
        return
    record = _record(row, QUERY, names, query.call_site, state)
    record.query_id = query_id
    for field, value in (("sources", names.sources), ("sink", names.sink)):
        if value:
            setattr(record, field, value)
    yield record


def name_stages_of_query(row: LiveRow, query_id: int, state: RunState) -> Iterator[DisplayName]:
    """Compute the names of all named stages of a query from its final plan, and report those that changed."""
    query = query_of(query_id, state)
    for stage_id in query.stage_ids if query else ():
        stage = started_stage(stage_id, state)
        if stage is not None and stage.named_version != _version(query):
            yield from _name_stage(row, stage_id, stage, state)


def query_description(description: str, query_id: int | None, state: RunState) -> str:
    """Return the description, or the name of the query if the description is empty or only Spark's call site."""
    if users := user_description(description):
        return users
    query = query_of(query_id, state)
    if query_id is None or query is None:
        return ""
    return query.name or _compute_query(query_id, query, state).name


def _name_stage(row: LiveRow, stage_id: int, stage: StageState, state: RunState) -> Iterator[DisplayName]:
    query_id = stage.sql_execution_id
    query = query_of(query_id, state)
    names = _compute_stage(stage_id, stage, state)
    named = replace(stage, named_version=_version(query), display_name=names.name, display_title=names.title)
    state.stages.put(str(stage_id), named)
    if query_id is not None and query and stage_id not in query.stage_ids:
        put_query(query_id, replace(query, stage_ids=(*query.stage_ids, stage_id)[-MAX_STAGES_OF_QUERY:]), state)
    if (names.name, names.title) == (stage.display_name, stage.display_title):
        return
    record = _record(row, STAGE, names, stage.call_site, state)
    record.stage_id = stage_id
    if query_id is not None:
        record.query_id = query_id
    if stage.fingerprint:
        record.stage_fingerprint = stage.fingerprint
    yield record


def _compute_stage(stage_id: int, stage: StageState, state: RunState) -> StageName:
    query_id = stage.sql_execution_id
    try:
        return stage_names.name_stage(
            stage_id,
            query_id=query_id,
            scope_names=stage.scope_names,
            plans=plans_of(query_id, state),
            call_site=stage.call_site or None,
            spark_name=stage.name or None,
        )
    except _UNNAMEABLE as error:
        log.warning("cannot name stage %d of %s: %r", stage_id, application_of(state).run_key, error)
        prefix = "" if query_id is None else f"q{query_id}: "
        return StageName(f"{prefix}{_unknown_stage(stage_id)}", _unknown_stage(stage_id))


def _compute_query(query_id: int, query: QueryState, state: RunState) -> QueryName:
    try:
        return stage_names.name_query(
            query_id,
            description=query.description or None,
            call_site=query.call_site or None,
            plans=plans_of(query_id, state),
        )
    except _UNNAMEABLE as error:
        log.warning("cannot name query %d of %s: %r", query_id, application_of(state).run_key, error)
        return QueryName(f"q{query_id}", f"query {query_id}", None, None)


def _version(query: QueryState | None) -> int:
    """Return the newest version of the query's plan, ``NO_PLAN`` if there is none."""
    return query.plan_versions[-1] if query and query.plan_versions else NO_PLAN


def _record(row: LiveRow, kind: str, names: StageName | QueryName, call_site: str, state: RunState) -> DisplayName:
    """Return a record without ``updated_ms``, which the operator sets."""
    record = DisplayName(
        app_id=row.app_id,
        app_attempt=row.app_attempt,
        app_start_ms=row.app_start_ms,
        kind=kind,
        name=names.name,
        title=names.title,
        job_key=application_of(state).job_key,
    )
    for field in ("cluster", "tenant"):
        if row.HasField(field):
            setattr(record, field, getattr(row, field))
    if call_site:
        record.call_site = call_site
    return record


def _unknown_stage(stage_id: int) -> str:
    return f"stage {stage_id}"
