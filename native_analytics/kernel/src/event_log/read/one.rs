//! One part, read by one thread; a packed one may be unpacked beside.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use super::super::codec::{self, Bounded, Bytes, Codec};
use super::super::decoder::Decoder;
use super::super::options::Options;
use super::part::{Content, Part};

/// Fits the second-level cache with what is made of it.
const PIECE: usize = 256 << 10;
/// Pieces between the thread that unpacks and the one that reads.
const PIECES_AHEAD: usize = 6;

/// What became of a part.
pub(super) struct Done {
    pub file: usize,
    pub decoder: Decoder,
    pub codecs: Vec<Codec>,
    pub bytes: u64,
    pub plain_bytes: u64,
    pub error: Option<io::Error>,
}

impl Part {
    pub(super) fn read(self, options: &Arc<Options>, may_thread: bool) -> Done {
        match self.content {
            Content::Lines(file, from, to) => read_lines(self.file, &file, from, to, options),
            Content::Packed(source) => read_packed(self.file, source, options, may_thread),
        }
    }
}

thread_local! {
    /// The piece that this thread reads into: made once, since most logs are small and many.
    static OWN_PIECE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

fn read_lines(number: usize, file: &File, from: u64, to: u64, options: &Arc<Options>) -> Done {
    let mut decoder = Decoder::new(options.clone(), from);
    let mut piece = OWN_PIECE.take();
    piece.resize(PIECE, 0);
    let mut at = from;
    let mut error = None;
    while at < to {
        let wanted = piece.len().min((to - at) as usize);
        match file.read_at(&mut piece[..wanted], at) {
            Ok(0) => {
                error = Some(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "got shorter while it was read",
                ));
                break;
            }
            Ok(count) => {
                decoder.feed(&piece[..count]);
                at += count as u64;
            }
            Err(failed) if failed.kind() == io::ErrorKind::Interrupted => {}
            Err(failed) => {
                error = Some(failed);
                break;
            }
        }
    }
    OWN_PIECE.set(piece);
    decoder.finish();
    decoder.flush();
    Done {
        file: number,
        decoder,
        codecs: Vec::new(),
        bytes: at - from,
        plain_bytes: at - from,
        error,
    }
}

fn read_packed(number: usize, source: Bytes<'static>, options: &Arc<Options>, may_thread: bool) -> Done {
    let (counted, packed_bytes) = Bounded::<Bytes<'static>>::counted(source);
    let mut decoder = Decoder::new(options.clone(), 0);
    let mut plain_bytes = 0;
    let (plain, codecs) = codec::unpacked(Box::new(counted));
    let bounded = Bounded::new(plain, packed_bytes.clone(), options.limits);
    let mut feed = |piece: &[u8]| {
        plain_bytes += piece.len() as u64;
        decoder.feed(piece);
    };
    let error = match may_thread && !codecs.is_empty() {
        true => unpack_beside(bounded, &mut feed),
        false => unpack_here(bounded, &mut feed),
    };
    decoder.finish();
    decoder.flush();
    Done {
        file: number,
        decoder,
        codecs,
        bytes: loaded(&packed_bytes),
        plain_bytes,
        error,
    }
}

fn loaded(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// Fills the piece as far as the source goes; true when it goes on.
fn fill(source: &mut impl Read, piece: &mut [u8], filled: &mut usize) -> io::Result<bool> {
    *filled = 0;
    while *filled < piece.len() {
        match source.read(&mut piece[*filled..]) {
            Ok(0) => return Ok(false),
            Ok(count) => *filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn unpack_here(mut source: impl Read, feed: &mut dyn FnMut(&[u8])) -> Option<io::Error> {
    let mut piece = vec![0; PIECE];
    loop {
        let mut filled = 0;
        let went = fill(&mut source, &mut piece, &mut filled);
        feed(&piece[..filled]);
        match went {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(error),
        }
    }
}

/// One thread unpacks, this one reads; pieces go round.
fn unpack_beside(mut source: impl Read + Send, feed: &mut dyn FnMut(&[u8])) -> Option<io::Error> {
    let (full, filled_pieces) = mpsc::sync_channel::<(Vec<u8>, usize, io::Result<bool>)>(PIECES_AHEAD);
    let (empty, empty_pieces) = mpsc::channel::<Vec<u8>>();
    for _ in 0..PIECES_AHEAD {
        let _ = empty.send(vec![0; PIECE]);
    }
    thread::scope(|scope| {
        scope.spawn(move || {
            while let Ok(mut piece) = empty_pieces.recv() {
                let mut filled = 0;
                let went = fill(&mut source, &mut piece, &mut filled);
                let ends = !matches!(went, Ok(true));
                if full.send((piece, filled, went)).is_err() || ends {
                    return;
                }
            }
        });
        for (piece, filled, went) in filled_pieces {
            feed(&piece[..filled]);
            match went {
                Ok(true) => {
                    let _ = empty.send(piece);
                }
                Ok(false) => return None,
                Err(error) => return Some(error),
            }
        }
        // The other thread ended without a last word.
        Some(io::Error::other("unpacking failed"))
    })
}
