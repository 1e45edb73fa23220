//! Converts tables to Arrow.

mod columns;

use arrow_array::RecordBatch;

use crate::event_log::failures::Failure;
use crate::event_log::stage_aggregates::{DISTRIBUTIONS, SUMS, SlowestTask, Summary};
use crate::event_log::tables::*;
use crate::event_log::timestamp;
use columns::{Columns, TableCache};

pub fn applications(rows: &[Application]) -> RecordBatch {
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(rows) {
        return table;
    }
    let mut table = Columns::default();
    table.texts("app_id", rows.iter().map(|row| row.app_id.as_ref()));
    table.texts("attempt", rows.iter().map(|row| row.attempt.as_ref()));
    table.texts("name", rows.iter().map(|row| row.name.as_ref()));
    table.texts("user_name", rows.iter().map(|row| row.user_name.as_ref()));
    table.texts("spark_version", rows.iter().map(|row| row.spark_version.as_ref()));
    table.numbers("started_ms", rows.iter().map(|row| row.started_ms));
    table.numbers("ended_ms", rows.iter().map(|row| row.ended_ms));
    table.finish(&CACHE)
}

pub fn jobs(rows: &[Job]) -> RecordBatch {
    let stage_ids: Vec<Vec<Option<i64>>> = rows.iter().map(|row| some(&row.stage_ids)).collect();
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(rows) {
        return table;
    }
    let mut table = Columns::default();
    table.numbers("job_id", rows.iter().map(|row| Some(row.job_id)));
    table.numbers("submitted_ms", rows.iter().map(|row| row.submitted_ms));
    table.numbers("completed_ms", rows.iter().map(|row| row.completed_ms));
    table.texts("result", rows.iter().map(|row| row.result.as_ref()));
    table.texts("failure_reason", rows.iter().map(|row| row.failure_reason.as_ref()));
    table.number_lists("stage_ids", stage_ids.iter().map(Vec::as_slice));
    table.texts("description", rows.iter().map(|row| row.description.as_ref()));
    table.texts("job_group", rows.iter().map(|row| row.job_group.as_ref()));
    table.numbers("sql_execution_id", rows.iter().map(|row| row.sql_execution_id));
    table.finish(&CACHE)
}

