//! The rows of all tables except the task tables. There are few such rows, so the parts of a log are merged row by row.

mod merge;

use foldhash::{HashMap, HashSet};
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::event_log::failures::Failures;
use crate::event_log::stage_aggregates::StageAggregates;

pub type StageKey = (i64, i64);

#[derive(Debug, Clone, Default)]
pub struct Application {
    pub app_id: Option<String>,
    pub attempt: Option<String>,
    pub name: Option<String>,
    pub user_name: Option<String>,
    pub spark_version: Option<String>,
    pub started_ms: Option<i64>,
    pub ended_ms: Option<i64>,
}

#[derive(Debug, Clone, Default)]
pub struct Job {
    pub job_id: i64,
    pub submitted_ms: Option<i64>,
    pub completed_ms: Option<i64>,
    pub result: Option<String>,
    pub failure_reason: Option<String>,
    pub stage_ids: Vec<i64>,
    /// The stages of the job and their depths. The depth of a stage is the length of the longest chain of stages that
    /// it reads from, including skipped stages.
    pub depths: Vec<(i64, i64)>,
    pub description: Option<String>,
    pub job_group: Option<String>,
    pub sql_execution_id: Option<i64>,
}

#[derive(Debug, Clone, Default)]
pub struct StageInfo {
    pub completed: bool,
    pub name: Option<String>,
    pub call_site: Option<String>,
    pub num_tasks: Option<i64>,
    pub parents: Vec<i64>,
    pub scopes: Vec<String>,
    pub submitted_ms: Option<i64>,
    pub completed_ms: Option<i64>,
    pub failure_reason: Option<String>,
    pub job_description: Option<String>,
    pub job_group: Option<String>,
    pub sql_execution_id: Option<i64>,
    pub resource_profile_id: Option<i64>,
    /// Largest number of output rows of one SQL operator of the stage.
    pub operator_rows_max: Option<i64>,
}

#[derive(Debug, Clone, Default)]
pub struct Stage {
    pub key: StageKey,
    pub info: Option<Box<StageInfo>>,
    pub started_tasks: i64,
    pub aggregates: StageAggregates,
    pub failures: Failures,
}

#[derive(Debug, Clone, Default)]
pub struct Executor {
    pub executor_id: String,
    pub host: Option<String>,
    pub cores: Option<i64>,
    pub added_ms: Option<i64>,
    pub removed_ms: Option<i64>,
    pub removed_reason: Option<String>,
    pub storage_memory_bytes: Option<i64>,
}

#[derive(Debug, Clone, Default)]
pub struct SqlExecution {
    pub id: i64,
    pub root_id: Option<i64>,
    pub description: Option<String>,
    pub call_site: Option<String>,
    pub started_ms: Option<i64>,
    pub ended_ms: Option<i64>,
    /// `succeeded` or `failed`, as the end of the execution reports it.
    pub reported_status: Option<&'static str>,
    pub failure_reason: Option<String>,
    pub plan_versions: i64,
}

#[derive(Debug, Clone, Default)]
pub struct PlanNode {
    pub execution: i64,
    pub version: i64,
    pub node: i64,
    pub parent: Option<i64>,
    pub name: Option<Arc<str>>,
    pub condition: Option<Arc<str>>,
    /// The table, path or keys that identify the node, see `plan_text::detail`.
    pub detail: Option<Arc<str>>,
    pub metric_ids: Vec<Option<i64>>,
    pub metric_names: Vec<Option<Arc<str>>>,
    pub metric_types: Vec<Option<Arc<str>>>,
}

#[derive(Debug, Clone, Default)]
pub struct Accumulator {
    pub stage: Option<StageKey>,
    pub execution: Option<i64>,
    pub id: Option<i64>,
    pub name: Option<Arc<str>>,
    pub value: Option<i64>,
}

/// Names of an executor's peak metrics: Spark's name, and the column's name.
pub const EXECUTOR_METRICS: [(&str, &str); 9] = [
    ("JVMHeapMemory", "jvm_heap_bytes"),
    ("JVMOffHeapMemory", "jvm_off_heap_bytes"),
    ("OnHeapExecutionMemory", "on_heap_execution_bytes"),
    ("OffHeapExecutionMemory", "off_heap_execution_bytes"),
    ("OnHeapStorageMemory", "on_heap_storage_bytes"),
    ("OffHeapStorageMemory", "off_heap_storage_bytes"),
    ("ProcessTreeJVMRSSMemory", "jvm_rss_bytes"),
    ("ProcessTreePythonRSSMemory", "python_rss_bytes"),
    ("TotalGCTime", "total_gc_ms"),
];

