//! Whole logs: files cut into parts at line ends, parts read side by side, results put together in the log's order.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;

use arrow_array::RecordBatch;

use super::codec::{self, Bounded, Bytes, Codec, MAGIC};
use super::decoder::Decoder;
use super::evidence::{Evidence, FileEvidence};
use super::options::Options;
use super::tables::Tables;

/// Large enough that putting parts together costs nothing, small enough that two threads end together.
const LARGEST_PART: u64 = 32 << 20;
const SMALLEST_PART: u64 = 4 << 20;
/// Fits the second-level cache with what is made of it.
const PIECE: usize = 256 << 10;
/// Pieces between the thread that unpacks and the one that reads.
const PIECES_AHEAD: usize = 6;

/// One file of a log.
pub enum Source {
    Path(PathBuf),
    Reader(String, Bytes<'static>),
}

/// Where the rows of tasks go as they come, in the log's order.
pub trait TaskSink {
    /// False when nobody wants more.
    fn put(&mut self, ends: Vec<RecordBatch>, starts: Vec<RecordBatch>) -> bool;
}

/// Keeps them.
#[derive(Default)]
pub struct Kept {
    pub ends: Vec<RecordBatch>,
    pub starts: Vec<RecordBatch>,
}

impl TaskSink for Kept {
    fn put(&mut self, ends: Vec<RecordBatch>, starts: Vec<RecordBatch>) -> bool {
        self.ends.extend(ends);
        self.starts.extend(starts);
        true
    }
}

/// What a log says.
#[derive(Default)]
pub struct Log {
    pub tables: Tables,
    pub evidence: Evidence,
}

/// Reads the files of one log. Fails only when a path cannot be opened; what is wrong inside is evidence.
pub fn read_log(
    sources: Vec<Source>,
    options: &Arc<Options>,
    threads: usize,
    sink: &mut dyn TaskSink,
) -> io::Result<Log> {
    let (files, parts) = plan(sources, threads.max(1))?;
    let mut whole = Assembly::new(files, options);
    match (threads.max(1), parts.len()) {
        (1, _) | (_, 1) => {
            for part in parts {
                let done = part.read(options, threads > 1);
                if !whole.add(done, sink) {
                    break;
                }
            }
        }
        (threads, _) => side_by_side(parts, options, threads, &mut whole, sink)?,
    }
    Ok(whole.finish())
}

/// A file, or a part of one, to be read by one thread.
struct Part {
    file: usize,
    content: Content,
}

enum Content {
    /// Whole lines of a plain file, from and to.
    Lines(Arc<File>, u64, u64),
    Packed(Bytes<'static>),
}

/// What became of a part.
struct Done {
    file: usize,
    decoder: Decoder,
    codecs: Vec<Codec>,
    bytes: u64,
    plain_bytes: u64,
    error: Option<io::Error>,
}

fn plan(sources: Vec<Source>, threads: usize) -> io::Result<(Vec<FileEvidence>, Vec<Part>)> {
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
fn cuts(file: &File, length: u64, threads: usize) -> io::Result<Vec<u64>> {
    let wanted = (length / (threads as u64 * 4)).clamp(SMALLEST_PART, LARGEST_PART);
    let mut cuts = vec![0];
    let mut at = wanted;
    while at < length {
        let cut = line_start(file, at, length)?;
        if cut < length {
            cuts.push(cut);
        }
        at = cut.max(at) + wanted;
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

impl Part {
    fn read(self, options: &Arc<Options>, may_thread: bool) -> Done {
        match self.content {
            Content::Lines(file, from, to) => read_lines(self.file, &file, from, to, options),
            Content::Packed(source) => read_packed(self.file, source, options, may_thread),
        }
    }
}

thread_local! {
    /// The piece that this thread reads into: made once, since most logs are small and many.
    static OWN_PIECE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

fn read_lines(number: usize, file: &File, from: u64, to: u64, options: &Arc<Options>) -> Done {
    let mut decoder = Decoder::new(options.clone(), from);
    let mut piece = OWN_PIECE.take();
    piece.resize(PIECE, 0);
    let mut at = from;
    let mut error = None;
    while at < to {
        let wanted = piece.len().min((to - at) as usize);
        match file.read_at(&mut piece[..wanted], at) {
            Ok(0) => {
                error = Some(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "got shorter while it was read",
                ));
                break;
            }
            Ok(count) => {
                decoder.feed(&piece[..count]);
                at += count as u64;
            }
            Err(failed) if failed.kind() == io::ErrorKind::Interrupted => {}
            Err(failed) => {
                error = Some(failed);
                break;
            }
        }
    }
    OWN_PIECE.set(piece);
    decoder.finish();
    decoder.flush();
    Done {
        file: number,
        decoder,
        codecs: Vec::new(),
        bytes: at - from,
        plain_bytes: at - from,
        error,
    }
}

fn read_packed(number: usize, source: Bytes<'static>, options: &Arc<Options>, may_thread: bool) -> Done {
    let (counted, packed_bytes) = Bounded::<Bytes<'static>>::counted(source);
    let mut decoder = Decoder::new(options.clone(), 0);
    let mut plain_bytes = 0;
    let (plain, codecs) = codec::unpacked(Box::new(counted));
    let bounded = Bounded::new(plain, packed_bytes.clone(), options.limits);
    let mut feed = |piece: &[u8]| {
        plain_bytes += piece.len() as u64;
        decoder.feed(piece);
    };
    let error = match may_thread && !codecs.is_empty() {
        true => unpack_beside(bounded, &mut feed),
        false => unpack_here(bounded, &mut feed),
    };
    decoder.finish();
    decoder.flush();
    Done {
        file: number,
        decoder,
        codecs,
        bytes: loaded(&packed_bytes),
        plain_bytes,
        error,
    }
}

fn loaded(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// Fills the piece as far as the source goes; true when it goes on.
fn fill(source: &mut impl Read, piece: &mut [u8], filled: &mut usize) -> io::Result<bool> {
    *filled = 0;
    while *filled < piece.len() {
        match source.read(&mut piece[*filled..]) {
            Ok(0) => return Ok(false),
            Ok(count) => *filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn unpack_here(mut source: impl Read, feed: &mut dyn FnMut(&[u8])) -> Option<io::Error> {
    let mut piece = vec![0; PIECE];
    loop {
        let mut filled = 0;
        let went = fill(&mut source, &mut piece, &mut filled);
        feed(&piece[..filled]);
        match went {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(error),
        }
    }
}

/// One thread unpacks, this one reads; pieces go round.
fn unpack_beside(mut source: impl Read + Send, feed: &mut dyn FnMut(&[u8])) -> Option<io::Error> {
    let (full, filled_pieces) = mpsc::sync_channel::<(Vec<u8>, usize, io::Result<bool>)>(PIECES_AHEAD);
    let (empty, empty_pieces) = mpsc::channel::<Vec<u8>>();
    for _ in 0..PIECES_AHEAD {
        let _ = empty.send(vec![0; PIECE]);
    }
    thread::scope(|scope| {
        scope.spawn(move || {
            while let Ok(mut piece) = empty_pieces.recv() {
                let mut filled = 0;
                let went = fill(&mut source, &mut piece, &mut filled);
                let ends = !matches!(went, Ok(true));
                if full.send((piece, filled, went)).is_err() || ends {
                    return;
                }
            }
        });
        for (piece, filled, went) in filled_pieces {
            feed(&piece[..filled]);
            match went {
                Ok(true) => {
                    let _ = empty.send(piece);
                }
                Ok(false) => return None,
                Err(error) => return Some(error),
            }
        }
        // The other thread ended without a last word.
        Some(io::Error::other("unpacking failed"))
    })
}

/// Puts the parts of a log together, in their order.
struct Assembly {
    files: Vec<FileEvidence>,
    most_details: usize,
    log: Log,
}

impl Assembly {
    fn new(files: Vec<FileEvidence>, options: &Options) -> Assembly {
        Assembly {
            files,
            most_details: options.limits.detail_bytes,
            log: Log::default(),
        }
    }

    fn add(&mut self, mut done: Done, sink: &mut dyn TaskSink) -> bool {
        let file = &mut self.files[done.file];
        for bad in &mut done.decoder.evidence.bad_lines {
            bad.file = done.file;
            bad.line += file.lines;
        }
        if file.codec.is_empty() {
            let names: Vec<&str> = done.codecs.iter().map(|codec| codec.name()).collect();
            file.codec = if names.is_empty() {
                Codec::Plain.name().to_owned()
            } else {
                names.join("+")
            };
        }
        file.bytes += done.bytes;
        file.plain_bytes += done.plain_bytes;
        file.lines += done.decoder.lines();
        file.truncated |= done.decoder.is_torn() || done.error.is_some();
        if let Some(error) = done.error {
            file.error = Some(error.to_string());
        }
        self.log.evidence.append(done.decoder.evidence);
        self.log.evidence.left_out += self.log.tables.append(done.decoder.tables, self.most_details);
        sink.put(done.decoder.task_batches, done.decoder.task_start_batches)
    }

    fn finish(mut self) -> Log {
        self.log.evidence.files = self.files;
        self.log
    }
}

/// How far the parts may run ahead of the one that is put together next.
struct Gate {
    next: Mutex<usize>,
    moved: Condvar,
    ahead: usize,
}

impl Gate {
    fn wait_for(&self, place: usize) {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            self.moved
                .wait_while(next, |next| place >= next.saturating_add(self.ahead)),
        );
    }

    fn pass(&self, next: usize) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = next;
        self.moved.notify_all();
    }
}

/// Opens the gate for good, also when the assembling thread panics: nobody may wait for it then.
struct Opened<'g>(&'g Gate);

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.0.pass(usize::MAX);
    }
}

fn side_by_side(
    parts: Vec<Part>,
    options: &Arc<Options>,
    threads: usize,
    whole: &mut Assembly,
    sink: &mut dyn TaskSink,
) -> io::Result<()> {
    let count = parts.len();
    let parts: Vec<Mutex<Option<Part>>> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    let taken = AtomicUsize::new(0);
    let gate = Gate {
        next: Mutex::new(0),
        moved: Condvar::new(),
        ahead: threads * 2,
    };
    let (finished, arrived) = mpsc::channel::<(usize, Done)>();
    let work = |finished: mpsc::Sender<(usize, Done)>| {
        loop {
            let place = taken.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(place) else { return };
            gate.wait_for(place);
            let part = part.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(part) = part else { return };
            if finished.send((place, part.read(options, false))).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let opened = Opened(&gate);
        for _ in 0..threads.min(count) {
            let finished = finished.clone();
            scope.spawn(|| work(finished));
        }
        drop(finished);
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        for (place, done) in arrived {
            waiting.insert(place, done);
            while let Some(done) = waiting.remove(&next) {
                if !whole.add(done, sink) {
                    taken.store(count, Ordering::Relaxed);
                    return Ok(());
                }
                next += 1;
                gate.pass(next);
            }
        }
        drop(opened);
        if next == count {
            Ok(())
        } else {
            Err(io::Error::other("a reading thread failed"))
        }
    })
}
