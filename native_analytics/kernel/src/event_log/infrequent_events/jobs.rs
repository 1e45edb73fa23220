//! Reads the events about jobs and stages: starts, ends, properties, operators.

use std::collections::BTreeMap;

use foldhash::HashSet;

use super::{VisitResult, Writer, text_of};
use crate::event_log::call_site::user_call_site;
use crate::event_log::json::error::LineError;
use crate::event_log::json::reader::Reader;
use crate::event_log::plan_text::split_codegen_number;
use crate::event_log::tables::{Accumulator, Job, StageInfo, Tables};

/// The plugin and the fingerprint have the same limits, so that a stage has the same fingerprint live and offline.
const MAX_STAGES: usize = crate::shared::limits::MOST_STAGES;
const MAX_RDDS: usize = 256;
const MAX_SCOPES: usize = 64;
/// Spark's name of the metric that nearly every SQL operator has (class SQLMetrics).
const OUTPUT_ROWS: &str = "number of output rows";

impl Writer<'_> {
    pub fn job_start(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = Job::default();
        let mut id = None;
        let mut properties = Properties::default();
        reader.each_member_of_line(|value, key| {
            match key {
                b"Job ID" => id = value.number(self.odd)?,
                b"Submission Time" => found.submitted_ms = value.number(self.odd)?,
                b"Stage IDs" => found.stage_ids = value.numbers(self.odd)?,
                b"Stage Infos" => found.depths = depths(parents(value, self.odd)?),
                b"Properties" => properties.read(value)?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id {
            found.description = properties.description;
            found.job_group = properties.group;
            found.sql_execution_id = properties.sql_execution_id;
            self.tables.bytes += 8 * found.stage_ids.len() + 16 * found.depths.len();
            self.tables.job(id).merge(found);
        }
        Ok(())
    }

    pub fn job_end(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = Job::default();
        let mut id = None;
        reader.each_member_of_line(|value, key| {
            match key {
                b"Job ID" => id = value.number(self.odd)?,
                b"Completion Time" => found.completed_ms = value.number(self.odd)?,
                b"Job Result" => value.each_member(|value, key| {
                    match key {
                        b"Result" => found.result = value.text_value()?,
                        b"Exception" => value.each_member(|value, key| {
                            if key == b"Message" {
                                found.failure_reason = value.text_value()?;
                            }
                            Ok(())
                        })?,
                        _ => {}
                    }
                    Ok(())
                })?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id {
            self.tables.job(id).merge(found);
        }
        Ok(())
    }

    pub fn stage(&mut self, reader: &mut Reader<'_>, completed: bool) -> VisitResult {
        let mut found = StageInfo {
            completed,
            ..StageInfo::default()
        };
        let (mut id, mut attempt) = (None, None);
        let mut stack_trace = None;
        let mut accumulators = Vec::new();
        let mut properties = Properties::default();
        let odd = &mut *self.odd;
        reader.each_member_of_line(|value, key| match key {
            b"Stage Info" => value.each_member(|value, key| {
                match key {
                    b"Stage ID" => id = value.number(odd)?,
                    b"Stage Attempt ID" => attempt = value.number(odd)?,
                    b"Stage Name" => found.name = value.text_value()?,
                    b"Details" => stack_trace = value.borrowed_text()?,
                    b"Number of Tasks" => found.num_tasks = value.number(odd)?,
                    b"RDD Info" => found.scopes = scopes(value)?,
                    b"Parent IDs" => found.parents = value.numbers(odd)?,
                    b"Submission Time" => found.submitted_ms = value.number(odd)?,
                    b"Completion Time" => found.completed_ms = value.number(odd)?,
                    b"Failure Reason" => found.failure_reason = value.text_value()?,
                    b"Resource Profile Id" => found.resource_profile_id = value.number(odd)?,
                    b"Accumulables" if completed => value.each_element(|value| {
                        let accumulator = accumulable(value, odd, self.tables)?;
                        if accumulator.name.as_deref() == Some(OUTPUT_ROWS) {
                            found.operator_rows_max = found.operator_rows_max.max(accumulator.value);
                        }
                        accumulators.push(accumulator);
                        Ok(())
                    })?,
                    _ => {}
                }
                Ok(())
            }),
            b"Properties" => properties.read(value),
            _ => Ok(()),
        })?;
        let Some(id) = id else { return Ok(()) };
        let stage = (id, attempt.unwrap_or(0));
        found.call_site = user_call_site(found.name.as_deref(), stack_trace.as_deref());
        found.job_description = properties.description;
        found.job_group = properties.group;
        found.sql_execution_id = properties.sql_execution_id;
        self.tables.bytes += found.scopes.iter().map(|scope| scope.len() + 24).sum::<usize>();
        self.tables.accumulators.reserve(accumulators.len());
        for mut accumulator in accumulators {
            accumulator.stage = Some(stage);
            self.push_accumulator(accumulator);
        }
        let ours = &mut self.tables.stage(stage).info;
        ours.get_or_insert_default().merge(found);
        Ok(())
    }
}

/// Returns the stages of a job, each with the stages that it reads from.
fn parents(reader: &mut Reader<'_>, odd: &mut u64) -> Result<BTreeMap<i64, Vec<i64>>, LineError> {
    let mut found = BTreeMap::new();
    reader.each_element(|value| {
        let (mut id, mut parents) = (None, Vec::new());
        value.each_member(|value, key| {
            match key {
                b"Stage ID" => id = value.number(odd)?,
                b"Parent IDs" => {
                    parents = value.numbers(odd)?;
                    // Spark writes the stage id before the parents; after the parents it writes only long members,
                    // which are skipped.
                    if id.is_some() {
                        value.skip_remaining_members()?;
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id
            && found.len() < MAX_STAGES
        {
            found.insert(id, parents);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the depth of each stage. Spark numbers parents before their children, so a parent's depth is known first.
fn depths(parents: BTreeMap<i64, Vec<i64>>) -> Vec<(i64, i64)> {
    let mut found: BTreeMap<i64, i64> = BTreeMap::new();
    for (stage, parents) in parents {
        let deepest = parents.iter().filter_map(|parent| found.get(parent)).max();
        found.insert(stage, deepest.map_or(0, |depth| depth + 1));
    }
    found.into_iter().collect()
}

/// Local properties that assign a job or stage to a query and a group.
#[derive(Default)]
struct Properties {
    description: Option<String>,
    group: Option<String>,
    sql_execution_id: Option<i64>,
}

impl Properties {
    fn read(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        reader.each_member(|value, key| {
            match key {
                b"spark.job.description" => self.description = value.text_value()?,
                b"spark.jobGroup.id" => self.group = value.text_value()?,
                // User code can set this property to any text, so an invalid number does not count as an odd value.
                b"spark.sql.execution.id" => {
                    self.sql_execution_id = value.whole_value()?;
                }
                _ => {}
            }
            Ok(())
        })
    }
}

/// Returns the distinct names of the scopes (operators) of a stage's RDDs, such as `WholeStageCodegen (3)` or
/// `Exchange`. Spark writes a scope as a JSON object inside a JSON string.
fn scopes(reader: &mut Reader<'_>) -> Result<Vec<String>, LineError> {
    let mut names = ScopeNames::default();
    let mut rdds = 0;
    reader.each_element(|value| {
        rdds += 1;
        if rdds > MAX_RDDS {
            return Ok(());
        }
        value.each_member(|value, key| {
            if key != b"Scope" {
                return Ok(());
            }
            let Some(scope) = value.borrowed_text()? else {
                return value.skip_remaining_members();
            };
            let mut inner = Reader {
                line: scope.as_bytes(),
                at: 0,
            };
            // A stage is kept even if a scope is not valid JSON.
            if let Ok(Some(name)) = text_of(&mut inner, b"name") {
                names.push(name);
            }
            value.skip_remaining_members()
        })
    })?;
    Ok(names.names)
}

/// Distinct scope names of a stage.
///
/// The limit counts names without codegen numbers, because fingerprints ignore these numbers and have the same limit.
#[derive(Default)]
struct ScopeNames {
    names: Vec<String>,
    operators: HashSet<String>,
}

impl ScopeNames {
    fn push(&mut self, name: String) {
        let (operator, _) = split_codegen_number(&name);
        if !self.operators.contains(operator) {
            if self.operators.len() == MAX_SCOPES {
                return;
            }
            self.operators.insert(operator.to_owned());
        }
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }
}

fn accumulable(reader: &mut Reader<'_>, odd: &mut u64, tables: &mut Tables) -> Result<Accumulator, LineError> {
    let mut found = Accumulator::default();
    reader.each_member(|value, key| {
        match key {
            b"ID" => found.id = value.number(odd)?,
            b"Name" => found.name = value.borrowed_text()?.map(|name| tables.word(&name)),
            // An accumulator of a user may contain any value.
            b"Value" => {
                found.value = value.whole_value()?;
                // Spark writes id and name first. If another writer does not, all members are read.
                if found.id.is_some() && found.name.is_some() {
                    value.skip_remaining_members()?;
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(found)
}
