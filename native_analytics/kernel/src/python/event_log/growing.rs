//! Logs that grow: read, and unpacked, piece by piece.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyString};

use super::asked::asked;
use super::{EventLog, guarded};
use crate::event_log::codec;
use crate::event_log::decoder::Decoder;

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
