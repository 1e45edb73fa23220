//! Decompresses a file while it grows: takes compressed bytes in pieces of any size, and returns decompressed bytes. An
//! incomplete block stays buffered until its end arrives.

use std::io::{self, Cursor, Write};

use super::{Codec, MAGIC, ZSTD_WINDOW_LOG, corrupt};
use crate::event_log::codec::blocks::{Format, format_of};

/// Maximum number of decompressed bytes for each compressed byte of one piece, as in `Limits::ratio`.
const RATIO: usize = 1_100;
/// Number of bytes by which the decompressed bytes of a piece may exceed `RATIO`, because the decoder also returns
/// bytes of earlier pieces.
const SLACK: usize = 16 << 20;

/// Decompresses one growing file.
pub struct Decompressor {
    head: Vec<u8>,
    stream: Stream,
    compressed: u64,
    plain: u64,
}

enum Stream {
    /// There are too few bytes to detect the codec.
    Unknown,
    Plain,
    Zstd(Box<zstd::stream::write::Decoder<'static, Sink>>),
    Gzip(Box<flate2::write::MultiGzDecoder<Sink>>),
    Blocks(Codec, Blocks),
    Broken,
}

/// Independent blocks; `incomplete` holds the beginning of a block whose end has not arrived.
struct Blocks {
    format: Box<dyn Format>,
    incomplete: Vec<u8>,
    compressed: Vec<u8>,
    block: Vec<u8>,
}

/// Collects decompressed bytes up to a limit.
#[derive(Default)]
struct Sink {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(corrupt(format!("decompresses to more than {RATIO} times its size")));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decompressor {
    /// Creates a decompressor that starts at the beginning of a file.
    pub fn new() -> Decompressor {
        Decompressor {
            head: Vec::new(),
            stream: Stream::Unknown,
            compressed: 0,
            plain: 0,
        }
    }

    /// Creates a decompressor that continues at a boundary of an earlier one of the same file; `None` for codecs
    /// without boundaries.
    pub fn from_boundary(codec: &str) -> Option<Decompressor> {
        let codec = [Codec::Plain, Codec::Lz4, Codec::Snappy, Codec::Lzf]
            .into_iter()
            .find(|known| known.name() == codec)?;
        let mut decompressor = Decompressor::new();
        decompressor.stream = stream_of(codec).ok()?;
        Some(decompressor)
    }

    /// Name of the codec, once it is known.
    pub fn codec(&self) -> Option<&'static str> {
        match &self.stream {
            Stream::Unknown | Stream::Broken => None,
            Stream::Plain => Some(Codec::Plain.name()),
            Stream::Zstd(_) => Some(Codec::Zstd.name()),
            Stream::Gzip(_) => Some(Codec::Gzip.name()),
            Stream::Blocks(codec, _) => Some(codec.name()),
        }
    }

    /// Compressed and decompressed bytes that a later decompressor can skip; zero if it must start at the beginning.
    pub fn boundary(&self) -> (u64, u64) {
        match &self.stream {
            Stream::Plain => (self.compressed, self.plain),
            Stream::Blocks(_, blocks) => (self.compressed - blocks.incomplete.len() as u64, self.plain),
            _ => (0, 0),
        }
    }

    /// Returns the decompressed bytes that this piece completes. After an error, every further call fails.
    pub fn feed(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        self.compressed += piece.len() as u64;
        let result = match self.stream {
            Stream::Unknown => self.begin(piece),
            _ => self.stream.feed(piece),
        };
        match &result {
            Ok(plain) => self.plain += plain.len() as u64,
            Err(_) => self.stream = Stream::Broken,
        }
        result
    }

