//! Files cut into parts at line ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::super::codec::{Bytes, Codec, MAGIC};
use super::super::evidence::FileEvidence;
use super::Source;

/// Large enough that putting parts together costs nothing, small enough that two threads end together.
const LARGEST_PART: u64 = 32 << 20;
const SMALLEST_PART: u64 = 4 << 20;

/// A file, or a part of one, to be read by one thread.
pub(super) struct Part {
    pub file: usize,
    pub content: Content,
}

pub(super) enum Content {
    /// Whole lines of a plain file, from and to.
    Lines(Arc<File>, u64, u64),
    Packed(Bytes),
}

pub(super) fn plan(sources: Vec<Source>, threads: usize) -> io::Result<(Vec<FileEvidence>, Vec<Part>)> {
    let mut files = Vec::new();
    let mut parts = Vec::new();
    for (file, source) in sources.into_iter().enumerate() {
        let (name, content) = match source {
            Source::Reader(name, reader) => (name, vec![Content::Packed(reader)]),
            Source::Path(path) => {
                let name = path.to_string_lossy().into_owned();
                let contents =
                    open(&path, threads).map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
                (name, contents)
            }
        };
        files.push(FileEvidence {
            name,
            ..FileEvidence::default()
        });
        parts.extend(content.into_iter().map(|content| Part { file, content }));
    }
    Ok((files, parts))
}

fn open(path: &PathBuf, threads: usize) -> io::Result<Vec<Content>> {
    let file = File::open(path)?;
    let facts = file.metadata()?;
    if facts.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !facts.is_file() {
        return Ok(vec![Content::Packed(Box::new(file))]);
    }
    let mut magic = [0; MAGIC];
    let count = file.read_at(&mut magic, 0)?;
    if Codec::detect(&magic[..count]) != Codec::Plain {
        return Ok(vec![Content::Packed(Box::new(file))]);
    }
    let length = facts.len();
    let cuts = cuts(&file, length, threads)?;
    let file = Arc::new(file);
    Ok(cuts
        .windows(2)
        .map(|cut| Content::Lines(file.clone(), cut[0], cut[1]))
        .collect())
}

/// Beginnings of lines that cut the file into parts, from 0 to its length.
/// The last parts are the smallest, so that no thread waits long for another one at the end.
fn cuts(file: &File, length: u64, threads: usize) -> io::Result<Vec<u64>> {
    let wanted = |from: u64| ((length - from) / (threads as u64 * 4)).clamp(SMALLEST_PART, LARGEST_PART);
    let mut cuts = vec![0];
    let mut at = wanted(0);
    while at < length {
        let cut = line_start(file, at, length)?;
        if cut < length {
            cuts.push(cut);
        }
        at = cut + wanted(cut);
    }
    cuts.push(length);
    Ok(cuts)
}

/// The beginning of the first line that begins at `at` or behind it.
fn line_start(file: &File, at: u64, length: u64) -> io::Result<u64> {
    let mut from = at - 1;
    let mut piece = vec![0; 16 << 10];
    while from < length {
        let count = file.read_at(&mut piece, from)?;
        if count == 0 {
            break;
        }
        if let Some(end) = memchr::memchr(b'\n', &piece[..count]) {
            return Ok((from + end as u64 + 1).min(length));
        }
        from += count as u64;
    }
    Ok(length)
}
