//! Decodes the bytes of a log, in pieces of any size, into tables. Whole logs and growing logs have the same decoder.

mod dispatch;
mod tasks;

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::event_log::evidence::{BadLine, Evidence, FileEvidence};
use crate::event_log::json::error::{self, LineError};
use crate::event_log::json::row::Row;
use crate::event_log::log::{Log, TaskBatches};
use crate::event_log::log_tables::{EvidenceSummary, LogTables};
use crate::event_log::options::Options;
use crate::event_log::raw_events::RawEvents;
use crate::event_log::tables::Tables;
use crate::event_log::task_columns::TaskColumns;

/// Decodes the lines of one file, or of a part of a file that consists of whole lines.
pub struct Decoder {
    options: Arc<Options>,
    row: Row,
    pub tables: Tables,
    pub evidence: Evidence,
    tasks: Option<TaskColumns>,
    task_starts: Option<TaskColumns>,
    pub task_batches: Vec<RecordBatch>,
    pub task_start_batches: Vec<RecordBatch>,
    /// If present, the decoder collects raw events instead of tables.
    raw_events: Option<RawEvents>,
    /// The beginning of a line whose end has not arrived.
    carry: Vec<u8>,
    /// Whether the current line exceeds the limit; the bytes of such a line are counted and not stored.
    overlong: bool,
    overlong_bytes: u64,
    /// Offset of the next line in the file.
    offset: u64,
    /// Number of lines that were read.
    lines: u64,
    /// Whether the file ends inside a line that is not a whole event.
    torn: bool,
}

impl Decoder {
    /// Creates a decoder that builds tables. `offset` is the offset of the first line in its file.
    pub fn new(options: Arc<Options>, offset: u64) -> Decoder {
        Decoder {
            row: Row::default(),
            tables: Tables::default(),
            evidence: Evidence::default(),
            tasks: options.tasks.then(TaskColumns::ends),
            task_starts: options.task_starts.then(TaskColumns::starts),
            task_batches: Vec::new(),
            task_start_batches: Vec::new(),
            raw_events: None,
            carry: Vec::new(),
            overlong: false,
            overlong_bytes: 0,
            offset,
            lines: 0,
            torn: false,
            options,
        }
    }

    /// Creates a decoder that collects raw events of these names instead of tables.
    pub fn of_events(options: Arc<Options>, offset: u64, wanted: Vec<String>) -> Decoder {
        Decoder {
            raw_events: Some(RawEvents::new(wanted)),
            ..Decoder::new(options, offset)
        }
    }

    /// Returns the raw events that were collected since the last call, in the order of the log.
    pub fn take_events(&mut self) -> Vec<(&str, Vec<u8>)> {
        self.raw_events.as_mut().map(RawEvents::take).unwrap_or_default()
    }

    /// Decodes the next piece of the file.
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
            self.record_malformed(&LineError::new(0, error::TOO_LONG));
            self.offset += length + 1;
            return;
        }
        let mut line = std::mem::take(&mut self.carry);
        self.read_line(&line);
        self.offset += line.len() as u64 + 1;
        line.clear();
        self.carry = line;
    }

    /// Ends the input. A last line without a line end is read if it is a whole event; otherwise, the file counts as
    /// truncated.
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

    /// Closes the open batches of the task tables.
    pub fn flush(&mut self) {
        for (open, closed) in [
            (&mut self.tasks, &mut self.task_batches),
            (&mut self.task_starts, &mut self.task_start_batches),
        ] {
            closed.extend(open.as_mut().filter(|open| !open.is_empty()).map(TaskColumns::finish));
        }
    }

    /// Returns the rows that were added since the last call. The evidence covers everything since the start.
    pub fn take(&mut self, wants_tasks: bool, wants_starts: bool) -> LogTables {
        self.flush();
        let task_batches = TaskBatches {
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
        let evidence = EvidenceSummary::of(&mut log.evidence);
        self.evidence = std::mem::take(&mut log.evidence);
        LogTables::with_evidence(log, task_batches, wants_tasks, wants_starts, evidence)
    }

    /// Returns the offset at which a later decoder can continue: the offset of the first line that was not read.
    pub fn resume_at(&self) -> u64 {
        self.offset
    }

    /// Number of bytes after `resume_at` that were passed to the decoder.
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
            return self.record_malformed(&LineError::new(0, error::TOO_LONG));
        }
        match self.event(line) {
            Ok(()) => self.evidence.events += 1,
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Err(fault) => self.record_malformed(&fault),
        }
    }

    #[cold]
    fn record_malformed(&mut self, fault: &LineError) {
        self.evidence.record_bad_line(BadLine {
            file: 0,
            line: self.lines,
            offset: self.offset,
            reason: fault.to_string(),
        });
    }
}
