//! Finds the name of a line's event, and calls the reader of this event.

use crate::event_log::decoder::Decoder;
use crate::event_log::infrequent_events::Writer;
use crate::event_log::json::error::{self, LineError};
use crate::event_log::json::reader::Reader;
use crate::event_log::json::scan;
use crate::event_log::task_events::{TASK_END, TASK_START};

const BEGIN: &[u8] = b"{\"Event\":\"";
const PREFIX: &[u8] = b"SparkListener";

impl Decoder {
    #[inline]
    pub(super) fn event(&mut self, line: &[u8]) -> Result<(), LineError> {
        if line.starts_with(BEGIN) {
            let from = BEGIN.len();
            let end = scan::skip_string(line, from).ok_or(LineError::new(from, error::UNTERMINATED_STRING))?;
            return self.dispatch(line, &line[from..end - 1], end);
        }
        self.event_of_another_writer(line)
    }

    /// Reads an event whose name is not the first key or has spaces around it: finds the name, then reads the whole
    /// object.
    #[cold]
    fn event_of_another_writer(&mut self, line: &[u8]) -> Result<(), LineError> {
        let mut reader = Reader { line, at: 0 };
        reader.space();
        if reader.peek() != b'{' {
            return reader.fail(error::NOT_AN_OBJECT);
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
            None => Err(LineError::new(0, error::NO_EVENT)),
        }
    }

    /// Reads the event from index `at`, which is after the event's name or after the opening brace.
    #[inline]
    fn dispatch(&mut self, line: &[u8], name: &[u8], at: usize) -> Result<(), LineError> {
        if let Some(raw_events) = &mut self.raw_events {
            return raw_events.collect(line, short_name(name));
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
                self.infrequent_event(line, name)?;
                self.evidence.count_kind(name);
            }
        }
        Ok(())
    }

    /// Reads any event other than task starts and ends. The tables are changed only after the whole line was read.
    fn infrequent_event(&mut self, line: &[u8], name: &[u8]) -> Result<(), LineError> {
        let start = line.iter().position(|byte| *byte == b'{').unwrap_or(0);
        if self.tables.bytes > self.options.limits.table_bytes {
            Reader { line, at: start }.skip_line()?;
            self.evidence.left_out += 1;
            return Ok(());
        }
        let mut reader = Reader { line, at: start };
        let reader = &mut reader;
        let mut odd = 0;
        let mut writer = Writer {
            tables: &mut self.tables,
            max_detail_bytes: self.options.limits.detail_bytes,
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
            _ => {
                Reader { line, at: start }.skip_line()?;
                self.evidence.unknown_events += 1;
            }
        }
        self.evidence.left_out += writer.left_out;
        self.evidence.odd_values += odd;
        Ok(())
    }
}

/// Returns the name of an event without its package and without Spark's prefix `SparkListener`.
fn short_name(name: &[u8]) -> &[u8] {
    let last = name.rsplit(|byte| *byte == b'.').next().unwrap_or(name);
    last.strip_prefix(PREFIX).unwrap_or(last)
}
