//! Reads task starts and task ends, which are nearly all events of a log.

use crate::event_log::decoder::Decoder;
use crate::event_log::json::error::{self, LineError};
use crate::event_log::json::reader::Reader;
use crate::event_log::json::row::Row;
use crate::event_log::json::shape::Member;
use crate::event_log::task_events::*;

impl Decoder {
    #[inline]
    pub(super) fn read_row(&mut self, line: &[u8], at: usize, shape: &'static [Member]) -> Result<(), LineError> {
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
                _ => return reader.fail(error::NO_COMMA),
            }
        }
        reader.expect_line_end()?;
        self.evidence.odd_values += self.row.odd_values;
        Ok(())
    }

    #[inline]
    fn stage_key(&self) -> Result<(i64, i64), LineError> {
        match self.row.number(STAGE_ID) {
            Some(stage) => Ok((stage, self.row.number_or_zero(STAGE_ATTEMPT))),
            None => Err(LineError::new(0, error::NO_STAGE_ID)),
        }
    }

    #[inline]
    pub(super) fn task_end(&mut self, line: &[u8]) -> Result<(), LineError> {
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
        self.tables.stage(key).aggregates.add(row, line, outcome);
        if outcome == Outcome::Failed {
            // The memory for stored failures is limited: an invalid log may have any number of stages and texts of any
            // length.
            let has_room = self.tables.bytes <= self.options.limits.table_bytes;
            let (bytes, left_out) = match has_room {
                true => self.tables.stage(key).failures.add(row, line),
                false => (0, 1),
            };
            self.tables.bytes += bytes;
            self.evidence.left_out += left_out;
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
    pub(super) fn task_start(&mut self, line: &[u8]) -> Result<(), LineError> {
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
}

/// Name of the accumulable with the peak memory in Spark 2 and in Spark 1.
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
