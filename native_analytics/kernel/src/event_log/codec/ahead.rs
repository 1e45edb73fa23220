//! Plain bytes of a packed stream, piece by piece in their order, with a thread that unpacks ahead of the reader.
//! Blocks stand alone: the reader unpacks some itself while the piece that it needs is not ready, so that two threads
//! share unpacking and reading evenly, whichever is dearer.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::Buffered;
use super::blocks::{Block, Format};

/// Fits the second-level cache with what is made of it.
const PIECE: usize = 512 << 10;
/// Pieces that are unpacked and not read yet.
const PIECES_AHEAD: usize = 4;
/// Where blocks are larger than a piece, fewer wait: no further one while these wait.
const MOST_AHEAD: usize = PIECES_AHEAD * PIECE;
/// A piece that grew beyond this for a large block is not used again.
const LARGEST_SPARE: usize = 2 * PIECE;

/// Some of the plain bytes, and what they come from.
#[derive(Default)]
struct Piece {
    packed: Vec<u8>,
    blocks: Vec<Block>,
    /// At least as long as `filled`; keeps its length when it is used again.
    plain: Vec<u8>,
    filled: usize,
    /// How many plain bytes it should hold, as known before they are unpacked.
    length: usize,
    /// What is wrong behind the filled bytes.
    error: Option<io::Error>,
}

impl Piece {
    fn clear(&mut self) {
        self.packed.clear();
        self.blocks.clear();
        self.filled = 0;
        self.error = None;
    }

    fn is_large(&self) -> bool {
        self.plain.len().max(self.packed.capacity()) > LARGEST_SPARE
    }

    fn room(&mut self, length: usize) {
        if self.plain.len() < length {
            self.plain.resize(length, 0);
        }
    }

