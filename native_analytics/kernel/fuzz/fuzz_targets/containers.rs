//! Fuzzes compressed logs. Checks that there is no panic, that no more bytes are decompressed than the limits allow,
//! and that one thread and two threads give the same result.
#![no_main]

use std::io::Cursor;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use sparkfuse_kernel::event_log::options::{Limits, Options};
use sparkfuse_kernel::event_log::log::{Source, TaskBatches};
use sparkfuse_kernel::event_log::read::read_log;

const MAX_PLAIN: u64 = 4 << 20;

fuzz_target!(|bytes: &[u8]| {
    let options = Arc::new(Options {
        limits: Limits {
            plain_bytes: MAX_PLAIN,
            ..Limits::default()
        },
        ..Options::default()
    });
    let read = |threads| {
        let source = Source::Reader("log".to_owned(), Box::new(Cursor::new(bytes.to_vec())));
        let log = read_log(vec![source], &options, threads, &mut TaskBatches::default()).expect("a reader never fails to open");
        assert!(log.evidence.plain_bytes() <= MAX_PLAIN + (1 << 20));
        let file = &log.evidence.files[0];
        (
            log.evidence.events,
            log.evidence.malformed,
            file.plain_bytes,
            file.codec.clone(),
            file.error.clone(),
        )
    };
    // With two threads, one thread decompresses while the other one reads.
    assert_eq!(read(1), read(2));
});
