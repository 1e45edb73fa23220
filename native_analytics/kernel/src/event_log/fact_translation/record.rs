//! Encodes the record of a fact: envelope, event id, Protobuf bytes.

use prost::Message;
use sha2::{Digest, Sha256};

use crate::event_log::fact_translation::contract::Fact;
use crate::event_log::fact_translation::contract::fact::Kind;

const ID_BYTES: usize = 16;

/// A numbered sequence of facts of one collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Bulk,
    Reserved,
}

impl Lane {
    pub fn name(self) -> &'static str {
        match self {
            Lane::Bulk => "bulk",
            Lane::Reserved => "reserved",
        }
    }
}

/// A fact without its sequence number; `key` identifies it among the facts of its kind.
#[derive(Debug, Clone)]
pub struct PendingFact {
    pub lane: Lane,
    pub at_ms: i64,
    pub key: String,
    pub kind: Kind,
}

impl PendingFact {
    pub fn reserved(at_ms: i64, key: impl Into<String>, kind: Kind) -> PendingFact {
        PendingFact {
            lane: Lane::Reserved,
            at_ms,
            key: key.into(),
            kind,
        }
    }

    pub fn bulk(at_ms: i64, key: impl Into<String>, kind: Kind) -> PendingFact {
        PendingFact {
            lane: Lane::Bulk,
            ..PendingFact::reserved(at_ms, key, kind)
        }
    }
}

/// Identifies the application run whose facts are encoded, and the collector that sends them.
#[derive(Debug, Clone)]
pub struct Origin {
    pub cluster: String,
    pub tenant: String,
    pub app_id: String,
    pub app_attempt: i32,
    pub app_start_ms: i64,
    pub collector: String,
}

/// Encodes the facts of one origin.
pub struct Encoder {
    /// The state of the hash after the prefix, which is the same for all event ids of the origin.
    id_prefix: Sha256,
    /// The encoded fields that are equal in all records; Protobuf allows fields in any order.
    common: Vec<u8>,
}

impl Encoder {
    pub fn new(origin: Origin) -> Encoder {
        let prefix = format!(
            "{}|{}|{}|{}|",
            origin.cluster, origin.app_id, origin.app_start_ms, origin.app_attempt
        );
        let common = Fact {
            cluster: Some(origin.cluster),
            tenant: Some(origin.tenant),
            app_id: Some(origin.app_id),
            app_attempt: Some(origin.app_attempt),
            app_start_ms: Some(origin.app_start_ms),
            collector: Some(origin.collector),
            ..Fact::default()
        };
        Encoder {
            id_prefix: Sha256::new_with_prefix(prefix),
            common: common.encode_to_vec(),
        }
    }

    /// Returns the id that docs/plugin.md defines under "Event ids".
    fn event_id(&self, kind: &str, key: &str) -> Vec<u8> {
        let mut hash = self.id_prefix.clone();
        hash.update(kind);
        hash.update("|");
        hash.update(key);
        hash.finalize()[..ID_BYTES].to_vec()
    }

    /// Encodes a fact and its sequence number.
    pub fn record(&self, fact: PendingFact, seq: i64) -> Vec<u8> {
        let own = Fact {
            event_id: Some(self.event_id(kind_name(&fact.kind), &fact.key)),
            event_time_ms: Some(fact.at_ms),
            lane: Some(fact.lane.name().to_owned()),
            seq: Some(seq),
            kind: Some(fact.kind),
            ..Fact::default()
        };
        let mut record = Vec::with_capacity(own.encoded_len() + self.common.len());
        record.extend_from_slice(&own.encode_to_vec());
        record.extend_from_slice(&self.common);
        record
    }
}

/// Returns the name of the field in `Fact` that holds this kind.
fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::ApplicationStarted(_) => "application_started",
        Kind::ApplicationEnded(_) => "application_ended",
        Kind::JobStarted(_) => "job_started",
        Kind::JobEnded(_) => "job_ended",
        Kind::SqlStarted(_) => "sql_started",
        Kind::SqlEnded(_) => "sql_ended",
        Kind::SqlPlan(_) => "sql_plan",
        Kind::SqlMetrics(_) => "sql_metrics",
        Kind::StageStarted(_) => "stage_started",
        Kind::StageEnded(_) => "stage_ended",
        Kind::TaskStarted(_) => "task_started",
        Kind::TaskEnded(_) => "task_ended",
        Kind::TaskProgress(_) => "task_progress",
        Kind::ExecutorAdded(_) => "executor_added",
        Kind::ExecutorRemoved(_) => "executor_removed",
        Kind::ExecutorSample(_) => "executor_sample",
        Kind::BlockManagerAdded(_) => "block_manager_added",
        Kind::BlockManagerRemoved(_) => "block_manager_removed",
        Kind::CollectorHealth(_) => "collector_health",
        Kind::Tick(_) => "tick",
        Kind::StreamingStarted(_) => "streaming_started",
        Kind::StreamingProgress(_) => "streaming_progress",
        Kind::StreamingEnded(_) => "streaming_ended",
        Kind::ResourceProfileAdded(_) => "resource_profile_added",
        Kind::NodeEvent(_) => "node_event",
        Kind::PodChanged(_) => "pod_changed",
        Kind::Undecodable(_) => "undecodable",
    }
}
