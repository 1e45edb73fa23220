//! `FactTranslator` for Python, which translates raw events of a growing log into records of facts.

use std::collections::BTreeMap;

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;

use crate::event_log::fact_translation::texts::{Properties, Redaction, TextError};
use crate::event_log::fact_translation::translator::{
    Collector, Identity, SequenceNumbers, TranslationError, Translator,
};
use crate::python::event_log::catch_panics;

create_exception!(
    sparkfuse_kernel,
    NoApplicationError,
    PyValueError,
    "A log belongs to no application; the text is one sentence."
);

/// Scrubs texts with a Python object that has the methods `scrub`, `scrub_query` and `select_properties`.
struct PythonRedaction(Py<PyAny>);

impl PythonRedaction {
    fn call(&self, method: &str, text: &str) -> Result<String, TextError> {
        Ok(Python::attach(|py| {
            self.0.call_method1(py, method, (text,))?.extract(py)
        })?)
    }
}

impl Redaction for PythonRedaction {
    fn scrub(&self, text: &str) -> Result<String, TextError> {
        self.call("scrub", text)
    }

    fn scrub_query(&self, text: &str) -> Result<String, TextError> {
        self.call("scrub_query", text)
    }

    fn select_properties(&self, properties: &Properties) -> Result<(Properties, Properties), TextError> {
        Ok(Python::attach(|py| {
            let selected = self.0.call_method1(py, "select_properties", (properties.clone(),))?;
            selected.extract::<(BTreeMap<String, String>, BTreeMap<String, String>)>(py)
        })?)
    }
}

type Events = Vec<(PyBackedStr, PyBackedBytes)>;

/// Translates the events of one growing log into records of facts.
#[pyclass(module = "sparkfuse_kernel")]
pub struct FactTranslator {
    translator: Option<Translator>,
}

impl FactTranslator {
    fn open(&self) -> PyResult<&Translator> {
        self.translator.as_ref().ok_or_else(closed)
    }

    /// Runs `work` without the GIL. A panic closes the translator, because its state may be inconsistent.
    fn run<T: Send>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut Translator) -> Result<T, TranslationError> + Send,
    ) -> PyResult<T> {
        let mut translator = self.translator.take().ok_or_else(closed)?;
        let (translator, result) = py.detach(|| {
            catch_panics(|| {
                let result = work(&mut translator);
                Ok((translator, result))
            })
        })?;
        self.translator = Some(translator);
        result.map_err(python_error)
    }
}

fn closed() -> PyErr {
    PyRuntimeError::new_err("the translator failed before and is closed")
}

fn python_error(error: TranslationError) -> PyErr {
    match error {
        TranslationError::NoApplication(reason) => NoApplicationError::new_err(reason),
        TranslationError::Text(error) => match error.downcast::<PyErr>() {
            Ok(error) => *error,
            Err(error) => PyRuntimeError::new_err(error.to_string()),
        },
    }
}

fn to_python(py: Python<'_>, records: Vec<Vec<u8>>) -> Vec<Bound<'_, PyBytes>> {
    records.iter().map(|record| PyBytes::new(py, record)).collect()
}

#[pymethods]
impl FactTranslator {
    #[new]
    #[pyo3(signature = (redaction, *, cluster, tenant, collector, next_seq=(0, 0)))]
    fn new(
        redaction: Py<PyAny>,
        cluster: String,
        tenant: String,
        collector: String,
        next_seq: (i64, i64),
    ) -> FactTranslator {
        let collector = Collector {
            cluster,
            tenant,
            name: collector,
        };
        let numbers = SequenceNumbers {
            bulk: next_seq.0,
            reserved: next_seq.1,
        };
        FactTranslator {
            translator: Some(Translator::new(
                collector,
                Box::new(PythonRedaction(redaction)),
                numbers,
            )),
        }
    }

    fn translate<'py>(&mut self, py: Python<'py>, events: Events) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let records = self.run(py, |translator| {
            let mut records = Vec::with_capacity(events.len());
            for (name, line) in &events {
                translator.translate(name, line, &mut records)?;
            }
            Ok(records)
        })?;
        Ok(to_python(py, records))
    }

    fn replay(&mut self, py: Python<'_>, events: Events) -> PyResult<()> {
        self.run(py, |translator| {
            events.iter().try_for_each(|(name, line)| translator.replay(name, line))
        })
    }

    fn health<'py>(
        &mut self,
        py: Python<'py>,
        at_ms: i64,
        behind_bytes: i64,
        torn: bool,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let records = self.run(py, |translator| Ok(translator.health(at_ms, behind_bytes, torn)))?;
        Ok(to_python(py, records))
    }

    fn count_malformed(&mut self, py: Python<'_>, count: u64) -> PyResult<()> {
        self.run(py, |translator| {
            translator.count_malformed(count);
            Ok(())
        })
    }

    fn resume_as(&mut self, py: Python<'_>, app_id: String, attempt: i32, start_ms: i64) -> PyResult<()> {
        let identity = Identity {
            app_id,
            attempt,
            start_ms,
        };
        self.run(py, |translator| {
            translator.resume_as(identity);
            Ok(())
        })
    }

    #[getter]
    fn identity(&self) -> PyResult<Option<(String, i32, i64)>> {
        let identity = self.open()?.identity();
        Ok(identity.map(|identity| (identity.app_id.clone(), identity.attempt, identity.start_ms)))
    }

    #[getter]
    fn has_plugin(&self) -> PyResult<bool> {
        Ok(self.open()?.has_plugin())
    }

    #[getter]
    fn ended_ms(&self) -> PyResult<Option<i64>> {
        Ok(self.open()?.ended_ms())
    }

    #[getter]
    fn malformed(&self) -> PyResult<u64> {
        Ok(self.open()?.malformed())
    }

    #[getter]
    fn next_seq(&self) -> PyResult<(i64, i64)> {
        let numbers = self.open()?.numbers;
        Ok((numbers.bulk, numbers.reserved))
    }

    #[setter]
    fn set_next_seq(&mut self, next_seq: (i64, i64)) -> PyResult<()> {
        let translator = self.translator.as_mut().ok_or_else(closed)?;
        translator.numbers = SequenceNumbers {
            bulk: next_seq.0,
            reserved: next_seq.1,
        };
        Ok(())
    }
}
