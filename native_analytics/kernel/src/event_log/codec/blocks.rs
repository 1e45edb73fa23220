//! The three block formats that Spark writes: those of lz4-java, snappy-java and compress-lzf.
//! Sources: net.jpountz.lz4.LZ4BlockOutputStream, org.xerial.snappy.SnappyOutputStream, com.ning.compress.lzf.LZFChunk.

use std::io::{self, Read};

use super::{Codec, corrupt, header};

pub const LZ4_MAGIC: &[u8] = b"LZ4Block";
pub const SNAPPY_MAGIC: &[u8] = b"\x82SNAPPY\0";
/// lz4-java allows blocks of up to 32 MiB; snappy-java has no limit.
const MAX_BLOCK: usize = 64 << 20;
const LZ4_SEED: u32 = 0x9747_b28c;
const OTHER_LENGTH: &str = "a block whose length differs from its header";

/// One block of a stream, whose `compressed` bytes decompress to `length` bytes.
pub struct Block {
    pub compressed: usize,
    pub length: usize,
    /// The block is stored without compression.
    stored: bool,
    checksum: Option<u32>,
}

impl Block {
    /// A part of the stream that contains no data, such as a header.
    const MARK: Block = Block {
        compressed: 0,
        length: 0,
        stored: true,
        checksum: None,
    };

    fn new(compressed: usize, length: usize) -> io::Result<Block> {
        // No format compresses better than 255 to 1.
        if length > MAX_BLOCK || length > compressed.saturating_mul(256) + 64 {
            return Err(corrupt(format!("a block of {compressed} bytes cannot hold {length}")));
        }
        Ok(Block {
            compressed,
            length,
            stored: false,
            checksum: None,
        })
    }
}

/// Reads one block format. Blocks must be read in the order of the stream; several threads can decompress them.
pub trait Format: Send + Sync {
    /// Appends the next block's compressed bytes to `compressed` and returns the block; `None` at the end of the
    /// stream.
    fn read_block(&self, source: &mut dyn Read, compressed: &mut Vec<u8>) -> io::Result<Option<Block>>;

    /// Decompresses a block into `out`, whose length is the block's `length`.
    fn decompress(&self, block: &Block, compressed: &[u8], out: &mut [u8]) -> io::Result<()>;
}

/// Returns the block format of a codec; `None` if the codec has no independent blocks.
pub fn format_of(codec: Codec) -> Option<Box<dyn Format>> {
    match codec {
        Codec::Lz4 => Some(Box::new(Lz4)),
        Codec::Snappy => Some(Box::new(Snappy)),
        Codec::Lzf => Some(Box::new(Lzf)),
        Codec::Plain | Codec::Zstd | Codec::Gzip | Codec::Zip => None,
    }
}

