//! Holds what a packed file may unpack to: a few kilobytes can claim to be terabytes.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::options::Limits;
use super::corrupt;

/// Counts what goes through.
pub struct Counted<R> {
    source: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(into)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// `source`, and the count of what went through it.
pub fn counted<R: Read>(source: R) -> (Counted<R>, Arc<AtomicU64>) {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Counted {
        source,
        count: count.clone(),
    };
    (counted, count)
}

/// Holds unpacked bytes against what packed bytes can honestly hold.
pub struct Bound {
    packed: Arc<AtomicU64>,
    limits: Limits,
}

impl Bound {
    /// `packed` counts what is unpacked.
    pub fn new(packed: Arc<AtomicU64>, limits: Limits) -> Bound {
        Bound { packed, limits }
    }

    /// Fails when `plain` bytes are more than there can be.
    pub fn check(&self, plain: u64) -> io::Result<()> {
        let Limits {
            plain_bytes,
            ratio,
            ratio_from,
            ..
        } = self.limits;
        if plain > plain_bytes {
            return Err(corrupt(format!("unpacks to more than {plain_bytes} bytes")));
        }
        let honest = self.packed.load(Ordering::Relaxed).saturating_mul(ratio);
        if plain > ratio_from && plain > honest {
            return Err(corrupt(format!("unpacks to more than {ratio} times its size")));
        }
        Ok(())
    }
}
