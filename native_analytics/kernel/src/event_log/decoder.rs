//! Bytes of a log in pieces of any size, tables out. Whole logs and growing ones go through this one decoder.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::events::*;
use super::evidence::{BadLine, Evidence, FileEvidence};
use super::fault::{self, Fault};
use super::log_tables::{LogTables, Report};
use super::options::Options;
use super::picked::Picked;
use super::rare::Writer;
use super::read::{Kept, Log};
use super::scan;
use super::shape::{Reader, Row};
use super::tables::Tables;
use super::tasks::TaskColumns;

const BEGIN: &[u8] = b"{\"Event\":\"";
const PREFIX: &[u8] = b"SparkListener";

/// Reads the lines of one file, or of a part of it that begins and ends at a line.
pub struct Decoder {
    options: Arc<Options>,
    row: Row,
    pub tables: Tables,
    pub evidence: Evidence,
    tasks: Option<TaskColumns>,
    task_starts: Option<TaskColumns>,
    pub task_batches: Vec<RecordBatch>,
    pub task_start_batches: Vec<RecordBatch>,
    /// Instead of tables: the events themselves, in their order.
    picked: Option<Picked>,
    /// The beginning of a line whose end is still to come.
    carry: Vec<u8>,
    /// The line is over the limit: its bytes are counted, not kept.
    overlong: bool,
    overlong_bytes: u64,
    /// Where the next line begins.
    offset: u64,
    /// Lines that were read.
    lines: u64,
    /// The last line has no end and is no event.
    torn: bool,
}

impl Decoder {
    /// `offset` is where the first line begins in its file.
    pub fn new(options: Arc<Options>, offset: u64) -> Decoder {
        Decoder {
            row: Row::default(),
            tables: Tables::default(),
            evidence: Evidence::default(),
            tasks: options.tasks.then(TaskColumns::ends),
            task_starts: options.task_starts.then(TaskColumns::starts),
            task_batches: Vec::new(),
            task_start_batches: Vec::new(),
            picked: None,
            carry: Vec::new(),
            overlong: false,
            overlong_bytes: 0,
            offset,
            lines: 0,
            torn: false,
            options,
        }
    }

    /// A decoder that makes no tables but hands out these events as they are, in their order.
    pub fn of_events(options: Arc<Options>, offset: u64, wanted: Vec<String>) -> Decoder {
        Decoder {
            picked: Some(Picked::new(wanted)),
            ..Decoder::new(options, offset)
        }
    }

    /// The events that were picked since this was asked last.
    pub fn take_events(&mut self) -> Vec<(&str, Vec<u8>)> {
        self.picked.as_mut().map(Picked::take).unwrap_or_default()
    }

