//! One event log: its files, the receiver of its task rows, and the result of reading the log.

use std::path::PathBuf;

use arrow_array::RecordBatch;

use crate::event_log::codec::Bytes;
use crate::event_log::evidence::Evidence;
use crate::event_log::tables::Tables;

/// One file of a log.
pub enum Source {
    Path(PathBuf),
    /// A reader of the file's bytes, and a name for error messages.
    Reader(String, Bytes),
}

/// Receives the rows of the task tables while a log is read, in the log's order.
pub trait TaskSink {
    /// Adds batches of task ends and task starts. Returns false when the receiver wants no further rows.
    fn put(&mut self, ends: Vec<RecordBatch>, starts: Vec<RecordBatch>) -> bool;
}

/// A sink that keeps all task rows in memory.
#[derive(Default)]
pub struct TaskBatches {
    pub ends: Vec<RecordBatch>,
    pub starts: Vec<RecordBatch>,
}

impl TaskSink for TaskBatches {
    fn put(&mut self, ends: Vec<RecordBatch>, starts: Vec<RecordBatch>) -> bool {
        self.ends.extend(ends);
        self.starts.extend(starts);
        true
    }
}

/// Everything read from a log except the rows of its task tables.
#[derive(Default)]
pub struct Log {
    pub tables: Tables,
    pub evidence: Evidence,
}
