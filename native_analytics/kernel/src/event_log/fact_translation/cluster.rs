//! Translates the events about executors, block managers, resource profiles and exclusions.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Number;

use crate::event_log::fact_translation::contract::fact::Kind;
use crate::event_log::fact_translation::contract::{
    BlockManagerAdded, BlockManagerRemoved, ExecutorAdded, ExecutorRemoved, NodeEvent, ResourceProfileAdded,
};
use crate::event_log::fact_translation::exit_codes::exit_code;
use crate::event_log::fact_translation::line::{EventError, parse_flat, too_large};
use crate::event_log::fact_translation::record::PendingFact;
use crate::event_log::fact_translation::texts::Texts;

const MEBIBYTE: i64 = 1 << 20;
const MAX_RESOURCES: usize = 32;
const MAX_NAME_CHARS: usize = 128;

#[derive(Deserialize)]
struct ExecutorAddedEvent {
    #[serde(rename = "Timestamp")]
    added_ms: i64,
    #[serde(rename = "Executor ID")]
    executor_id: String,
    #[serde(rename = "Executor Info")]
    info: ExecutorInfo,
}

#[derive(Deserialize)]
struct ExecutorInfo {
    #[serde(rename = "Host")]
    host: Option<String>,
    #[serde(rename = "Total Cores")]
    cores: Option<i32>,
    #[serde(rename = "Resource Profile Id")]
    resource_profile_id: Option<i32>,
}

#[derive(Deserialize)]
struct ExecutorRemovedEvent {
    #[serde(rename = "Timestamp")]
    removed_ms: i64,
    #[serde(rename = "Executor ID")]
    executor_id: String,
    #[serde(rename = "Removed Reason")]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct BlockManagerEvent {
    #[serde(rename = "Timestamp")]
    at_ms: i64,
    #[serde(rename = "Block Manager ID")]
    id: BlockManagerId,
    #[serde(rename = "Maximum Memory")]
    max_memory_bytes: Option<i64>,
    #[serde(rename = "Maximum Onheap Memory")]
    max_on_heap_memory_bytes: Option<i64>,
    #[serde(rename = "Maximum Offheap Memory")]
    max_off_heap_memory_bytes: Option<i64>,
}

#[derive(Deserialize)]
struct BlockManagerId {
    #[serde(rename = "Executor ID")]
    executor_id: String,
    #[serde(rename = "Host")]
    host: Option<String>,
}

#[derive(Deserialize)]
struct ResourceProfileEvent {
    #[serde(rename = "Resource Profile Id")]
    profile_id: i32,
    #[serde(rename = "Executor Resource Requests")]
    executor_requests: Option<BTreeMap<String, ResourceRequest>>,
    #[serde(rename = "Task Resource Requests")]
    task_requests: Option<BTreeMap<String, ResourceRequest>>,
}

#[derive(Deserialize)]
struct ResourceRequest {
    #[serde(rename = "Amount")]
    amount: Number,
}

#[derive(Deserialize)]
struct ExclusionEvent {
    #[serde(rename = "time")]
    at_ms: i64,
    #[serde(rename = "hostId")]
    host: Option<String>,
    #[serde(rename = "executorId")]
    executor_id: Option<String>,
    #[serde(rename = "stageId")]
    stage_id: Option<i32>,
    #[serde(rename = "taskFailures")]
    task_failures: Option<i32>,
}

/// Returns the fact of a SparkListenerExecutorAdded.
pub fn executor_added(line: &[u8]) -> Result<PendingFact, EventError> {
    let event: ExecutorAddedEvent = parse_flat(line)?;
    let key = format!("{}|{}", event.executor_id, event.added_ms);
    let fact = ExecutorAdded {
        executor_id: Some(event.executor_id),
        host: event.info.host,
        cores: event.info.cores,
        added_ms: Some(event.added_ms),
        resource_profile_id: event.info.resource_profile_id,
    };
    Ok(PendingFact::reserved(event.added_ms, key, Kind::ExecutorAdded(fact)))
}

/// Returns the fact of a SparkListenerExecutorRemoved.
pub fn executor_removed(line: &[u8], texts: &mut Texts) -> Result<PendingFact, EventError> {
    let event: ExecutorRemovedEvent = parse_flat(line)?;
    let key = format!("{}|{}", event.executor_id, event.removed_ms);
    let reason = event.reason.unwrap_or_default();
    let fact = ExecutorRemoved {
        executor_id: Some(event.executor_id),
        removed_ms: Some(event.removed_ms),
        reason: Some(texts.scrub(&reason)?),
        exit_code: exit_code(&reason),
    };
    Ok(PendingFact::reserved(
        event.removed_ms,
        key,
        Kind::ExecutorRemoved(fact),
    ))
}