/// Appends the bytes of a block to `compressed`. Fails if the stream ends inside the block.
fn read_body(source: &mut dyn Read, length: usize, compressed: &mut Vec<u8>) -> io::Result<()> {
    if length > MAX_BLOCK {
        return Err(corrupt(format!(
            "a block of {length} bytes is larger than any that is written"
        )));
    }
    // The buffer grows with the bytes that arrive, so that a wrong length in a header allocates nothing.
    let read = source.take(length as u64).read_to_end(compressed)?;
    if read < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Skips bytes that do not belong to a block.
fn discard(source: &mut dyn Read, length: usize) -> io::Result<()> {
    read_body(source, length, &mut Vec::new())
}

fn copy_stored(compressed: &[u8], out: &mut [u8]) -> io::Result<()> {
    if compressed.len() != out.len() {
        return Err(corrupt(OTHER_LENGTH));
    }
    out.copy_from_slice(compressed);
    Ok(())
}

/// lz4-java: magic, token, compressed length, decompressed length, xxhash32 of the decompressed bytes; little endian.
pub struct Lz4;

impl Format for Lz4 {
    fn read_block(&self, source: &mut dyn Read, compressed: &mut Vec<u8>) -> io::Result<Option<Block>> {
        let Some(head) = header::<21>(&mut &mut *source)? else {
            return Ok(None);
        };
        if &head[..8] != LZ4_MAGIC {
            return Err(corrupt("lz4: a block does not begin with the magic bytes"));
        }
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (compressed_length, length, checksum) = (number(9) as usize, number(13) as usize, number(17));
        if length == 0 {
            // This block marks the end of a stream; another stream may follow.
            return discard(source, compressed_length).map(|()| Some(Block::MARK));
        }
        let stored = match head[8] & 0xf0 {
            0x10 => true,
            0x20 => false,
            _ => return Err(corrupt("lz4: unknown method")),
        };
        read_body(source, compressed_length, compressed)?;
        Ok(Some(Block {
            stored,
            checksum: Some(checksum),
            ..Block::new(compressed_length, length)?
        }))
    }

    fn decompress(&self, block: &Block, compressed: &[u8], out: &mut [u8]) -> io::Result<()> {
        if block.stored {
            copy_stored(compressed, out)?;
        } else {
            let written =
                lz4_flex::block::decompress_into(compressed, out).map_err(|error| corrupt(format!("lz4: {error}")))?;
            if written != out.len() {
                return Err(corrupt(OTHER_LENGTH));
            }
        }
        // lz4-java stores only 28 bits of the hash.
        let right = |checksum| xxhash_rust::xxh32::xxh32(out, LZ4_SEED) & 0x0fff_ffff == checksum;
        match block.checksum.is_none_or(right) {
            true => Ok(()),
            false => Err(corrupt("lz4: wrong checksum")),
        }
    }
}

/// snappy-java: a header of 16 bytes, then blocks; the big-endian length of each block precedes the block. Concatenated
/// streams repeat the header.
pub struct Snappy;

impl Format for Snappy {
    fn read_block(&self, source: &mut dyn Read, compressed: &mut Vec<u8>) -> io::Result<Option<Block>> {
        let Some(head) = header::<4>(&mut &mut *source)? else {
            return Ok(None);
        };
        if head == SNAPPY_MAGIC[..4] {
            return discard(source, 12).map(|()| Some(Block::MARK));
        }
        let from = compressed.len();
        read_body(source, u32::from_be_bytes(head) as usize, compressed)?;
        let compressed = &compressed[from..];
        let length = snap::raw::decompress_len(compressed).map_err(|error| corrupt(format!("snappy: {error}")))?;
        Block::new(compressed.len(), length).map(Some)
    }

    fn decompress(&self, block: &Block, compressed: &[u8], out: &mut [u8]) -> io::Result<()> {
        if block.stored {
            return copy_stored(compressed, out);
        }
        let written = snap::raw::Decoder::new()
            .decompress(compressed, out)
            .map_err(|error| corrupt(format!("snappy: {error}")))?;
        match written == out.len() {
            true => Ok(()),
            false => Err(corrupt(OTHER_LENGTH)),
        }
    }
}

/// compress-lzf: `ZV`, a type, big-endian lengths, and LZF or stored bytes.
pub struct Lzf;

impl Format for Lzf {
    fn read_block(&self, source: &mut dyn Read, compressed: &mut Vec<u8>) -> io::Result<Option<Block>> {
        let Some(head) = header::<5>(&mut &mut *source)? else {
            return Ok(None);
        };
        if &head[..2] != b"ZV" {
            return Err(corrupt("lzf: a chunk does not begin with the magic bytes"));
        }
        let compressed_length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        let (stored, length) = match head[2] {
            0 => (true, compressed_length),
            1 => {
                let plain = header::<2>(&mut &mut *source)?.ok_or(io::ErrorKind::UnexpectedEof)?;
                (false, usize::from(u16::from_be_bytes(plain)))
            }
            _ => return Err(corrupt("lzf: unknown chunk type")),
        };
        read_body(source, compressed_length, compressed)?;
        Ok(Some(Block {
            compressed: compressed_length,
            length,
            stored,
            checksum: None,
        }))
    }

    fn decompress(&self, block: &Block, compressed: &[u8], out: &mut [u8]) -> io::Result<()> {
        match block.stored {
            true => copy_stored(compressed, out),
            false => lzf(compressed, out).ok_or_else(|| corrupt("lzf: invalid chunk")),
        }
    }
}

/// Decompresses LZF into `out`: literal runs of up to 32 bytes, and references up to 8 KiB back. Returns `None` unless
/// the result fills `out` exactly.
fn lzf(compressed: &[u8], out: &mut [u8]) -> Option<()> {
    let (mut from, mut to) = (0, 0);
    while let Some(&control) = compressed.get(from) {
        let control = usize::from(control);
        from += 1;
        if control < 32 {
            let length = control + 1;
            out.get_mut(to..to + length)?
                .copy_from_slice(compressed.get(from..from + length)?);
            from += length;
            to += length;
            continue;
        }
        let mut length = (control >> 5) + 2;
        if length == 9 {
            length += usize::from(*compressed.get(from)?);
            from += 1;
        }
        let back = ((control & 31) << 8) + usize::from(*compressed.get(from)?) + 1;
        from += 1;
        let start = to.checked_sub(back)?;
        if to + length > out.len() {
            return None;
        }
        if back >= length {
            out.copy_within(start..start + length, to);
        } else {
            // The reference overlaps its own output, so bytes are copied one by one.
            for step in 0..length {
                out[to + step] = out[start + step];
            }
        }
        to += length;
    }
    (to == out.len()).then_some(())
}
