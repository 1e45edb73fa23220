//! Whole logs: files cut into parts at line ends, parts read side by side, results put together in the log's order.

mod assembly;
mod one;
mod part;
mod side_by_side;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::codec::Bytes;
use super::evidence::Evidence;
use super::options::Options;
use super::tables::Tables;
use assembly::Assembly;
use part::plan;
use side_by_side::side_by_side;

/// One file of a log.
pub enum Source {
    Path(PathBuf),
    Reader(String, Bytes),
}

/// Where the rows of tasks go as they come, in the log's order.
pub trait TaskSink {
    /// False when nobody wants more.
    fn put(&mut self, ends: Vec<RecordBatch>, starts: Vec<RecordBatch>) -> bool;
}

/// Keeps them.
#[derive(Default)]
pub struct Kept {
    pub ends: Vec<RecordBatch>,
    pub starts: Vec<RecordBatch>,
}

impl TaskSink for Kept {
    fn put(&mut self, ends: Vec<RecordBatch>, starts: Vec<RecordBatch>) -> bool {
        self.ends.extend(ends);
        self.starts.extend(starts);
        true
    }
}

/// What a log says.
#[derive(Default)]
pub struct Log {
    pub tables: Tables,
    pub evidence: Evidence,
}

/// Reads the files of one log. Fails only when a path cannot be opened; what is wrong inside is evidence.
pub fn read_log(
    sources: Vec<Source>,
    options: &Arc<Options>,
    threads: usize,
    sink: &mut dyn TaskSink,
) -> io::Result<Log> {
    let (files, parts) = plan(sources, threads.max(1))?;
    let mut whole = Assembly::new(files, options);
    match (threads.max(1), parts.len()) {
        (1, _) | (_, 1) => {
            for part in parts {
                let done = part.read(options, threads > 1);
                if !whole.add(done, sink) {
                    break;
                }
            }
        }
        (threads, _) => side_by_side(parts, options, threads, &mut whole, sink)?,
    }
    Ok(whole.finish())
}
