//! Translates the events about SQL executions: starts, plans, re-plans, values of their metrics, ends.

use foldhash::HashMap;
use indexmap::IndexMap;
use serde::Deserialize;

use crate::event_log::call_site::user_call_site;
use crate::event_log::fact_translation::contract::fact::Kind;
use crate::event_log::fact_translation::contract::{SqlEnded, SqlMetrics, SqlPlan, SqlPlanMetric, SqlStarted};
use crate::event_log::fact_translation::line::{EventError, WholeNumber, parse};
use crate::event_log::fact_translation::record::PendingFact;
use crate::event_log::fact_translation::stages::{StageInfo, StageKey};
use crate::event_log::fact_translation::texts::{Texts, beginning};
use crate::event_log::plan_text::{NodeText, condition, detail, has_condition};

// These limits are the same as in the plugin's SqlPlanCopier and SqlRegistry.
const MAX_NAMES: usize = 256;
const MAX_NODES: usize = 1_000;
const MAX_METRICS: usize = 2_000;
const MAX_NAME_CHARS: usize = 200;
const MAX_CHARS: usize = 60_000;
const MAX_DETAIL_CHARS: usize = 30_000;
const MAX_VISITS: usize = 20_000;
const MAX_EXECUTIONS: usize = 500;
const MAX_VALUES: usize = crate::shared::limits::MOST_METRICS;
const MAX_TOTAL_VALUES: usize = 50_000;
const MAX_STAGES: usize = crate::shared::limits::MOST_STAGES;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecutionStart {
    execution_id: i64,
    root_execution_id: Option<i64>,
    description: Option<String>,
    details: Option<String>,
    time: i64,
    spark_plan_info: Option<PlanInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecutionUpdate {
    execution_id: i64,
    spark_plan_info: Option<PlanInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetricUpdate {
    execution_id: i64,
    sql_plan_metrics: Option<Vec<PlanMetric>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DriverUpdate {
    execution_id: i64,
    accum_updates: Option<Vec<Vec<WholeNumber>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecutionEnd {
    execution_id: i64,
    time: i64,
    error_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlanInfo {
    node_name: Option<String>,
    simple_string: Option<String>,
    metadata: Option<PlanMetadata>,
    children: Option<Vec<PlanInfo>>,
    metrics: Option<Vec<PlanMetric>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlanMetric {
    accumulator_id: Option<i64>,
    name: Option<String>,
    metric_type: Option<String>,
}

/// Members of a file scan's metadata that identify what the scan reads.
#[derive(Deserialize)]
struct PlanMetadata {
    #[serde(rename = "Location")]
    location: Option<String>,
    #[serde(rename = "Format")]
    format: Option<String>,
}

impl PlanInfo {
    fn text(&self) -> NodeText<'_> {
        let metadata = self.metadata.as_ref();
        NodeText {
            name: self.name(),
            simple_string: self.simple_string.as_deref().unwrap_or_default(),
            location: metadata.and_then(|metadata| metadata.location.as_deref()),
            format: metadata.and_then(|metadata| metadata.format.as_deref()),
        }
    }

    fn name(&self) -> &str {
        self.node_name.as_deref().unwrap_or_default()
    }

    fn children(&self) -> impl DoubleEndedIterator<Item = &PlanInfo> {
        self.children.iter().flatten()
    }

    fn metrics(&self) -> impl Iterator<Item = &PlanMetric> {
        self.metrics.iter().flatten()
    }
}

/// A running execution: the number of its plans, and the last value of each accumulator (`None` before the first
/// value).
#[derive(Default)]
struct Execution {
    versions: i32,
    values: HashMap<i64, Option<i64>>,
    left_out: i32,
}

impl Execution {
    fn set(&mut self, accumulator: i64, value: Option<i64>) {
        if accumulator < 0 {
            return;
        }
        let is_known = self.values.contains_key(&accumulator);
        if !is_known && self.values.len() >= MAX_VALUES {
            self.left_out = self.left_out.saturating_add(1);
        } else if value.is_some() || !is_known {
            self.values.insert(accumulator, value);
        }
    }
}

/// The running executions and their stages; beyond the limits, the oldest are dropped.
#[derive(Default)]
pub struct SqlExecutions {
    running: IndexMap<i64, Execution>,
    stages: IndexMap<StageKey, i64>,
}

impl SqlExecutions {
    /// Adds the facts of a SparkListenerSQLExecutionStart.
    pub fn started(&mut self, line: &[u8], texts: &mut Texts, facts: &mut Vec<PendingFact>) -> Result<(), EventError> {
        let event: ExecutionStart = parse(line)?;
        self.running.insert(event.execution_id, Execution::default());
        let plan = self.plan(event.execution_id, event.spark_plan_info.as_ref(), texts)?;
        let description = event.description.as_deref().unwrap_or_default();
        let fact = SqlStarted {
            sql_execution_id: Some(event.execution_id),
            started_ms: Some(event.time),
            description: Some(texts.scrub_query(description)?),
            plan_nodes: plan_nodes(event.spark_plan_info.as_ref(), &plan, texts)?,
            root_execution_id: event.root_execution_id,
            call_site: user_call_site(event.description.as_deref(), event.details.as_deref())
                .map(|site| texts.scrub(&site))
                .transpose()?,
        };
        facts.push(PendingFact::reserved(
            event.time,
            event.execution_id.to_string(),
            Kind::SqlStarted(fact),
        ));
        facts.push(plan_fact(plan, event.time));
        Ok(())
    }

    /// Adds the fact of a SparkListenerSQLAdaptiveExecutionUpdate, which has no time of its own.
    pub fn replanned(
        &mut self,
        line: &[u8],
        at_ms: i64,
        texts: &mut Texts,
        facts: &mut Vec<PendingFact>,
    ) -> Result<(), EventError> {
        let event: ExecutionUpdate = parse(line)?;
        if self.running.contains_key(&event.execution_id) {
            let plan = self.plan(event.execution_id, event.spark_plan_info.as_ref(), texts)?;
            facts.push(plan_fact(plan, at_ms));
        }
        Ok(())
    }

    /// Registers the metrics of a SparkListenerSQLAdaptiveSQLMetricUpdates, which a subquery reports without a plan.
    pub fn metrics_added(&mut self, line: &[u8]) -> Result<(), EventError> {
        let event: MetricUpdate = parse(line)?;
        if let Some(running) = self.running.get_mut(&event.execution_id) {
            for metric in event.sql_plan_metrics.iter().flatten().take(MAX_VALUES) {
                running.set(metric.accumulator_id.unwrap_or(-1), None);
            }
            self.drop_oldest();
        }
        Ok(())
    }

    /// Registers a stage attempt of an execution.
    pub fn stage_started(&mut self, stage: StageKey, execution: Option<i64>) {
        if let Some(execution) = execution.filter(|execution| self.running.contains_key(execution)) {
            self.stages.insert(stage, execution);
            if self.stages.len() > MAX_STAGES {
                self.stages.shift_remove_index(0);
            }
        }
    }

    /// Stores the values of a stage's accumulators at its end; the last stage to end determines the value.
    pub fn stage_ended(&mut self, stage: &StageInfo) {
        let execution = self.stages.shift_remove(&stage.key());
        let Some(running) = execution.and_then(|execution| self.running.get_mut(&execution)) else {
            return;
        };
        for each in stage.accumulators.iter().flatten().take(MAX_VALUES) {
            let (id, value) = (each.id.and_then(|id| id.0), each.value.and_then(|value| value.0));
            if let Some(id) = id
                && value.is_some()
                && running.values.contains_key(&id)
            {
                running.set(id, value);
            }
        }
    }

    /// Stores the values of a SparkListenerDriverAccumUpdates, which the driver counted.
    pub fn driver_updated(&mut self, line: &[u8]) -> Result<(), EventError> {
        let event: DriverUpdate = parse(line)?;
        if let Some(running) = self.running.get_mut(&event.execution_id) {
            for pair in event.accum_updates.iter().flatten().take(MAX_VALUES) {
                if let [WholeNumber(Some(id)), value] = pair[..] {
                    running.set(id, value.0);
                }
            }
        }
        Ok(())
    }

    /// Adds the facts of a SparkListenerSQLExecutionEnd.
    pub fn ended(&mut self, line: &[u8], texts: &mut Texts, facts: &mut Vec<PendingFact>) -> Result<(), EventError> {
        let event: ExecutionEnd = parse(line)?;
        // Spark writes an empty error message for an execution that succeeded; before version 3.4, it writes no
        // message.
        let succeeded = event.error_message.as_ref().map(String::is_empty);
        let failure = event.error_message.filter(|message| !message.is_empty());
        let failure_reason = failure.map(|message| texts.scrub(&message)).transpose()?;
        let key = event.execution_id.to_string();
        if let Some(running) = self.running.shift_remove(&event.execution_id) {
            let metrics = metrics(event.execution_id, &running);
            facts.push(PendingFact::bulk(event.time, key.clone(), Kind::SqlMetrics(metrics)));
        }
        let fact = SqlEnded {
            sql_execution_id: Some(event.execution_id),
            ended_ms: Some(event.time),
            failure_reason,
            succeeded,
        };
        facts.push(PendingFact::reserved(event.time, key, Kind::SqlEnded(fact)));
        Ok(())
    }

    fn plan(&mut self, execution: i64, plan: Option<&PlanInfo>, texts: &mut Texts) -> Result<SqlPlan, EventError> {
        let running = self.running.entry(execution).or_default();
        let copied = copy_plan(execution, running, plan, texts)?;
        running.versions = running.versions.saturating_add(1);
        self.drop_oldest();
        Ok(copied)
    }

    fn drop_oldest(&mut self) {
        let mut values: usize = self.running.values().map(|running| running.values.len()).sum();
        while self.running.len() > MAX_EXECUTIONS || (values > MAX_TOTAL_VALUES && self.running.len() > 1) {
            let Some((_, oldest)) = self.running.shift_remove_index(0) else {
                return;
            };
            values -= oldest.values.len();
        }
    }
}

fn plan_fact(plan: SqlPlan, at_ms: i64) -> PendingFact {
    let key = format!("{}|{}", plan.sql_execution_id(), plan.plan_version());
    PendingFact::bulk(at_ms, key, Kind::SqlPlan(plan))
}

fn metrics(execution: i64, running: &Execution) -> SqlMetrics {
    let mut known: Vec<(i64, i64)> = running
        .values
        .iter()
        .filter_map(|(id, value)| Some((*id, (*value)?)))
        .collect();
    known.sort_unstable();
    SqlMetrics {
        sql_execution_id: Some(execution),
        accumulator_ids: known.iter().map(|(id, _)| *id).collect(),
        values: known.iter().map(|(_, value)| *value).collect(),
        left_out: Some(running.left_out),
    }
}

/// Returns the names of the first nodes of the copied plan, each with the condition of the node if it is a filter or
/// join.
fn plan_nodes(root: Option<&PlanInfo>, plan: &SqlPlan, texts: &mut Texts) -> Result<Vec<String>, EventError> {
    let mut names = Vec::new();
    let mut waiting: Vec<&PlanInfo> = root.into_iter().collect();
    while let Some(node) = waiting.pop() {
        if names.len() >= MAX_NAMES.min(plan.node_names.len()) {
            break;
        }
        let mut name = texts.shortened(node.name(), MAX_NAME_CHARS)?;
        if has_condition(&name) {
            let condition = condition(node.simple_string.as_deref().unwrap_or_default());
            if !condition.is_empty() {
                name = format!("{name} {condition}");
            }
        }
        names.push(texts.scrub_query(&name)?);
        waiting.extend(node.children().rev());
    }
    Ok(names)
}

/// Copies names, shape and metrics of a plan in pre-order, and counts what the limits leave out.
fn copy_plan(
    execution: i64,
    running: &mut Execution,
    root: Option<&PlanInfo>,
    texts: &mut Texts,
) -> Result<SqlPlan, EventError> {
    let mut plan = SqlPlan {
        sql_execution_id: Some(execution),
        plan_version: Some(running.versions),
        ..SqlPlan::default()
    };
    let mut waiting: Vec<(&PlanInfo, i32)> = root.map(|root| (root, -1)).into_iter().collect();
    let (mut visits, mut chars, mut left_out_nodes, mut left_out_metrics) = (0, 0, 0, 0);
    let mut detail_chars = 0;
    while visits < MAX_VISITS
        && let Some((node, parent)) = waiting.pop()
    {
        visits += 1;
        let mut number = plan.node_names.len() as i32;
        if plan.node_names.len() >= MAX_NODES || chars >= MAX_CHARS {
            left_out_nodes += 1;
            number = parent;
        } else {
            let name = texts.shortened(node.name(), MAX_NAME_CHARS)?;
            chars += name.chars().count();
            plan.node_names.push(texts.scrub_query(&name)?);
            plan.node_parents.push(parent);
            let detail = match detail_chars < MAX_DETAIL_CHARS {
                true => detail(node.text()),
                false => String::new(),
            };
            detail_chars += detail.chars().count();
            plan.node_details.push(texts.scrub_query(&detail)?);
            for metric in node.metrics().take(MAX_METRICS) {
                let accumulator = metric.accumulator_id.unwrap_or(-1);
                running.set(accumulator, None);
                if plan.metrics.len() >= MAX_METRICS || chars >= MAX_CHARS {
                    left_out_metrics += 1;
                    continue;
                }
                let name = beginning(metric.name.as_deref().unwrap_or_default(), MAX_NAME_CHARS);
                chars += name.chars().count();
                plan.metrics.push(SqlPlanMetric {
                    node: Some(number),
                    accumulator_id: Some(accumulator),
                    name: Some(name.to_owned()),
                    r#type: Some(metric.metric_type.clone().unwrap_or_default()),
                });
            }
        }
        waiting.extend(node.children().rev().map(|child| (child, number)));
    }
    plan.left_out_nodes = Some(left_out_nodes + waiting.len() as i32);
    plan.left_out_metrics = Some(left_out_metrics);
    Ok(plan)
}
