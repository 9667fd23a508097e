//! Work of the library without the interpreter lock, interruptible by signals and progress
//! functions.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use rayon::{ThreadPool, ThreadPoolBuilder};
use simdb::progress::Progress;

use crate::error::{Failure, internal_error};
use crate::interpreter_exit::{attached, call_function, call_python, has_attribute};

/// The operation that runs on a thread.
#[derive(Default)]
struct Operation {
    progress: Option<Py<PyAny>>,
    /// The stage and the number of steps that were reported last, and the time.
    reported: Option<(String, u64, Instant)>,
    /// The exception that ended the operation.
    raised: Option<PyErr>,
}

thread_local! {
    static CURRENT: RefCell<Operation> = RefCell::default();
}

/// Runs `work` without the interpreter lock. Exceptions of signal handlers and of `progress` end an
/// operation that reports its progress, and are raised. A panic is raised as `InternalError`.
///
/// `progress` is a progress bar of tqdm, or a function of the stage, the steps done, and all steps
/// or `None`.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let operation = Operation {
        progress,
        ..Operation::default()
    };
    // A progress function may run another operation.
    let outer = CURRENT.replace(operation);
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    let ended = CURRENT.replace(outer);
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err(ended.raised.unwrap_or_else(|| failure.into_exception(py))),
        Err(panic) => Err(internal_error(py, &*panic)),
    }
}

/// Runs `work` like [`run`], for work that reports no progress.
pub fn call<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    run(py, None, work)
}

/// The time between two looks for signals. With 100 ms, the usual time between two reports, some
/// interrupts would take more than 100 ms.
pub const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);
/// At most ten calls of `progress` a second, except at the start and the end of a stage.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// The progress handler of all databases, called every [`SIGNAL_INTERVAL`].
pub fn on_progress(progress: Progress) -> ControlFlow<()> {
    report(&progress.stage.to_string(), progress.done, progress.total)
}

/// Handles signals, and reports progress. `Break` after an exception, which [`run`] raises.
pub fn report(stage: &str, done: u64, total: Option<u64>) -> ControlFlow<()> {
    let reported = attached(|py| {
        py.check_signals()?;
        let (function, before) = CURRENT
            .with_borrow_mut(|operation| {
                let function = operation.progress.as_ref()?.clone_ref(py);
                let now = Instant::now();
                let is_due = operation.reported.as_ref().is_none_or(|(name, _, last)| {
                    name != stage || total == Some(done) || now - *last >= REPORT_INTERVAL
                });
                let report = (stage.to_owned(), done, now);
                is_due.then(|| (function, operation.reported.replace(report)))
            })
            .unzip();
        match function {
            Some(function) => {
                call_progress(function.bind(py), before.flatten(), stage, done, total)
            }
            None => Ok(()),
        }
    });
    match reported {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            CURRENT.with_borrow_mut(|operation| operation.raised = Some(error));
            ControlFlow::Break(())
        }
    }
}

/// [`report`] for work outside the library.
pub fn check(stage: &str, done: u64, total: Option<u64>) -> Result<(), Failure> {
    match report(stage, done, total) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(PyKeyboardInterrupt::new_err(()).into()),
    }
}

fn call_progress(
    progress: &Bound<'_, PyAny>,
    before: Option<(String, u64, Instant)>,
    stage: &str,
    done: u64,
    total: Option<u64>,
) -> PyResult<()> {
    let py = progress.py();
    if !has_attribute(progress, intern!(py, "update"))? {
        let arguments = (stage, done, total).into_pyobject(py)?;
        return call_function(progress, &arguments, None).map(drop);
    }
    let call = |name: &Bound<'_, PyString>, argument: Bound<'_, PyAny>| {
        let arguments = PyTuple::new(py, [argument])?;
        let method = call_python(|| progress.getattr(name))?;
        call_function(&method, &arguments, None).map(drop)
    };
    let before = match before {
        Some((name, before, _)) if name == stage => before,
        _ => {
            call(intern!(py, "reset"), total.into_bound_py_any(py)?)?;
            call(intern!(py, "set_description"), stage.into_bound_py_any(py)?)?;
            0
        }
    };
    let steps = done.saturating_sub(before).into_bound_py_any(py)?;
    call(intern!(py, "update"), steps)
}

/// The threads for work on texts. After a fork, the child makes its own: threads are not forked.
pub fn pool() -> Arc<ThreadPool> {
    static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    let mut pool = POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let process = std::process::id();
    match &*pool {
        Some((owner, pool)) if *owner == process => Arc::clone(pool),
        _ => {
            let made = Arc::new(build_pool());
            if let Some((_, forked)) = pool.replace((process, Arc::clone(&made))) {
                // To drop the pool would wait for threads that do not exist.
                std::mem::forget(forked);
            }
            made
        }
    }
}

fn build_pool() -> ThreadPool {
    let named = ThreadPoolBuilder::new().thread_name(|index| format!("simdb-text-{index}"));
    match named.build() {
        Ok(pool) => pool,
        Err(error) => panic!("cannot start threads: {error}"),
    }
}
