//! Reads the events that are not task starts and ends into their tables.
//! Keys: Spark's org.apache.spark.util.JsonProtocol, org.apache.spark.sql.execution.ui, Spark's streaming progress.

use super::fault::Fault;
use super::options::Allowed;
use super::shape::Reader;
use super::tables::*;

/// Peaks of an executor's memory: Spark's name and ours.
pub const METRICS: [(&str, &str); 9] = [
    ("JVMHeapMemory", "jvm_heap_bytes"),
    ("JVMOffHeapMemory", "jvm_off_heap_bytes"),
    ("OnHeapExecutionMemory", "on_heap_execution_bytes"),
    ("OffHeapExecutionMemory", "off_heap_execution_bytes"),
    ("OnHeapStorageMemory", "on_heap_storage_bytes"),
    ("OffHeapStorageMemory", "off_heap_storage_bytes"),
    ("ProcessTreeJVMRSSMemory", "jvm_rss_bytes"),
    ("ProcessTreePythonRSSMemory", "python_rss_bytes"),
    ("TotalGCTime", "total_gc_ms"),
];

/// As the plugin caps them, so that a stage has one fingerprint live and at rest.
const MOST_RDDS: usize = 256;
const MOST_SCOPES: usize = 64;
/// A plan that is deeper is cut there; each level is a call.
const MOST_PLAN_DEPTH: usize = 400;

type Visited = Result<(), Fault>;

/// What one rare event may write to.
pub struct Writer<'w> {
    pub tables: &'w mut Tables,
    /// See `Limits::detail_bytes`.
    pub most_details: usize,
    /// Rows of details that found no room.
    pub left_out: u64,
    pub odd: &'w mut u64,
    pub allowed: &'w Allowed,
}