    fn begin(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        self.head.extend_from_slice(piece);
        if self.head.len() < MAGIC {
            return Ok(Vec::new());
        }
        let head = std::mem::take(&mut self.head);
        self.stream = stream_of(Codec::detect(&head))?;
        self.stream.feed(&head)
    }
}

impl Default for Decompressor {
    fn default() -> Decompressor {
        Decompressor::new()
    }
}

fn stream_of(codec: Codec) -> io::Result<Stream> {
    if let Some(format) = format_of(codec) {
        let blocks = Blocks {
            format,
            incomplete: Vec::new(),
            compressed: Vec::new(),
            block: Vec::new(),
        };
        return Ok(Stream::Blocks(codec, blocks));
    }
    Ok(match codec {
        Codec::Zstd => {
            let mut decoder = zstd::stream::write::Decoder::new(Sink::default())?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Stream::Zstd(Box::new(decoder))
        }
        Codec::Gzip => Stream::Gzip(Box::new(flate2::write::MultiGzDecoder::new(Sink::default()))),
        Codec::Zip => return Err(corrupt("zip: a growing archive cannot be read")),
        _ => Stream::Plain,
    })
}

impl Stream {
    fn feed(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        let most = piece.len().saturating_mul(RATIO) + SLACK;
        match self {
            Stream::Unknown | Stream::Broken => Err(corrupt("the file was invalid before this piece")),
            Stream::Plain => Ok(piece.to_vec()),
            Stream::Zstd(decoder) => {
                decoder.get_mut().most = most;
                decoder.write_all(piece)?;
                decoder.flush()?;
                Ok(std::mem::take(&mut decoder.get_mut().bytes))
            }
            Stream::Gzip(decoder) => {
                decoder.get_mut().most = most;
                decoder.write_all(piece)?;
                decoder.flush()?;
                Ok(std::mem::take(&mut decoder.get_mut().bytes))
            }
            Stream::Blocks(_, blocks) => blocks.feed(piece, most),
        }
    }
}

impl Blocks {
    fn feed(&mut self, piece: &[u8], most: usize) -> io::Result<Vec<u8>> {
        self.incomplete.extend_from_slice(piece);
        let mut out = Sink {
            bytes: Vec::new(),
            most,
        };
        let mut at = 0;
        loop {
            let mut source = Cursor::new(&self.incomplete[at..]);
            self.compressed.clear();
            let block = match self.format.read_block(&mut source, &mut self.compressed) {
                Ok(Some(block)) => block,
                Ok(None) => break,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            };
            at += source.position() as usize;
            self.block.resize(block.length, 0);
            self.format.decompress(&block, &self.compressed, &mut self.block)?;
            out.write_all(&self.block)?;
        }
        self.incomplete.drain(..at);
        Ok(out.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes blocks like LZ4BlockOutputStream, without compression.
    fn lz4(plain: &[u8], block: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for part in plain.chunks(block) {
            out.extend_from_slice(b"LZ4Block\x10");
            out.extend_from_slice(&(part.len() as u32).to_le_bytes());
            out.extend_from_slice(&(part.len() as u32).to_le_bytes());
            let hash = xxhash_rust::xxh32::xxh32(part, 0x9747_b28c) & 0x0fff_ffff;
            out.extend_from_slice(&hash.to_le_bytes());
            out.extend_from_slice(part);
        }
        out
    }

    fn snappy(plain: &[u8], block: usize) -> Vec<u8> {
        let mut out = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
        for part in plain.chunks(block) {
            let compressed = snap::raw::Encoder::new().compress_vec(part).unwrap();
            out.extend_from_slice(&(compressed.len() as u32).to_be_bytes());
            out.extend_from_slice(&compressed);
        }
        out
    }

    fn lzf(plain: &[u8], block: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for part in plain.chunks(block) {
            out.extend_from_slice(b"ZV\0");
            out.extend_from_slice(&(part.len() as u16).to_be_bytes());
            out.extend_from_slice(part);
        }
        out
    }

    fn gzip(plain: &[u8], block: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for part in plain.chunks(block) {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(part).unwrap();
            out.extend(encoder.finish().unwrap());
        }
        out
    }

    /// Writes one frame, and flushes it after each block as Spark's writer does.
    fn zstd_frames(plain: &[u8], block: usize) -> Vec<u8> {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        for part in plain.chunks(block) {
            encoder.write_all(part).unwrap();
            encoder.flush().unwrap();
        }
        encoder.finish().unwrap()
    }

    fn compressed(codec: &str, plain: &[u8], block: usize) -> Vec<u8> {
        match codec {
            "lz4" => lz4(plain, block),
            "snappy" => snappy(plain, block),
            "lzf" => lzf(plain, block),
            "gzip" => gzip(plain, block),
            "zstd" => zstd_frames(plain, block),
            _ => plain.to_vec(),
        }
    }

    const CODECS: [&str; 6] = ["plain", "zstd", "gzip", "lz4", "snappy", "lzf"];

    proptest! {
        /// The decompressed bytes do not depend on how the file is cut into pieces, and no byte is returned twice.
        #[test]
        fn any_piece_size_gives_the_same_bytes(
            text in "\\{[a-z\"]{40,400}", block in 20usize..90, cuts in prop::collection::vec(1usize..60, 1..80),
        ) {
            for codec in CODECS {
                let file = compressed(codec, text.as_bytes(), block);
                let mut decompressor = Decompressor::new();
                let mut plain = Vec::new();
                let (mut at, mut turn) = (0, 0);
                while at < file.len() {
                    let end = (at + cuts[turn % cuts.len()]).min(file.len());
                    plain.extend(decompressor.feed(&file[at..end]).unwrap());
                    (at, turn) = (end, turn + 1);
                }
                prop_assert_eq!(&plain, text.as_bytes(), "{}", codec);
                prop_assert_eq!(decompressor.codec(), Some(codec));
            }
        }

        /// A decompressor that starts at a boundary returns the remaining bytes.
        #[test]
        fn decompression_resumes_at_a_boundary(text in "\\{[a-z]{60,300}", block in 10usize..70, cut in 20usize..200) {
            for codec in ["plain", "lz4", "snappy", "lzf"] {
                let file = compressed(codec, text.as_bytes(), block);
                let mut first = Decompressor::new();
                first.feed(&file[..cut.min(file.len())]).unwrap();
                let (at, plain) = first.boundary();
                let mut second = Decompressor::from_boundary(codec).unwrap();
                let rest = second.feed(&file[at as usize..]).unwrap();
                prop_assert_eq!(&rest[..], &text.as_bytes()[plain as usize..], "{}", codec);
            }
        }

        /// Random bytes produce an error or bytes, never a panic.
        #[test]
        fn random_bytes_never_panic(magic in 0usize..5, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let magics: [&[u8]; 5] = [b"", b"LZ4Block", b"\x82SNAPPY\0", b"ZV\x01", &[0x28, 0xb5, 0x2f, 0xfd]];
            let mut decompressor = Decompressor::new();
            if decompressor.feed(magics[magic]).is_ok() {
                let _ = decompressor.feed(&bytes);
            }
        }
    }

    #[test]
    fn incomplete_block_stays_buffered() {
        let file = lz4(b"{\"Event\":\"one\"}\n{\"Event\":\"two\"}\n", 16);
        let mut decompressor = Decompressor::new();
        assert_eq!(decompressor.feed(&file[..40]).unwrap(), b"{\"Event\":\"one\"}\n");
        assert_eq!(decompressor.boundary(), (37, 16));
        assert_eq!(decompressor.feed(&file[40..]).unwrap(), b"{\"Event\":\"two\"}\n");
    }

    #[test]
    fn wrong_checksum_is_an_error() {
        let mut file = lz4(b"{\"Event\":\"one\"}\n", 16);
        file[25] ^= 1;
        let mut decompressor = Decompressor::new();
        assert_eq!(decompressor.feed(&file).unwrap_err().to_string(), "lz4: wrong checksum");
        assert_eq!(
            decompressor.feed(b"more").unwrap_err().to_string(),
            "the file was invalid before this piece"
        );
    }

    #[test]
    fn decompression_bomb_is_refused() {
        let bomb = zstd::stream::encode_all(io::repeat(b'a').take_(600 << 20), 1).unwrap();
        let mut decompressor = Decompressor::new();
        let fed: io::Result<Vec<Vec<u8>>> = bomb.chunks(16 << 10).map(|piece| decompressor.feed(piece)).collect();
        assert!(fed.unwrap_err().to_string().contains("more than 1100 times"));
    }

    trait Take_: io::Read + Sized {
        fn take_(self, most: u64) -> io::Take<Self> {
            io::Read::take(self, most)
        }
    }

    impl<R: io::Read> Take_ for R {}
}
