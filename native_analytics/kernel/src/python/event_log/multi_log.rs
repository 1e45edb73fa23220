//! Reads many logs in parallel, in one call from Python.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{EventLog, catch_panics, read_tables};
use crate::event_log::log::Source;
use crate::event_log::log_tables::LogTables;
use crate::python::event_log::request::{LogFile, parse_options};

/// Returns logs in the order of the request while threads read them in parallel.
#[pyclass(module = "sparkfuse_kernel")]
pub struct EventLogs {
    receiver: Mutex<mpsc::Receiver<(usize, PyResult<LogTables>)>>,
    pending: BTreeMap<usize, PyResult<LogTables>>,
    next: usize,
    count: usize,
}

#[pymethods]
impl EventLogs {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<EventLog>> {
        if self.next == self.count {
            return Ok(None);
        }
        while !self.pending.contains_key(&self.next) {
            let receiver = &self.receiver;
            let received = py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv());
            let (index, log) = received.map_err(|_| PyRuntimeError::new_err("a reading thread failed"))?;
            self.pending.insert(index, log);
        }
        let log = self.pending.remove(&self.next);
        // The position also advances after an error, so that the next call returns the next log.
        self.next += 1;
        log.transpose()?.map(|log| EventLog::new(py, log)).transpose()
    }
}

#[pyfunction]
#[pyo3(signature = (logs, *, threads=2, tables=vec![], environment=vec![], limits=None, batch_rows=65536))]
pub fn read_event_logs(
    logs: Vec<Vec<LogFile>>,
    threads: usize,
    tables: Vec<String>,
    environment: Vec<String>,
    limits: Option<Bound<'_, PyDict>>,
    batch_rows: usize,
) -> PyResult<EventLogs> {
    let options = parse_options(&tables, &environment, limits, None, batch_rows)?;
    let count = logs.len();
    let threads = threads.clamp(1, count.max(1));
    let threads_per_log = if count >= threads { 1 } else { threads };
    let logs: Arc<Vec<Mutex<Option<Vec<Source>>>>> = Arc::new(
        logs.into_iter()
            .map(|files| Mutex::new(Some(files.into_iter().map(Source::from).collect())))
            .collect(),
    );
    let next_log = Arc::new(AtomicUsize::new(0));
    let (results, receiver) = mpsc::sync_channel(threads * 4);
    for _ in 0..threads {
        let (logs, next_log, results, options) = (logs.clone(), next_log.clone(), results.clone(), options.clone());
        thread::spawn(move || {
            loop {
                let index = next_log.fetch_add(1, Ordering::Relaxed);
                let Some(log) = logs.get(index) else { return };
                let sources = log
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take()
                    .unwrap_or_default();
                if results
                    .send((index, catch_panics(|| read_tables(sources, &options, threads_per_log))))
                    .is_err()
                {
                    return;
                }
            }
        });
    }
    Ok(EventLogs {
        receiver: Mutex::new(receiver),
        pending: BTreeMap::new(),
        next: 0,
        count,
    })
}
