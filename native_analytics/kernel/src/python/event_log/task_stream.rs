//! One log whose task rows are streamed while it is read.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{EventLog, catch_panics};
use crate::event_log::log::{Log, Source, TaskBatches, TaskSink};
use crate::event_log::log_tables::LogTables;
use crate::event_log::read::read_log;
use crate::event_log::task_columns::TaskColumns;
use crate::python::capsule;
use crate::python::event_log::request::{LogFile, parse_options};

/// Maximum number of batches that wait for the consumer.
const BATCHES_AHEAD: usize = 2;

/// Sends batches of task ends to the consumer of the stream.
struct TaskRowSender {
    batches: mpsc::SyncSender<RecordBatch>,
}

impl TaskSink for TaskRowSender {
    fn put(&mut self, ends: Vec<RecordBatch>, _: Vec<RecordBatch>) -> bool {
        ends.into_iter().all(|batch| self.batches.send(batch).is_ok())
    }
}

/// Receives the batches of task ends; Arrow's C stream reads from this object.
struct TaskRowReader {
    schema: SchemaRef,
    batches: mpsc::Receiver<RecordBatch>,
}

impl Iterator for TaskRowReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok().map(Ok)
    }
}

impl RecordBatchReader for TaskRowReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// A log whose task rows are streamed with limited memory while it is read.
#[pyclass(module = "sparkfuse_kernel")]
pub struct EventLogStream {
    rows: Mutex<Option<TaskRowReader>>,
    reader: Mutex<Option<thread::JoinHandle<PyResult<Log>>>>,
}

#[pymethods]
impl EventLogStream {
    /// Returns Arrow's C stream of the task ends; only the first call succeeds. The log is read only as fast as the
    /// consumer takes the batches.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, pyo3::types::PyCapsule>> {
        let _ = requested_schema;
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).take();
        let rows = rows.ok_or_else(|| PyValueError::new_err("the stream of task rows was already opened"))?;
        capsule(py, Box::new(rows))
    }

    /// Waits until the reading thread has ended, and returns all other tables. Task rows that were not consumed are
    /// dropped.
    fn finish(&self, py: Python<'_>) -> PyResult<EventLog> {
        drop(self.rows.lock().unwrap_or_else(PoisonError::into_inner).take());
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reader = reader.ok_or_else(|| PyValueError::new_err("finish() was already called"))?;
        let log = py.detach(|| reader.join());
        let log = log.map_err(|_| PyRuntimeError::new_err("the reader thread failed"))??;
        EventLog::new(py, LogTables::of(log, TaskBatches::default(), false, false))
    }
}

#[pyfunction]
#[pyo3(signature = (files, *, threads=2, environment=vec![], limits=None, tasks_of=None, batch_rows=65536))]
pub fn open_event_log(
    files: Vec<LogFile>,
    threads: usize,
    environment: Vec<String>,
    limits: Option<Bound<'_, PyDict>>,
    tasks_of: Option<HashSet<(i64, i64)>>,
    batch_rows: usize,
) -> PyResult<EventLogStream> {
    let options = parse_options(&["tasks".to_owned()], &environment, limits, tasks_of, batch_rows)?;
    let sources: Vec<Source> = files.into_iter().map(Source::from).collect();
    let (sender, batches) = mpsc::sync_channel(BATCHES_AHEAD);
    let reader = thread::spawn(move || {
        let mut channel = TaskRowSender { batches: sender };
        catch_panics(|| read_log(sources, &options, threads, &mut channel))
    });
    Ok(EventLogStream {
        rows: Mutex::new(Some(TaskRowReader {
            schema: TaskColumns::schema_of_ends(),
            batches,
        })),
        reader: Mutex::new(Some(reader)),
    })
}
