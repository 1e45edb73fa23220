//! Parses the arguments of the Python functions that read logs: files, tables and limits.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;

use crate::event_log::log::Source;
use crate::event_log::options::{AllowedKeys, Limits, Options};

/// Reads bytes from a Python object with a method `read(n)`.
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
                return Err(io::Error::other("read(n) returned more than n bytes"));
            }
            into[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        })
    }
}

#[derive(FromPyObject)]
pub enum LogFile {
    Path(PathBuf),
    Reader(String, Py<PyAny>),
}

impl From<LogFile> for Source {
    fn from(piece: LogFile) -> Source {
        match piece {
            LogFile::Path(path) => Source::Path(path),
            LogFile::Reader(name, object) => Source::Reader(name, Box::new(PythonReader { object })),
        }
    }
}

/// Parses the keyword arguments that all functions and classes for event logs have.
pub(super) fn parse_options(
    tables: &[String],
    environment: &[String],
    limits: Option<Bound<'_, PyDict>>,
    tasks_of: Option<HashSet<(i64, i64)>>,
    batch_rows: usize,
) -> PyResult<Arc<Options>> {
    let mut options = Options {
        tasks_of: tasks_of.map(|wanted| wanted.into_iter().collect()),
        environment: AllowedKeys::new(environment),
        batch_rows: batch_rows.max(1),
        ..Options::default()
    };
    for table in tables {
        match table.as_str() {
            "tasks" => options.tasks = true,
            "task_starts" => options.task_starts = true,
            other => {
                return Err(PyValueError::new_err(format!(
                    "{other:?} is no task table; choose tasks or task_starts"
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
            other => return Err(PyValueError::new_err(format!("{other:?} is not the name of a limit"))),
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
