//! One part, read by one thread; a packed one may be unpacked beside.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::codec::{self, Bound, Bytes, Codec, counted};
use super::super::decoder::Decoder;
use super::super::options::Options;
use super::part::{Content, Part};

/// Fits the second-level cache with what is made of it.
const PIECE: usize = 256 << 10;

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

fn read_packed(number: usize, source: Bytes, options: &Arc<Options>, may_thread: bool) -> Done {
    let (source, packed_bytes) = counted(source);
    let bound = Bound::new(packed_bytes.clone(), options.limits);
    let (mut plain, codecs) = codec::unpacked(Box::new(source), may_thread);
    let mut decoder = Decoder::new(options.clone(), 0);
    let mut plain_bytes = 0;
    let error = loop {
        let piece = match plain.fill_buf() {
            Ok([]) => break None,
            Ok(piece) => piece,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => break Some(error),
        };
        let length = piece.len();
        if let Err(error) = bound.check(plain_bytes + length as u64) {
            break Some(error);
        }
        plain_bytes += length as u64;
        decoder.feed(piece);
        plain.consume(length);
    };
    // Ends the thread beside, which may still count.
    drop(plain);
    decoder.finish();
    decoder.flush();
    Done {
        file: number,
        decoder,
        codecs,
        bytes: packed_bytes.load(Ordering::Relaxed),
        plain_bytes,
        error,
    }
}
