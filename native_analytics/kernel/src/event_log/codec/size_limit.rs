//! Limits the size of decompressed data, because a few kilobytes can decompress to terabytes.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::event_log::codec::corrupt;
use crate::event_log::options::Limits;

/// A reader that counts the bytes that are read from its source.
pub struct CountingReader<R> {
    source: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(into)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Returns a reader of `source`, and a counter of the bytes that were read from `source`.
pub fn counting<R: Read>(source: R) -> (CountingReader<R>, Arc<AtomicU64>) {
    let count = Arc::new(AtomicU64::new(0));
    let counting = CountingReader {
        source,
        count: count.clone(),
    };
    (counting, count)
}

/// Compares the number of decompressed bytes with the number of compressed bytes.
pub struct SizeLimit {
    compressed: Arc<AtomicU64>,
    limits: Limits,
}

impl SizeLimit {
    /// `compressed` counts the compressed bytes that were read.
    pub fn new(compressed: Arc<AtomicU64>, limits: Limits) -> SizeLimit {
        SizeLimit { compressed, limits }
    }

    /// Fails if `plain` decompressed bytes are more than the limits allow.
    pub fn check(&self, plain: u64) -> io::Result<()> {
        let Limits {
            plain_bytes,
            ratio,
            ratio_from,
            ..
        } = self.limits;
        if plain > plain_bytes {
            return Err(corrupt(format!("decompresses to more than {plain_bytes} bytes")));
        }
        let honest = self.compressed.load(Ordering::Relaxed).saturating_mul(ratio);
        if plain > ratio_from && plain > honest {
            return Err(corrupt(format!("decompresses to more than {ratio} times its size")));
        }
        Ok(())
    }
}
