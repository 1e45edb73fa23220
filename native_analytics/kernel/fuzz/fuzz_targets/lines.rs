//! Fuzzes the lines of a log. Checks that there is no panic, that a log read whole and in pieces gives equal rows, and
//! that every line is counted.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use sparkfuse_kernel::event_log::decoder::Decoder;
use sparkfuse_kernel::event_log::log_tables::LogTables;
use sparkfuse_kernel::event_log::options::{AllowedKeys, Options};

fn read(bytes: &[u8], piece: usize) -> LogTables {
    let mut options = Options {
        tasks: true,
        task_starts: true,
        environment: AllowedKeys::new(["*"]),
        ..Options::default()
    };
    // The limit is small, so that the fuzzer exceeds it.
    options.limits.line_bytes = 4096;
    let mut decoder = Decoder::new(Arc::new(options), 0);
    bytes.chunks(piece).for_each(|piece| decoder.feed(piece));
    decoder.finish();
    decoder.take(true, true)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let whole = read(bytes, usize::MAX);
    let pieces = read(bytes, 1 + usize::from(*first));
    for ((name, one), (_, other)) in whole.tables.iter().zip(&pieces.tables) {
        assert_eq!(one.batches, other.batches, "{name}");
    }
    let (one, other) = (&whole.evidence, &pieces.evidence);
    assert_eq!((one.events, one.malformed, one.truncated), (other.events, other.malformed, other.truncated));
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace)).count();
    assert_eq!(one.events + one.malformed + u64::from(one.truncated), lines as u64);
});
