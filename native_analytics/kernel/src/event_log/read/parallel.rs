//! Reads splits on several threads, and limits how far the threads may be ahead of the merged result.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;

use crate::event_log::log::TaskSink;
use crate::event_log::options::Options;
use crate::event_log::read::assembler::LogAssembler;
use crate::event_log::read::read_split::SplitResult;
use crate::event_log::read::splits::FileSplit;

/// Limits how many splits may be read before the next split is merged.
struct ReadAheadLimit {
    next: Mutex<usize>,
    moved: Condvar,
    ahead: usize,
}

impl ReadAheadLimit {
    fn wait_for(&self, index: usize) {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            self.moved
                .wait_while(next, |next| index >= next.saturating_add(self.ahead)),
        );
    }

    fn advance(&self, next: usize) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = next;
        self.moved.notify_all();
    }
}

/// Releases all waiting threads when it is dropped, even after a panic of the merging thread.
struct ReleaseOnDrop<'g>(&'g ReadAheadLimit);

impl Drop for ReleaseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.advance(usize::MAX);
    }
}

pub(super) fn read_parallel(
    splits: Vec<FileSplit>,
    options: &Arc<Options>,
    threads: usize,
    assembler: &mut LogAssembler,
    sink: &mut dyn TaskSink,
) -> io::Result<()> {
    let count = splits.len();
    let splits: Vec<Mutex<Option<FileSplit>>> = splits.into_iter().map(|split| Mutex::new(Some(split))).collect();
    let next_split = AtomicUsize::new(0);
    let limit = ReadAheadLimit {
        next: Mutex::new(0),
        moved: Condvar::new(),
        ahead: threads * 2,
    };
    let (finished, arrived) = mpsc::channel::<(usize, SplitResult)>();
    let work = |finished: mpsc::Sender<(usize, SplitResult)>| {
        loop {
            let index = next_split.fetch_add(1, Ordering::Relaxed);
            let Some(split) = splits.get(index) else { return };
            limit.wait_for(index);
            let split = split.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(split) = split else { return };
            if finished.send((index, split.read(options, false))).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let release = ReleaseOnDrop(&limit);
        for _ in 0..threads.min(count) {
            let finished = finished.clone();
            scope.spawn(|| work(finished));
        }
        drop(finished);
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        for (index, done) in arrived {
            waiting.insert(index, done);
            while let Some(done) = waiting.remove(&next) {
                if !assembler.add(done, sink) {
                    next_split.store(count, Ordering::Relaxed);
                    return Ok(());
                }
                next += 1;
                limit.advance(next);
            }
        }
        drop(release);
        if next == count {
            Ok(())
        } else {
            Err(io::Error::other("a reading thread failed"))
        }
    })
}
