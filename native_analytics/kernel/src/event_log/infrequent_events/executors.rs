//! Reads the events about executors: start, removal and memory.

use super::{VisitResult, Writer};
use crate::event_log::json::reader::Reader;
use crate::event_log::tables::{EXECUTOR_METRICS, Executor, ExecutorMetrics};

impl Writer<'_> {
    pub fn executor_added(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = Executor::default();
        let mut id = None;
        reader.each_member_of_line(|value, key| {
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
            // A block manager event may have already set a slightly different time; the executor's own time wins.
            ours.added_ms = found.added_ms.or(ours.added_ms);
            ours.merge(found);
        }
        Ok(())
    }

    pub fn executor_removed(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = Executor::default();
        let mut id = None;
        reader.each_member_of_line(|value, key| {
            match key {
                b"Timestamp" => found.removed_ms = value.number(self.odd)?,
                b"Executor ID" => id = value.scalar_value()?,
                b"Removed Reason" => found.removed_reason = value.text_value()?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(id) = id {
            self.tables.executor(id).merge(found);
        }
        Ok(())
    }

    /// Before Spark 1.3, only the block manager of an executor was logged; the driver's block manager is not an
    /// executor.
    pub fn block_manager_added(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = Executor::default();
        let mut id = None;
        reader.each_member_of_line(|value, key| {
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
            self.tables.executor(id).merge(found);
        }
        Ok(())
    }

    pub fn stage_executor_metrics(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = ExecutorMetrics::default();
        reader.each_member_of_line(|value, key| {
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

    /// Logs contain heartbeats only if Spark is configured to log them; each heartbeat has the peaks of every stage
    /// that ran.
    pub fn executor_metrics_update(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut executor = None;
        let mut rows = Vec::new();
        let odd = &mut *self.odd;
        reader.each_member_of_line(|value, key| {
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
}

fn peaks(reader: &mut Reader<'_>, found: &mut ExecutorMetrics, odd: &mut u64) -> VisitResult {
    reader.each_member(|value, key| {
        if let Some(place) = EXECUTOR_METRICS.iter().position(|(name, _)| name.as_bytes() == key) {
            found.peaks[place] = value.number(odd)?;
        }
        Ok(())
    })
}
