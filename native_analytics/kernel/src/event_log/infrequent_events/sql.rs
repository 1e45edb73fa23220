//! Reads the events about SQL executions: starts, ends, plans and plan updates.

use super::{VisitResult, Writer};
use std::borrow::Cow;

use crate::event_log::call_site::user_call_site;
use crate::event_log::json::reader::Reader;
use crate::event_log::plan_text::{NodeText, condition, detail, has_condition};
use crate::event_log::tables::{Accumulator, PlanNode, SqlExecution, Tables};

/// Maximum depth to which a plan is read, because each level is a nested call.
const MAX_PLAN_DEPTH: usize = 400;
/// Size of a plan node in memory without its metrics and texts, for the limits of tables.
const PLAN_NODE_BYTES: usize = 144;
impl Writer<'_> {
    pub fn sql_start(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = SqlExecution::default();
        let mut id = None;
        let mut stack_trace = None;
        let mut nodes = Vec::new();
        let odd = &mut *self.odd;
        reader.each_member_of_line(|value, key| {
            match key {
                b"executionId" => id = value.number(odd)?,
                b"details" => stack_trace = value.borrowed_text()?,
                b"rootExecutionId" => found.root_id = value.number(odd)?,
                b"description" => found.description = value.text_value()?,
                b"time" => found.started_ms = value.number(odd)?,
                b"sparkPlanInfo" => plan(value, &mut nodes, None, 0, odd, self.tables)?,
                _ => {}
            }
            Ok(())
        })?;
        let Some(id) = id else { return Ok(()) };
        let call_site = user_call_site(found.description.as_deref(), stack_trace.as_deref());
        let ours = self.tables.sql_execution(id);
        ours.call_site = call_site.or(ours.call_site.take());
        ours.root_id = found.root_id.or(ours.root_id);
        ours.description = found.description.or(ours.description.take());
        ours.started_ms = found.started_ms.or(ours.started_ms);
        self.put_plan(id, nodes);
        Ok(())
    }

    pub fn sql_replanned(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut id = None;
        let mut nodes = Vec::new();
        let odd = &mut *self.odd;
        reader.each_member_of_line(|value, key| {
            match key {
                b"executionId" => id = value.number(odd)?,
                b"sparkPlanInfo" => plan(value, &mut nodes, None, 0, odd, self.tables)?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id {
            self.put_plan(id, nodes);
        }
        Ok(())
    }

    fn put_plan(&mut self, execution: i64, nodes: Vec<PlanNode>) {
        let ours = self.tables.sql_execution(execution);
        let version = ours.plan_versions;
        ours.plan_versions += 1;
        for mut node in nodes {
            node.execution = execution;
            node.version = version;
            let bytes = PLAN_NODE_BYTES + 48 * node.metric_ids.len();
            // The first plan is always stored, because fingerprints need it.
            if version == 0 || self.has_room(bytes) {
                self.tables.bytes += if version == 0 { bytes } else { 0 };
                self.tables.plan_nodes.push(node);
            }
        }
    }

    pub fn sql_end(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let (mut id, mut ended_ms, mut error_message) = (None, None, None);
        reader.each_member_of_line(|value, key| {
            match key {
                b"executionId" => id = value.number(self.odd)?,
                b"time" => ended_ms = value.number(self.odd)?,
                b"errorMessage" => error_message = value.text_value()?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id {
            let ours = self.tables.sql_execution(id);
            ours.ended_ms = ended_ms.or(ours.ended_ms);
            // Spark writes an empty error message if the execution succeeded; before version 3.4, it writes no message.
            let status = error_message.as_ref().map(|message| match message.is_empty() {
                true => "succeeded",
                false => "failed",
            });
            ours.reported_status = status.or(ours.reported_status);
            let failure_reason = error_message.filter(|message| !message.is_empty());
            ours.failure_reason = failure_reason.or(ours.failure_reason.take());
        }
        Ok(())
    }

    /// Updates of SQL metrics by the driver: pairs of accumulator id and value.
    pub fn driver_updates(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut execution = None;
        let mut updates = Vec::new();
        let odd = &mut *self.odd;
        reader.each_member_of_line(|value, key| match key {
            b"executionId" => {
                execution = value.number(odd)?;
                Ok(())
            }
            b"accumUpdates" => value.each_element(|value| {
                if value.peek() == b'['
                    && let [id, number] = value.numbers(odd)?[..]
                {
                    updates.push((id, number));
                }
                Ok(())
            }),
            _ => Ok(()),
        })?;
        for (id, value) in updates {
            self.push_accumulator(Accumulator {
                execution,
                id: Some(id),
                value: Some(value),
                ..Accumulator::default()
            });
        }
        Ok(())
    }
}

/// Appends the nodes of a plan in pre-order.
fn plan(
    reader: &mut Reader<'_>,
    nodes: &mut Vec<PlanNode>,
    parent: Option<i64>,
    depth: usize,
    odd: &mut u64,
    tables: &mut Tables,
) -> VisitResult {
    if depth > MAX_PLAN_DEPTH || reader.peek() != b'{' {
        return reader.skip();
    }
    let place = nodes.len();
    nodes.push(PlanNode {
        node: place as i64,
        parent,
        ..PlanNode::default()
    });
    let (mut name, mut simple_string, mut metadata) = (None, None, ScanMetadata::default());
    reader.each_member(|value, key| {
        match key {
            b"nodeName" => name = value.borrowed_text()?,
            b"simpleString" => simple_string = value.borrowed_text()?,
            b"metadata" => metadata.read(value)?,
            b"children" => {
                value.each_element(|value| plan(value, nodes, Some(place as i64), depth + 1, odd, tables))?
            }
            b"metrics" => value.each_element(|value| plan_metric(value, &mut nodes[place], odd, tables))?,
            _ => {}
        }
        Ok(())
    })?;
    let text = NodeText {
        name: name.as_deref().unwrap_or_default(),
        simple_string: simple_string.as_deref().unwrap_or_default(),
        location: metadata.location.as_deref(),
        format: metadata.format.as_deref(),
    };
    let node = &mut nodes[place];
    node.name = name.as_deref().map(|name| tables.word(name));
    if has_condition(text.name) {
        node.condition = simple_string.as_deref().map(|text| tables.word(&condition(text)));
    }
    node.detail = Some(detail(text))
        .filter(|detail| !detail.is_empty())
        .map(|detail| tables.word(&detail));
    Ok(())
}

/// Members of a file scan's metadata that identify what it reads.
#[derive(Default)]
struct ScanMetadata<'a> {
    location: Option<Cow<'a, str>>,
    format: Option<Cow<'a, str>>,
}

impl<'a> ScanMetadata<'a> {
    fn read(&mut self, reader: &mut Reader<'a>) -> VisitResult {
        reader.each_member(|value, key| {
            match key {
                b"Location" => self.location = value.borrowed_text()?,
                b"Format" => self.format = value.borrowed_text()?,
                _ => {}
            }
            Ok(())
        })
    }
}

fn plan_metric(reader: &mut Reader<'_>, node: &mut PlanNode, odd: &mut u64, tables: &mut Tables) -> VisitResult {
    let (mut id, mut name, mut kind) = (None, None, None);
    reader.each_member(|value, key| {
        match key {
            b"accumulatorId" => id = value.number(odd)?,
            b"name" => name = value.borrowed_text()?.map(|name| tables.word(&name)),
            b"metricType" => kind = value.borrowed_text()?.map(|kind| tables.word(&kind)),
            _ => {}
        }
        Ok(())
    })?;
    node.metric_ids.push(id);
    node.metric_names.push(name);
    node.metric_types.push(kind);
    Ok(())
}