/// Returns one row for each stage attempt, ordered by id and attempt. `first_job` returns the first job that lists a
/// stage; `depth` returns the depth of a stage.
pub fn stages(
    rows: &mut [Stage],
    first_job: impl Fn(i64) -> Option<i64>,
    depth: impl Fn(i64) -> Option<i64>,
) -> RecordBatch {
    rows.sort_by_key(|row| row.key);
    let summaries: Vec<[Summary; DISTRIBUTIONS.len()]> = rows
        .iter_mut()
        .map(|row| row.aggregates.values.each_mut().map(|values| values.summary()))
        .collect();
    let rows: &[Stage] = rows;
    let nothing = StageInfo::default();
    let infos: Vec<&StageInfo> = rows.iter().map(|row| row.info.as_deref().unwrap_or(&nothing)).collect();
    let parents: Vec<Vec<Option<i64>>> = infos.iter().map(|info| some(&info.parents)).collect();
    let scopes: Vec<Vec<Option<&String>>> = infos
        .iter()
        .map(|info| info.scopes.iter().map(Some).collect())
        .collect();
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(rows) {
        return table;
    }
    let mut table = Columns::default();
    table.numbers("stage_id", rows.iter().map(|row| Some(row.key.0)));
    table.numbers("stage_attempt", rows.iter().map(|row| Some(row.key.1)));
    table.texts("name", infos.iter().map(|info| info.name.as_ref()));
    table.texts("call_site", infos.iter().map(|info| info.call_site.as_ref()));
    table.numbers("num_tasks", infos.iter().map(|info| info.num_tasks));
    table.number_lists("parent_stage_ids", parents.iter().map(Vec::as_slice));
    table.text_lists("scope_names", scopes.iter().map(Vec::as_slice));
    table.numbers("submitted_ms", infos.iter().map(|info| info.submitted_ms));
    table.numbers("completed_ms", infos.iter().map(|info| info.completed_ms));
    table.texts("failure_reason", infos.iter().map(|info| info.failure_reason.as_ref()));
    table.texts("status", infos.iter().map(|info| Some(status(info))));
    table.numbers("job_id", rows.iter().map(|row| first_job(row.key.0)));
    table.numbers("depth", rows.iter().map(|row| depth(row.key.0)));
    table.numbers("sql_execution_id", infos.iter().map(|info| info.sql_execution_id));
    table.texts(
        "job_description",
        infos.iter().map(|info| info.job_description.as_ref()),
    );
    table.texts("job_group", infos.iter().map(|info| info.job_group.as_ref()));
    table.numbers("resource_profile_id", infos.iter().map(|info| info.resource_profile_id));
    table.numbers("started_tasks", rows.iter().map(|row| Some(row.started_tasks)));
    table.numbers("tasks", rows.iter().map(|row| Some(row.aggregates.tasks)));
    table.numbers("succeeded", rows.iter().map(|row| Some(row.aggregates.succeeded)));
    table.numbers("failed", rows.iter().map(|row| Some(row.aggregates.failed)));
    table.numbers("killed", rows.iter().map(|row| Some(row.aggregates.killed)));
    table.numbers("speculative", rows.iter().map(|row| Some(row.aggregates.speculative)));
    table.numbers(
        "without_metrics",
        rows.iter().map(|row| Some(row.aggregates.without_metrics)),
    );
    for (place, (name, _)) in SUMS.iter().enumerate() {
        table.numbers(name, rows.iter().map(|row| Some(row.aggregates.sums[place])));
    }
    for (place, name) in DISTRIBUTIONS.iter().enumerate() {
        let column: Vec<Summary> = summaries.iter().map(|summary| summary[place]).collect();
        table.summaries(name, &column);
    }
    table.numbers(
        "spilled_tasks",
        rows.iter().map(|row| Some(row.aggregates.spilled_tasks)),
    );
    table.numbers(
        "spilled_wall_ms",
        rows.iter().map(|row| Some(row.aggregates.spilled_wall_ms)),
    );
    table.numbers(
        "ended_wall_ms",
        rows.iter().map(|row| Some(row.aggregates.ended_wall_ms)),
    );
    table.numbers(
        "first_launched_ms",
        rows.iter().map(|row| row.aggregates.first_launched_ms),
    );
    table.numbers(
        "last_finished_ms",
        rows.iter().map(|row| row.aggregates.last_finished_ms),
    );
    table.numbers(
        "biggest_task_index",
        rows.iter().map(|row| row.aggregates.biggest.and_then(|task| task.2)),
    );
    table.numbers(
        "biggest_task_bytes",
        rows.iter().map(|row| row.aggregates.biggest.map(|task| task.0)),
    );
    table.numbers(
        "biggest_task_ms",
        rows.iter().map(|row| row.aggregates.biggest.and_then(|task| task.1)),
    );
    slowest_tasks(&mut table, rows);
    table.numbers("fetch_failed", rows.iter().map(|row| Some(row.aggregates.fetch_failed)));
    table.numbers("lost", rows.iter().map(|row| Some(row.aggregates.lost)));
    table.numbers("resubmitted", rows.iter().map(|row| Some(row.aggregates.resubmitted)));
    table.numbers("operator_rows_max", infos.iter().map(|info| info.operator_rows_max));
    table.finish(&CACHE)
}

fn slowest_tasks(table: &mut Columns, rows: &[Stage]) {
    let slowest: Vec<Option<&SlowestTask>> = rows.iter().map(|row| row.aggregates.slowest.as_deref()).collect();
    let numbers = |pick: fn(&SlowestTask) -> Option<i64>| slowest.iter().map(move |task| task.and_then(pick));
    table.numbers("slowest_task_index", numbers(|task| task.index));
    table.numbers("slowest_task_ms", numbers(|task| Some(task.wall_ms)));
    table.numbers("slowest_task_bytes", numbers(|task| task.bytes));
    table.numbers("slowest_task_gc_ms", numbers(|task| task.gc_ms));
    let texts = |pick: fn(&SlowestTask) -> Option<&String>| slowest.iter().map(move |task| task.and_then(pick));
    table.texts("slowest_task_executor_id", texts(|task| task.executor_id.as_ref()));
    table.texts("slowest_task_host", texts(|task| task.host.as_ref()));
}