    /// Reads the next piece.
    pub fn feed(&mut self, mut piece: &[u8]) {
        if !self.carry.is_empty() || self.overlong {
            let Some(end) = memchr::memchr(b'\n', piece) else {
                self.keep(piece);
                return;
            };
            self.keep(&piece[..end]);
            piece = &piece[end + 1..];
            self.end_carried_line();
        }
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', piece) {
            self.read_line(&piece[from..end]);
            self.offset += (end - from) as u64 + 1;
            from = end + 1;
        }
        self.keep(&piece[from..]);
    }

    fn keep(&mut self, piece: &[u8]) {
        let limit = self.options.limits.line_bytes as usize;
        if self.overlong || self.carry.len() + piece.len() > limit {
            self.overlong = true;
            self.overlong_bytes += (self.carry.len() + piece.len()) as u64;
            self.carry = Vec::new();
        } else {
            self.carry.extend_from_slice(piece);
        }
    }

    fn end_carried_line(&mut self) {
        if std::mem::take(&mut self.overlong) {
            let length = std::mem::take(&mut self.overlong_bytes);
            self.lines += 1;
            self.tell(&Fault::new(0, fault::TOO_LONG));
            self.offset += length + 1;
            return;
        }
        let mut line = std::mem::take(&mut self.carry);
        self.read_line(&line);
        self.offset += line.len() as u64 + 1;
        line.clear();
        self.carry = line;
    }

    /// The input ends here: a last line without its end is taken when it is whole, else it is torn.
    pub fn finish(&mut self) {
        if std::mem::take(&mut self.overlong) {
            self.offset += std::mem::take(&mut self.overlong_bytes);
            self.torn = true;
            return;
        }
        let line = std::mem::take(&mut self.carry);
        if line.iter().all(u8::is_ascii_whitespace) {
            self.offset += line.len() as u64;
            return;
        }
        if self.event(&line).is_ok() {
            self.lines += 1;
            self.evidence.events += 1;
            self.offset += line.len() as u64;
        } else {
            self.torn = true;
        }
    }

    /// Closes the open batches.
    pub fn flush(&mut self) {
        for (open, closed) in [
            (&mut self.tasks, &mut self.task_batches),
            (&mut self.task_starts, &mut self.task_start_batches),
        ] {
            closed.extend(open.as_mut().filter(|open| !open.is_empty()).map(TaskColumns::finish));
        }
    }

    /// What came since this was asked last; the evidence is of all so far.
    pub fn take(&mut self, wants_tasks: bool, wants_starts: bool) -> LogTables {
        self.flush();
        let kept = Kept {
            ends: std::mem::take(&mut self.task_batches),
            starts: std::mem::take(&mut self.task_start_batches),
        };
        self.evidence.files = vec![FileEvidence {
            codec: "plain".to_owned(),
            bytes: self.offset,
            plain_bytes: self.offset,
            lines: self.lines,
            truncated: self.torn,
            ..FileEvidence::default()
        }];
        let mut log = Log {
            tables: std::mem::take(&mut self.tables),
            evidence: std::mem::take(&mut self.evidence),
        };
        let report = Report::of(&mut log.evidence);
        self.evidence = std::mem::take(&mut log.evidence);
        LogTables::with_report(log, kept, wants_tasks, wants_starts, report)
    }

    /// Where a later reader goes on: the beginning of the first line that was not read.
    pub fn resume_at(&self) -> u64 {
        self.offset
    }

    /// Bytes behind `resume_at` that were fed already.
    pub fn pending(&self) -> u64 {
        self.carry.len() as u64 + self.overlong_bytes
    }

    pub fn lines(&self) -> u64 {
        self.lines
    }

    pub fn is_torn(&self) -> bool {
        self.torn
    }

    #[inline]
    fn read_line(&mut self, line: &[u8]) {
        self.lines += 1;
        if line.len() > self.options.limits.line_bytes as usize {
            return self.tell(&Fault::new(0, fault::TOO_LONG));
        }
        match self.event(line) {
            Ok(()) => self.evidence.events += 1,
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Err(fault) => self.tell(&fault),
        }
    }

    #[cold]
    fn tell(&mut self, fault: &Fault) {
        self.evidence.tell_bad_line(BadLine {
            file: 0,
            line: self.lines,
            offset: self.offset,
            reason: fault.to_string(),
        });
    }

    #[inline]
    fn event(&mut self, line: &[u8]) -> Result<(), Fault> {
        if line.starts_with(BEGIN) {
            let from = BEGIN.len();
            let end = scan::skip_string(line, from).ok_or(Fault::new(from, fault::OPEN_STRING))?;
            return self.dispatch(line, &line[from..end - 1], end);
        }
        self.event_of_another_writer(line)
    }

    /// Other order of keys, or space: finds the name first, then reads the object from its beginning.
    #[cold]
    fn event_of_another_writer(&mut self, line: &[u8]) -> Result<(), Fault> {
        let mut reader = Reader { line, at: 0 };
        reader.space();
        if reader.peek() != b'{' {
            return reader.fail(fault::NOT_AN_OBJECT);
        }
        let body = reader.at + 1;
        let mut name = None;
        reader.each_member(|value, key| {
            if key == b"Event" {
                name = value.text_value()?;
            }
            Ok(())
        })?;
        match name {
            Some(name) => self.dispatch(line, name.as_bytes(), body),
            None => Err(Fault::new(0, fault::NO_EVENT)),
        }
    }

    /// `at` is behind the event's name, or behind the opening brace.
    #[inline]
    fn dispatch(&mut self, line: &[u8], name: &[u8], at: usize) -> Result<(), Fault> {
        if let Some(picked) = &mut self.picked {
            return picked.pick(line, short_name(name));
        }
        match name {
            b"SparkListenerTaskEnd" => {
                self.read_row(line, at, TASK_END)?;
                self.task_end(line)?;
                self.evidence.task_ends += 1;
            }
            b"SparkListenerTaskStart" => {
                self.read_row(line, at, TASK_START)?;
                self.task_start(line)?;
                self.evidence.task_starts += 1;
            }
            _ => {
                self.rare_event(line, name)?;
                self.evidence.count_kind(name);
            }
        }
        Ok(())
    }

    #[inline]
    fn read_row(&mut self, line: &[u8], at: usize, shape: &'static [super::shape::Member]) -> Result<(), Fault> {
        self.row.clear();
        let mut reader = Reader { line, at };
        if line.get(at - 1) == Some(&b'{') {
            reader.object(shape, &mut self.row)?;
        } else {
            reader.space();
            match reader.peek() {
                b',' => {
                    reader.at += 1;
                    reader.space();
                    reader.members(shape, &mut self.row)?;
                }
                b'}' => reader.at += 1,
                _ => return reader.fail(fault::NO_COMMA),
            }
        }
        nothing_behind(line, reader.at)?;
        self.evidence.odd_values += self.row.odd_values;
        Ok(())
    }

    #[inline]
    fn stage_key(&self) -> Result<(i64, i64), Fault> {
        match self.row.number(STAGE_ID) {
            Some(stage) => Ok((stage, self.row.number_or_zero(STAGE_ATTEMPT))),
            None => Err(Fault::new(0, fault::NO_STAGE_ID)),
        }
    }

    #[inline]
    fn task_end(&mut self, line: &[u8]) -> Result<(), Fault> {
        let key = self.stage_key()?;
        let row = &mut self.row;
        let outcome = Outcome::of(row.text(line, REASON));
        if row.has(SHUFFLE_REMOTE_BYTES) || row.has(SHUFFLE_LOCAL_BYTES) {
            let bytes = row
                .number_or_zero(SHUFFLE_REMOTE_BYTES)
                .saturating_add(row.number_or_zero(SHUFFLE_LOCAL_BYTES));
            row.put(SHUFFLE_READ_BYTES, bytes);
        }
        if row.has(HAS_METRICS) && !row.has(PEAK_EXECUTION_MEMORY_BYTES) {
            peak_of_old_spark(row, line);
        }
        row.put(STAGE_ATTEMPT, key.1);
        self.tables.stage(key).tally.add(row, line, outcome);
        if outcome == Outcome::Failed {
            // A hostile log fails in ever more stages with ever longer texts.
            let has_room = self.tables.bytes <= self.options.limits.table_bytes;
            let added = has_room.then(|| self.tables.stage(key).failures.add(row, line));
            match added.flatten() {
                Some(bytes) => self.tables.bytes += bytes,
                None => self.evidence.left_out += 1,
            }
        }
        if let Some(task) = row.number(TASK_ID) {
            self.evidence.end_task(task);
        }
        if let Some(tasks) = &mut self.tasks
            && self
                .options
                .tasks_of
                .as_ref()
                .is_none_or(|wanted| wanted.contains(&key))
        {
            tasks.push(row, line, outcome);
            if tasks.len() >= self.options.batch_rows || tasks.is_heavy() {
                self.task_batches.push(tasks.finish());
            }
        }
        Ok(())
    }

    #[inline]
    fn task_start(&mut self, line: &[u8]) -> Result<(), Fault> {
        let key = self.stage_key()?;
        self.row.put(STAGE_ATTEMPT, key.1);
        self.tables.stage(key).started_tasks += 1;
        if let Some(task) = self.row.number(TASK_ID) {
            self.evidence.start_task(task);
        }
        if let Some(starts) = &mut self.task_starts {
            starts.push(&self.row, line, Outcome::Success);
            if starts.len() >= self.options.batch_rows {
                self.task_start_batches.push(starts.finish());
            }
        }
        Ok(())
    }

    /// Everything that is not a task: few events, read whole from the opening brace.
    fn rare_event(&mut self, line: &[u8], name: &[u8]) -> Result<(), Fault> {
        let start = line.iter().position(|byte| *byte == b'{').unwrap_or(0);
        // First whether the line is whole, so that half an event leaves nothing behind.
        let end =
            scan::skip_container(line, start + 1, b'{', b'}').ok_or(Fault::new(line.len(), fault::OPEN_CONTAINER))?;
        nothing_behind(line, end)?;
        if self.tables.bytes > self.options.limits.table_bytes {
            self.evidence.left_out += 1;
            return Ok(());
        }
        let mut reader = Reader { line, at: start };
        let reader = &mut reader;
        let mut odd = 0;
        let mut writer = Writer {
            tables: &mut self.tables,
            most_details: self.options.limits.detail_bytes,
            left_out: 0,
            odd: &mut odd,
            allowed: &self.options.environment,
        };
        match short_name(name) {
            b"StageSubmitted" => writer.stage(reader, false)?,
            b"StageCompleted" => writer.stage(reader, true)?,
            b"JobStart" => writer.job_start(reader)?,
            b"JobEnd" => writer.job_end(reader)?,
            b"ExecutorAdded" => writer.executor_added(reader)?,
            b"ExecutorRemoved" => writer.executor_removed(reader)?,
            b"BlockManagerAdded" => writer.block_manager_added(reader)?,
            b"ApplicationStart" => writer.application_start(reader)?,
            b"ApplicationEnd" => {
                writer.application_end(reader)?;
                self.evidence.application_ended = true;
            }
            b"LogStart" => writer.log_start(reader)?,
            b"EnvironmentUpdate" => writer.environment_update(reader)?,
            b"SQLExecutionStart" => writer.sql_start(reader)?,
            b"SQLAdaptiveExecutionUpdate" => writer.sql_replanned(reader)?,
            b"SQLExecutionEnd" => writer.sql_end(reader)?,
            b"DriverAccumUpdates" => writer.driver_updates(reader)?,
            b"StageExecutorMetrics" => writer.stage_executor_metrics(reader)?,
            b"ExecutorMetricsUpdate" => writer.executor_metrics_update(reader)?,
            b"StreamingQueryListener$QueryProgressEvent" => writer.streaming_progress(reader)?,
            _ => self.evidence.unknown_events += 1,
        }
        self.evidence.left_out += writer.left_out;
        self.evidence.odd_values += odd;
        Ok(())
    }
}

