//! Tests of the sources of a log: paths, readers that fail, and files that several threads read.

use std::io::{Cursor, Read};
use std::sync::Arc;

use sparkfuse_kernel::event_log::log::{Source, TaskBatches};
use sparkfuse_kernel::event_log::log_tables::LogTables;
use sparkfuse_kernel::event_log::read::read_log;

use crate::sample_log::{LOG, options, read, table};

#[test]
fn path_that_cannot_be_opened_is_an_error() {
    for path in ["/does/not/exist", env!("CARGO_MANIFEST_DIR")] {
        let read = read_log(
            vec![Source::Path(path.into())],
            &Arc::new(options()),
            2,
            &mut TaskBatches::default(),
        );
        assert!(read.err().unwrap().to_string().starts_with(path), "{path}");
    }
}

struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(std::io::Error::other("connection reset")),
            count => Ok(count),
        }
    }
}

#[test]
fn failing_source_is_reported_as_evidence() {
    let source = Source::Reader(
        "s3://bucket/log".into(),
        Box::new(Failing(Cursor::new(LOG.as_bytes().to_vec()))),
    );
    let log = read_log(vec![source], &Arc::new(options()), 2, &mut TaskBatches::default()).unwrap();
    assert_eq!(log.evidence.files[0].error.as_deref(), Some("connection reset"));
    assert_eq!(log.evidence.events, 13);
}

#[test]
fn splits_are_merged_to_one_log() {
    let lines: Vec<&str> = LOG.lines().collect();
    let (head, tasks, tail) = (lines[..4].join("\n"), lines[4..8].join("\n"), lines[8..].join("\n"));
    let text = format!("{head}\n{}bad\n{tail}", format!("{tasks}\n").repeat(8000));
    let path = std::env::temp_dir().join(format!("sparkfuse-{}.log", std::process::id()));
    std::fs::write(&path, &text).unwrap();
    let logs: Vec<LogTables> = [1, 2, 5]
        .map(|threads| {
            let mut task_batches = TaskBatches::default();
            let log = read_log(
                vec![Source::Path(path.clone())],
                &Arc::new(options()),
                threads,
                &mut task_batches,
            )
            .unwrap();
            LogTables::of(log, task_batches, false, false)
        })
        .into();
    std::fs::remove_file(&path).unwrap();
    let whole = read(text.as_bytes());
    assert!(text.len() > 12 << 20, "long enough for several splits");
    for log in logs {
        assert_eq!(table(&log, "stages"), table(&whole, "stages"));
        assert_eq!(log.evidence.bad_lines[0].line, whole.evidence.bad_lines[0].line);
        assert_eq!(log.evidence.bad_lines[0].offset, whole.evidence.bad_lines[0].offset);
        assert_eq!(
            (log.evidence.events, log.evidence.duplicate_task_ends),
            (whole.evidence.events, 15998)
        );
    }
}