/// One row for each failure class of a stage attempt, by id and attempt, then in the order of the first failure.
pub fn failures(stages: &[Stage]) -> RecordBatch {
    let rows: Vec<(StageKey, &Failure)> = stages
        .iter()
        .flat_map(|stage| stage.failures.rows().iter().map(move |failure| (stage.key, failure)))
        .collect();
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(&rows) {
        return table;
    }
    let mut table = Columns::default();
    table.numbers("stage_id", rows.iter().map(|(key, _)| Some(key.0)));
    table.numbers("stage_attempt", rows.iter().map(|(key, _)| Some(key.1)));
    table.texts("failure_class", rows.iter().map(|(_, row)| Some(&row.class)));
    table.texts("failure_reason", rows.iter().map(|(_, row)| row.reason.as_ref()));
    table.numbers("failed", rows.iter().map(|(_, row)| Some(row.failed)));
    table.numbers("task_index", rows.iter().map(|(_, row)| row.task_index));
    table.texts("executor_id", rows.iter().map(|(_, row)| row.executor_id.as_ref()));
    table.texts("host", rows.iter().map(|(_, row)| row.host.as_ref()));
    table.numbers("hosts", rows.iter().map(|(_, row)| Some(row.hosts())));
    table.numbers("failing_tasks", rows.iter().map(|(_, row)| Some(row.failing_tasks())));
    table.numbers("attempts_max", rows.iter().map(|(_, row)| Some(row.attempts_max())));
    table.finish(&CACHE)
}

fn status(info: &StageInfo) -> &'static str {
    match (info.completed, &info.failure_reason) {
        (false, _) => "running",
        (true, Some(_)) => "failed",
        (true, None) => "succeeded",
    }
}

pub fn executors(rows: &[Executor]) -> RecordBatch {
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(rows) {
        return table;
    }
    let mut table = Columns::default();
    table.texts("executor_id", rows.iter().map(|row| Some(&row.executor_id)));
    table.texts("host", rows.iter().map(|row| row.host.as_ref()));
    table.numbers("cores", rows.iter().map(|row| row.cores));
    table.numbers("added_ms", rows.iter().map(|row| row.added_ms));
    table.numbers("removed_ms", rows.iter().map(|row| row.removed_ms));
    table.texts("removed_reason", rows.iter().map(|row| row.removed_reason.as_ref()));
    table.numbers("storage_memory_bytes", rows.iter().map(|row| row.storage_memory_bytes));
    table.finish(&CACHE)
}

pub fn sql_executions(rows: &[SqlExecution]) -> RecordBatch {
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(rows) {
        return table;
    }
    let mut table = Columns::default();
    table.numbers("sql_execution_id", rows.iter().map(|row| Some(row.id)));
    table.numbers("root_execution_id", rows.iter().map(|row| row.root_id));
    table.texts("description", rows.iter().map(|row| row.description.as_ref()));
    table.texts("call_site", rows.iter().map(|row| row.call_site.as_ref()));
    table.numbers("started_ms", rows.iter().map(|row| row.started_ms));
    table.numbers("ended_ms", rows.iter().map(|row| row.ended_ms));
    table.texts("reported_status", rows.iter().map(|row| row.reported_status));
    table.texts("failure_reason", rows.iter().map(|row| row.failure_reason.as_ref()));
    table.numbers("plan_versions", rows.iter().map(|row| Some(row.plan_versions)));
    table.finish(&CACHE)
}

