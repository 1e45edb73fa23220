//! The Arrow tables of a log.

use foldhash::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::event_log::arrow;
use crate::event_log::evidence::{BadLine, Evidence, FileEvidence};
use crate::event_log::log::{Log, TaskBatches};
use crate::event_log::tables::Tables;
use crate::event_log::task_columns::TaskColumns;

/// Record batches of one schema.
pub struct Table {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

impl From<RecordBatch> for Table {
    fn from(batch: RecordBatch) -> Table {
        Table {
            schema: batch.schema(),
            batches: vec![batch],
        }
    }
}

/// The evidence about a log, with plain values instead of sets of task ids.
#[derive(Debug, Clone)]
pub struct EvidenceSummary {
    pub files: Vec<FileEvidence>,
    pub plain_bytes: u64,
    pub events: u64,
    pub kinds: Vec<(String, u64)>,
    pub malformed: u64,
    pub bad_lines: Vec<BadLine>,
    pub truncated: bool,
    pub complete: bool,
    pub unfinished_tasks: u64,
    pub duplicate_task_ends: u64,
    pub odd_values: u64,
    pub unknown_events: u64,
    pub left_out: u64,
}

impl EvidenceSummary {
    pub fn of(evidence: &mut Evidence) -> EvidenceSummary {
        EvidenceSummary {
            plain_bytes: evidence.plain_bytes(),
            events: evidence.events,
            kinds: evidence.kinds(),
            malformed: evidence.malformed,
            bad_lines: evidence.bad_lines.clone(),
            truncated: evidence.truncated(),
            complete: evidence.application_ended,
            unfinished_tasks: evidence.unfinished_tasks(),
            duplicate_task_ends: evidence.duplicate_task_ends,
            odd_values: evidence.odd_values,
            unknown_events: evidence.unknown_events,
            left_out: evidence.left_out,
            files: evidence.files.clone(),
        }
    }
}

/// All tables of a log and its evidence.
pub struct LogTables {
    /// The tables with their names, in the order of the documentation.
    pub tables: Vec<(&'static str, Table)>,
    pub evidence: EvidenceSummary,
}

impl LogTables {
    pub fn of(mut log: Log, task_batches: TaskBatches, wants_tasks: bool, wants_starts: bool) -> LogTables {
        let evidence = EvidenceSummary::of(&mut log.evidence);
        LogTables::with_evidence(log, task_batches, wants_tasks, wants_starts, evidence)
    }

    pub fn with_evidence(
        mut log: Log,
        task_batches: TaskBatches,
        wants_tasks: bool,
        wants_starts: bool,
        evidence: EvidenceSummary,
    ) -> LogTables {
        let mut tables = small_tables(&mut log.tables);
        if wants_tasks {
            tables.push(("tasks", task_table(TaskColumns::schema_of_ends(), task_batches.ends)));
        }
        if wants_starts {
            tables.push((
                "task_starts",
                task_table(TaskColumns::schema_of_starts(), task_batches.starts),
            ));
        }
        LogTables { tables, evidence }
    }
}

fn task_table(schema: SchemaRef, batches: Vec<RecordBatch>) -> Table {
    Table { schema, batches }
}

fn small_tables(tables: &mut Tables) -> Vec<(&'static str, Table)> {
    tables.application();
    let mut first_jobs: HashMap<i64, i64> = HashMap::default();
    for job in &tables.jobs {
        for stage in &job.stage_ids {
            let first = first_jobs.entry(*stage).or_insert(job.job_id);
            *first = job.job_id.min(*first);
        }
    }
    // A stage has the same depth in every job that lists it.
    let depths: HashMap<i64, i64> = tables.jobs.iter().flat_map(|job| job.depths.iter().copied()).collect();
    let stages = arrow::stages(
        &mut tables.stages,
        |stage| first_jobs.get(&stage).copied(),
        |stage| depths.get(&stage).copied(),
    );
    let failures = arrow::failures(&tables.stages);
    vec![
        ("applications", arrow::applications(&tables.applications).into()),
        ("jobs", arrow::jobs(&tables.jobs).into()),
        ("stages", stages.into()),
        ("failures", failures.into()),
        ("executors", arrow::executors(&tables.executors).into()),
        ("sql_executions", arrow::sql_executions(&tables.sql_executions).into()),
        ("plan_nodes", arrow::plan_nodes(&tables.plan_nodes).into()),
        ("accumulators", arrow::accumulators(&tables.accumulators).into()),
        (
            "executor_metrics",
            arrow::executor_metrics(&tables.executor_metrics).into(),
        ),
        (
            "streaming_progress",
            arrow::streaming_progress(&tables.streaming_progress).into(),
        ),
        ("environment", arrow::environment(&tables.environment).into()),
    ]
}
