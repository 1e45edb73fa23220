//! Event logs for Python: whole, many at once, as a stream of tasks, and piece by piece.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use super::Batches;
use crate::event_log::codec;
use crate::event_log::decoder::Decoder;
use crate::event_log::log_tables::{LogTables, Report};
use crate::event_log::options::{Allowed, Limits, Options};
use crate::event_log::read::{Kept, Log, Source, TaskSink, read_log};
use crate::event_log::tasks::TaskColumns;

/// Batches of tasks that may wait for whoever takes them.
const BATCHES_AHEAD: usize = 2;

/// What one log says.
#[pyclass(frozen, module = "sparkfuse_kernel")]
pub struct EventLog {
    tables: Vec<(&'static str, Py<Batches>)>,
    report: Report,
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
            report: log.report,
        })
    }
}

#[pymethods]
impl EventLog {
    /// The tables by name.
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
        let report = &self.report;
        let files = PyList::empty(py);
        for file in &report.files {
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
        for bad in &report.bad_lines {
            let entry = PyDict::new(py);
            entry.set_item("file", report.files.get(bad.file).map_or("", |file| &file.name))?;
            entry.set_item("line", bad.line)?;
            entry.set_item("offset", bad.offset)?;
            entry.set_item("reason", &bad.reason)?;
            bad_lines.append(entry)?;
        }
        let kinds = PyDict::new(py);
        for (name, count) in &report.kinds {
            kinds.set_item(name, count)?;
        }
        let evidence = PyDict::new(py);
        evidence.set_item("files", files)?;
        evidence.set_item("plain_bytes", report.plain_bytes)?;
        evidence.set_item("events", report.events)?;
        evidence.set_item("events_by_kind", kinds)?;
        evidence.set_item("malformed", report.malformed)?;
        evidence.set_item("malformed_lines", bad_lines)?;
        evidence.set_item("truncated", report.truncated)?;
        evidence.set_item("complete", report.complete)?;
        evidence.set_item("unfinished_tasks", report.unfinished_tasks)?;
        evidence.set_item("duplicate_task_ends", report.duplicate_task_ends)?;
        evidence.set_item("odd_values", report.odd_values)?;
        evidence.set_item("unknown_events", report.unknown_events)?;
        evidence.set_item("left_out", report.left_out)?;
        Ok(evidence)
    }
}

/// A Python object whose `read(n)` gives bytes.
struct PythonReader {
    object: Py<PyAny>,
}

impl Read for PythonReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let read = self.object.call_method1(py, "read", (into.len(),));
            let bytes: PyBackedBytes = read
                .and_then(|bytes| bytes.extract(py).map_err(PyErr::from))
                .map_err(io::Error::other)?;
            if bytes.len() > into.len() {
                return Err(io::Error::other("read(n) gave more than n bytes"));
            }
            into[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        })
    }
}

#[derive(FromPyObject)]
pub enum Piece {
    Path(PathBuf),
    Reader(String, Py<PyAny>),
}

impl From<Piece> for Source {
    fn from(piece: Piece) -> Source {
        match piece {
            Piece::Path(path) => Source::Path(path),
            Piece::Reader(name, object) => Source::Reader(name, Box::new(PythonReader { object })),
        }
    }
}

/// What the keyword arguments that all readers take ask for.
fn asked(
    tables: &[String],
    environment: &[String],
    limits: Option<Bound<'_, PyDict>>,
    tasks_of: Option<HashSet<(i64, i64)>>,
    batch_rows: usize,
) -> PyResult<Arc<Options>> {
    let mut options = Options {
        tasks_of,
        environment: Allowed::new(environment),
        batch_rows: batch_rows.max(1),
        ..Options::default()
    };
    for table in tables {
        match table.as_str() {
            "tasks" => options.tasks = true,
            "task_starts" => options.task_starts = true,
            other => {
                return Err(PyValueError::new_err(format!(
                    "{other:?} is neither tasks nor task_starts"
                )));
            }
        }
    }
    for (name, value) in limits_of(limits)?.into_iter().flatten() {
        let Limits {
            line_bytes,
            plain_bytes,
            ratio,
            ratio_from,
            table_bytes,
            detail_bytes,
        } = &mut options.limits;
        match name.as_str() {
            "line_bytes" => {
                *line_bytes = u32::try_from(value).map_err(|error| PyValueError::new_err(error.to_string()))?
            }
            "plain_bytes" => *plain_bytes = value,
            "ratio" => *ratio = value,
            "ratio_from" => *ratio_from = value,
            "table_bytes" => *table_bytes = value as usize,
            "detail_bytes" => *detail_bytes = value as usize,
            other => return Err(PyValueError::new_err(format!("there is no limit {other:?}"))),
        }
    }
    Ok(Arc::new(options))
}

