//! Reads all events that are not task starts or task ends.
//!
//! Sources of the keys: Spark's org.apache.spark.util.JsonProtocol, org.apache.spark.sql.execution.ui, and the progress
//! of streaming queries.

mod application;
mod executors;
mod jobs;
mod sql;
mod streaming;

use crate::event_log::json::error::LineError;
use crate::event_log::json::reader::Reader;
use crate::event_log::options::AllowedKeys;
use crate::event_log::tables::{Accumulator, Tables};

type VisitResult = Result<(), LineError>;

/// The tables and counters that the reader of one event changes.
pub struct Writer<'w> {
    pub tables: &'w mut Tables,
    /// Maximum memory of detail rows, see `Limits::detail_bytes`.
    pub max_detail_bytes: usize,
    /// Number of detail rows that exceeded the limit.
    pub left_out: u64,
    pub odd: &'w mut u64,
    pub allowed: &'w AllowedKeys,
}

impl Writer<'_> {
    /// Returns whether a detail row of this size fits into the limit; if not, counts the row as left out.
    fn has_room(&mut self, bytes: usize) -> bool {
        if self.tables.detail_bytes + bytes > self.max_detail_bytes {
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
}

fn number_of(reader: &mut Reader<'_>, wanted: &[u8], odd: &mut u64) -> Result<Option<i64>, LineError> {
    let mut found = None;
    reader.each_member(|value, key| {
        if key == wanted {
            found = value.number(odd)?;
        }
        Ok(())
    })?;
    Ok(found)
}

fn text_of(reader: &mut Reader<'_>, wanted: &[u8]) -> Result<Option<String>, LineError> {
    let mut found = None;
    reader.each_member(|value, key| {
        if key == wanted {
            found = value.text_value()?;
        }
        Ok(())
    })?;
    Ok(found)
}