impl Writer<'_> {
    pub fn application_start(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut found = Application::default();
        reader.each_member(|value, key| {
            match key {
                b"App ID" => found.app_id = value.text_value()?,
                b"App Attempt ID" => found.attempt = value.scalar_value()?,
                b"App Name" => found.name = value.text_value()?,
                b"User" => found.user_name = value.text_value()?,
                b"Timestamp" => found.started_ms = value.number(self.odd)?,
                _ => {}
            }
            Ok(())
        })?;
        let started_before = self
            .tables
            .applications
            .last()
            .is_some_and(|last| last.started_ms.is_some());
        if started_before {
            self.tables.applications.push(found);
        } else {
            self.tables.application().complete(found);
        }
        Ok(())
    }

    pub fn application_end(&mut self, reader: &mut Reader<'_>) -> Visited {
        let ended_ms = &mut self.tables.application().ended_ms;
        reader.each_member(|value, key| {
            if key == b"Timestamp" {
                *ended_ms = value.number(self.odd)?;
            }
            Ok(())
        })
    }

    pub fn log_start(&mut self, reader: &mut Reader<'_>) -> Visited {
        let version = &mut self.tables.application().spark_version;
        reader.each_member(|value, key| {
            if key == b"Spark Version" {
                *version = value.text_value()?;
            }
            Ok(())
        })
    }

    pub fn environment_update(&mut self, reader: &mut Reader<'_>) -> Visited {
        reader.each_member(|value, key| {
            let section = match key {
                b"Spark Properties" => "Spark Properties",
                b"Hadoop Properties" => "Hadoop Properties",
                b"System Properties" => "System Properties",
                b"JVM Information" => "JVM Information",
                b"Metrics Properties" => "Metrics Properties",
                _ => return Ok(()),
            };
            value.each_member(|value, key| {
                if self.allowed.holds(key)
                    && let Some(text) = value.scalar_value()?
                {
                    let key = super::text::text(key);
                    self.tables.bytes += key.len() + text.len();
                    self.tables.environment.push(Property {
                        section,
                        key,
                        value: text,
                    });
                }
                Ok(())
            })
        })
    }

    pub fn job_start(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut found = Job::default();
        let mut id = None;
        let mut properties = Properties::default();
        reader.each_member(|value, key| {
            match key {
                b"Job ID" => id = value.number(self.odd)?,
                b"Submission Time" => found.submitted_ms = value.number(self.odd)?,
                b"Stage IDs" => found.stage_ids = value.numbers(self.odd)?,
                b"Properties" => properties.read(value)?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id {
            found.description = properties.description;
            found.job_group = properties.group;
            found.sql_execution_id = properties.sql_execution_id;
            self.tables.bytes += 8 * found.stage_ids.len();
            self.tables.job(id).complete(found);
        }
        Ok(())
    }

    pub fn job_end(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut found = Job::default();
        let mut id = None;
        reader.each_member(|value, key| {
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
            self.tables.job(id).complete(found);
        }
        Ok(())
    }

    pub fn stage(&mut self, reader: &mut Reader<'_>, completed: bool) -> Visited {
        let mut found = StageInfo {
            completed,
            ..StageInfo::default()
        };
        let (mut id, mut attempt) = (None, None);
        let mut accumulators = Vec::new();
        let mut properties = Properties::default();
        let odd = &mut *self.odd;
        reader.each_member(|value, key| match key {
            b"Stage Info" => value.each_member(|value, key| {
                match key {
                    b"Stage ID" => id = value.number(odd)?,
                    b"Stage Attempt ID" => attempt = value.number(odd)?,
                    b"Stage Name" => found.name = value.text_value()?,
                    b"Number of Tasks" => found.num_tasks = value.number(odd)?,
                    b"RDD Info" => found.scopes = scopes(value)?,
                    b"Parent IDs" => found.parents = value.numbers(odd)?,
                    b"Submission Time" => found.submitted_ms = value.number(odd)?,
                    b"Completion Time" => found.completed_ms = value.number(odd)?,
                    b"Failure Reason" => found.failure_reason = value.text_value()?,
                    b"Resource Profile Id" => found.resource_profile_id = value.number(odd)?,
                    b"Accumulables" if completed => value.each_element(|value| {
                        accumulators.push(accumulable(value, odd, self.tables)?);
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
        found.job_description = properties.description;
        found.job_group = properties.group;
        found.sql_execution_id = properties.sql_execution_id;
        self.tables.bytes += found.scopes.iter().map(|scope| scope.len() + 24).sum::<usize>();
        for mut accumulator in accumulators {
            accumulator.stage = Some(stage);
            self.push_accumulator(accumulator);
        }
        let ours = &mut self.tables.stage(stage).info;
        ours.get_or_insert_default().complete(found);
        Ok(())
    }

    /// Whether there is room for a row of details; what there is none for is counted.
    fn has_room(&mut self, bytes: usize) -> bool {
        if self.tables.detail_bytes + bytes > self.most_details {
            self.left_out += 1;
            return false;
        }
        self.tables.detail_bytes += bytes;
        self.tables.bytes += bytes;
        true
    }

    fn push_accumulator(&mut self, accumulator: Accumulator) {
        if self.has_room(size_of::<Accumulator>()) {
            self.tables.accumulators.push(accumulator);
        }
    }

    pub fn executor_added(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut found = Executor::default();
        let mut id = None;
        reader.each_member(|value, key| {
            match key {
                b"Timestamp" => found.added_ms = value.number(self.odd)?,
                b"Executor ID" => id = value.scalar_value()?,
                b"Executor Info" => value.each_member(|value, key| {
                    match key {
                        b"Host" => found.host = value.text_value()?,
                        b"Total Cores" => found.cores = value.number(self.odd)?,
                        _ => {}
                    }
                    Ok(())
                })?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id {
            let ours = self.tables.executor(id);
            // A block manager may have told the same a moment before.
            ours.added_ms = found.added_ms.or(ours.added_ms);
            ours.complete(found);
        }
        Ok(())
    }

    pub fn executor_removed(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut found = Executor::default();
        let mut id = None;
        reader.each_member(|value, key| {
            match key {
                b"Timestamp" => found.removed_ms = value.number(self.odd)?,
                b"Executor ID" => id = value.scalar_value()?,
                b"Removed Reason" => found.removed_reason = value.text_value()?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id {
            self.tables.executor(id).complete(found);
        }
        Ok(())
    }

    /// Spark before 1.3 told of an executor only by its block manager; the driver's is no executor.
    pub fn block_manager_added(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut found = Executor::default();
        let mut id = None;
        reader.each_member(|value, key| {
            match key {
                b"Block Manager ID" => value.each_member(|value, key| {
                    match key {
                        b"Executor ID" => id = value.scalar_value()?,
                        b"Host" => found.host = value.text_value()?,
                        _ => {}
                    }
                    Ok(())
                })?,
                b"Maximum Memory" => found.storage_memory_bytes = value.number(self.odd)?,
                b"Timestamp" => found.added_ms = value.number(self.odd)?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id.filter(|id| id != "driver" && id != "<driver>") {
            self.tables.executor(id).complete(found);
        }
        Ok(())
    }

    pub fn sql_start(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut found = SqlExecution::default();
        let mut id = None;
        let mut nodes = Vec::new();
        let odd = &mut *self.odd;
        reader.each_member(|value, key| {
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

    pub fn sql_replanned(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut id = None;
        let mut nodes = Vec::new();
        let odd = &mut *self.odd;
        reader.each_member(|value, key| {
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

    pub fn sql_end(&mut self, reader: &mut Reader<'_>) -> Visited {
        let (mut id, mut ended_ms, mut failure_reason) = (None, None, None);
        reader.each_member(|value, key| {
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
    pub fn driver_updates(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut execution = None;
        let mut updates = Vec::new();
        let odd = &mut *self.odd;
        reader.each_member(|value, key| match key {
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

    pub fn stage_executor_metrics(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut found = ExecutorMetrics::default();
        reader.each_member(|value, key| {
            match key {
                b"Executor ID" => found.executor_id = value.scalar_value()?,
                b"Stage ID" => found.stage_id = value.number(self.odd)?,
                b"Stage Attempt ID" => found.stage_attempt = value.number(self.odd)?,
                b"Executor Metrics" => peaks(value, &mut found, self.odd)?,
                _ => {}
            }
            Ok(())
        })?;
        self.push_metrics(found);
        Ok(())
    }

    /// Heartbeats are not in a log by default; where they are, each stage that ran has its peaks.
    pub fn executor_metrics_update(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut executor = None;
        let mut rows = Vec::new();
        let odd = &mut *self.odd;
        reader.each_member(|value, key| {
            match key {
                b"Executor ID" => executor = value.scalar_value()?,
                b"Executor Metrics Updated" => value.each_element(|value| {
                    let mut found = ExecutorMetrics::default();
                    value.each_member(|value, key| {
                        match key {
                            b"Stage ID" => found.stage_id = value.number(odd)?,
                            b"Stage Attempt ID" => found.stage_attempt = value.number(odd)?,
                            b"Executor Metrics" => peaks(value, &mut found, odd)?,
                            _ => {}
                        }
                        Ok(())
                    })?;
                    rows.push(found);
                    Ok(())
                })?,
                _ => {}
            }
            Ok(())
        })?;
        for mut row in rows {
            row.executor_id.clone_from(&executor);
            self.push_metrics(row);
        }
        Ok(())
    }

    fn push_metrics(&mut self, row: ExecutorMetrics) {
        if self.has_room(size_of::<ExecutorMetrics>() + 16) {
            self.tables.executor_metrics.push(row);
        }
    }

    pub fn streaming_progress(&mut self, reader: &mut Reader<'_>) -> Visited {
        let mut found = StreamingProgress::default();
        let odd = &mut *self.odd;
        reader.each_member(|value, key| {
            if key != b"progress" {
                return Ok(());
            }
            value.each_member(|value, key| {
                match key {
                    b"id" => found.query_id = value.text_value()?,
                    b"runId" => found.run_id = value.text_value()?,
                    b"name" => found.name = value.text_value()?,
                    b"batchId" => found.batch_id = value.number(odd)?,
                    b"timestamp" => found.timestamp = value.text_value()?,
                    b"batchDuration" => found.batch_duration_ms = value.number(odd)?,
                    b"inputRowsPerSecond" => found.input_rows_per_second = value.float_value()?,
                    b"processedRowsPerSecond" => found.processed_rows_per_second = value.float_value()?,
                    b"durationMs" if found.batch_duration_ms.is_none() => {
                        found.batch_duration_ms = number_of(value, b"triggerExecution", odd)?;
                    }
                    b"eventTime" => found.watermark = text_of(value, b"watermark")?,
                    b"sources" => value.each_element(|value| {
                        add(&mut found.input_rows, number_of(value, b"numInputRows", odd)?);
                        Ok(())
                    })?,
                    b"stateOperators" => value.each_element(|value| {
                        value.each_member(|value, key| {
                            match key {
                                b"numRowsTotal" => add(&mut found.state_rows, value.number(odd)?),
                                b"memoryUsedBytes" => add(&mut found.state_memory_bytes, value.number(odd)?),
                                _ => {}
                            }
                            Ok(())
                        })
                    })?,
                    _ => {}
                }
                Ok(())
            })
        })?;
        self.tables.bytes += size_of::<StreamingProgress>() + 128;
        self.tables.streaming_progress.push(found);
        Ok(())
    }
}

/// The local properties of a job or stage that say whose it is.
#[derive(Default)]
struct Properties {
    description: Option<String>,
    group: Option<String>,
    sql_execution_id: Option<i64>,
}

impl Properties {
    fn read(&mut self, reader: &mut Reader<'_>) -> Visited {
        reader.each_member(|value, key| {
            match key {
                b"spark.job.description" => self.description = value.text_value()?,
                b"spark.jobGroup.id" => self.group = value.text_value()?,
                // Set by users too, so what is no number is nothing odd.
                b"spark.sql.execution.id" => {
                    self.sql_execution_id = value.scalar_value()?.and_then(|id| id.parse().ok());
                }
                _ => {}
            }
            Ok(())
        })
    }
}

fn add(sum: &mut Option<i64>, value: Option<i64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0).saturating_add(value));
    }
}

fn number_of(reader: &mut Reader<'_>, wanted: &[u8], odd: &mut u64) -> Result<Option<i64>, Fault> {
    let mut found = None;
    reader.each_member(|value, key| {
        if key == wanted {
            found = value.number(odd)?;
        }
        Ok(())
    })?;
    Ok(found)
}

fn text_of(reader: &mut Reader<'_>, wanted: &[u8]) -> Result<Option<String>, Fault> {
    let mut found = None;
    reader.each_member(|value, key| {
        if key == wanted {
            found = value.text_value()?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Names of the scopes (operators) of a stage's RDDs, each once, without the numbers that code generation gives.
/// A scope is a JSON object within a JSON string.
fn scopes(reader: &mut Reader<'_>) -> Result<Vec<String>, Fault> {
    let mut names: Vec<String> = Vec::new();
    let mut rdds = 0;
    reader.each_element(|value| {
        rdds += 1;
        if rdds > MOST_RDDS {
            return Ok(());
        }
        value.each_member(|value, key| {
            if key != b"Scope" {
                return Ok(());
            }
            let Some(scope) = value.text_value()? else {
                return Ok(());
            };
            let mut inner = Reader {
                line: scope.as_bytes(),
                at: 0,
            };
            // A scope that is no JSON is no reason to lose the stage.
            if let Ok(Some(name)) = text_of(&mut inner, b"name") {
                let name = without_codegen_id(&name);
                if names.len() < MOST_SCOPES && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
            Ok(())
        })
    })?;
    Ok(names)
}

/// `WholeStageCodegen (3)` is `WholeStageCodegen`.
fn without_codegen_id(name: &str) -> &str {
    let stripped = name.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    match stripped {
        Some((operator, digits)) if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            operator.trim_end()
        }
        _ => name,
    }
}

fn accumulable(reader: &mut Reader<'_>, odd: &mut u64, tables: &mut Tables) -> Result<Accumulator, Fault> {
    let mut found = Accumulator::default();
    reader.each_member(|value, key| {
        match key {
            b"ID" => found.id = value.number(odd)?,
            b"Name" => found.name = value.text_value()?.map(|name| tables.word(name)),
            // Users' accumulators hold anything.
            b"Value" => found.value = value.scalar_value()?.and_then(|number| number.parse().ok()),
            _ => {}
        }
        Ok(())
    })?;
    Ok(found)
}

fn peaks(reader: &mut Reader<'_>, found: &mut ExecutorMetrics, odd: &mut u64) -> Visited {
    reader.each_member(|value, key| {
        if let Some(place) = METRICS.iter().position(|(name, _)| name.as_bytes() == key) {
            found.peaks[place] = value.number(odd)?;
        }
        Ok(())
    })
}

/// The nodes of a plan in pre-order. Depth is bounded because each level is a call.
fn plan(
    reader: &mut Reader<'_>,
    nodes: &mut Vec<PlanNode>,
    parent: Option<i64>,
    depth: usize,
    odd: &mut u64,
    tables: &mut Tables,
) -> Visited {
    if depth > MOST_PLAN_DEPTH || reader.peek() != b'{' {
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
            b"nodeName" => nodes[place].name = value.text_value()?.map(|name| tables.word(name)),
            b"children" => {
                value.each_element(|value| plan(value, nodes, Some(place as i64), depth + 1, odd, tables))?
            }
            b"metrics" => value.each_element(|value| plan_metric(value, &mut nodes[place], odd, tables))?,
            _ => {}
        }
        Ok(())
    })
}

fn plan_metric(reader: &mut Reader<'_>, node: &mut PlanNode, odd: &mut u64, tables: &mut Tables) -> Visited {
    let (mut id, mut name, mut kind) = (None, None, None);
    reader.each_member(|value, key| {
        match key {
            b"accumulatorId" => id = value.number(odd)?,
            b"name" => name = value.text_value()?.map(|name| tables.word(name)),
            b"metricType" => kind = value.text_value()?.map(|kind| tables.word(kind)),
            _ => {}
        }
        Ok(())
    })?;
    node.metric_ids.push(id);
    node.metric_names.push(name);
    node.metric_types.push(kind);
    Ok(())
}
