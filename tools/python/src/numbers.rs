//! Whole numbers from Python, and the exceptions for other types.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::error::{invalid_argument, type_error};
use crate::interpreter_exit::call_python;

/// A number of 64 bits. An error has its name and the expected type.
pub fn whole_number(object: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<u64> {
    let py = object.py();
    refuse_bool(object, expected)?;
    call_python(|| object.extract()).map_err(|error: PyErr| {
        if error.is_instance_of::<PyTypeError>(py) {
            unexpected(object, expected)
        } else {
            let message = format!("{name} is an int from 0 to 2**64 - 1, which {object} is not");
            invalid_argument(py, &message)
        }
    })
}

/// `True` and `False` are ints in Python, and never numbers here.
pub fn refuse_bool(object: &Bound<'_, PyAny>, expected: &str) -> PyResult<()> {
    match object.is_instance_of::<PyBool>() {
        true => Err(unexpected(object, expected)),
        false => Ok(()),
    }
}

/// The exception for an argument of another type.
pub fn unexpected(object: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let message = format!("{expected} is expected, not {}", type_name(object));
    type_error(object.py(), &message)
}

/// The name of the type of an object, for errors.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    (object.get_type().name()).map_or("another object".to_owned(), |name| name.to_string())
}
