//! Translates the events of one log, and keeps the state between events: identity, jobs, executions, sequence numbers.

use std::collections::BTreeMap;

use indexmap::IndexSet;

use crate::event_log::fact_translation::application::{self, ApplicationStart};
use crate::event_log::fact_translation::contract::CollectorHealth;
use crate::event_log::fact_translation::contract::fact::Kind;
use crate::event_log::fact_translation::event_names::is_header;
use crate::event_log::fact_translation::jobs::{self, StageDepths};
use crate::event_log::fact_translation::line::EventError;
use crate::event_log::fact_translation::record::{Encoder, Lane, Origin, PendingFact};
use crate::event_log::fact_translation::sql::SqlExecutions;
use crate::event_log::fact_translation::texts::{Properties, Redaction, TextError, Texts};
use crate::event_log::fact_translation::{cluster, stages, streaming, tasks};

pub use crate::event_log::fact_translation::application::Identity;

const MAX_HELD_FACTS: usize = 10_000;
const MAX_NODE_EVENTS: usize = 128;
/// Maximum size of a record that the contract allows.
const MAX_RECORD_BYTES: usize = 256 * 1024;

/// Why the translation of a log must stop.
#[derive(Debug)]
pub enum TranslationError {
    /// The log does not belong to an application; the text states the reason in one sentence.
    NoApplication(&'static str),
    /// A text could not be scrubbed.
    Text(TextError),
}

/// The collector that sends the facts of a log.
#[derive(Debug, Clone)]
pub struct Collector {
    pub cluster: String,
    pub tenant: String,
    pub name: String,
}

/// The next sequence number of each lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SequenceNumbers {
    pub bulk: i64,
    pub reserved: i64,
}

impl SequenceNumbers {
    fn take(&mut self, lane: Lane) -> i64 {
        let next = match lane {
            Lane::Bulk => &mut self.bulk,
            Lane::Reserved => &mut self.reserved,
        };
        let number = *next;
        *next += 1;
        number
    }
}

/// Translates the events of one log into encoded facts.
///
/// `identity` is `None` until the application is known; until then, facts are kept in `held`.
pub struct Translator {
    collector: Collector,
    texts: Texts,
    encoder: Option<Encoder>,
    identity: Option<Identity>,
    held: Vec<PendingFact>,
    start: Option<ApplicationStart>,
    spark_version: Option<String>,
    properties: Option<Properties>,
    has_plugin: bool,
    ended_ms: Option<i64>,
    last_ms: i64,
    jobs: BTreeMap<i32, StageDepths>,
    succeeded_jobs: i64,
    failed_jobs: i64,
    node_events: IndexSet<String>,
    sql: SqlExecutions,
    /// Public, so that the caller can reset the numbers if it does not send the records.
    pub numbers: SequenceNumbers,
    malformed: u64,
}

impl Translator {
    pub fn new(collector: Collector, redaction: Box<dyn Redaction>, numbers: SequenceNumbers) -> Translator {
        Translator {
            collector,
            texts: Texts::new(redaction),
            encoder: None,
            identity: None,
            held: Vec::new(),
            start: None,
            spark_version: None,
            properties: None,
            has_plugin: false,
            ended_ms: None,
            last_ms: 0,
            jobs: BTreeMap::new(),
            succeeded_jobs: 0,
            failed_jobs: 0,
            node_events: IndexSet::new(),
            sql: SqlExecutions::default(),
            numbers,
            malformed: 0,
        }
    }

    /// Returns the run of the application; `None` until it is known.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Whether the plugin reports this application, so that the facts of the log would be duplicates.
    pub fn has_plugin(&self) -> bool {
        self.has_plugin
    }

    /// Returns when the application ended, in ms since 1970; `None` until its end was read.
    pub fn ended_ms(&self) -> Option<i64> {
        self.ended_ms
    }

    /// Returns the number of lines and events that produced no fact because they were malformed, plus the number of
    /// facts that were too large.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Continues in the middle of a log whose beginning no longer exists.
    pub fn resume_as(&mut self, identity: Identity) {
        self.identity = Some(identity);
        self.held.clear();
    }

