//! Parts read by several threads, which do not run far ahead of the one that is put together next.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;

use super::super::options::Options;
use super::TaskSink;
use super::assembly::Assembly;
use super::one::Done;
use super::part::Part;

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

pub(super) fn side_by_side(
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