fn limits_of(limits: Option<Bound<'_, PyDict>>) -> PyResult<Option<Vec<(String, u64)>>> {
    limits
        .map(|limits| {
            limits
                .iter()
                .map(|(name, value)| Ok((name.extract()?, value.extract()?)))
                .collect()
        })
        .transpose()
}

/// Runs the reading; a fault of ours becomes an error that `except Exception` catches.
fn guarded<T>(work: impl FnOnce() -> io::Result<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(PyOSError::new_err(error.to_string())),
        Err(_) => Err(PyRuntimeError::new_err(
            "the event log reader failed; this is a fault of Sparkfuse",
        )),
    }
}

fn whole(sources: Vec<Source>, options: &Arc<Options>, threads: usize) -> io::Result<LogTables> {
    let mut kept = Kept::default();
    let log = read_log(sources, options, threads, &mut kept)?;
    Ok(LogTables::of(log, kept, options.tasks, options.task_starts))
}

#[pyfunction]
#[pyo3(signature = (pieces, *, threads=2, tables=vec![], environment=vec![], limits=None, tasks_of=None, batch_rows=65536))]
#[allow(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub fn read_event_log(
    py: Python<'_>,
    pieces: Vec<Piece>,
    threads: usize,
    tables: Vec<String>,
    environment: Vec<String>,
    limits: Option<Bound<'_, PyDict>>,
    tasks_of: Option<HashSet<(i64, i64)>>,
    batch_rows: usize,
) -> PyResult<EventLog> {
    let options = asked(&tables, &environment, limits, tasks_of, batch_rows)?;
    let sources = pieces.into_iter().map(Source::from).collect();
    let log = py.detach(|| guarded(|| whole(sources, &options, threads)))?;
    EventLog::new(py, log)
}

/// Logs that are read side by side, in their order.
#[pyclass(module = "sparkfuse_kernel")]
pub struct EventLogs {
    arrived: Mutex<mpsc::Receiver<(usize, PyResult<LogTables>)>>,
    waiting: BTreeMap<usize, PyResult<LogTables>>,
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
        while !self.waiting.contains_key(&self.next) {
            let arrived = &self.arrived;
            let one = py.detach(|| arrived.lock().unwrap_or_else(PoisonError::into_inner).recv());
            let (place, log) = one.map_err(|_| PyRuntimeError::new_err("a reading thread failed"))?;
            self.waiting.insert(place, log);
        }
        let log = self.waiting.remove(&self.next);
        // Also behind one that failed, so that the next call gives the next log.
        self.next += 1;
        log.transpose()?.map(|log| EventLog::new(py, log)).transpose()
    }
}

