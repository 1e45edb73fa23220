//! Translates task starts and ends. The JSON keys are those of Spark's org.apache.spark.util.JsonProtocol, 3.0 to 4.x.

use serde::Deserialize;

use crate::event_log::fact_translation::contract::fact::Kind;
use crate::event_log::fact_translation::contract::{TaskEnded, TaskStarted};
use crate::event_log::fact_translation::exit_codes::exit_code;
use crate::event_log::fact_translation::line::{EventError, add, elapsed, parse_flat};
use crate::event_log::fact_translation::record::PendingFact;
use crate::event_log::fact_translation::texts::{Texts, beginning};

const MAX_CLASS_CHARS: usize = 512;

#[derive(Deserialize)]
struct TaskStart {
    #[serde(rename = "Stage ID")]
    stage_id: i32,
    #[serde(rename = "Stage Attempt ID")]
    stage_attempt: Option<i32>,
    #[serde(rename = "Task Info")]
    task: TaskInfo,
}

#[derive(Deserialize)]
struct TaskEnd {
    #[serde(rename = "Stage ID")]
    stage_id: i32,
    #[serde(rename = "Stage Attempt ID")]
    stage_attempt: Option<i32>,
    #[serde(rename = "Task Info")]
    task: TaskInfo,
    #[serde(rename = "Task End Reason")]
    reason: Option<EndReason>,
    #[serde(rename = "Task Metrics")]
    metrics: Option<TaskMetrics>,
}

#[derive(Deserialize)]
struct TaskInfo {
    #[serde(rename = "Task ID")]
    task_id: i64,
    #[serde(rename = "Index")]
    index: Option<i32>,
    #[serde(rename = "Partition ID")]
    partition: Option<i32>,
    #[serde(rename = "Attempt")]
    attempt: Option<i32>,
    #[serde(rename = "Executor ID")]
    executor_id: Option<String>,
    #[serde(rename = "Host")]
    host: Option<String>,
    #[serde(rename = "Locality")]
    locality: Option<String>,
    #[serde(rename = "Speculative")]
    speculative: Option<bool>,
    #[serde(rename = "Launch Time")]
    launched_ms: i64,
    #[serde(rename = "Finish Time")]
    finished_ms: Option<i64>,
    #[serde(rename = "Getting Result Time")]
    getting_result_ms: Option<i64>,
}

impl TaskInfo {
    /// Spark's index counts the tasks of one attempt; the partition keeps its number in all attempts.
    fn index(&self) -> Result<i32, EventError> {
        self.partition
            .filter(|partition| *partition >= 0)
            .or(self.index)
            .ok_or_else(|| EventError::Malformed("a task without an index".to_owned()))
    }
}

#[derive(Deserialize, Default)]
struct EndReason {
    #[serde(rename = "Reason")]
    name: Option<String>,
    #[serde(rename = "Class Name")]
    class_name: Option<String>,
    #[serde(rename = "Description")]
    description: Option<String>,
    #[serde(rename = "Kill Reason")]
    kill_reason: Option<String>,
    #[serde(rename = "Message")]
    message: Option<String>,
    #[serde(rename = "Loss Reason")]
    loss_reason: Option<String>,
    #[serde(rename = "Block Manager Address")]
    address: Option<BlockManagerId>,
    #[serde(rename = "Shuffle ID")]
    shuffle_id: Option<i32>,
    #[serde(rename = "Exit Caused By App")]
    exit_caused_by_app: Option<bool>,
    #[serde(rename = "Job ID")]
    job_id: Option<i64>,
    #[serde(rename = "Partition ID")]
    partition: Option<i64>,
    #[serde(rename = "Attempt Number")]
    attempt: Option<i64>,
}

#[derive(Deserialize, Default)]
struct BlockManagerId {
    #[serde(rename = "Executor ID")]
    executor_id: Option<String>,
    #[serde(rename = "Host")]
    host: Option<String>,
}

