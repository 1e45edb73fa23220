//! The three block streams that Spark writes and no crate reads: lz4-java's, snappy-java's and compress-lzf's.
//! Formats: net.jpountz.lz4.LZ4BlockOutputStream, org.xerial.snappy.SnappyOutputStream, com.ning.compress.lzf.LZFChunk.

use std::io::{self, Read};

use super::{Codec, corrupt, header};

pub const LZ4_MAGIC: &[u8] = b"LZ4Block";
pub const SNAPPY_MAGIC: &[u8] = b"\x82SNAPPY\0";
/// lz4-java allows blocks of up to 32 MiB; snappy-java's are as large as its user wishes.
const MOST_BLOCK: usize = 64 << 20;
const LZ4_SEED: u32 = 0x9747_b28c;
const OTHER_LENGTH: &str = "a block of another length than it says";

/// A block as it stands in its stream: `packed` bytes that unpack to `length`.
pub struct Block {
    pub packed: usize,
    pub length: usize,
    /// The bytes are as they were before they were packed.
    stored: bool,
    checksum: Option<u32>,
}

impl Block {
    /// What belongs to the format and holds no bytes.
    const MARK: Block = Block {
        packed: 0,
        length: 0,
        stored: true,
        checksum: None,
    };

    fn new(packed: usize, length: usize) -> io::Result<Block> {
        // No format packs better than 255 to 1.
        if length > MOST_BLOCK || length > packed.saturating_mul(256) + 64 {
            return Err(corrupt(format!("a block of {packed} bytes cannot hold {length}")));
        }
        Ok(Block {
            packed,
            length,
            stored: false,
            checksum: None,
        })
    }
}

/// Reads a format. What must be done in the order of the stream is little; unpacking may be done by many threads.
pub trait Format: Send + Sync {
    /// Appends the next block's packed bytes to `packed`; none at the end of the stream.
    fn take(&self, source: &mut dyn Read, packed: &mut Vec<u8>) -> io::Result<Option<Block>>;

    /// Unpacks a block into `out`, which is as long as the block says.
    fn unpack(&self, block: &Block, packed: &[u8], out: &mut [u8]) -> io::Result<()>;
}

/// How a codec's blocks are read; none for a codec that has none.
pub fn format_of(codec: Codec) -> Option<Box<dyn Format>> {
    match codec {
        Codec::Lz4 => Some(Box::new(Lz4)),
        Codec::Snappy => Some(Box::new(Snappy)),
        Codec::Lzf => Some(Box::new(Lzf)),
        Codec::Plain | Codec::Zstd | Codec::Gzip | Codec::Zip => None,
    }
}

