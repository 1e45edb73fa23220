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

/// Unpacked bytes, ended by an error when they are more than packed bytes can honestly hold.
pub struct Bounded<R> {
    source: R,
    packed: Arc<AtomicU64>,
    plain: u64,
    limits: Limits,
}

impl<R: Read> Bounded<R> {
    /// Counts the packed bytes of `source`; the count goes to `new`.
    pub fn counted<S: Read>(source: S) -> (Counted<S>, Arc<AtomicU64>) {
        let count = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            source,
            count: count.clone(),
        };
        (counted, count)
    }

    pub fn new(source: R, packed: Arc<AtomicU64>, limits: Limits) -> Bounded<R> {
        Bounded {
            source,
            packed,
            plain: 0,
            limits,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(into)?;
        self.plain += count as u64;
        let Limits {
            plain_bytes,
            ratio,
            ratio_from,
            ..
        } = self.limits;
        if self.plain > plain_bytes {
            return Err(corrupt(format!("unpacks to more than {plain_bytes} bytes")));
        }
        let honest = self.packed.load(Ordering::Relaxed).saturating_mul(ratio);
        if self.plain > ratio_from && self.plain > honest {
            return Err(corrupt(format!("unpacks to more than {ratio} times its size")));
        }
        Ok(count)
    }
}
