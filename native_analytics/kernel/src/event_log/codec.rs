//! Decompresses event logs. The container or compression format is detected by the first bytes of a file, never by its
//! name.

mod blocks;
mod prefetch;
mod size_limit;
mod streaming_decompress;
mod zip;

use std::io::{self, BufRead, Read};

use prefetch::PrefetchReader;
pub use size_limit::{SizeLimit, counting};
pub use streaming_decompress::Decompressor;

/// Number of bytes that are needed to detect the codec.
pub const MAGIC: usize = 16;
/// Maximum number of nested containers, such as a zip inside gzip. A file with more nested containers is not an event
/// log.
const MAX_LAYERS: usize = 3;
/// Frames with a larger window are refused. 128 MiB is also the default limit of zstd's command line.
const ZSTD_WINDOW_LOG: u32 = 27;
const BUFFER: usize = 256 << 10;

/// A container or compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    Plain,
    Zstd,
    Gzip,
    /// The format of `LZ4BlockOutputStream` in lz4-java.
    Lz4,
    /// The format of `SnappyOutputStream` in snappy-java, also called xerial.
    Snappy,
    /// Chunks of compress-lzf.
    Lzf,
    /// The first file of a zip archive.
    Zip,
}

impl Codec {
    pub fn detect(magic: &[u8]) -> Codec {
        match magic {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Codec::Zstd,
            // Zstd's skippable frames, which pzstd and some writers of seekable files put at the beginning.
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

/// A source of bytes that may be sent to another thread.
pub type Bytes = Box<dyn Read + Send>;
/// A buffered source of bytes.
pub type Buffered = Box<dyn BufRead + Send>;

/// Returns the decompressed bytes of `source` and its codecs from the outermost to the innermost. An invalid container
/// is reported by the first read. If `with_thread` is true, a second thread decompresses ahead of the reader.
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
            false => Err(corrupt("more than 3 containers inside each other")),
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
    // The buffer of this BufReader is small, so that large reads bypass it.
    Ok(Box::new(io::BufReader::new(stream)))
}

/// A reader that returns its error once, if it has one, and then reports the end of the stream.
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

/// Reads exactly N bytes; `None` if the source ends before the first byte.
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
