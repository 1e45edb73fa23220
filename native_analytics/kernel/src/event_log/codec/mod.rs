//! The containers that logs come in, told by their first bytes, never by their name.

mod blocks;
mod bounded;
mod growing;
mod zip;

use std::io::{self, Read};

pub use bounded::Bounded;
pub use growing::Unpacker;

/// Bytes that tell the codec.
pub const MAGIC: usize = 16;
/// A container within a container, as a zip in gzip; deeper ones are no logs.
const MOST_LAYERS: usize = 3;
/// A frame that asks for a larger window is refused: 128 MiB is zstd's own bound without asking.
const ZSTD_WINDOW_LOG: u32 = 27;
const BUFFER: usize = 256 << 10;

/// How bytes are packed.
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
pub type Bytes<'a> = Box<dyn Read + Send + 'a>;

/// Plain bytes of `source`, and its codecs from the outside in; what is wrong with a container is told when it is read.
pub fn unpacked<'a>(source: Bytes<'a>) -> (Bytes<'a>, Vec<Codec>) {
    let mut source = source;
    let mut codecs = Vec::new();
    loop {
        let mut magic = Vec::with_capacity(MAGIC);
        let failed = source.by_ref().take(MAGIC as u64).read_to_end(&mut magic).err();
        let codec = Codec::detect(&magic);
        let whole: Bytes<'a> = Box::new(io::Cursor::new(magic).chain(Failed(failed)).chain(source));
        if codec == Codec::Plain {
            return (whole, codecs);
        }
        let layers = codecs.len();
        codecs.push(codec);
        let inner = match layers < MOST_LAYERS {
            true => unpack(whole, codec),
            false => Err(corrupt("packed more often than any log is")),
        };
        source = match inner {
            Ok(inner) => inner,
            Err(error) => return (Box::new(Failed(Some(error))), codecs),
        };
    }
}

fn unpack<'a>(source: Bytes<'a>, codec: Codec) -> io::Result<Bytes<'a>> {
    let buffered = io::BufReader::with_capacity(BUFFER, source);
    Ok(match codec {
        Codec::Plain => Box::new(buffered),
        Codec::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        Codec::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered)),
        Codec::Lz4 => Box::new(blocks::Blocks::new(buffered, blocks::Lz4)),
        Codec::Snappy => Box::new(blocks::Blocks::new(buffered, blocks::Snappy::default())),
        Codec::Lzf => Box::new(blocks::Blocks::new(buffered, blocks::Lzf)),
        Codec::Zip => zip::first_file(buffered)?,
    })
}

/// Fails once with what it holds, if anything, then ends.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
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
