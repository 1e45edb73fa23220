//! Decompresses a stream in chunks, with a thread that works ahead of the reader.
//!
//! Blocks are independent, so the reader need not wait: while the next chunk is not ready, the reader decompresses
//! another chunk itself. Two threads therefore share the work, no matter whether reading or decompressing takes longer.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::event_log::codec::Buffered;
use crate::event_log::codec::blocks::{Block, Format};

/// Size of a chunk. A chunk and its decoded values fit into the second-level cache together.
const CHUNK_BYTES: usize = 512 << 10;
/// Maximum number of chunks that are decompressed and not yet read.
const MAX_PREFETCHED_CHUNKS: usize = 4;
/// Maximum number of bytes that are decompressed and not yet read; this limit is reached first if blocks are larger
/// than a chunk.
const MAX_PREFETCHED_BYTES: usize = MAX_PREFETCHED_CHUNKS * CHUNK_BYTES;
/// A chunk whose buffers grew beyond this size for a large block is not used again.
const MAX_SPARE_BYTES: usize = 2 * CHUNK_BYTES;

/// A part of the decompressed bytes, and the blocks that it is made of.
#[derive(Default)]
struct Chunk {
    compressed: Vec<u8>,
    blocks: Vec<Block>,
    /// The decompressed bytes, up to `filled`. The buffer keeps its length when the chunk is used again.
    plain: Vec<u8>,
    filled: usize,
    /// Number of decompressed bytes, known from the block headers.
    length: usize,
    /// The error that the reader returns after the filled bytes.
    error: Option<io::Error>,
}

impl Chunk {
    fn clear(&mut self) {
        self.compressed.clear();
        self.blocks.clear();
        self.filled = 0;
        self.error = None;
    }

    fn is_large(&self) -> bool {
        self.plain.len().max(self.compressed.capacity()) > MAX_SPARE_BYTES
    }

    fn reserve(&mut self, length: usize) {
        if self.plain.len() < length {
            self.plain.resize(length, 0);
        }
    }

    /// Reads compressed blocks. Returns false at the end of the stream.
    fn read_blocks(&mut self, source: &mut dyn Read, format: &dyn Format) -> bool {
        self.length = 0;
        // The compressed size is limited too, because a block may decompress to fewer bytes than it occupies.
        while self.length < CHUNK_BYTES && self.compressed.len() < CHUNK_BYTES {
            match format.read_block(source, &mut self.compressed) {
                Ok(Some(block)) if block.length == 0 => {
                    self.compressed.truncate(self.compressed.len() - block.compressed)
                }
                Ok(Some(block)) => {
                    self.length += block.length;
                    self.blocks.push(block);
                }
                Ok(None) => return false,
                Err(error) => {
                    self.error = Some(error);
                    return false;
                }
            }
        }
        true
    }

    fn decompress_blocks(&mut self, format: &dyn Format) {
        let mut from = 0;
        for at in 0..self.blocks.len() {
            let (compressed, length) = (self.blocks[at].compressed, self.blocks[at].length);
            let to = self.filled + length;
            self.reserve(to);
            let plain = &mut self.plain[self.filled..to];
            if let Err(error) = format.decompress(&self.blocks[at], &self.compressed[from..from + compressed], plain) {
                self.error = Some(error);
                return;
            }
            (self.filled, from) = (to, from + compressed);
        }
    }

    /// Reads bytes that need no decompression. Returns false at the end of the stream.
    fn read_plain(&mut self, source: &mut dyn Read) -> bool {
        self.reserve(CHUNK_BYTES);
        let has_more = loop {
            if self.filled == CHUNK_BYTES {
                break true;
            }
            match source.read(&mut self.plain[self.filled..CHUNK_BYTES]) {
                Ok(0) => break false,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.error = Some(error);
                    break false;
                }
            }
        };
        self.length = self.filled;
        has_more
    }
}

/// The stream; one thread at a time reads from it.
struct Source {
    bytes: Buffered,
    next: usize,
    ended: bool,
}

#[derive(Default)]
struct ChunkQueue {
    /// Chunks that are decompressed, by number.
    ready: BTreeMap<usize, Chunk>,
    /// Chunks that can be filled again.
    spare: Vec<Chunk>,
    /// Number of chunks whose bytes were read from the source.
    started: usize,
    /// Number of chunks that the reader consumed.
    read: usize,
    /// Number of decompressed bytes in the chunks that the reader has not consumed yet.
    unread_bytes: usize,
    /// Whether the end of the source was reached.
    ended: bool,
    /// Whether the helper thread is running.
    helper_runs: bool,
    /// Whether the reader was dropped.
    stopped: bool,
}

impl ChunkQueue {
    fn is_full(&self) -> bool {
        self.started >= self.read + MAX_PREFETCHED_CHUNKS || self.unread_bytes > MAX_PREFETCHED_BYTES
    }
}

struct Shared {
    source: Mutex<Source>,
    /// `None` if the bytes of the source need no decompression.
    format: Option<Box<dyn Format>>,
    chunks: Mutex<ChunkQueue>,
    changed: Condvar,
}

