//! SQL executions: starts, ends, plans and re-plans.

use super::{VisitResult, Writer};
use crate::event_log::json::reader::Reader;
use crate::event_log::tables::{Accumulator, PlanNode, SqlExecution, Tables};

/// A plan that is deeper is cut there; each level is a call.
const MAX_PLAN_DEPTH: usize = 400;
/// As the plugin has them, so that a stage has one fingerprint live and offline.
const MAX_CONDITION_BYTES: usize = 400;
const MAX_TEXT_BYTES: usize = 20_000;
const WORDS: [&str; 14] = [
    "AND",
    "Cross",
    "FullOuter",
    "IN",
    "INSET",
    "Inner",
    "LeftAnti",
    "LeftOuter",
    "LeftSemi",
    "LIKE",
    "NOT",
    "OR",
    "RightOuter",
    "isnotnull",
];

impl Writer<'_> {
    pub fn sql_start(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = SqlExecution::default();
        let mut id = None;
        let mut nodes = Vec::new();
        let odd = &mut *self.odd;
        reader.each_member_of_line(|value, key| {
            match key {
                b"executionId" => id = value.number(odd)?,
                b"rootExecutionId" => found.root_id = value.number(odd)?,
                b"description" => found.description = value.text_value()?,
                b"time" => found.started_ms = value.number(odd)?,
                b"sparkPlanInfo" => plan(value, &mut nodes, None, 0, odd, self.tables)?,
                _ => {}
            }
            Ok(())
        })?;
        let Some(id) = id else { return Ok(()) };
        let ours = self.tables.sql_execution(id);
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
            let bytes = size_of::<PlanNode>() + 48 * node.metric_ids.len();
            // The first plan says which stage a stage is.
            if version == 0 || self.has_room(bytes) {
                self.tables.bytes += if version == 0 { bytes } else { 0 };
                self.tables.plan_nodes.push(node);
            }
        }
    }

    pub fn sql_end(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let (mut id, mut ended_ms, mut failure_reason) = (None, None, None);
        reader.each_member_of_line(|value, key| {
            match key {
                b"executionId" => id = value.number(self.odd)?,
                b"time" => ended_ms = value.number(self.odd)?,
                // Spark says "" of an execution that ended well.
                b"errorMessage" => failure_reason = value.text_value()?.filter(|reason| !reason.is_empty()),
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id {
            let ours = self.tables.sql_execution(id);
            ours.ended_ms = ended_ms.or(ours.ended_ms);
            ours.failure_reason = failure_reason.or(ours.failure_reason.take());
        }
        Ok(())
    }

    /// The driver's own updates of SQL metrics: pairs of accumulator id and value.
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

/// Whether a node keeps or joins rows by a condition.
fn has_condition(node: &str) -> bool {
    node == "Filter" || node == "CartesianProduct" || node.contains("Join")
}

/// What a filter or join asks, without literals: its columns, comparisons and the kind of join, in their order.
fn condition(text: &str) -> String {
    let bytes = &text.as_bytes()[..text.len().min(MAX_TEXT_BYTES)];
    let mut found = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let from = at;
        let kind = kind_of(bytes[at]);
        while at < bytes.len() && kind_of(bytes[at]) == kind {
            at += 1;
        }
        let is_column = bytes.get(at) == Some(&b'#') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        let told = match kind {
            Kind::Word => is_column || WORDS.contains(&&text[from..at]),
            Kind::Comparison => true,
            Kind::Other => false,
        };
        if told && found.len() + at - from < MAX_CONDITION_BYTES {
            if !found.is_empty() {
                found.push(' ');
            }
            found.push_str(&text[from..at]);
        }
    }
    found
}

#[derive(PartialEq)]
enum Kind {
    Word,
    Comparison,
    Other,
}

fn kind_of(byte: u8) -> Kind {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => Kind::Word,
        b'<' | b'=' | b'>' => Kind::Comparison,
        _ => Kind::Other,
    }
}

/// The nodes of a plan in pre-order. Depth is bounded because each level is a call.
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
    reader.each_member(|value, key| {
        match key {
            b"nodeName" => nodes[place].name = value.borrowed_text()?.map(|name| tables.word(&name)),
            // Spark writes the name first.
            b"simpleString" if nodes[place].name.as_deref().is_some_and(has_condition) => {
                nodes[place].condition = value.borrowed_text()?.map(|text| tables.word(&condition(&text)));
            }
            b"children" => {
                value.each_element(|value| plan(value, nodes, Some(place as i64), depth + 1, odd, tables))?
            }
            b"metrics" => value.each_element(|value| plan_metric(value, &mut nodes[place], odd, tables))?,
            _ => {}
        }
        Ok(())
    })
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
