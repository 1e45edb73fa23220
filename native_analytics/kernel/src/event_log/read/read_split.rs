//! Reads one split on one thread. A second thread may decompress the split.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::event_log::codec::{self, Bytes, Codec, SizeLimit, counting};
use crate::event_log::decoder::Decoder;
use crate::event_log::options::Options;
use crate::event_log::read::splits::{FileSplit, SplitContent};

/// Size of a read buffer. A buffer and its decoded values fit into the second-level cache together.
const BUFFER_BYTES: usize = 256 << 10;

/// The result of reading a split.
pub(super) struct SplitResult {
    pub file: usize,
    pub decoder: Decoder,
    pub codecs: Vec<Codec>,
    pub bytes: u64,
    pub plain_bytes: u64,
    pub error: Option<io::Error>,
}

impl FileSplit {
    pub(super) fn read(self, options: &Arc<Options>, may_prefetch: bool) -> SplitResult {
        match self.content {
            SplitContent::Lines(file, from, to) => read_lines(self.file, &file, from, to, options),
            SplitContent::Compressed(source) => read_compressed(self.file, source, options, may_prefetch),
        }
    }
}

thread_local! {
    /// The read buffer of this thread. The buffer is reused, because most logs are small and a new buffer would cost
    /// time.
    static THREAD_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

fn read_lines(number: usize, file: &File, from: u64, to: u64, options: &Arc<Options>) -> SplitResult {
    let mut decoder = Decoder::new(options.clone(), from);
    let mut buffer = THREAD_BUFFER.take();
    buffer.resize(BUFFER_BYTES, 0);
    let mut at = from;
    let mut error = None;
    while at < to {
        let wanted = buffer.len().min((to - at) as usize);
        match file.read_at(&mut buffer[..wanted], at) {
            Ok(0) => {
                error = Some(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "got shorter while it was read",
                ));
                break;
            }
            Ok(count) => {
                decoder.feed(&buffer[..count]);
                at += count as u64;
            }
            Err(failed) if failed.kind() == io::ErrorKind::Interrupted => {}
            Err(failed) => {
                error = Some(failed);
                break;
            }
        }
    }
    THREAD_BUFFER.set(buffer);
    decoder.finish();
    decoder.flush();
    SplitResult {
        file: number,
        decoder,
        codecs: Vec::new(),
        bytes: at - from,
        plain_bytes: at - from,
        error,
    }
}

fn read_compressed(number: usize, source: Bytes, options: &Arc<Options>, may_prefetch: bool) -> SplitResult {
    let (source, compressed_bytes) = counting(source);
    let size_limit = SizeLimit::new(compressed_bytes.clone(), options.limits);
    let (mut plain, codecs) = codec::decompressed(Box::new(source), may_prefetch);
    let mut decoder = Decoder::new(options.clone(), 0);
    let mut plain_bytes = 0;
    let error = loop {
        let buffer = match plain.fill_buf() {
            Ok([]) => break None,
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => break Some(error),
        };
        let length = buffer.len();
        if let Err(error) = size_limit.check(plain_bytes + length as u64) {
            break Some(error);
        }
        plain_bytes += length as u64;
        decoder.feed(buffer);
        plain.consume(length);
    };
    // Dropping the reader ends the decompressing thread, so that `compressed_bytes` no longer changes.
    drop(plain);
    decoder.finish();
    decoder.flush();
    SplitResult {
        file: number,
        decoder,
        codecs,
        bytes: compressed_bytes.load(Ordering::Relaxed),
        plain_bytes,
        error,
    }
}