    /// Returns the records of one event. A malformed event is counted and leaves a gap in the bulk lane.
    pub fn translate(&mut self, name: &str, line: &[u8], records: &mut Vec<Vec<u8>>) -> Result<(), TranslationError> {
        match self.facts(name, line) {
            Ok(facts) => {
                for fact in facts {
                    self.encode(fact, records);
                }
                Ok(())
            }
            Err(EventError::Malformed(_)) => {
                self.count_malformed(1);
                Ok(())
            }
            Err(error) => Err(fatal(error)),
        }
    }

    /// Updates the state with an event whose facts were already sent.
    pub fn replay(&mut self, name: &str, line: &[u8]) -> Result<(), TranslationError> {
        match self.facts(name, line) {
            Ok(_) | Err(EventError::Malformed(_)) => Ok(()),
            Err(error) => Err(fatal(error)),
        }
    }

    /// Counts lines that should have produced facts, so that consumers see a gap.
    pub fn count_malformed(&mut self, count: u64) {
        self.malformed += count;
        self.numbers.bulk += count as i64;
    }

    /// Returns the record of the collector's health, or `None` while the application is unknown.
    pub fn health(&mut self, at_ms: i64, behind_bytes: i64, torn: bool) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        if self.identity.is_some() {
            let health = CollectorHealth {
                behind_bytes: Some(behind_bytes),
                malformed_lines: Some(self.malformed as i64),
                torn: Some(torn),
                ..CollectorHealth::default()
            };
            let key = format!("{}|{at_ms}", self.collector.name);
            let fact = PendingFact::bulk(at_ms, key, Kind::CollectorHealth(health));
            self.encode(fact, &mut records);
        }
        records
    }

    fn encode(&mut self, fact: PendingFact, records: &mut Vec<Vec<u8>>) {
        let Some(identity) = &self.identity else { return };
        let collector = &self.collector;
        let encoder = self.encoder.get_or_insert_with(|| {
            Encoder::new(Origin {
                cluster: collector.cluster.clone(),
                tenant: collector.tenant.clone(),
                app_id: identity.app_id.clone(),
                app_attempt: identity.attempt,
                app_start_ms: identity.start_ms,
                collector: collector.name.clone(),
            })
        });
        let number = self.numbers.take(fact.lane);
        let record = encoder.record(fact, number);
        if record.len() <= MAX_RECORD_BYTES {
            records.push(record);
        } else {
            self.malformed += 1;
        }
    }

    /// Returns the facts that this event completes, in the order of the log.
    fn facts(&mut self, name: &str, line: &[u8]) -> Result<Vec<PendingFact>, EventError> {
        let mut facts = Vec::new();
        self.event(name, line, &mut facts)?;
        for fact in &facts {
            self.last_ms = self.last_ms.max(fact.at_ms);
        }
        if self.identity.is_some() {
            return Ok(facts);
        }
        self.held.append(&mut facts);
        self.identify(name)
    }

    /// Returns all facts in `held` once start and configuration are known or can no longer arrive.
    fn identify(&mut self, name: &str) -> Result<Vec<PendingFact>, EventError> {
        let may_follow = is_header(name) && self.held.len() <= MAX_HELD_FACTS;
        let Some(start) = &self.start else {
            return match may_follow {
                true => Ok(Vec::new()),
                false => Err(EventError::NoApplication(
                    "it does not begin with the start of an application",
                )),
            };
        };
        if self.properties.is_none() && may_follow {
            return Ok(Vec::new());
        }
        let unknown = Properties::new();
        let properties = self.properties.as_ref().unwrap_or(&unknown);
        let identity = start
            .identity(properties)
            .ok_or(EventError::NoApplication("its application has no id"))?;
        let mut facts = vec![start.fact(self.spark_version.clone(), properties, &mut self.texts)?];
        facts.append(&mut self.held);
        self.identity = Some(identity);
        Ok(facts)
    }

    fn event(&mut self, name: &str, line: &[u8], facts: &mut Vec<PendingFact>) -> Result<(), EventError> {
        let texts = &mut self.texts;
        match name {
            "TaskStart" => facts.push(tasks::task_started(line)?),
            "TaskEnd" => facts.push(tasks::task_ended(line, texts)?),
            "StageSubmitted" => facts.push(self.stage_started(line)?),
            "StageCompleted" => {
                let (fact, stage) = stages::stage_ended(line, texts)?;
                self.sql.stage_ended(&stage);
                facts.push(fact);
            }
            "JobStart" => {
                let (fact, job, depths) = jobs::job_started(line, texts)?;
                self.jobs.insert(job, depths);
                facts.push(fact);
            }
            "JobEnd" => facts.push(self.job_ended(line)?),
            "SQLExecutionStart" => self.sql.started(line, texts, facts)?,
            "SQLAdaptiveExecutionUpdate" => self.sql.replanned(line, self.last_ms, texts, facts)?,
            "SQLAdaptiveSQLMetricUpdates" => self.sql.metrics_added(line)?,
            "DriverAccumUpdates" => self.sql.driver_updated(line)?,
            "SQLExecutionEnd" => self.sql.ended(line, texts, facts)?,
            "ExecutorAdded" => facts.push(cluster::executor_added(line)?),
            "ExecutorRemoved" => facts.push(cluster::executor_removed(line, texts)?),
            "BlockManagerAdded" => facts.push(cluster::block_manager_added(line)?),
            "BlockManagerRemoved" => facts.push(cluster::block_manager_removed(line)?),
            "ResourceProfileAdded" => facts.push(cluster::resource_profile_added(line, self.last_ms)?),
            "StreamingQueryListener$QueryStartedEvent" => facts.push(streaming::query_started(line, texts)?),
            "StreamingQueryListener$QueryProgressEvent" => facts.push(streaming::query_progressed(line, texts)?),
            "StreamingQueryListener$QueryIdleEvent" => facts.push(streaming::query_idle(line)?),
            "StreamingQueryListener$QueryTerminatedEvent" => {
                facts.push(streaming::query_ended(line, self.last_ms, texts)?);
            }
            "LogStart" => self.spark_version = application::spark_version(line)?,
            "EnvironmentUpdate" => self.environment(line)?,
            "ApplicationStart" => self.application_started(line)?,
            "ApplicationEnd" => {
                let (fact, ended_ms) = application::application_ended(line, self.succeeded_jobs, self.failed_jobs)?;
                self.ended_ms = Some(ended_ms);
                facts.push(fact);
            }
            _ if cluster::is_exclusion(name) => facts.extend(self.exclusion(name, line)?),
            _ => {}
        }
        Ok(())
    }

    fn stage_started(&mut self, line: &[u8]) -> Result<PendingFact, EventError> {
        let stage = stages::stage_started(line, &mut self.texts)?;
        self.sql.stage_started(stage.key, stage.sql_execution_id);
        let id = stage.key.0;
        let job = self
            .jobs
            .iter()
            .find_map(|(job, depths)| Some((*job, *depths.get(&id)?)));
        Ok(stage.with_job(job.map(|(job, _)| job), job.and_then(|(_, depth)| depth)))
    }

    fn job_ended(&mut self, line: &[u8]) -> Result<PendingFact, EventError> {
        let (fact, job, succeeded) = jobs::job_ended(line, &mut self.texts)?;
        self.jobs.remove(&job);
        match succeeded {
            true => self.succeeded_jobs += 1,
            false => self.failed_jobs += 1,
        }
        Ok(fact)
    }

    fn environment(&mut self, line: &[u8]) -> Result<(), EventError> {
        let properties = application::properties(line)?;
        if self.properties.is_none() {
            self.has_plugin = application::has_plugin(&properties);
            self.properties = Some(properties);
        }
        Ok(())
    }

    fn application_started(&mut self, line: &[u8]) -> Result<(), EventError> {
        // If a log contains several application starts, the first one is used.
        if self.start.is_none() {
            let start = ApplicationStart::parse(line)?;
            self.last_ms = start.started_ms;
            self.start = Some(start);
        }
        Ok(())
    }

    /// Spark writes some exclusions under an old name (blacklisted) and a new one; only the first becomes a fact.
    fn exclusion(&mut self, name: &str, line: &[u8]) -> Result<Option<PendingFact>, EventError> {
        let fact = cluster::exclusion(name, line)?;
        if !self.node_events.insert(fact.key.clone()) {
            return Ok(None);
        }
        if self.node_events.len() > MAX_NODE_EVENTS {
            self.node_events.shift_remove_index(0);
        }
        Ok(Some(fact))
    }
}

fn fatal(error: EventError) -> TranslationError {
    match error {
        EventError::NoApplication(reason) => TranslationError::NoApplication(reason),
        EventError::Text(error) => TranslationError::Text(error),
        EventError::Malformed(reason) => TranslationError::Text(reason.into()),
    }
}
