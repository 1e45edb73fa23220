//! Cuts files into splits at line ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::event_log::codec::{Bytes, Codec, MAGIC};
use crate::event_log::evidence::FileEvidence;
use crate::event_log::log::Source;

/// Limits of the size of a split: large enough that merging costs little, small enough that all threads finish at about
/// the same time.
const MAX_SPLIT_BYTES: u64 = 32 << 20;
const MIN_SPLIT_BYTES: u64 = 4 << 20;

/// A file, or a part of one, that one thread reads.
pub(super) struct FileSplit {
    pub file: usize,
    pub content: SplitContent,
}

pub(super) enum SplitContent {
    /// Whole lines of an uncompressed file, from one offset to another.
    Lines(Arc<File>, u64, u64),
    Compressed(Bytes),
}

pub(super) fn plan_splits(sources: Vec<Source>, threads: usize) -> io::Result<(Vec<FileEvidence>, Vec<FileSplit>)> {
    let mut files = Vec::new();
    let mut splits = Vec::new();
    for (file, source) in sources.into_iter().enumerate() {
        let (name, content) = match source {
            Source::Reader(name, reader) => (name, vec![SplitContent::Compressed(reader)]),
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
        splits.extend(content.into_iter().map(|content| FileSplit { file, content }));
    }
    Ok((files, splits))
}

fn open(path: &PathBuf, threads: usize) -> io::Result<Vec<SplitContent>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Ok(vec![SplitContent::Compressed(Box::new(file))]);
    }
    let mut magic = [0; MAGIC];
    let count = file.read_at(&mut magic, 0)?;
    if Codec::detect(&magic[..count]) != Codec::Plain {
        return Ok(vec![SplitContent::Compressed(Box::new(file))]);
    }
    let length = metadata.len();
    let split_offsets = split_offsets(&file, length, threads)?;
    let file = Arc::new(file);
    Ok(split_offsets
        .windows(2)
        .map(|cut| SplitContent::Lines(file.clone(), cut[0], cut[1]))
        .collect())
}

/// Returns the offsets of the line starts at which the file is cut into splits, from 0 to the file's length. The last
/// splits are the smallest, so that all threads finish at about the same time.
fn split_offsets(file: &File, length: u64, threads: usize) -> io::Result<Vec<u64>> {
    let wanted = |from: u64| ((length - from) / (threads as u64 * 4)).clamp(MIN_SPLIT_BYTES, MAX_SPLIT_BYTES);
    let mut split_offsets = vec![0];
    let mut at = wanted(0);
    while at < length {
        let cut = line_start(file, at, length)?;
        if cut < length {
            split_offsets.push(cut);
        }
        at = cut + wanted(cut);
    }
    split_offsets.push(length);
    Ok(split_offsets)
}

/// Returns the offset of the first line that begins at `at` or later.
fn line_start(file: &File, at: u64, length: u64) -> io::Result<u64> {
    let mut from = at - 1;
    let mut buffer = vec![0; 16 << 10];
    while from < length {
        let count = file.read_at(&mut buffer, from)?;
        if count == 0 {
            break;
        }
        if let Some(end) = memchr::memchr(b'\n', &buffer[..count]) {
            return Ok((from + end as u64 + 1).min(length));
        }
        from += count as u64;
    }
    Ok(length)
}
