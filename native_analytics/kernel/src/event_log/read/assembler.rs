//! Merges the results of the splits of a log, in the order of the log.

use crate::event_log::codec::Codec;
use crate::event_log::evidence::FileEvidence;
use crate::event_log::log::{Log, TaskSink};
use crate::event_log::options::Options;
use crate::event_log::read::read_split::SplitResult;

/// Merges the results of the splits in the order of the log.
pub(super) struct LogAssembler {
    files: Vec<FileEvidence>,
    max_detail_bytes: usize,
    log: Log,
    begun: bool,
}

impl LogAssembler {
    pub(super) fn new(files: Vec<FileEvidence>, options: &Options) -> LogAssembler {
        LogAssembler {
            files,
            max_detail_bytes: options.limits.detail_bytes,
            log: Log::default(),
            begun: false,
        }
    }

    pub(super) fn add(&mut self, mut done: SplitResult, sink: &mut dyn TaskSink) -> bool {
        let file = &mut self.files[done.file];
        for bad in &mut done.decoder.evidence.bad_lines {
            bad.file = done.file;
            bad.line += file.lines;
        }
        if file.codec.is_empty() {
            let names: Vec<&str> = done.codecs.iter().map(|codec| codec.name()).collect();
            file.codec = if names.is_empty() {
                Codec::Plain.name().to_owned()
            } else {
                names.join("+")
            };
        }
        file.bytes += done.bytes;
        file.plain_bytes += done.plain_bytes;
        file.lines += done.decoder.lines();
        file.truncated |= done.decoder.is_torn() || done.error.is_some();
        if let Some(error) = done.error {
            file.error = Some(error.to_string());
        }
        self.log.evidence.append(done.decoder.evidence);
        if std::mem::replace(&mut self.begun, true) {
            self.log.evidence.left_out += self.log.tables.append(done.decoder.tables, self.max_detail_bytes);
        } else {
            // The first split needs no merge, and most logs have only one split.
            self.log.tables = done.decoder.tables;
        }
        sink.put(done.decoder.task_batches, done.decoder.task_start_batches)
    }

    pub(super) fn finish(mut self) -> Log {
        self.log.evidence.files = self.files;
        self.log
    }
}
