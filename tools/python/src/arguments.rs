//! Arguments of several functions: ids, keys, radii and numbers.

use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use simdb::DocRef;

use crate::error::invalid_argument;
use crate::fingerprint::Fingerprint;
use crate::interpreter_exit::{call_function, call_python, iterate};
use crate::numbers::{refuse_bool, unexpected, whole_number};
use crate::utf8::utf8_of;

/// The id of a document.
pub fn id_of(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    // A fingerprint in place of an id: the arguments are exchanged.
    if object.is_instance_of::<Fingerprint>() {
        return Err(unexpected(object, "an id (int)"));
    }
    whole_number(object, "an id", "an id (int)")
}

/// The id of a document, or its key.
pub fn doc_ref_of(object: &Bound<'_, PyAny>) -> PyResult<DocRef> {
    match object.cast::<PyString>() {
        Ok(key) => Ok(DocRef::from(&*utf8_of(key, "the key")?)),
        Err(_) => id_of(object).map(DocRef::from),
    }
}

/// The key of a document.
pub fn key_of(object: &Bound<'_, PyAny>) -> PyResult<String> {
    name_of(object, "the key", "a key (str)")
}

/// The scope of a document, or `None`.
pub fn scope_of(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    match object.is_none() {
        true => Ok(None),
        false => name_of(object, "the scope", "a scope (str)").map(Some),
    }
}

fn name_of(object: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<String> {
    match object.cast::<PyString>() {
        Ok(text) => Ok(utf8_of(text, name)?.to_string()),
        Err(_) => Err(unexpected(object, expected)),
    }
}

/// The id or the key of a document that may be stored; `None` for an int that is no id.
pub fn possible_doc_ref(object: &Bound<'_, PyAny>) -> PyResult<Option<DocRef>> {
    match doc_ref_of(object) {
        // An int that is no id. A str that is no key is refused.
        Err(error)
            if error.is_instance_of::<PyValueError>(object.py())
                && !object.is_instance_of::<PyString>() =>
        {
            Ok(None)
        }
        found => found.map(Some),
    }
}

/// The names of scopes: a str, or several.
pub struct Scopes(pub Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Scopes {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let expected = "a scope (str) or a list of scopes";
        let scope = |object: &Bound<'py, PyAny>| name_of(object, "the scope", expected);
        if object.is_instance_of::<PyString>() {
            return scope(&object).map(|scope| Self(vec![scope]));
        }
        let scopes = iterate(&object);
        let scopes = scopes.map_err(|_| unexpected(&object, expected))?;
        let scopes: PyResult<_> = scopes.map(|found| scope(&found?)).collect();
        scopes.map(Self)
    }
}

/// The fields of a document, a dict, as the text of a JSON object.
pub struct Fields(pub String);

impl<'py> FromPyObject<'_, 'py> for Fields {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if !object.is_instance_of::<PyDict>() {
            return Err(unexpected(&object, "fields (dict)"));
        }
        let options = PyDict::new(object.py());
        options.set_item("ensure_ascii", false)?;
        options.set_item("allow_nan", false)?;
        let py = object.py();
        let dumps = py.import("json")?.getattr("dumps")?;
        let text = call_function(&dumps, &PyTuple::new(py, [object])?, Some(&options));
        // NaN, an infinite number, or a dict in itself.
        let text = text.map_err(|error| match error.is_instance_of::<PyValueError>(py) {
            true => invalid_argument(py, &format!("the fields are no JSON: {}", error.value(py))),
            false => error,
        })?;
        let json = utf8_of(text.cast()?, "the JSON of the fields")?;
        Ok(Self(json.to_string()))
    }
}

/// A Hamming radius. The library refuses those that are too large.
pub fn radius_of(object: &Bound<'_, PyAny>) -> PyResult<u32> {
    refuse_bool(object, "a radius (int)")?;
    let radius: i64 = call_python(|| object.extract())?;
    u32::try_from(radius).map_err(|_| {
        let message = format!("there is no radius {radius}; give a radius from 0 to 64");
        invalid_argument(object.py(), &message)
    })
}

/// A positive number of bytes.
pub fn memory_bytes_of(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    at_least(1, object, "memory_bytes")
}

/// The lifetime of documents, or `None`.
pub fn retention_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    let py = object.py();
    object.extract().map_err(
        |error: PyErr| match error.is_instance_of::<PyValueError>(py) {
            true => invalid_argument(py, "retention is a timedelta of more than 0"),
            false => unexpected(object, "retention (a timedelta)"),
        },
    )
}

/// The names of the fields to store.
pub fn field_names_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let names = object.extract();
    names.map_err(|_: PyErr| unexpected(object, "keep (a list of names of fields)"))
}

/// A positive number of bytes, or `None`.
pub fn cache_bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    optional(object, |object| at_least(1, object, "cache_bytes"))
}

/// The largest number of answers; `None` for all.
pub fn limit_of(object: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    optional(object, |object| at_least(0, object, "limit"))
}

/// The number of copies of a document to store, or `None`. A database refuses other numbers than 1
/// to 1,000.
pub fn copies_of(object: &Bound<'_, PyAny>) -> PyResult<Option<u16>> {
    let newest = optional(object, |object| at_least(0, object, "copies"))?;
    Ok(newest.map(|newest| u16::try_from(newest).unwrap_or(u16::MAX)))
}

/// The number of texts with a frame, or `None`.
pub fn learned_frames_of(object: &Bound<'_, PyAny>) -> PyResult<Option<u16>> {
    let texts = optional(object, |object| at_least(2, object, "frames"))?;
    let texts = texts.map(u16::try_from).transpose();
    texts.map_err(|_| {
        let message = format!("frames is an int of at most 65535, which {object} is not");
        invalid_argument(object.py(), &message)
    })
}

/// A number of documents.
pub fn count_of(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    at_least(0, object, "count").map(saturated)
}

/// The largest number of pairs.
pub fn max_pairs_of(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    at_least(0, object, "max_pairs").map(saturated)
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn optional(
    object: &Bound<'_, PyAny>,
    number: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<u64>,
) -> PyResult<Option<usize>> {
    match object.is_none() {
        true => Ok(None),
        false => number(object).map(|number| Some(saturated(number))),
    }
}

/// A number that is not too small. An error has the name of its argument.
fn at_least(least: u64, object: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    let refused = || {
        let message = format!("{name} is an int of at least {least}, which {object} is not");
        invalid_argument(object.py(), &message)
    };
    let expected = format!("{name} (int)");
    refuse_bool(object, &expected)?;
    match call_python(|| object.extract::<u64>()) {
        Ok(number) if number >= least => Ok(number),
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => {
            Err(unexpected(object, &expected))
        }
        // More than all.
        Err(_) if object.gt(least)? => Ok(u64::MAX),
        _ => Err(refused()),
    }
}