pub fn plan_nodes(rows: &[PlanNode]) -> RecordBatch {
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(rows) {
        return table;
    }
    let mut table = Columns::default();
    table.numbers("sql_execution_id", rows.iter().map(|row| Some(row.execution)));
    table.numbers("plan_version", rows.iter().map(|row| Some(row.version)));
    table.numbers("node", rows.iter().map(|row| Some(row.node)));
    table.numbers("parent", rows.iter().map(|row| row.parent));
    table.texts("name", rows.iter().map(|row| row.name.as_ref()));
    table.texts("condition", rows.iter().map(|row| row.condition.as_ref()));
    table.texts("detail", rows.iter().map(|row| row.detail.as_ref()));
    table.number_lists("metric_ids", rows.iter().map(|row| row.metric_ids.as_slice()));
    table.text_lists("metric_names", rows.iter().map(|row| row.metric_names.as_slice()));
    table.text_lists("metric_types", rows.iter().map(|row| row.metric_types.as_slice()));
    table.finish(&CACHE)
}

pub fn accumulators(rows: &[Accumulator]) -> RecordBatch {
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(rows) {
        return table;
    }
    let mut table = Columns::default();
    table.numbers("stage_id", rows.iter().map(|row| row.stage.map(|stage| stage.0)));
    table.numbers("stage_attempt", rows.iter().map(|row| row.stage.map(|stage| stage.1)));
    table.numbers("sql_execution_id", rows.iter().map(|row| row.execution));
    table.numbers("accumulator_id", rows.iter().map(|row| row.id));
    table.texts("name", rows.iter().map(|row| row.name.as_ref()));
    table.numbers("value", rows.iter().map(|row| row.value));
    table.finish(&CACHE)
}

pub fn executor_metrics(rows: &[ExecutorMetrics]) -> RecordBatch {
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(rows) {
        return table;
    }
    let mut table = Columns::default();
    table.texts("executor_id", rows.iter().map(|row| row.executor_id.as_ref()));
    table.numbers("stage_id", rows.iter().map(|row| row.stage_id));
    table.numbers("stage_attempt", rows.iter().map(|row| row.stage_attempt));
    for (place, (_, name)) in EXECUTOR_METRICS.iter().enumerate() {
        table.numbers(name, rows.iter().map(|row| row.peaks[place]));
    }
    table.finish(&CACHE)
}

pub fn streaming_progress(rows: &[StreamingProgress]) -> RecordBatch {
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(rows) {
        return table;
    }
    let mut table = Columns::default();
    table.texts("query_id", rows.iter().map(|row| row.query_id.as_ref()));
    table.texts("run_id", rows.iter().map(|row| row.run_id.as_ref()));
    table.texts("name", rows.iter().map(|row| row.name.as_ref()));
    table.numbers("batch_id", rows.iter().map(|row| row.batch_id));
    table.numbers(
        "timestamp_ms",
        rows.iter()
            .map(|row| timestamp::milliseconds(row.timestamp.as_deref()?)),
    );
    table.numbers("batch_duration_ms", rows.iter().map(|row| row.batch_duration_ms));
    table.numbers("input_rows", rows.iter().map(|row| row.input_rows));
    table.floats(
        "input_rows_per_second",
        rows.iter().map(|row| row.input_rows_per_second),
    );
    table.floats(
        "processed_rows_per_second",
        rows.iter().map(|row| row.processed_rows_per_second),
    );
    table.numbers("state_rows", rows.iter().map(|row| row.state_rows));
    table.numbers("state_memory_bytes", rows.iter().map(|row| row.state_memory_bytes));
    table.numbers(
        "watermark_ms",
        rows.iter()
            .map(|row| timestamp::milliseconds(row.watermark.as_deref()?)),
    );
    table.finish(&CACHE)
}

pub fn environment(rows: &[Property]) -> RecordBatch {
    static CACHE: TableCache = TableCache::new();
    if let Some(table) = CACHE.empty(rows) {
        return table;
    }
    let mut table = Columns::default();
    table.texts("section", rows.iter().map(|row| Some(row.section)));
    table.texts("key", rows.iter().map(|row| Some(&row.key)));
    table.texts("value", rows.iter().map(|row| Some(&row.value)));
    table.finish(&CACHE)
}

fn some(numbers: &[i64]) -> Vec<Option<i64>> {
    numbers.iter().copied().map(Some).collect()
}
