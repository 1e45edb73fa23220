//! The Python functions and classes for event logs: one whole log, many logs, a stream of task rows, and a log that
//! grows.

mod fact_translation;
mod incremental;
mod multi_log;
mod request;
mod task_stream;

use std::collections::HashSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::event_log::log::{Source, TaskBatches};
use crate::event_log::log_tables::{EvidenceSummary, LogTables};
use crate::event_log::options::Options;
use crate::event_log::read::read_log;
use crate::python::Batches;
pub use fact_translation::{FactTranslator, NoApplicationError};
pub use incremental::{Decompressor, EventLogDecoder};
pub use multi_log::{EventLogs, read_event_logs};
use request::{LogFile, parse_options};
pub use task_stream::{EventLogStream, open_event_log};

/// The tables and the evidence of one log.
#[pyclass(frozen, module = "sparkfuse_kernel")]
pub struct EventLog {
    tables: Vec<(&'static str, Py<Batches>)>,
    evidence: EvidenceSummary,
}

impl EventLog {
    fn new(py: Python<'_>, log: LogTables) -> PyResult<EventLog> {
        let tables = log
            .tables
            .into_iter()
            .map(|(name, table)| Ok((name, Py::new(py, Batches::new(table))?)))
            .collect::<PyResult<_>>()?;
        Ok(EventLog {
            tables,
            evidence: log.evidence,
        })
    }
}

#[pymethods]
impl EventLog {
    /// Returns a table by name.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<Batches>>> {
        match self.tables.iter().find(|(known, _)| *known == name) {
            Some((_, table)) => Ok(Some(table.clone_ref(py))),
            None if name == "tasks" || name == "task_starts" => Ok(None),
            None => Err(pyo3::exceptions::PyAttributeError::new_err(format!(
                "an event log has no table {name:?}"
            ))),
        }
    }

    #[getter]
    fn evidence<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = &self.evidence;
        let files = PyList::empty(py);
        for file in &summary.files {
            let entry = PyDict::new(py);
            entry.set_item("name", &file.name)?;
            entry.set_item("codec", &file.codec)?;
            entry.set_item("bytes", file.bytes)?;
            entry.set_item("plain_bytes", file.plain_bytes)?;
            entry.set_item("lines", file.lines)?;
            entry.set_item("truncated", file.truncated)?;
            entry.set_item("error", &file.error)?;
            files.append(entry)?;
        }
        let bad_lines = PyList::empty(py);
        for bad in &summary.bad_lines {
            let entry = PyDict::new(py);
            entry.set_item("file", summary.files.get(bad.file).map_or("", |file| &file.name))?;
            entry.set_item("line", bad.line)?;
            entry.set_item("offset", bad.offset)?;
            entry.set_item("reason", &bad.reason)?;
            bad_lines.append(entry)?;
        }
        let kinds = PyDict::new(py);
        for (name, count) in &summary.kinds {
            kinds.set_item(name, count)?;
        }
        let evidence = PyDict::new(py);
        evidence.set_item("files", files)?;
        evidence.set_item("plain_bytes", summary.plain_bytes)?;
        evidence.set_item("events", summary.events)?;
        evidence.set_item("events_by_kind", kinds)?;
        evidence.set_item("malformed", summary.malformed)?;
        evidence.set_item("malformed_lines", bad_lines)?;
        evidence.set_item("truncated", summary.truncated)?;
        evidence.set_item("complete", summary.complete)?;
        evidence.set_item("unfinished_tasks", summary.unfinished_tasks)?;
        evidence.set_item("duplicate_task_ends", summary.duplicate_task_ends)?;
        evidence.set_item("odd_values", summary.odd_values)?;
        evidence.set_item("unknown_events", summary.unknown_events)?;
        evidence.set_item("left_out", summary.left_out)?;
        Ok(evidence)
    }
}

/// Runs `work`. A panic becomes a RuntimeError, which `except Exception` catches.
fn catch_panics<T>(work: impl FnOnce() -> io::Result<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(PyOSError::new_err(error.to_string())),
        Err(_) => Err(PyRuntimeError::new_err(
            "the event log reader failed; this is a bug in Sparkfuse",
        )),
    }
}

fn read_tables(sources: Vec<Source>, options: &Arc<Options>, threads: usize) -> io::Result<LogTables> {
    let mut task_batches = TaskBatches::default();
    let log = read_log(sources, options, threads, &mut task_batches)?;
    Ok(LogTables::of(log, task_batches, options.tasks, options.task_starts))
}

#[pyfunction]
#[pyo3(signature = (files, *, threads=2, tables=vec![], environment=vec![], limits=None, tasks_of=None, batch_rows=65536))]
#[allow(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub fn read_event_log(
    py: Python<'_>,
    files: Vec<LogFile>,
    threads: usize,
    tables: Vec<String>,
    environment: Vec<String>,
    limits: Option<Bound<'_, PyDict>>,
    tasks_of: Option<HashSet<(i64, i64)>>,
    batch_rows: usize,
) -> PyResult<EventLog> {
    let options = parse_options(&tables, &environment, limits, tasks_of, batch_rows)?;
    let sources = files.into_iter().map(Source::from).collect();
    let log = py.detach(|| catch_panics(|| read_tables(sources, &options, threads)))?;
    EventLog::new(py, log)
}
