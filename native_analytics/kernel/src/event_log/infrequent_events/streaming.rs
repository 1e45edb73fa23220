//! Reads the progress of streaming queries.

use super::{VisitResult, Writer, number_of, text_of};
use crate::event_log::json::reader::Reader;
use crate::event_log::tables::StreamingProgress;

impl Writer<'_> {
    pub fn streaming_progress(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = StreamingProgress::default();
        let odd = &mut *self.odd;
        reader.each_member_of_line(|value, key| {
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

fn add(sum: &mut Option<i64>, value: Option<i64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0).saturating_add(value));
    }
}