/// Peak metrics of one executor in one stage attempt, in the order of `EXECUTOR_METRICS`.
#[derive(Debug, Clone, Default)]
pub struct ExecutorMetrics {
    pub executor_id: Option<String>,
    pub stage_id: Option<i64>,
    pub stage_attempt: Option<i64>,
    pub peaks: [Option<i64>; 9],
}

#[derive(Debug, Clone, Default)]
pub struct StreamingProgress {
    pub query_id: Option<String>,
    pub run_id: Option<String>,
    pub name: Option<String>,
    pub batch_id: Option<i64>,
    pub timestamp: Option<String>,
    pub batch_duration_ms: Option<i64>,
    pub input_rows: Option<i64>,
    pub input_rows_per_second: Option<f64>,
    pub processed_rows_per_second: Option<f64>,
    pub state_rows: Option<i64>,
    pub state_memory_bytes: Option<i64>,
    pub watermark: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Property {
    pub section: &'static str,
    pub key: String,
    pub value: String,
}

/// All tables except the task tables.
#[derive(Debug, Default)]
pub struct Tables {
    pub applications: Vec<Application>,
    pub jobs: Vec<Job>,
    job_places: HashMap<i64, usize>,
    pub stages: Vec<Stage>,
    stage_places: HashMap<StageKey, usize>,
    last_stage: Option<(StageKey, usize)>,
    pub executors: Vec<Executor>,
    executor_places: HashMap<String, usize>,
    pub sql_executions: Vec<SqlExecution>,
    sql_places: HashMap<i64, usize>,
    pub plan_nodes: Vec<PlanNode>,
    pub accumulators: Vec<Accumulator>,
    pub executor_metrics: Vec<ExecutorMetrics>,
    pub streaming_progress: Vec<StreamingProgress>,
    pub environment: Vec<Property>,
    /// Approximate memory of the rows in bytes; the caller compares it with `Limits::table_bytes`.
    pub bytes: usize,
    /// The part of `bytes` that is limited by `Limits::detail_bytes`.
    pub detail_bytes: usize,
    /// Names of operators and metrics, stored only once, because every plan repeats them.
    words: HashSet<Arc<str>>,
}

/// Maximum length and number of the names that are shared; other names are stored for each row.
const MAX_WORD_BYTES: usize = 256;
const MAX_WORDS: usize = 10_000;

macro_rules! by_key {
    ($method:ident, $rows:ident, $places:ident, $row:ident, $field:ident, $key:ty, $size:expr) => {
        /// Returns the row of this key; creates the row if there is none.
        pub fn $method(&mut self, key: $key) -> &mut $row {
            let place = match self.$places.entry(key.clone()) {
                Entry::Occupied(found) => *found.get(),
                Entry::Vacant(new) => {
                    self.bytes += $size;
                    self.$rows.push($row {
                        $field: key,
                        ..$row::default()
                    });
                    *new.insert(self.$rows.len() - 1)
                }
            };
            &mut self.$rows[place]
        }
    };
}

impl Tables {
    by_key!(job, jobs, job_places, Job, job_id, i64, size_of::<Job>() + 32);
    by_key!(
        executor,
        executors,
        executor_places,
        Executor,
        executor_id,
        String,
        size_of::<Executor>() + 64
    );
    by_key!(
        sql_execution,
        sql_executions,
        sql_places,
        SqlExecution,
        id,
        i64,
        size_of::<SqlExecution>() + 32
    );

    /// Returns the row of this stage attempt; creates the row if there is none.
    #[inline]
    pub fn stage(&mut self, key: StageKey) -> &mut Stage {
        let place = match self.last_stage {
            Some((last, place)) if last == key => place,
            _ => self.find_stage(key),
        };
        &mut self.stages[place]
    }

    fn find_stage(&mut self, key: StageKey) -> usize {
        let place = *self.stage_places.entry(key).or_insert_with(|| {
            self.bytes += size_of::<Stage>() + size_of::<StageInfo>();
            self.stages.push(Stage {
                key,
                ..Stage::default()
            });
            self.stages.len() - 1
        });
        self.last_stage = Some((key, place));
        place
    }

    /// Returns the text; equal texts share their memory.
    pub fn word(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.words.get(text) {
            return known.clone();
        }
        let word: Arc<str> = text.into();
        if word.len() <= MAX_WORD_BYTES && self.words.len() < MAX_WORDS {
            self.words.insert(word.clone());
        } else {
            self.bytes += word.len();
        }
        word
    }

    /// Returns the application that the current events belong to: the last one that started.
    pub fn application(&mut self) -> &mut Application {
        if self.applications.is_empty() {
            self.applications.push(Application::default());
        }
        let last = self.applications.len() - 1;
        &mut self.applications[last]
    }
}
