//! The containers that logs come in, told by their first bytes, never by their name.

mod blocks;
mod prefetch;
mod size_limit;
mod streaming_decompress;
mod zip;

use std::io::{self, BufRead, Read};

use prefetch::PrefetchReader;
pub use size_limit::{SizeLimit, counting};
pub use streaming_decompress::Decompressor;

/// Bytes that tell the codec.
pub const MAGIC: usize = 16;
/// A container within a container, as a zip in gzip; deeper ones are no logs.
const MAX_LAYERS: usize = 3;
/// A frame that asks for a larger window is refused: 128 MiB is zstd's own size_limit without asking.
const ZSTD_WINDOW_LOG: u32 = 27;
const BUFFER: usize = 256 << 10;

/// How bytes are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    Plain,
    Zstd,
    Gzip,
    /// lz4-java's `LZ4BlockOutputStream`.
    Lz4,
    /// snappy-java's `SnappyOutputStream`, also called xerial.
    Snappy,
    /// compress-lzf's chunks.
    Lzf,
    /// The first file in a zip.
    Zip,
}

impl Codec {
    pub fn detect(magic: &[u8]) -> Codec {
        match magic {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Codec::Zstd,
            // zstd's skippable frames, which pzstd and seekable writers put first
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Codec::Zstd,
            [0x1f, 0x8b, ..] => Codec::Gzip,
            [b'Z', b'V', 0 | 1, ..] => Codec::Lzf,
            [b'P', b'K', 3, 4, ..] => Codec::Zip,
            _ if magic.starts_with(blocks::LZ4_MAGIC) => Codec::Lz4,
            _ if magic.starts_with(blocks::SNAPPY_MAGIC) => Codec::Snappy,
            _ => Codec::Plain,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Codec::Plain => "plain",
            Codec::Zstd => "zstd",
            Codec::Gzip => "gzip",
            Codec::Lz4 => "lz4",
            Codec::Snappy => "snappy",
            Codec::Lzf => "lzf",
            Codec::Zip => "zip",
        }
    }
}

/// A source of bytes that may cross threads.
pub type Bytes = Box<dyn Read + Send>;
/// Bytes that are read where they stand.
pub type Buffered = Box<dyn BufRead + Send>;

/// Plain bytes of `source`, and its codecs from the outside in; what is wrong with a container is told when it is read.
/// `with_thread`: a thread unpacks ahead of whoever reads them.
pub fn decompressed(source: Bytes, with_thread: bool) -> (Buffered, Vec<Codec>) {
    let mut source: Buffered = Box::new(io::BufReader::with_capacity(BUFFER, source));
    let mut codecs = Vec::new();
    loop {
        let mut magic = Vec::with_capacity(MAGIC);
        let failed = source.by_ref().take(MAGIC as u64).read_to_end(&mut magic).err();
        let codec = Codec::detect(&magic);
        let whole: Buffered = Box::new(io::Cursor::new(magic).chain(Failed(failed)).chain(source));
        if codec == Codec::Plain {
            let ahead = codecs.last().is_some_and(|codec| blocks::format_of(*codec).is_some());
            let plain = match ahead {
                true => whole,
                false => Box::new(PrefetchReader::new(whole, None, with_thread)),
            };
            return (plain, codecs);
        }
        let layers = codecs.len();
        codecs.push(codec);
        let inner = match layers < MAX_LAYERS {
            true => open_layer(whole, codec, with_thread),
            false => Err(corrupt("compressed more often than any log is")),
        };
        source = match inner {
            Ok(inner) => inner,
            Err(error) => return (Box::new(Failed(Some(error))), codecs),
        };
    }
}

fn open_layer(source: Buffered, codec: Codec, with_thread: bool) -> io::Result<Buffered> {
    let stream: Bytes = match codec {
        Codec::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(source)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        Codec::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
        Codec::Zip => zip::first_file(source)?,
        Codec::Lz4 | Codec::Snappy | Codec::Lzf => {
            return Ok(Box::new(PrefetchReader::new(
                source,
                blocks::format_of(codec),
                with_thread,
            )));
        }
        Codec::Plain => return Ok(source),
    };
    // Small, so that large reads pass it by.
    Ok(Box::new(io::BufReader::new(stream)))
}

/// Fails once with what it holds, if anything, then ends.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

impl BufRead for Failed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.take().map_or(Ok(&[]), Err)
    }

    fn consume(&mut self, _: usize) {}
}

fn corrupt(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.into())
}

/// Reads exactly this many bytes; none when the source has ended before the first.
fn header<const N: usize>(source: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match source.read(&mut bytes[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(bytes))
}
