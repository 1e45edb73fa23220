//! Translates starts and ends of stages; lists have the same limits as in the plugin.

use indexmap::IndexSet;
use serde::Deserialize;

use crate::event_log::call_site::user_call_site;
use crate::event_log::fact_translation::contract::fact::Kind;
use crate::event_log::fact_translation::contract::{StageEnded, StageStarted};
use crate::event_log::fact_translation::jobs::JobProperties;
use crate::event_log::fact_translation::line::{EventError, WholeNumber, parse_flat};
use crate::event_log::fact_translation::record::PendingFact;
use crate::event_log::fact_translation::texts::Texts;
use crate::event_log::plan_text::split_codegen_number;

const MAX_PARENTS: usize = 256;
const MAX_RDDS: usize = 256;
const MAX_SCOPES: usize = 64;
const MAX_SCOPE_CHARS: usize = 200;
const MAX_ACCUMULATORS: usize = 100_000;
const OUTPUT_ROWS: &str = "number of output rows";
const RESULT_SIZE: &str = "internal.metrics.resultSize";

/// A stage id and the number of the stage's attempt.
pub type StageKey = (i32, i32);

#[derive(Deserialize)]
struct StageEvent {
    #[serde(rename = "Stage Info")]
    stage: StageInfo,
    #[serde(rename = "Properties")]
    properties: Option<JobProperties>,
}

#[derive(Deserialize)]
pub struct StageInfo {
    #[serde(rename = "Stage ID")]
    id: i32,
    #[serde(rename = "Stage Attempt ID")]
    attempt: Option<i32>,
    #[serde(rename = "Stage Name")]
    name: Option<String>,
    #[serde(rename = "Details")]
    details: Option<String>,
    #[serde(rename = "Number of Tasks")]
    num_tasks: i32,
    #[serde(rename = "Parent IDs")]
    parent_ids: Option<Vec<i32>>,
    #[serde(rename = "RDD Info")]
    rdds: Option<Vec<Rdd>>,
    #[serde(rename = "Submission Time")]
    submitted_ms: Option<i64>,
    #[serde(rename = "Completion Time")]
    completed_ms: Option<i64>,
    #[serde(rename = "Failure Reason")]
    failure_reason: Option<String>,
    #[serde(rename = "Resource Profile Id")]
    resource_profile_id: Option<i32>,
    #[serde(rename = "Accumulables")]
    pub accumulators: Option<Vec<StageAccumulator>>,
}

impl StageInfo {
    pub fn key(&self) -> StageKey {
        (self.id, self.attempt.unwrap_or(0))
    }

    fn fact_key(&self) -> String {
        let (id, attempt) = self.key();
        format!("{id}|{attempt}")
    }
}

#[derive(Deserialize)]
struct Rdd {
    #[serde(rename = "Scope")]
    scope: Option<String>,
}

#[derive(Deserialize)]
struct Scope {
    name: String,
}

#[derive(Deserialize)]
pub struct StageAccumulator {
    #[serde(rename = "ID")]
    pub id: Option<WholeNumber>,
    #[serde(rename = "Name")]
    name: Option<String>,
    #[serde(rename = "Value")]
    pub value: Option<WholeNumber>,
}

/// A stage attempt that started: its fact without job and depth, its key and its SQL execution.
pub struct StartedStage {
    pub fact: StageStarted,
    pub key: StageKey,
    pub sql_execution_id: Option<i64>,
    submitted_ms: i64,
}

impl StartedStage {
    /// Adds the first running job that uses the stage, and the stage's depth in that job.
    pub fn with_job(mut self, job_id: Option<i32>, depth: Option<i32>) -> PendingFact {
        self.fact.job_id = job_id;
        self.fact.depth = depth;
        let key = format!("{}|{}", self.key.0, self.key.1);
        PendingFact::reserved(self.submitted_ms, key, Kind::StageStarted(self.fact))
    }
}