#[pyfunction]
#[pyo3(signature = (logs, *, threads=2, tables=vec![], environment=vec![], limits=None, batch_rows=65536))]
pub fn read_event_logs(
    logs: Vec<Vec<Piece>>,
    threads: usize,
    tables: Vec<String>,
    environment: Vec<String>,
    limits: Option<Bound<'_, PyDict>>,
    batch_rows: usize,
) -> PyResult<EventLogs> {
    let options = asked(&tables, &environment, limits, None, batch_rows)?;
    let count = logs.len();
    let threads = threads.clamp(1, count.max(1));
    let inner = if count >= threads { 1 } else { threads };
    let logs: Arc<Vec<Mutex<Option<Vec<Source>>>>> = Arc::new(
        logs.into_iter()
            .map(|pieces| Mutex::new(Some(pieces.into_iter().map(Source::from).collect())))
            .collect(),
    );
    let taken = Arc::new(AtomicUsize::new(0));
    let (done, arrived) = mpsc::sync_channel(threads * 4);
    for _ in 0..threads {
        let (logs, taken, done, options) = (logs.clone(), taken.clone(), done.clone(), options.clone());
        thread::spawn(move || {
            loop {
                let place = taken.fetch_add(1, Ordering::Relaxed);
                let Some(log) = logs.get(place) else { return };
                let sources = log
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take()
                    .unwrap_or_default();
                if done.send((place, guarded(|| whole(sources, &options, inner)))).is_err() {
                    return;
                }
            }
        });
    }
    Ok(EventLogs {
        arrived: Mutex::new(arrived),
        waiting: BTreeMap::new(),
        next: 0,
        count,
    })
}

/// Sends batches of task ends to whoever takes them from the stream.
struct Channel {
    batches: mpsc::SyncSender<RecordBatch>,
}

impl TaskSink for Channel {
    fn put(&mut self, ends: Vec<RecordBatch>, _: Vec<RecordBatch>) -> bool {
        ends.into_iter().all(|batch| self.batches.send(batch).is_ok())
    }
}

/// The receiving end, as Arrow's C stream wants it.
struct Taken {
    schema: SchemaRef,
    batches: mpsc::Receiver<RecordBatch>,
}

impl Iterator for Taken {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok().map(Ok)
    }
}

impl RecordBatchReader for Taken {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// A log whose task rows are taken while it is read, in bounded memory.
#[pyclass(module = "sparkfuse_kernel")]
pub struct EventLogStream {
    taken: Mutex<Option<Taken>>,
    reading: Mutex<Option<thread::JoinHandle<PyResult<Log>>>>,
}

#[pymethods]
impl EventLogStream {
    /// Arrow's C stream of the task ends; can be taken once. Reading waits for whoever takes them.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, pyo3::types::PyCapsule>> {
        let _ = requested_schema;
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner).take();
        let taken = taken.ok_or_else(|| PyValueError::new_err("the task rows were taken already"))?;
        super::capsule(py, Box::new(taken))
    }

    /// Everything but the task rows, once they were all taken; rows that nobody took are dropped.
    fn finish(&self, py: Python<'_>) -> PyResult<EventLog> {
        drop(self.taken.lock().unwrap_or_else(PoisonError::into_inner).take());
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reading = reading.ok_or_else(|| PyValueError::new_err("the log was finished already"))?;
        let log = py.detach(|| reading.join());
        let log = log.map_err(|_| PyRuntimeError::new_err("the reading thread failed"))??;
        EventLog::new(py, LogTables::of(log, Kept::default(), false, false))
    }
}

#[pyfunction]
#[pyo3(signature = (pieces, *, threads=2, environment=vec![], limits=None, tasks_of=None, batch_rows=65536))]
pub fn open_event_log(
    pieces: Vec<Piece>,
    threads: usize,
    environment: Vec<String>,
    limits: Option<Bound<'_, PyDict>>,
    tasks_of: Option<HashSet<(i64, i64)>>,
    batch_rows: usize,
) -> PyResult<EventLogStream> {
    let options = asked(&["tasks".to_owned()], &environment, limits, tasks_of, batch_rows)?;
    let sources: Vec<Source> = pieces.into_iter().map(Source::from).collect();
    let (sender, batches) = mpsc::sync_channel(BATCHES_AHEAD);
    let reading = thread::spawn(move || {
        let mut channel = Channel { batches: sender };
        guarded(|| read_log(sources, &options, threads, &mut channel))
    });
    Ok(EventLogStream {
        taken: Mutex::new(Some(Taken {
            schema: TaskColumns::ends().schema(),
            batches,
        })),
        reading: Mutex::new(Some(reading)),
    })
}

/// Reads one log piece by piece, as it grows.
#[pyclass(module = "sparkfuse_kernel")]
pub struct EventLogDecoder {
    decoder: Option<Decoder>,
    wants: (bool, bool),
}

