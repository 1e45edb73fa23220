//! The Python classes that decode and decompress a growing log piece by piece.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyString};

use super::{EventLog, catch_panics};
use crate::event_log::codec;
use crate::event_log::decoder::Decoder;
use crate::python::event_log::request::parse_options;

/// Decodes one log piece by piece while it grows.
#[pyclass(module = "sparkfuse_kernel")]
pub struct EventLogDecoder {
    decoder: Option<Decoder>,
    wanted_tables: (bool, bool),
}

impl EventLogDecoder {
    fn open(&mut self) -> PyResult<&mut Decoder> {
        self.decoder
            .as_mut()
            .ok_or_else(|| PyValueError::new_err("the decoder is closed because an earlier call failed"))
    }

    /// Runs an operation of the decoder. A panic closes the decoder, because its state may be inconsistent.
    fn run<T: Send>(&mut self, py: Python<'_>, work: impl FnOnce(&mut Decoder) -> T + Send) -> PyResult<T> {
        self.open()?;
        let Some(mut decoder) = self.decoder.take() else {
            return Err(PyValueError::new_err(
                "the decoder is closed because an earlier call failed",
            ));
        };
        let (decoder, result) = py.detach(|| {
            catch_panics(|| {
                let result = work(&mut decoder);
                Ok((decoder, result))
            })
        })?;
        self.decoder = Some(decoder);
        Ok(result)
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
        let options = parse_options(&tables, &environment, limits, None, batch_rows)?;
        Ok(EventLogDecoder {
            wanted_tables: (options.tasks, options.task_starts),
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
        self.run(py, |decoder| decoder.feed(&piece))
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        self.run(py, Decoder::finish)
    }

    fn take(&mut self, py: Python<'_>) -> PyResult<EventLog> {
        let (tasks, starts) = self.wanted_tables;
        let log = self.run(py, move |decoder| decoder.take(tasks, starts))?;
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

/// Decompresses one file while it grows.
#[pyclass(module = "sparkfuse_kernel")]
pub struct Decompressor {
    decompressor: codec::Decompressor,
}

#[pymethods]
impl Decompressor {
    #[new]
    #[pyo3(signature = (*, codec=None))]
    fn new(codec: Option<&str>) -> PyResult<Decompressor> {
        let decompressor = match codec {
            None => codec::Decompressor::new(),
            Some(name) => codec::Decompressor::from_boundary(name)
                .ok_or_else(|| PyValueError::new_err(format!("{name:?} has no boundaries to continue at")))?,
        };
        Ok(Decompressor { decompressor })
    }

    fn feed<'py>(&mut self, py: Python<'py>, piece: PyBackedBytes) -> PyResult<Bound<'py, PyBytes>> {
        let decompressor = &mut self.decompressor;
        let plain = py.detach(|| catch_panics(|| Ok(decompressor.feed(&piece))))?;
        let plain = plain.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &plain))
    }

    #[getter]
    fn codec(&self) -> Option<&'static str> {
        self.decompressor.codec()
    }

    #[getter]
    fn boundary(&self) -> (u64, u64) {
        self.decompressor.boundary()
    }
}
