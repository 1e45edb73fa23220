//! The Python module. Arrow data is passed through the PyCapsule protocol, so pyarrow is not needed to build or import
//! this module.

mod event_log;

use std::ffi::CStr;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::SchemaRef;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyCapsule;

use crate::event_log::fact_translation::event_names::{INFREQUENT_EVENTS, TASK_EVENTS};
use crate::event_log::log_tables::Table;
use crate::facts;

/// With many small logs, one thread allocates many small tables and another thread frees them; mimalloc is fast at
/// this. See docs/decisions/0009-the-kernel-reads-event-logs.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const STREAM: &CStr = c"arrow_array_stream";

/// Record batches of one schema.
#[pyclass(frozen, module = "sparkfuse_kernel")]
struct Batches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Batches {
    fn new(table: Table) -> Batches {
        Batches {
            schema: table.schema,
            batches: table.batches,
        }
    }
}

/// Returns batches as a capsule of Arrow's C stream interface.
fn capsule<'py>(py: Python<'py>, batches: Box<dyn RecordBatchReader + Send>) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(batches), STREAM)
}

#[pymethods]
impl Batches {
    // The protocol allows a producer to ignore the requested schema.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        capsule(py, Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// The result of decoding a list of records.
#[pyclass(frozen, module = "sparkfuse_kernel", get_all)]
struct Decoded {
    batches: Py<Batches>,
    rejected: Vec<(usize, String)>,
}

/// Decodes lists of records of one message; safe to share between threads.
#[pyclass(frozen, module = "sparkfuse_kernel")]
struct Decoder {
    decoder: facts::Decoder,
}

#[pymethods]
impl Decoder {
    #[new]
    fn new(descriptor_set: &[u8], message: &str) -> PyResult<Self> {
        let decoder = facts::Decoder::new(descriptor_set, message).map_err(value_error)?;
        Ok(Decoder { decoder })
    }

    /// Names of the columns, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.decoder
            .plan()
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect()
    }

    fn decode(&self, py: Python<'_>, records: Vec<Option<PyBackedBytes>>) -> PyResult<Decoded> {
        let decoded = py.detach(|| self.decoder.decode(&records)).map_err(value_error)?;
        let rejected = decoded
            .rejected
            .into_iter()
            .map(|(index, reason)| (index, reason.to_string()))
            .collect();
        Ok(Decoded {
            batches: Py::new(py, Batches::new(decoded.batch.into()))?,
            rejected,
        })
    }
}

#[pyfunction]
fn decode(
    py: Python<'_>,
    descriptor_set: &[u8],
    message: &str,
    records: Vec<Option<PyBackedBytes>>,
) -> PyResult<Decoded> {
    Decoder::new(descriptor_set, message)?.decode(py, records)
}

fn value_error(error: impl std::error::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymodule]
#[pyo3(name = "_kernel")]
fn kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Batches>()?;
    module.add_class::<Decoded>()?;
    module.add_class::<Decoder>()?;
    module.add_function(wrap_pyfunction!(decode, module)?)?;
    module.add_class::<event_log::EventLog>()?;
    module.add_class::<event_log::EventLogs>()?;
    module.add_class::<event_log::EventLogStream>()?;
    module.add_class::<event_log::EventLogDecoder>()?;
    module.add_class::<event_log::Decompressor>()?;
    module.add_class::<event_log::FactTranslator>()?;
    let no_application = module.py().get_type::<event_log::NoApplicationError>();
    module.add("NoApplicationError", no_application)?;
    module.add("TASK_EVENTS", TASK_EVENTS)?;
    module.add("INFREQUENT_EVENTS", INFREQUENT_EVENTS)?;
    module.add_function(wrap_pyfunction!(event_log::read_event_log, module)?)?;
    module.add_function(wrap_pyfunction!(event_log::read_event_logs, module)?)?;
    module.add_function(wrap_pyfunction!(event_log::open_event_log, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
