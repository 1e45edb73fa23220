//! The three block streams that Spark writes and no crate reads: lz4-java's, snappy-java's and compress-lzf's.
//! Formats: net.jpountz.lz4.LZ4BlockOutputStream, org.xerial.snappy.SnappyOutputStream, com.ning.compress.lzf.LZFChunk.

use std::io::{self, Read};

use super::{corrupt, header};

pub const LZ4_MAGIC: &[u8] = b"LZ4Block";
pub const SNAPPY_MAGIC: &[u8] = b"\x82SNAPPY\0";
/// lz4-java allows blocks of up to 32 MiB; snappy-java's are as large as its user wishes.
const MOST_BLOCK: usize = 64 << 20;
const LZ4_SEED: u32 = 0x9747_b28c;

/// Reads one block of a format.
pub trait Format {
    /// Unpacks the next block into `out`, which is empty; false at the end of the stream.
    fn next(&mut self, source: &mut dyn Read, packed: &mut Vec<u8>, out: &mut Vec<u8>) -> io::Result<bool>;
}

/// A stream of blocks as plain bytes.
pub struct Blocks<R, F> {
    source: R,
    format: F,
    packed: Vec<u8>,
    block: Vec<u8>,
    at: usize,
}

impl<R: Read, F: Format> Blocks<R, F> {
    pub fn new(source: R, format: F) -> Blocks<R, F> {
        Blocks {
            source,
            format,
            packed: Vec::new(),
            block: Vec::new(),
            at: 0,
        }
    }
}

impl<R: Read, F: Format> Read for Blocks<R, F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            self.at = 0;
            self.block.clear();
            if !self.format.next(&mut self.source, &mut self.packed, &mut self.block)? {
                return Ok(0);
            }
        }
        let count = into.len().min(self.block.len() - self.at);
        into[..count].copy_from_slice(&self.block[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

fn body(source: &mut dyn Read, length: usize, packed: &mut Vec<u8>) -> io::Result<()> {
    if length > MOST_BLOCK {
        return Err(corrupt(format!(
            "a block of {length} bytes is larger than any that is written"
        )));
    }
    packed.clear();
    // Grows as bytes come: a header that lies about its length allocates nothing.
    let read = source.take(length as u64).read_to_end(packed)?;
    if read < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn room(out: &mut Vec<u8>, length: usize, packed: usize) -> io::Result<()> {
    // No format packs better than 255 to 1.
    if length > MOST_BLOCK || length > packed.saturating_mul(256) + 64 {
        return Err(corrupt(format!("a block of {packed} bytes cannot hold {length}")));
    }
    out.resize(length, 0);
    Ok(())
}

/// lz4-java: magic, token, packed and plain length, xxhash32 of the plain bytes; all little endian.
pub struct Lz4;

impl Format for Lz4 {
    fn next(&mut self, source: &mut dyn Read, packed: &mut Vec<u8>, out: &mut Vec<u8>) -> io::Result<bool> {
        let Some(head) = header::<21>(&mut &mut *source)? else {
            return Ok(false);
        };
        if &head[..8] != LZ4_MAGIC {
            return Err(corrupt("lz4: a block without its magic"));
        }
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (packed_length, length, checksum) = (number(9) as usize, number(13) as usize, number(17));
        body(source, packed_length, packed)?;
        if length == 0 {
            // The mark at the end of a stream; another stream may follow.
            return Ok(true);
        }
        match head[8] & 0xf0 {
            0x10 => out.extend_from_slice(packed),
            0x20 => {
                room(out, length, packed_length)?;
                let written =
                    lz4_flex::block::decompress_into(packed, out).map_err(|error| corrupt(format!("lz4: {error}")))?;
                out.truncate(written);
            }
            _ => return Err(corrupt("lz4: unknown method")),
        }
        if out.len() != length {
            return Err(corrupt("lz4: a block of another length than it says"));
        }
        // lz4-java keeps 28 bits of the hash.
        if xxhash_rust::xxh32::xxh32(out, LZ4_SEED) & 0x0fff_ffff != checksum {
            return Err(corrupt("lz4: wrong checksum"));
        }
        Ok(true)
    }
}

/// snappy-java: a header of 16 bytes, then blocks behind their length (big endian); joined streams repeat the header.
#[derive(Default)]
pub struct Snappy {
    decoder: snap::raw::Decoder,
}

impl Format for Snappy {
    fn next(&mut self, source: &mut dyn Read, packed: &mut Vec<u8>, out: &mut Vec<u8>) -> io::Result<bool> {
        let Some(head) = header::<4>(&mut &mut *source)? else {
            return Ok(false);
        };
        if head == SNAPPY_MAGIC[..4] {
            body(source, 12, packed)?;
            return Ok(true);
        }
        body(source, u32::from_be_bytes(head) as usize, packed)?;
        let wrong = |error: snap::Error| corrupt(format!("snappy: {error}"));
        room(out, snap::raw::decompress_len(packed).map_err(wrong)?, packed.len())?;
        let written = self.decoder.decompress(packed, out).map_err(wrong)?;
        out.truncate(written);
        Ok(true)
    }
}

/// compress-lzf: `ZV`, a type, lengths (big endian), and LZF or raw bytes.
pub struct Lzf;

impl Format for Lzf {
    fn next(&mut self, source: &mut dyn Read, packed: &mut Vec<u8>, out: &mut Vec<u8>) -> io::Result<bool> {
        let Some(head) = header::<5>(&mut &mut *source)? else {
            return Ok(false);
        };
        if &head[..2] != b"ZV" {
            return Err(corrupt("lzf: a chunk without its magic"));
        }
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        match head[2] {
            0 => {
                body(source, length, packed)?;
                out.extend_from_slice(packed);
            }
            1 => {
                let plain = header::<2>(&mut &mut *source)?.ok_or(io::ErrorKind::UnexpectedEof)?;
                body(source, length, packed)?;
                out.resize(usize::from(u16::from_be_bytes(plain)), 0);
                lzf(packed, out).ok_or_else(|| corrupt("lzf: a broken chunk"))?;
            }
            _ => return Err(corrupt("lzf: an unknown kind of chunk")),
        }
        Ok(true)
    }
}

/// Fills `out` from LZF: runs of up to 32 bytes, and references up to 8 KiB back. None when it does not fit exactly.
fn lzf(packed: &[u8], out: &mut [u8]) -> Option<()> {
    let (mut from, mut to) = (0, 0);
    while let Some(&control) = packed.get(from) {
        let control = usize::from(control);
        from += 1;
        if control < 32 {
            let length = control + 1;
            out.get_mut(to..to + length)?
                .copy_from_slice(packed.get(from..from + length)?);
            from += length;
            to += length;
            continue;
        }
        let mut length = (control >> 5) + 2;
        if length == 9 {
            length += usize::from(*packed.get(from)?);
            from += 1;
        }
        let back = ((control & 31) << 8) + usize::from(*packed.get(from)?) + 1;
        from += 1;
        let start = to.checked_sub(back)?;
        if to + length > out.len() {
            return None;
        }
        if back >= length {
            out.copy_within(start..start + length, to);
        } else {
            // The run repeats itself: each byte may be one that was just written.
            for step in 0..length {
                out[to + step] = out[start + step];
            }
        }
        to += length;
    }
    (to == out.len()).then_some(())
}