    /// Takes what is packed; false when the stream ends with it.
    fn take_blocks(&mut self, source: &mut dyn Read, format: &dyn Format) -> bool {
        self.length = 0;
        // Also by packed bytes: a block may hold less than it takes.
        while self.length < PIECE && self.packed.len() < PIECE {
            match format.take(source, &mut self.packed) {
                Ok(Some(block)) if block.length == 0 => self.packed.truncate(self.packed.len() - block.packed),
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

    fn unpack_blocks(&mut self, format: &dyn Format) {
        let mut from = 0;
        for at in 0..self.blocks.len() {
            let (packed, length) = (self.blocks[at].packed, self.blocks[at].length);
            let to = self.filled + length;
            self.room(to);
            let plain = &mut self.plain[self.filled..to];
            if let Err(error) = format.unpack(&self.blocks[at], &self.packed[from..from + packed], plain) {
                self.error = Some(error);
                return;
            }
            (self.filled, from) = (to, from + packed);
        }
    }

    /// Takes plain bytes; false when the stream ends with them.
    fn take_plain(&mut self, source: &mut dyn Read) -> bool {
        self.room(PIECE);
        let goes_on = loop {
            if self.filled == PIECE {
                break true;
            }
            match source.read(&mut self.plain[self.filled..PIECE]) {
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
        goes_on
    }
}

/// The stream, which one thread at a time may take from.
struct Source {
    bytes: Buffered,
    next: usize,
    ended: bool,
}

#[derive(Default)]
struct Pieces {
    /// Unpacked, by number.
    ready: BTreeMap<usize, Piece>,
    /// Read, to be filled again.
    spare: Vec<Piece>,
    /// How many were taken from the source.
    taken: usize,
    /// How many were read.
    read: usize,
    /// Plain bytes of those that were taken and not read.
    unread: usize,
    /// No more will be taken.
    ended: bool,
    /// The thread beside is there.
    helped: bool,
    /// Nobody reads any more.
    stopped: bool,
}

impl Pieces {
    fn full(&self) -> bool {
        self.taken >= self.read + PIECES_AHEAD || self.unread > MOST_AHEAD
    }
}

struct Shared {
    source: Mutex<Source>,
    /// None: bytes of the source are plain already.
    format: Option<Box<dyn Format>>,
    pieces: Mutex<Pieces>,
    changed: Condvar,
}

impl Shared {
    fn pieces(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, wants: impl FnMut(&mut Pieces) -> bool) -> MutexGuard<'_, Pieces> {
        self.changed
            .wait_while(self.pieces(), wants)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes and unpacks the next piece; false when there is none.
    fn make(&self, mut source: MutexGuard<'_, Source>) -> bool {
        if source.ended {
            return false;
        }
        let number = source.next;
        let mut piece = {
            let mut pieces = self.pieces();
            pieces.taken += 1;
            pieces.spare.pop().unwrap_or_default()
        };
        piece.clear();
        source.next += 1;
        source.ended = !match &self.format {
            Some(format) => piece.take_blocks(&mut source.bytes, format.as_ref()),
            None => piece.take_plain(&mut source.bytes),
        };
        let (ended, length) = (source.ended, piece.length);
        self.pieces().unread += length;
        drop(source);
        if let Some(format) = &self.format {
            piece.unpack_blocks(format.as_ref());
        }
        let mut pieces = self.pieces();
        pieces.ended |= ended;
        pieces.ready.insert(number, piece);
        self.changed.notify_all();
        true
    }

    fn help(&self) {
        loop {
            let pieces = self.wait_while(|pieces| pieces.full() && !pieces.stopped && !pieces.ended);
            if pieces.stopped || pieces.ended {
                return;
            }
            drop(pieces);
            if !self.make(self.source.lock().unwrap_or_else(PoisonError::into_inner)) {
                return;
            }
        }
    }
}

/// Says that the thread beside is gone, also when it panicked: nobody may wait for it then.
struct Helping<'s>(&'s Shared);

impl Drop for Helping<'_> {
    fn drop(&mut self) {
        self.0.pieces().helped = false;
        self.0.changed.notify_all();
    }
}

/// Reads plain bytes.
pub struct Ahead {
    shared: Arc<Shared>,
    helper: Option<JoinHandle<()>>,
    piece: Piece,
    at: usize,
    /// The number of the next piece.
    next: usize,
    /// Told once, then the stream ends.
    failed: Option<io::Error>,
    over: bool,
}

impl Ahead {
    /// `beside`: with a thread that unpacks.
    pub fn new(bytes: Buffered, format: Option<Box<dyn Format>>, beside: bool) -> Ahead {
        let shared = Arc::new(Shared {
            source: Mutex::new(Source {
                bytes,
                next: 0,
                ended: false,
            }),
            format,
            pieces: Mutex::new(Pieces {
                helped: beside,
                ..Pieces::default()
            }),
            changed: Condvar::new(),
        });
        let helper = beside.then(|| {
            let shared = shared.clone();
            thread::spawn(move || {
                let helping = Helping(&shared);
                helping.0.help();
            })
        });
        Ahead {
            shared,
            helper,
            piece: Piece::default(),
            at: 0,
            next: 0,
            failed: None,
            over: false,
        }
    }

    /// The next piece; none at the end.
    fn next_piece(&mut self) -> io::Result<Option<Piece>> {
        loop {
            let mut pieces = self.shared.pieces();
            if let Some(piece) = pieces.ready.remove(&self.next) {
                self.next += 1;
                pieces.read = self.next;
                pieces.unread -= piece.length;
                self.shared.changed.notify_all();
                return Ok(Some(piece));
            }
            if pieces.ended && self.next == pieces.taken {
                return Ok(None);
            }
            let (next, helped) = (self.next, pieces.helped);
            // Where taking is all there is to do, it is left to the thread beside.
            let may_take = !pieces.ended && !pieces.full() && (self.shared.format.is_some() || !helped);
            drop(pieces);
            if may_take
                && let Ok(source) = self.shared.source.lock()
                && self.shared.make(source)
            {
                continue;
            }
            if !helped {
                return Err(io::Error::other("unpacking failed"));
            }
            drop(self.shared.wait_while(|pieces| {
                pieces.helped && !pieces.ready.contains_key(&next) && !(pieces.ended && next == pieces.taken)
            }));
        }
    }
}

impl BufRead for Ahead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.piece.filled && !self.over {
            if let Some(error) = self.failed.take() {
                self.over = true;
                return Err(error);
            }
            let piece = self.next_piece().inspect_err(|_| self.over = true)?;
            match piece {
                Some(mut piece) => {
                    self.failed = piece.error.take();
                    self.at = 0;
                    let read = std::mem::replace(&mut self.piece, piece);
                    if !read.is_large() {
                        self.shared.pieces().spare.push(read);
                    }
                }
                None => self.over = true,
            }
        }
        Ok(&self.piece.plain[self.at..self.piece.filled])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl Read for Ahead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let plain = self.fill_buf()?;
        let count = into.len().min(plain.len());
        into[..count].copy_from_slice(&plain[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.shared.pieces().stopped = true;
        self.shared.changed.notify_all();
        if let Some(helper) = self.helper.take() {
            // What it died of was told when its piece was missed.
            let _ = helper.join();
        }
    }
}
