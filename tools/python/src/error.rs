//! The conversion of errors into exceptions. The classes are in `simdb/errors.py`.

use std::error::Error as _;
use std::io;
use std::iter::successors;

use pyo3::PyTypeInfo as _;
use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use simdb::Error;

/// The reason why an operation failed.
#[derive(Debug)]
pub enum Failure {
    /// An error of the library.
    Library(Error),
    /// An exception of Python code that the operation called, or of an argument.
    Python(PyErr),
    /// An argument that the database cannot take.
    InvalidArgument(String),
    /// The use of a database in a process that was forked from the process that opened it.
    Forked(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl Failure {
    /// The exception.
    pub fn into_exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Library(error) => library_error(py, &error),
            Self::Python(error) => error,
            Self::InvalidArgument(message) => invalid_argument(py, &message),
            Self::Forked(path) => exception(
                py,
                "ForkError",
                &format!(
                    "{path} was opened before this process was forked; open it again in this process, \
                     or start processes with multiprocessing.get_context(\"spawn\")"
                ),
            ),
        }
    }
}

/// An exception for an argument that no function of the library was called with.
pub fn invalid_argument(py: Python<'_>, message: &str) -> PyErr {
    exception(py, "InvalidArgumentError", message)
}

/// A `TypeError` whose object exists. PyO3 makes the object of `PyTypeError::new_err` at the first
/// look at the exception, and releases the interpreter lock for it: a thread that would then wait
/// for the lock while the interpreter exits panics.
pub fn type_error(py: Python<'_>, message: &str) -> PyErr {
    from_made(PyTypeError::type_object(py).call1((message,)))
}

/// The exception for a panic of the library.
pub fn internal_error(py: Python<'_>, panic: &(dyn std::any::Any + Send)) -> PyErr {
    let message = (panic.downcast_ref::<&str>().copied())
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown panic");
    exception(
        py,
        "InternalError",
        &format!("simdb failed: {message}; please report this as a bug"),
    )
}

/// The numbers of Python's `errno` for a missing file and for an existing one, on all systems.
const ENOENT: i32 = 2;
const EEXIST: i32 = 17;

fn library_error(py: Python<'_>, error: &Error) -> PyErr {
    let causes: Vec<_> =
        successors(error.source(), |cause| std::error::Error::source(*cause)).collect();
    let texts: Vec<_> = causes.iter().map(ToString::to_string).collect();
    let text = [&[error_text(error)], &texts[..]].concat().join(": ");
    let raised = exception(py, class_name(error), &text);
    if !texts.is_empty() {
        let cause = PyOSError::type_object(py).call1((texts.join(": "),));
        raised.set_cause(py, Some(from_made(cause)));
    }
    let number = causes
        .iter()
        .find_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error());
    let number = number.or(match error {
        Error::NotFound { .. } => Some(ENOENT),
        Error::AlreadyExists { .. } => Some(EEXIST),
        _ => None,
    });
    if let Some(number) = number {
        // Fails for a class that is no `OSError`.
        let _ = raised.value(py).setattr(intern!(py, "errno"), number);
    }
    raised
}

/// Parts of error texts that name functions of the library, each with its replacement in Python.
const PYTHON_NAMES: [(&str, &str); 10] = [
    ("`Builder::retention`", "the argument `retention`"),
    ("`Builder::recipe`", "the argument `recipe`"),
    (" and `Builder::frames`", ""),
    ("Builder::salvage", "simdb.salvage"),
    ("Builder::bulk_create", "simdb.bulk_load"),
    ("Database::check", "Database.check"),
    (
        "`Builder::recipe` and `Builder::keep_texts`",
        "the arguments `recipe` and `keep_texts`",
    ),
    (
        ", or create the database with another `Retention::max_ahead`",
        "",
    ),
    (
        "make the change with Transaction::apply or BulkLoad::push, or commit or drop it first",
        "make the change before or after the load",
    ),
    (", for example in an Arc, or close it", ", or close it"),
];

fn error_text(error: &Error) -> String {
    let rename = |text: String, (rust, python): (&str, &str)| text.replace(rust, python);
    PYTHON_NAMES.into_iter().fold(error.to_string(), rename)
}

/// An exception of a class of `simdb.errors`.
fn exception(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = py
        .import(intern!(py, "simdb.errors"))
        .and_then(|errors| errors.getattr(class))
        .and_then(|class| class.call1((message,)));
    from_made(made)
}

/// An exception of its object, or the one that was raised in place of it.
fn from_made(made: PyResult<Bound<'_, PyAny>>) -> PyErr {
    made.map_or_else(|error| error, PyErr::from_value)
}

fn class_name(error: &Error) -> &'static str {
    match error {
        Error::NotFound { .. } => "NotFoundError",
        Error::AlreadyExists { .. } => "AlreadyExistsError",
        Error::NotADatabase { .. } | Error::FormatVersion { .. } | Error::ForestMismatch { .. } => {
            "NotADatabaseError"
        }
        Error::RecipeMismatch { .. }
        | Error::SettingsMismatch { .. }
        | Error::RecipeFiles { .. } => "MismatchError",
        Error::Locked { .. } => "LockedError",
        Error::Closed { .. } => "ClosedError",
        Error::ReadOnly { .. } | Error::Frozen { .. } => "ReadOnlyError",
        Error::Corrupt { .. } | Error::JournalMissing { .. } | Error::NothingToSalvage { .. } => {
            "CorruptError"
        }
        Error::CommitUnknown { .. } => "CommitUnknownError",
        Error::Io { .. }
        | Error::Storage { .. }
        | Error::WritesFailed { .. }
        | Error::NotAllWritten { .. } => "StorageError",
        Error::SnapshotHeld { .. }
        | Error::TransactionOpen { .. }
        | Error::TransactionFailed { .. }
        | Error::QueueFull { .. }
        | Error::TimedOut { .. } => "BusyError",
        Error::EmptyPath
        | Error::RecipeOption { .. }
        | Error::WordFile { .. }
        | Error::KeepsNoTexts { .. }
        | Error::TextMissing { .. }
        | Error::NoTexts { .. }
        | Error::NoDictionary { .. }
        | Error::Only64Bits { .. }
        | Error::InvalidWeight { .. }
        | Error::UnknownRecipe { .. }
        | Error::FrozenEmpty { .. }
        | Error::RetentionWindow { .. }
        | Error::ArrivalAhead { .. }
        | Error::TextTooLong { .. }
        | Error::FieldsTooLong { .. }
        | Error::InvalidKey { .. }
        | Error::KeyMissing { .. }
        | Error::KeepsNoKeys { .. }
        | Error::KeepsNoCopies { .. }
        | Error::CopiesLimit { .. }
        | Error::InvalidCopies { .. }
        | Error::InvalidScope { .. }
        | Error::KeepsNoScopes { .. }
        | Error::TooManyScopes { .. }
        | Error::WithinOtherScopes { .. }
        | Error::UnknownKey { .. }
        | Error::InvalidRadius { .. }
        | Error::InvalidLikeness { .. }
        | Error::InvalidContainedUpTo { .. }
        | Error::ZeroLimit
        | Error::InvalidDocId { .. }
        | Error::InvalidTimestamp { .. }
        | Error::UnknownZone { .. }
        | Error::UnknownKeep { .. }
        | Error::InvalidFingerprint { .. }
        | Error::NoArrivals { .. } => "InvalidArgumentError",
        _ => "Error",
    }
}