/// Returns the fact of a SparkListenerBlockManagerAdded.
pub fn block_manager_added(line: &[u8]) -> Result<PendingFact, EventError> {
    let event: BlockManagerEvent = parse_flat(line)?;
    let key = format!("{}|{}", event.id.executor_id, event.at_ms);
    let fact = BlockManagerAdded {
        executor_id: Some(event.id.executor_id),
        host: event.id.host,
        max_memory_bytes: event.max_memory_bytes,
        max_on_heap_memory_bytes: event.max_on_heap_memory_bytes,
        max_off_heap_memory_bytes: event.max_off_heap_memory_bytes,
        added_ms: Some(event.at_ms),
    };
    Ok(PendingFact::reserved(event.at_ms, key, Kind::BlockManagerAdded(fact)))
}

/// Returns the fact of a SparkListenerBlockManagerRemoved.
pub fn block_manager_removed(line: &[u8]) -> Result<PendingFact, EventError> {
    let event: BlockManagerEvent = parse_flat(line)?;
    let key = format!("{}|{}", event.id.executor_id, event.at_ms);
    let fact = BlockManagerRemoved {
        executor_id: Some(event.id.executor_id),
        host: event.id.host,
        removed_ms: Some(event.at_ms),
    };
    Ok(PendingFact::reserved(event.at_ms, key, Kind::BlockManagerRemoved(fact)))
}

/// Returns the fact of a SparkListenerResourceProfileAdded, which has no time of its own.
pub fn resource_profile_added(line: &[u8], at_ms: i64) -> Result<PendingFact, EventError> {
    let event: ResourceProfileEvent = parse_flat(line)?;
    let mut fact = ResourceProfileAdded {
        profile_id: Some(event.profile_id),
        ..ResourceProfileAdded::default()
    };
    for (name, request) in event.executor_requests.unwrap_or_default() {
        let amount = request.amount;
        match name.as_str() {
            "cores" => {
                let cores = whole(&amount)?;
                fact.executor_cores = Some(i32::try_from(cores).map_err(|_| too_large())?);
            }
            "memory" => fact.executor_memory_bytes = Some(bytes(&amount)?),
            "memoryOverhead" => fact.memory_overhead_bytes = Some(bytes(&amount)?),
            "pyspark.memory" => fact.pyspark_memory_bytes = Some(bytes(&amount)?),
            "offHeap" => fact.off_heap_memory_bytes = Some(bytes(&amount)?),
            _ if fact.resources.len() < MAX_RESOURCES && name.chars().count() <= MAX_NAME_CHARS => {
                fact.resources.insert(name, amount.to_string());
            }
            _ => {}
        }
    }
    let tasks = event.task_requests.unwrap_or_default();
    fact.task_cpus = tasks.get("cpus").and_then(|request| request.amount.as_f64());
    Ok(PendingFact::reserved(
        at_ms,
        event.profile_id.to_string(),
        Kind::ResourceProfileAdded(fact),
    ))
}

fn whole(amount: &Number) -> Result<i64, EventError> {
    amount.as_i64().ok_or_else(too_large)
}

/// Converts an amount of memory, which Spark gives in MiB, to bytes.
fn bytes(amount: &Number) -> Result<i64, EventError> {
    whole(amount)?.checked_mul(MEBIBYTE).ok_or_else(too_large)
}

/// Whether an event of this name reports an exclusion or its end, such as `ExecutorExcludedForStage`.
pub fn is_exclusion(name: &str) -> bool {
    let name = name.strip_suffix("ForStage").unwrap_or(name);
    let action = name.strip_prefix("Executor").or_else(|| name.strip_prefix("Node"));
    matches!(
        action,
        Some("Excluded" | "Unexcluded" | "Blacklisted" | "Unblacklisted")
    )
}

/// Returns the fact of an exclusion or of its end.
pub fn exclusion(name: &str, line: &[u8]) -> Result<PendingFact, EventError> {
    let event: ExclusionEvent = parse_flat(line)?;
    let kind = if name.contains("Un") { "taken back" } else { "excluded" };
    let key = format!(
        "{kind}|{}|{}|{}|{}",
        event.host.as_deref().unwrap_or_default(),
        event.executor_id.as_deref().unwrap_or_default(),
        event.stage_id.map(|stage| stage.to_string()).unwrap_or_default(),
        event.at_ms,
    );
    let fact = NodeEvent {
        event: Some(kind.to_owned()),
        host: event.host,
        executor_id: event.executor_id,
        stage_id: event.stage_id,
        task_failures: event.task_failures,
        happened_ms: Some(event.at_ms),
    };
    Ok(PendingFact::reserved(event.at_ms, key, Kind::NodeEvent(fact)))
}