/// The name without its package and without what all of Spark's names begin with.
fn short_name(name: &[u8]) -> &[u8] {
    let last = name.rsplit(|byte| *byte == b'.').next().unwrap_or(name);
    last.strip_prefix(PREFIX).unwrap_or(last)
}

#[inline]
pub fn nothing_behind(line: &[u8], at: usize) -> Result<(), Fault> {
    match line.get(at..) {
        Some(rest) if !rest.iter().all(u8::is_ascii_whitespace) => Err(Fault::new(at, fault::BEHIND_END)),
        _ => Ok(()),
    }
}

/// Spark 2's name and Spark 1's.
const PEAK_NAMES: [&str; 2] = ["internal.metrics.peakExecutionMemory", "peakExecutionMemory"];

/// Spark before 3.0 wrote the peak memory only as an accumulable of the task.
#[cold]
fn peak_of_old_spark(row: &mut Row, line: &[u8]) {
    let Some(accumulables) = row.text(line, ACCUMULABLES) else {
        return;
    };
    if memchr::memmem::find(accumulables, b"peakExecutionMemory").is_none() {
        return;
    }
    let mut reader = Reader {
        line: accumulables,
        at: 0,
    };
    let mut peak = None;
    let read = reader.each_element(|value| {
        let (mut is_peak, mut update) = (false, None);
        value.each_member(|value, key| {
            match key {
                b"Name" => {
                    is_peak = value
                        .scalar_value()?
                        .is_some_and(|name| PEAK_NAMES.contains(&name.as_str()))
                }
                b"Update" => update = value.whole_value()?,
                _ => {}
            }
            Ok(())
        })?;
        if is_peak {
            peak = update;
        }
        Ok(())
    });
    if let (Ok(()), Some(peak)) = (read, peak) {
        row.put(PEAK_EXECUTION_MEMORY_BYTES, peak);
    }
}