impl Shared {
    fn chunks(&self) -> MutexGuard<'_, ChunkQueue> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, wants: impl FnMut(&mut ChunkQueue) -> bool) -> MutexGuard<'_, ChunkQueue> {
        self.changed
            .wait_while(self.chunks(), wants)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads and decompresses the next chunk. Returns false if there is no further chunk.
    fn fill_next(&self, mut source: MutexGuard<'_, Source>) -> bool {
        if source.ended {
            return false;
        }
        let number = source.next;
        let mut chunk = {
            let mut chunks = self.chunks();
            chunks.started += 1;
            chunks.spare.pop().unwrap_or_default()
        };
        chunk.clear();
        source.next += 1;
        source.ended = !match &self.format {
            Some(format) => chunk.read_blocks(&mut source.bytes, format.as_ref()),
            None => chunk.read_plain(&mut source.bytes),
        };
        let (ended, length) = (source.ended, chunk.length);
        self.chunks().unread_bytes += length;
        drop(source);
        if let Some(format) = &self.format {
            chunk.decompress_blocks(format.as_ref());
        }
        let mut chunks = self.chunks();
        chunks.ended |= ended;
        chunks.ready.insert(number, chunk);
        self.changed.notify_all();
        true
    }

    fn run_helper(&self) {
        loop {
            let chunks = self.wait_while(|chunks| chunks.is_full() && !chunks.stopped && !chunks.ended);
            if chunks.stopped || chunks.ended {
                return;
            }
            drop(chunks);
            if !self.fill_next(self.source.lock().unwrap_or_else(PoisonError::into_inner)) {
                return;
            }
        }
    }
}

/// When dropped, records that the helper thread ended, even after a panic, so that the reader does not wait for this
/// thread.
struct HelperGuard<'s>(&'s Shared);

impl Drop for HelperGuard<'_> {
    fn drop(&mut self) {
        self.0.chunks().helper_runs = false;
        self.0.changed.notify_all();
    }
}

/// A reader of the decompressed bytes.
pub struct PrefetchReader {
    shared: Arc<Shared>,
    helper: Option<JoinHandle<()>>,
    chunk: Chunk,
    at: usize,
    /// Number of the next chunk.
    next: usize,
    /// An error to return once; the stream ends after this error.
    failed: Option<io::Error>,
    at_end: bool,
}

impl PrefetchReader {
    /// Starts a helper thread if `with_thread` is true.
    pub fn new(bytes: Buffered, format: Option<Box<dyn Format>>, with_thread: bool) -> PrefetchReader {
        let shared = Arc::new(Shared {
            source: Mutex::new(Source {
                bytes,
                next: 0,
                ended: false,
            }),
            format,
            chunks: Mutex::new(ChunkQueue {
                helper_runs: with_thread,
                ..ChunkQueue::default()
            }),
            changed: Condvar::new(),
        });
        let helper = with_thread.then(|| {
            let shared = shared.clone();
            thread::spawn(move || {
                let guard = HelperGuard(&shared);
                guard.0.run_helper();
            })
        });
        PrefetchReader {
            shared,
            helper,
            chunk: Chunk::default(),
            at: 0,
            next: 0,
            failed: None,
            at_end: false,
        }
    }

    /// Returns the next chunk; `None` at the end of the stream.
    fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        loop {
            let mut chunks = self.shared.chunks();
            if let Some(chunk) = chunks.ready.remove(&self.next) {
                self.next += 1;
                chunks.read = self.next;
                chunks.unread_bytes -= chunk.length;
                self.shared.changed.notify_all();
                return Ok(Some(chunk));
            }
            if chunks.ended && self.next == chunks.started {
                return Ok(None);
            }
            let (next, helper_runs) = (self.next, chunks.helper_runs);
            // While the helper thread runs, the calling thread fills chunks only if they need decompression.
            let may_read = !chunks.ended && !chunks.is_full() && (self.shared.format.is_some() || !helper_runs);
            drop(chunks);
            if may_read
                && let Ok(source) = self.shared.source.lock()
                && self.shared.fill_next(source)
            {
                continue;
            }
            if !helper_runs {
                return Err(io::Error::other("the decompressing thread failed"));
            }
            drop(self.shared.wait_while(|chunks| {
                chunks.helper_runs && !chunks.ready.contains_key(&next) && !(chunks.ended && next == chunks.started)
            }));
        }
    }
}

impl BufRead for PrefetchReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.chunk.filled && !self.at_end {
            if let Some(error) = self.failed.take() {
                self.at_end = true;
                return Err(error);
            }
            let chunk = self.next_chunk().inspect_err(|_| self.at_end = true)?;
            match chunk {
                Some(mut chunk) => {
                    self.failed = chunk.error.take();
                    self.at = 0;
                    let read = std::mem::replace(&mut self.chunk, chunk);
                    if !read.is_large() {
                        self.shared.chunks().spare.push(read);
                    }
                }
                None => self.at_end = true,
            }
        }
        Ok(&self.chunk.plain[self.at..self.chunk.filled])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl Read for PrefetchReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let plain = self.fill_buf()?;
        let count = into.len().min(plain.len());
        into[..count].copy_from_slice(&plain[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl Drop for PrefetchReader {
    fn drop(&mut self) {
        self.shared.chunks().stopped = true;
        self.shared.changed.notify_all();
        if let Some(helper) = self.helper.take() {
            // If the thread panicked, the reader has already returned an error for the missing chunk.
            let _ = helper.join();
        }
    }
}
