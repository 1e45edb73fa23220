//! Reads the first file of a zip archive from its local header, so that a zip inside gzip needs no seeking.
//! Format: PKWARE's APPNOTE.TXT, section 4.3.7.

use std::io::{self, BufRead, Read};

use super::{Bytes, corrupt, header};

const SIGNATURE: [u8; 4] = *b"PK\x03\x04";
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const SIZES_FOLLOW: u16 = 1 << 3;
const ENCRYPTED: u16 = 1;
/// Maximum number of folder entries before the first file; an archive with more folder entries is not an event log.
const MAX_FOLDERS: usize = 64;

pub fn first_file(mut source: impl BufRead + Send + 'static) -> io::Result<Bytes> {
    for _ in 0..MAX_FOLDERS {
        let head = header::<30>(&mut source)?.ok_or_else(|| corrupt("zip: empty"))?;
        if head[..4] != SIGNATURE {
            return Err(corrupt("zip: no file entry"));
        }
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let (flags, method) = (short(6), short(8));
        let compressed = u32::from_le_bytes([head[18], head[19], head[20], head[21]]);
        let mut name = Vec::new();
        source.by_ref().take(u64::from(short(26))).read_to_end(&mut name)?;
        io::copy(&mut source.by_ref().take(u64::from(short(28))), &mut io::sink())?;
        if name.ends_with(b"/") {
            io::copy(&mut source.by_ref().take(u64::from(compressed)), &mut io::sink())?;
            continue;
        }
        if flags & ENCRYPTED != 0 {
            return Err(corrupt("zip: encrypted"));
        }
        return match method {
            DEFLATED => Ok(Box::new(flate2::bufread::DeflateDecoder::new(source))),
            STORED if flags & SIZES_FOLLOW == 0 => Ok(Box::new(source.take(u64::from(compressed)))),
            _ => Err(corrupt(format!(
                "zip: method {method} is not supported without seeking"
            ))),
        };
    }
    Err(corrupt("zip: no file among the first 64 entries"))
}