#[derive(Deserialize, Default)]
struct TaskMetrics {
    #[serde(rename = "Executor Run Time")]
    run_ms: Option<i64>,
    #[serde(rename = "Executor CPU Time")]
    cpu_ns: Option<i64>,
    #[serde(rename = "JVM GC Time")]
    gc_ms: Option<i64>,
    #[serde(rename = "Executor Deserialize Time")]
    deserialize_ms: Option<i64>,
    #[serde(rename = "Executor Deserialize CPU Time")]
    deserialize_cpu_ns: Option<i64>,
    #[serde(rename = "Result Size")]
    result_bytes: Option<i64>,
    #[serde(rename = "Result Serialization Time")]
    result_serialization_ms: Option<i64>,
    #[serde(rename = "Peak Execution Memory")]
    peak_execution_memory_bytes: Option<i64>,
    #[serde(rename = "Peak On Heap Execution Memory")]
    peak_on_heap_execution_memory_bytes: Option<i64>,
    #[serde(rename = "Peak Off Heap Execution Memory")]
    peak_off_heap_execution_memory_bytes: Option<i64>,
    #[serde(rename = "Memory Bytes Spilled")]
    memory_spilled_bytes: Option<i64>,
    #[serde(rename = "Disk Bytes Spilled")]
    disk_spilled_bytes: Option<i64>,
    #[serde(rename = "Shuffle Read Metrics")]
    shuffle_read: Option<ShuffleRead>,
    #[serde(rename = "Shuffle Write Metrics")]
    shuffle_write: Option<ShuffleWrite>,
    #[serde(rename = "Input Metrics")]
    input: Option<Input>,
    #[serde(rename = "Output Metrics")]
    output: Option<Output>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ShuffleRead {
    #[serde(rename = "Remote Bytes Read")]
    remote_bytes: i64,
    #[serde(rename = "Local Bytes Read")]
    local_bytes: i64,
    #[serde(rename = "Total Records Read")]
    records: i64,
    #[serde(rename = "Fetch Wait Time")]
    fetch_wait_ms: i64,
    #[serde(rename = "Remote Bytes Read To Disk")]
    remote_to_disk_bytes: i64,
    #[serde(rename = "Remote Blocks Fetched")]
    remote_blocks: i64,
    #[serde(rename = "Local Blocks Fetched")]
    local_blocks: i64,
    #[serde(rename = "Remote Requests Duration")]
    remote_requests_ms: Option<i64>,
    #[serde(rename = "Push Based Shuffle")]
    merged: Option<MergedShuffle>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MergedShuffle {
    #[serde(rename = "Merged Remote Bytes Read")]
    remote_bytes: i64,
    #[serde(rename = "Merged Local Bytes Read")]
    local_bytes: i64,
    #[serde(rename = "Corrupt Merged Block Chunks")]
    corrupt_chunks: i64,
    #[serde(rename = "Merged Fetch Fallback Count")]
    fallbacks: i64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ShuffleWrite {
    #[serde(rename = "Shuffle Bytes Written")]
    bytes: i64,
    #[serde(rename = "Shuffle Records Written")]
    records: i64,
    #[serde(rename = "Shuffle Write Time")]
    ns: i64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Input {
    #[serde(rename = "Bytes Read")]
    bytes: i64,
    #[serde(rename = "Records Read")]
    records: i64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Output {
    #[serde(rename = "Bytes Written")]
    bytes: i64,
    #[serde(rename = "Records Written")]
    records: i64,
}

/// Returns the fact of a SparkListenerTaskStart.
pub fn task_started(line: &[u8]) -> Result<PendingFact, EventError> {
    let event: TaskStart = parse_flat(line)?;
    let task = event.task;
    let fact = TaskStarted {
        stage_id: Some(event.stage_id),
        stage_attempt: Some(event.stage_attempt.unwrap_or(0)),
        task_id: Some(task.task_id),
        task_index: Some(task.index()?),
        task_attempt: Some(task.attempt.unwrap_or(0)),
        executor_id: task.executor_id,
        host: task.host,
        speculative: Some(task.speculative.unwrap_or(false)),
        launched_ms: Some(task.launched_ms),
        locality: task.locality,
    };
    Ok(PendingFact::bulk(
        task.launched_ms,
        task.task_id.to_string(),
        Kind::TaskStarted(fact),
    ))
}

/// Returns the fact of a SparkListenerTaskEnd.
pub fn task_ended(line: &[u8], texts: &mut Texts) -> Result<PendingFact, EventError> {
    let event: TaskEnd = parse_flat(line)?;
    let task = event.task;
    let index = task.index()?;
    let finished_ms = task
        .finished_ms
        .ok_or_else(|| EventError::Malformed("a task end without a time".to_owned()))?;
    let reason = event.reason.unwrap_or_default();
    let outcome = match reason.name.as_deref() {
        Some("Success") => "success",
        Some("TaskKilled") => "killed",
        _ => "failed",
    };
    let getting_result_ms = match task.getting_result_ms {
        None | Some(0) => None,
        Some(getting_ms) => Some(elapsed(getting_ms, finished_ms)?),
    };
    let mut fact = TaskEnded {
        stage_id: Some(event.stage_id),
        stage_attempt: Some(event.stage_attempt.unwrap_or(0)),
        task_id: Some(task.task_id),
        task_index: Some(index),
        task_attempt: Some(task.attempt.unwrap_or(0)),
        executor_id: task.executor_id,
        host: task.host,
        speculative: Some(task.speculative.unwrap_or(false)),
        launched_ms: Some(task.launched_ms),
        locality: task.locality,
        finished_ms: Some(finished_ms),
        duration_ms: Some(elapsed(task.launched_ms, finished_ms)?),
        outcome: Some(outcome.to_owned()),
        has_metrics: Some(event.metrics.is_some()),
        getting_result_ms,
        ..TaskEnded::default()
    };
    if let Some(metrics) = event.metrics {
        add_metrics(&mut fact, metrics)?;
    }
    if outcome != "success" {
        add_failure(&mut fact, reason, texts)?;
    }
    let class = fact.failure_class.as_deref().unwrap_or_default();
    let key = format!("{}|{outcome}|{class}|{finished_ms}", task.task_id);
    Ok(PendingFact::reserved(finished_ms, key, Kind::TaskEnded(fact)))
}

fn add_metrics(fact: &mut TaskEnded, metrics: TaskMetrics) -> Result<(), EventError> {
    let read = metrics.shuffle_read.unwrap_or_default();
    let write = metrics.shuffle_write.unwrap_or_default();
    let (input, output) = (metrics.input.unwrap_or_default(), metrics.output.unwrap_or_default());
    fact.run_ms = metrics.run_ms;
    fact.cpu_ns = metrics.cpu_ns;
    fact.gc_ms = metrics.gc_ms;
    fact.deserialize_ms = metrics.deserialize_ms;
    fact.deserialize_cpu_ns = metrics.deserialize_cpu_ns;
    fact.result_bytes = metrics.result_bytes;
    fact.result_serialization_ms = metrics.result_serialization_ms;
    fact.peak_execution_memory_bytes = metrics.peak_execution_memory_bytes;
    fact.peak_on_heap_execution_memory_bytes = metrics.peak_on_heap_execution_memory_bytes;
    fact.peak_off_heap_execution_memory_bytes = metrics.peak_off_heap_execution_memory_bytes;
    fact.memory_spilled_bytes = metrics.memory_spilled_bytes;
    fact.disk_spilled_bytes = metrics.disk_spilled_bytes;
    fact.input_bytes = Some(input.bytes);
    fact.input_records = Some(input.records);
    fact.output_bytes = Some(output.bytes);
    fact.output_records = Some(output.records);
    fact.shuffle_read_bytes = Some(add(read.remote_bytes, read.local_bytes)?);
    fact.shuffle_read_records = Some(read.records);
    fact.fetch_wait_ms = Some(read.fetch_wait_ms);
    fact.remote_shuffle_read_bytes = Some(read.remote_bytes);
    fact.remote_shuffle_to_disk_bytes = Some(read.remote_to_disk_bytes);
    fact.local_shuffle_read_bytes = Some(read.local_bytes);
    fact.remote_shuffle_blocks = Some(read.remote_blocks);
    fact.local_shuffle_blocks = Some(read.local_blocks);
    fact.remote_requests_ms = read.remote_requests_ms;
    fact.shuffle_write_bytes = Some(write.bytes);
    fact.shuffle_write_records = Some(write.records);
    fact.shuffle_write_ns = Some(write.ns);
    if let Some(merged) = read.merged {
        fact.merged_shuffle_read_bytes = Some(add(merged.remote_bytes, merged.local_bytes)?);
        fact.corrupt_merged_chunks = Some(merged.corrupt_chunks);
        fact.merged_fallbacks = Some(merged.fallbacks);
    }
    Ok(())
}

/// Adds the class and the text of a failure. For a failed fetch or a lost executor, adds its details (host, executor,
/// shuffle; exit code), as the plugin's TaskOutcome does.
fn add_failure(fact: &mut TaskEnded, reason: EndReason, texts: &mut Texts) -> Result<(), EventError> {
    let name = reason.name.as_deref().unwrap_or("UnknownReason");
    let class = match name {
        "ExceptionFailure" => reason.class_name.as_deref().unwrap_or_default(),
        _ => name,
    };
    fact.failure_class = Some(beginning(class, MAX_CLASS_CHARS).to_owned());
    let text = match name {
        "ExceptionFailure" => reason.description,
        "TaskKilled" => reason.kill_reason,
        "FetchFailed" => reason.message,
        "ExecutorLostFailure" => reason.loss_reason,
        // For the other reasons the log contains no text; these are the texts of Spark's `toErrorString`.
        "Resubmitted" => Some("Resubmitted (resubmitted due to lost executor)".to_owned()),
        "TaskResultLost" => Some("TaskResultLost (result lost from block manager)".to_owned()),
        "TaskCommitDenied" => Some(format!(
            "TaskCommitDenied (Driver denied task commit) for job: {}, partition: {}, attemptNumber: {}",
            number(reason.job_id),
            number(reason.partition),
            number(reason.attempt),
        )),
        _ => Some(name.to_owned()),
    };
    match name {
        "FetchFailed" => {
            let address = reason.address.unwrap_or_default();
            fact.fetch_failed_host = address.host;
            fact.fetch_failed_executor_id = address.executor_id;
            fact.fetch_failed_shuffle_id = reason.shuffle_id;
        }
        "ExecutorLostFailure" => {
            fact.exit_caused_by_app = reason.exit_caused_by_app;
            fact.exit_code = text.as_deref().and_then(exit_code);
        }
        _ => {}
    }
    fact.failure_reason = text.map(|text| texts.scrub(&text)).transpose()?;
    Ok(())
}

fn number(value: Option<i64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}