/// Appends a block's bytes; an end before them is told.
fn body(source: &mut dyn Read, length: usize, packed: &mut Vec<u8>) -> io::Result<()> {
    if length > MOST_BLOCK {
        return Err(corrupt(format!(
            "a block of {length} bytes is larger than any that is written"
        )));
    }
    // Grows as bytes come: a header that lies about its length allocates nothing.
    let read = source.take(length as u64).read_to_end(packed)?;
    if read < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Passes over bytes that are no part of a block.
fn pass(source: &mut dyn Read, length: usize) -> io::Result<()> {
    body(source, length, &mut Vec::new())
}

fn copied(packed: &[u8], out: &mut [u8]) -> io::Result<()> {
    if packed.len() != out.len() {
        return Err(corrupt(OTHER_LENGTH));
    }
    out.copy_from_slice(packed);
    Ok(())
}

/// lz4-java: magic, token, packed and plain length, xxhash32 of the plain bytes; all little endian.
pub struct Lz4;

impl Format for Lz4 {
    fn take(&self, source: &mut dyn Read, packed: &mut Vec<u8>) -> io::Result<Option<Block>> {
        let Some(head) = header::<21>(&mut &mut *source)? else {
            return Ok(None);
        };
        if &head[..8] != LZ4_MAGIC {
            return Err(corrupt("lz4: a block without its magic"));
        }
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (packed_length, length, checksum) = (number(9) as usize, number(13) as usize, number(17));
        if length == 0 {
            // The mark at the end of a stream; another stream may follow.
            return pass(source, packed_length).map(|()| Some(Block::MARK));
        }
        let stored = match head[8] & 0xf0 {
            0x10 => true,
            0x20 => false,
            _ => return Err(corrupt("lz4: unknown method")),
        };
        body(source, packed_length, packed)?;
        Ok(Some(Block {
            stored,
            checksum: Some(checksum),
            ..Block::new(packed_length, length)?
        }))
    }

    fn unpack(&self, block: &Block, packed: &[u8], out: &mut [u8]) -> io::Result<()> {
        if block.stored {
            copied(packed, out)?;
        } else {
            let written =
                lz4_flex::block::decompress_into(packed, out).map_err(|error| corrupt(format!("lz4: {error}")))?;
            if written != out.len() {
                return Err(corrupt(OTHER_LENGTH));
            }
        }
        // lz4-java keeps 28 bits of the hash.
        let right = |checksum| xxhash_rust::xxh32::xxh32(out, LZ4_SEED) & 0x0fff_ffff == checksum;
        match block.checksum.is_none_or(right) {
            true => Ok(()),
            false => Err(corrupt("lz4: wrong checksum")),
        }
    }
}

/// snappy-java: a header of 16 bytes, then blocks behind their length (big endian); joined streams repeat the header.
pub struct Snappy;

impl Format for Snappy {
    fn take(&self, source: &mut dyn Read, packed: &mut Vec<u8>) -> io::Result<Option<Block>> {
        let Some(head) = header::<4>(&mut &mut *source)? else {
            return Ok(None);
        };
        if head == SNAPPY_MAGIC[..4] {
            return pass(source, 12).map(|()| Some(Block::MARK));
        }
        let from = packed.len();
        body(source, u32::from_be_bytes(head) as usize, packed)?;
        let packed = &packed[from..];
        let length = snap::raw::decompress_len(packed).map_err(|error| corrupt(format!("snappy: {error}")))?;
        Block::new(packed.len(), length).map(Some)
    }

    fn unpack(&self, block: &Block, packed: &[u8], out: &mut [u8]) -> io::Result<()> {
        if block.stored {
            return copied(packed, out);
        }
        let written = snap::raw::Decoder::new()
            .decompress(packed, out)
            .map_err(|error| corrupt(format!("snappy: {error}")))?;
        match written == out.len() {
            true => Ok(()),
            false => Err(corrupt(OTHER_LENGTH)),
        }
    }
}

/// compress-lzf: `ZV`, a type, lengths (big endian), and LZF or raw bytes.
pub struct Lzf;

impl Format for Lzf {
    fn take(&self, source: &mut dyn Read, packed: &mut Vec<u8>) -> io::Result<Option<Block>> {
        let Some(head) = header::<5>(&mut &mut *source)? else {
            return Ok(None);
        };
        if &head[..2] != b"ZV" {
            return Err(corrupt("lzf: a chunk without its magic"));
        }
        let packed_length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        let (stored, length) = match head[2] {
            0 => (true, packed_length),
            1 => {
                let plain = header::<2>(&mut &mut *source)?.ok_or(io::ErrorKind::UnexpectedEof)?;
                (false, usize::from(u16::from_be_bytes(plain)))
            }
            _ => return Err(corrupt("lzf: an unknown kind of chunk")),
        };
        body(source, packed_length, packed)?;
        Ok(Some(Block {
            packed: packed_length,
            length,
            stored,
            checksum: None,
        }))
    }

    fn unpack(&self, block: &Block, packed: &[u8], out: &mut [u8]) -> io::Result<()> {
        match block.stored {
            true => copied(packed, out),
            false => lzf(packed, out).ok_or_else(|| corrupt("lzf: a broken chunk")),
        }
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
