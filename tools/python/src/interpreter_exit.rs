//! Calls of Python code that the exit of the interpreter may cut.

use std::hint::black_box;
use std::mem;
use std::thread;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

/// Stops the thread for ever if it is unwound without a panic.
struct Unfinished;

impl Drop for Unfinished {
    fn drop(&mut self) {
        while !thread::panicking() {
            thread::park();
        }
    }
}

/// Calls `work`, which runs code of Python.
///
/// Once the interpreter exits, CPython before 3.14 unwinds each daemon thread that asks for the
/// interpreter lock, also the thread of a generator in the middle of its code. Frames of Rust would
/// then release objects and the lock without holding it, which aborts the process. The thread stops
/// here instead, without the lock, and ends with the process, as in CPython 3.14.
pub fn call_python<T>(work: impl FnOnce() -> T) -> T {
    let unfinished = Unfinished;
    let (mut work, mut result) = (Some(work), None);
    let call: &mut dyn FnMut() = &mut || result = work.take().map(|work| work());
    // The compiler takes functions of C for functions that do not unwind, and would leave out the
    // drop of `unfinished`.
    black_box(call)();
    mem::forget(unfinished);
    result.expect("the call has returned")
}

/// Calls `work` with the interpreter lock, on a thread that does not hold it.
///
/// # Errors
/// `KeyboardInterrupt` once the interpreter exits: the operation ends, and its thread with it.
pub fn attached<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> PyResult<T> {
    call_python(|| Python::try_attach(work))
        .unwrap_or_else(|| Err(PyKeyboardInterrupt::new_err(())))
}

/// Calls a function of Python. The arguments belong to the caller: a call that is cut must drop
/// nothing.
pub fn call_function<'py>(
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    call_python(|| function.call(arguments, named))
}

/// Returns `true` if an object has an attribute.
pub fn has_attribute(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    call_python(|| object.hasattr(name))
}

/// The length of an object; `None` for an object that has none.
pub fn length_of(object: &Bound<'_, PyAny>) -> Option<usize> {
    call_python(|| object.len()).ok()
}

/// The elements of an iterable of Python.
pub fn iterate<'py>(
    iterable: &Bound<'py, PyAny>,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + use<'py>> {
    let mut elements = call_python(|| iterable.try_iter())?;
    Ok(std::iter::from_fn(move || call_python(|| elements.next())))
}