impl EventLogDecoder {
    fn open(&mut self) -> PyResult<&mut Decoder> {
        self.decoder
            .as_mut()
            .ok_or_else(|| PyValueError::new_err("the decoder failed before and is closed"))
    }

    /// A fault of ours closes the decoder: what it holds can no longer be trusted.
    fn changed<T: Send>(&mut self, py: Python<'_>, work: impl FnOnce(&mut Decoder) -> T + Send) -> PyResult<T> {
        self.open()?;
        let Some(mut decoder) = self.decoder.take() else {
            return Err(PyValueError::new_err("closed"));
        };
        let (decoder, made) = py.detach(|| {
            guarded(|| {
                let made = work(&mut decoder);
                Ok((decoder, made))
            })
        })?;
        self.decoder = Some(decoder);
        Ok(made)
    }
}

#[pymethods]
impl EventLogDecoder {
    #[new]
    #[pyo3(signature = (*, offset=0, tables=vec![], environment=vec![], limits=None, batch_rows=8192, events=None))]
    fn new(
        offset: u64,
        tables: Vec<String>,
        environment: Vec<String>,
        limits: Option<Bound<'_, PyDict>>,
        batch_rows: usize,
        events: Option<Vec<String>>,
    ) -> PyResult<EventLogDecoder> {
        let options = asked(&tables, &environment, limits, None, batch_rows)?;
        Ok(EventLogDecoder {
            wants: (options.tasks, options.task_starts),
            decoder: Some(match events {
                Some(wanted) => Decoder::of_events(options, offset, wanted),
                None => Decoder::new(options, offset),
            }),
        })
    }

    fn take_events<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyString>, Bound<'py, PyBytes>)>> {
        let events = self.open()?.take_events();
        Ok(events
            .into_iter()
            .map(|(name, line)| (PyString::intern(py, name), PyBytes::new(py, &line)))
            .collect())
    }

    #[getter]
    fn malformed(&mut self) -> PyResult<u64> {
        Ok(self.open()?.evidence.malformed)
    }

    fn feed(&mut self, py: Python<'_>, piece: PyBackedBytes) -> PyResult<()> {
        self.changed(py, |decoder| decoder.feed(&piece))
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        self.changed(py, Decoder::finish)
    }

    fn take(&mut self, py: Python<'_>) -> PyResult<EventLog> {
        let (tasks, starts) = self.wants;
        let log = self.changed(py, move |decoder| decoder.take(tasks, starts))?;
        EventLog::new(py, log)
    }

    #[getter]
    fn resume_at(&mut self) -> PyResult<u64> {
        Ok(self.open()?.resume_at())
    }

    #[getter]
    fn pending_bytes(&mut self) -> PyResult<u64> {
        Ok(self.open()?.pending())
    }
}

/// Unpacks one file as it grows.
#[pyclass(module = "sparkfuse_kernel")]
pub struct Unpacker {
    unpacker: codec::Unpacker,
}

#[pymethods]
impl Unpacker {
    #[new]
    #[pyo3(signature = (*, codec=None))]
    fn new(codec: Option<&str>) -> PyResult<Unpacker> {
        let unpacker = match codec {
            None => codec::Unpacker::new(),
            Some(name) => codec::Unpacker::behind_boundary(name)
                .ok_or_else(|| PyValueError::new_err(format!("{name:?} has no boundary to begin at")))?,
        };
        Ok(Unpacker { unpacker })
    }

    fn feed<'py>(&mut self, py: Python<'py>, piece: PyBackedBytes) -> PyResult<Bound<'py, PyBytes>> {
        let unpacker = &mut self.unpacker;
        let plain = py.detach(|| guarded(|| Ok(unpacker.feed(&piece))))?;
        let plain = plain.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &plain))
    }

    #[getter]
    fn codec(&self) -> Option<&'static str> {
        self.unpacker.codec()
    }

    #[getter]
    fn boundary(&self) -> (u64, u64) {
        self.unpacker.boundary()
    }
}