/// Reads a SparkListenerStageSubmitted.
pub fn stage_started(line: &[u8], texts: &mut Texts) -> Result<StartedStage, EventError> {
    let event: StageEvent = parse_flat(line)?;
    let stage = event.stage;
    let submitted_ms = stage.submitted_ms.ok_or_else(|| missing("Submission Time"))?;
    let sql_execution_id = event.properties.unwrap_or_default().sql_execution_id();
    let key = stage.key();
    let name = stage.name.as_deref().ok_or_else(|| missing("Stage Name"))?;
    let fact = StageStarted {
        stage_id: Some(key.0),
        stage_attempt: Some(key.1),
        name: Some(texts.scrub(name)?),
        num_tasks: Some(stage.num_tasks),
        scope_names: scope_names(stage.rdds.as_deref().unwrap_or_default(), texts)?,
        parent_stage_ids: stage
            .parent_ids
            .unwrap_or_default()
            .into_iter()
            .take(MAX_PARENTS)
            .collect(),
        submitted_ms: Some(submitted_ms),
        sql_execution_id,
        resource_profile_id: stage.resource_profile_id,
        call_site: user_call_site(Some(name), stage.details.as_deref())
            .map(|site| texts.scrub(&site))
            .transpose()?,
        ..StageStarted::default()
    };
    Ok(StartedStage {
        fact,
        key,
        sql_execution_id,
        submitted_ms,
    })
}

/// Returns the fact of a SparkListenerStageCompleted, and the stage.
pub fn stage_ended(line: &[u8], texts: &mut Texts) -> Result<(PendingFact, StageInfo), EventError> {
    let stage = parse_flat::<StageEvent>(line)?.stage;
    let completed_ms = stage.completed_ms.ok_or_else(|| missing("Completion Time"))?;
    let fact = StageEnded {
        stage_id: Some(stage.id),
        stage_attempt: Some(stage.attempt.unwrap_or(0)),
        num_tasks: Some(stage.num_tasks),
        submitted_ms: stage.submitted_ms,
        completed_ms: Some(completed_ms),
        succeeded: Some(stage.failure_reason.is_none()),
        failure_reason: stage
            .failure_reason
            .as_deref()
            .map(|reason| texts.scrub(reason))
            .transpose()?,
        operator_rows_max: largest(OUTPUT_ROWS, &stage),
        result_bytes: largest(RESULT_SIZE, &stage),
    };
    let fact = PendingFact::reserved(completed_ms, stage.fact_key(), Kind::StageEnded(fact));
    Ok((fact, stage))
}

fn missing(member: &str) -> EventError {
    EventError::Malformed(format!("a stage without {member}"))
}

/// Returns the largest positive value of the accumulators with a name.
fn largest(name: &str, stage: &StageInfo) -> Option<i64> {
    stage
        .accumulators
        .as_deref()
        .unwrap_or_default()
        .iter()
        .take(MAX_ACCUMULATORS)
        .filter(|each| each.name.as_deref() == Some(name))
        .filter_map(|each| each.value.and_then(|value| value.0))
        .filter(|rows| *rows > 0)
        .max()
}

/// Returns the distinct names of the scopes (operators) of a stage's RDDs.
///
/// Fingerprints ignore the number of a codegen scope, so the limit counts names without these numbers.
fn scope_names(rdds: &[Rdd], texts: &mut Texts) -> Result<Vec<String>, EventError> {
    let mut names: IndexSet<String> = IndexSet::new();
    let mut operators: IndexSet<String> = IndexSet::new();
    for rdd in rdds.iter().take(MAX_RDDS) {
        // A scope is a JSON object within a JSON string.
        let scope = rdd
            .scope
            .as_deref()
            .and_then(|text| serde_json::from_str::<Scope>(text).ok());
        let Some(scope) = scope else { continue };
        let (operator, number) = split_codegen_number(&scope.name);
        let operator = texts.shortened(operator, MAX_SCOPE_CHARS)?;
        if operators.contains(&operator) || operators.len() < MAX_SCOPES {
            names.insert(format!("{operator}{number}"));
            operators.insert(operator);
        }
    }
    names.iter().map(|name| Ok(texts.scrub_query(name)?)).collect()
}
