//! Code of Python on other threads while the interpreter exits.
//!
//! When a program ends, CPython before 3.14 unwinds each daemon thread that asks for the
//! interpreter lock, and an unwound frame of this module would abort the process. So the exit waits
//! until no code of Python runs below this module, and such code does not start any more.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The calls of Python code that have begun and not ended.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// The thread that ends the interpreter.
static ENDING: OnceLock<ThreadId> = OnceLock::new();
/// An iterator that waits for input may never return.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

struct Running;

impl Running {
    fn new() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Calls `work`, which runs code of Python. While the interpreter exits, other threads wait here
/// for the end of the process.
pub fn call_python<T>(py: Python<'_>, work: impl FnOnce() -> T) -> T {
    let running = Running::new();
    let ending = ENDING.get();
    if ending.is_some_and(|ending| *ending != thread::current().id()) {
        drop(running);
        py.detach(|| {
            loop {
                thread::park();
            }
        })
    }
    work()
}

/// The elements of an iterable of Python.
pub fn iterate<'py>(
    iterable: &Bound<'py, PyAny>,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + use<'py>> {
    let mut elements = iterable.try_iter()?;
    let py = iterable.py();
    Ok(std::iter::from_fn(move || {
        call_python(py, || elements.next())
    }))
}

/// Called when the interpreter begins to exit: waits for the calls of Python code, at most
/// [`LONGEST_WAIT`].
#[pyfunction]
fn await_python_calls(py: Python<'_>) {
    ENDING.get_or_init(|| thread::current().id());
    let start = Instant::now();
    py.detach(|| {
        while RUNNING.load(Ordering::SeqCst) > 0 && start.elapsed() < LONGEST_WAIT {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Has [`await_python_calls`] called at the exit of the interpreter.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let function = wrap_pyfunction!(await_python_calls, py)?;
    py.import("atexit")?.call_method1("register", (function,))?;
    Ok(())
}
