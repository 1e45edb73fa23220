//! Reads whole logs: files are cut into splits at line ends, threads read splits in parallel, and the results are
//! merged in the order of the log.

mod assembler;
mod parallel;
mod read_split;
mod splits;

use std::io;
use std::sync::Arc;

use crate::event_log::log::{Log, Source, TaskSink};
use crate::event_log::options::Options;
use assembler::LogAssembler;
use parallel::read_parallel;
use splits::plan_splits;

/// Reads the files of one log. Fails only if a path cannot be opened; damage inside a file is reported as evidence.
pub fn read_log(
    sources: Vec<Source>,
    options: &Arc<Options>,
    threads: usize,
    sink: &mut dyn TaskSink,
) -> io::Result<Log> {
    let (files, splits) = plan_splits(sources, threads.max(1))?;
    let mut assembler = LogAssembler::new(files, options);
    match (threads.max(1), splits.len()) {
        (1, _) | (_, 1) => {
            for split in splits {
                let result = split.read(options, threads > 1);
                if !assembler.add(result, sink) {
                    break;
                }
            }
        }
        (threads, _) => read_parallel(splits, options, threads, &mut assembler, sink)?,
    }
    Ok(assembler.finish())
}
