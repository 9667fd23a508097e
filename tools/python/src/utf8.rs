//! Strings of Python in UTF-8, which has no lone surrogates.

use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;

use crate::error::invalid_argument;

/// The text in UTF-8. `name` is its name in an error.
pub fn utf8_of(text: &Bound<'_, PyString>, name: &str) -> PyResult<PyBackedStr> {
    let py = text.py();
    text.to_owned().try_into().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyUnicodeEncodeError>(py) {
            return error;
        }
        let start = error.value(py).getattr(intern!(py, "start"));
        let position = start.and_then(|start| start.extract::<usize>());
        let place = position.map_or(String::new(), |at| format!(" at character {at}"));
        let message = format!(
            "{name} has a lone surrogate{place}, half of a character, which UTF-8 cannot write; replace it: \
             text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        );
        invalid_argument(py, &message)
    })
}
