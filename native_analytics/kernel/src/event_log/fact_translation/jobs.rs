//! Translates starts and ends of jobs; lists have the same limits as in the plugin.

use foldhash::{HashMap, HashMapExt};
use serde::Deserialize;

use crate::event_log::fact_translation::contract::fact::Kind;
use crate::event_log::fact_translation::contract::{JobEnded, JobStarted};
use crate::event_log::fact_translation::line::{EventError, WholeNumber, parse_flat};
use crate::event_log::fact_translation::record::PendingFact;
use crate::event_log::fact_translation::texts::Texts;

const MAX_STAGES: usize = crate::shared::limits::MOST_STAGES;
const MAX_TAGS: usize = 64;
const MAX_TAG_CHARS: usize = 256;

/// The stages of a job with their depths. The depth of a stage is the length of the longest chain of stages that it
/// reads from; `None` if unknown.
pub type StageDepths = HashMap<i32, Option<i32>>;

#[derive(Deserialize)]
struct JobStart {
    #[serde(rename = "Job ID")]
    job_id: i32,
    #[serde(rename = "Submission Time")]
    submitted_ms: i64,
    #[serde(rename = "Stage Infos")]
    stages: Option<Vec<JobStage>>,
    #[serde(rename = "Stage IDs")]
    stage_ids: Option<Vec<i32>>,
    #[serde(rename = "Properties")]
    properties: Option<JobProperties>,
}

#[derive(Deserialize)]
struct JobStage {
    #[serde(rename = "Stage ID")]
    stage_id: i32,
    #[serde(rename = "Parent IDs")]
    parent_ids: Option<Vec<i32>>,
}

/// The local properties of a job or stage that facts contain.
#[derive(Deserialize, Default)]
pub struct JobProperties {
    #[serde(rename = "spark.job.description")]
    description: Option<String>,
    #[serde(rename = "callSite.short")]
    call_site: Option<String>,
    #[serde(rename = "spark.jobGroup.id")]
    group: Option<String>,
    #[serde(rename = "spark.job.tags")]
    tags: Option<String>,
    #[serde(rename = "spark.sql.execution.id")]
    sql_execution_id: Option<WholeNumber>,
}

impl JobProperties {
    pub fn sql_execution_id(&self) -> Option<i64> {
        self.sql_execution_id.and_then(|number| number.0)
    }
}

#[derive(Deserialize)]
struct JobEnd {
    #[serde(rename = "Job ID")]
    job_id: i32,
    #[serde(rename = "Completion Time")]
    completed_ms: i64,
    #[serde(rename = "Job Result")]
    result: Option<JobResult>,
}

#[derive(Deserialize, Default)]
struct JobResult {
    #[serde(rename = "Result")]
    result: Option<String>,
    #[serde(rename = "Exception")]
    exception: Option<JobException>,
}

#[derive(Deserialize)]
struct JobException {
    #[serde(rename = "Message")]
    message: Option<String>,
}

/// Returns the fact of a SparkListenerJobStart, the job's id and its stages.
pub fn job_started(line: &[u8], texts: &mut Texts) -> Result<(PendingFact, i32, StageDepths), EventError> {
    let event: JobStart = parse_flat(line)?;
    let properties = event.properties.unwrap_or_default();
    let stage_ids: Vec<i32> = match &event.stages {
        Some(stages) => stages.iter().map(|stage| stage.stage_id).take(MAX_STAGES).collect(),
        None => event
            .stage_ids
            .unwrap_or_default()
            .into_iter()
            .take(MAX_STAGES)
            .collect(),
    };
    let depths = depths(&stage_ids, event.stages.as_deref().unwrap_or_default());
    let sql_execution_id = properties.sql_execution_id();
    let description = properties.description.or(properties.call_site);
    let fact = JobStarted {
        job_id: Some(event.job_id),
        submitted_ms: Some(event.submitted_ms),
        stage_ids,
        description: description.map(|text| texts.scrub_query(&text)).transpose()?,
        sql_execution_id,
        job_group: properties.group.map(|group| texts.scrub(&group)).transpose()?,
        job_tags: tags(properties.tags.as_deref().unwrap_or_default(), texts)?,
    };
    let fact = PendingFact::reserved(event.submitted_ms, event.job_id.to_string(), Kind::JobStarted(fact));
    Ok((fact, event.job_id, depths))
}

fn tags(tags: &str, texts: &mut Texts) -> Result<Vec<String>, EventError> {
    tags.split(',')
        .take(MAX_TAGS)
        .filter(|tag| !tag.is_empty() && tag.chars().count() <= MAX_TAG_CHARS)
        .map(|tag| Ok(texts.scrub(tag)?))
        .collect()
}

fn depths(stage_ids: &[i32], stages: &[JobStage]) -> StageDepths {
    let mut depths: StageDepths = stage_ids.iter().map(|stage| (*stage, None)).collect();
    let mut parents: HashMap<i32, &[i32]> = HashMap::new();
    for stage in stages.iter().take(MAX_STAGES) {
        parents.insert(stage.stage_id, stage.parent_ids.as_deref().unwrap_or_default());
    }
    let mut ordered: Vec<i32> = parents.keys().copied().collect();
    // Spark numbers parents before their children, so a parent's depth is known first.
    ordered.sort_unstable();
    for stage in ordered {
        let deepest_parent = parents[&stage]
            .iter()
            .filter(|parent| parents.contains_key(parent))
            .map(|parent| depths.get(parent).copied().flatten().unwrap_or(0))
            .max();
        depths.insert(stage, Some(deepest_parent.map_or(0, |depth| depth + 1)));
    }
    depths
}

/// Returns the fact of a SparkListenerJobEnd, the job's id and whether it succeeded.
pub fn job_ended(line: &[u8], texts: &mut Texts) -> Result<(PendingFact, i32, bool), EventError> {
    let event: JobEnd = parse_flat(line)?;
    let result = event.result.unwrap_or_default();
    let succeeded = result.result.as_deref() == Some("JobSucceeded");
    let message = result.exception.and_then(|exception| exception.message);
    let failure_reason = match succeeded {
        true => None,
        false => message.map(|message| texts.scrub(&message)).transpose()?,
    };
    let fact = JobEnded {
        job_id: Some(event.job_id),
        completed_ms: Some(event.completed_ms),
        succeeded: Some(succeeded),
        failure_reason,
    };
    let fact = PendingFact::reserved(event.completed_ms, event.job_id.to_string(), Kind::JobEnded(fact));
    Ok((fact, event.job_id, succeeded))
}
