//! The records of an iterable of Python: dicts, or tuples of an id and a text.

use pyo3::PyTypeInfo as _;
use pyo3::exceptions::{PyLookupError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyFloat, PyIterator, PyString, PyTuple};
use simdb::Timestamp;

use super::{FieldNames, RELIABLE_FIELD, Record, joined};
use crate::arguments::{Fields, id_of};
use crate::arrivals::Arrival;
use crate::error::invalid_argument;
use crate::interpreter_exit::call_python;
use crate::numbers::type_name;
use crate::texts::{Content, Text, fingerprint_of, in_record, is_missing};

/// Records that from an iterator of Python at once.
const RECORDS_PER_PART: usize = 4096;
/// Bytes of texts after which no more records are taken at once.
const BYTES_PER_PART: usize = 1 << 20;

/// A record from Python.
pub(super) struct OwnedRecord {
    id: u64,
    key: Option<PyBackedStr>,
    scope: Option<PyBackedStr>,
    fields: Option<String>,
    arrival: Option<Timestamp>,
    content: Content,
    reliable: bool,
}

impl OwnedRecord {
    pub(super) fn borrow(&self) -> Record<'_> {
        Record {
            id: self.id,
            key: self.key.as_deref(),
            scope: self.scope.as_deref(),
            fields: self.fields.as_deref(),
            arrival: self.arrival,
            content: self.content.borrow(),
            reliable: self.reliable,
        }
    }
}

/// The value of a field; `None` if the record has no field of this name. The class of a record may
/// raise any other exception, such as one of its own code or a `KeyboardInterrupt`, which ends the
/// load.
fn field<'py>(record: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = record.py();
    match call_python(|| record.get_item(name)) {
        Ok(value) => Ok(Some(value)),
        // A row of NumPy raises a `ValueError`, whose subclasses are errors of a decoder.
        Err(error)
            if error.is_instance_of::<PyLookupError>(py)
                || error.is_instance_of::<PyTypeError>(py)
                || error.get_type(py).is(PyValueError::type_object(py)) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl FieldNames {
    /// Takes the next records of an iterator; `next` is the number of records before.
    pub(super) fn take(
        &self,
        records: &Bound<'_, PyIterator>,
        next: u64,
    ) -> PyResult<Vec<OwnedRecord>> {
        let mut part = Vec::new();
        let mut bytes = 0;
        while part.len() < RECORDS_PER_PART && bytes < BYTES_PER_PART {
            let number = next + part.len() as u64;
            let record = call_python(|| {
                let record = records.clone().next()?;
                Some(record.and_then(|record| self.record(&record, number)))
            });
            let Some(record) = record.transpose()? else {
                break;
            };
            bytes += record.content.borrow().len_bytes();
            part.push(record);
        }
        Ok(part)
    }

    fn record(&self, record: &Bound<'_, PyAny>, number: u64) -> PyResult<OwnedRecord> {
        let py = record.py();
        if let Ok(pair) = record.cast::<PyTuple>() {
            return self.pair(pair, number);
        }
        let of_column = |name: &str| {
            field(record, name)?.ok_or_else(|| {
                let fields = match record.cast::<PyDict>() {
                    Ok(fields) => format!("its fields are {}", fields.keys()),
                    Err(_) => format!("it is of type {}", type_name(record)),
                };
                invalid_argument(
                    py,
                    &format!("record {number} has no field '{name}': {fields}"),
                )
            })
        };
        let of_field =
            |name: &str, error| in_record(py, &format!("field '{name}' of record {number}"), error);
        let id = match &self.id {
            Some(name) => id_of(&of_column(name)?).map_err(|error| of_field(name, error))?,
            None => number,
        };
        let key = self.key.as_ref().map(|name| {
            let key = of_column(name)?.extract::<Text>();
            key.map_err(|error| of_field(name, error))
        });
        let key = key.transpose()?;
        // An error names the record by its key.
        let record_name = match &key {
            Some(key) => format!("document {:?}", &**key),
            None => format!("record {number}"),
        };
        let of_field =
            |name: &str, error| in_record(py, &format!("field '{name}' of {record_name}"), error);
        let scope = self.scope.as_ref().map(|name| {
            let scope = of_column(name)?.extract::<Option<Text>>();
            scope.map_err(|error| of_field(name, error))
        });
        let scope = scope.transpose()?.flatten();
        let arrival = self.arrival.as_ref().map(|name| {
            let arrival = of_column(name)?.extract::<Arrival>();
            arrival.map_err(|error| of_field(name, error))
        });
        let arrival = arrival.transpose()?.map(|arrival| arrival.0);
        let fields = self.kept_fields(record);
        let fields = fields.map_err(|error| in_record(py, &record_name, error))?;
        let content = match self.contents() {
            [name] => self
                .content(&of_column(name)?)
                .map_err(|error| of_field(name, error))?,
            names => {
                let mut texts = Vec::new();
                for name in names {
                    match field(record, name)? {
                        Some(value) if value.is_none() => texts.push(None),
                        Some(value) => {
                            let text = value.extract::<Text>();
                            texts.push(Some(text.map_err(|error| of_field(name, error))?));
                        }
                        None => {}
                    }
                }
                if texts.iter().all(Option::is_none) {
                    // The error about the first field.
                    let missing = of_column(&names[0])?.extract::<Text>();
                    texts.push(Some(missing.map_err(|error| of_field(&names[0], error))?));
                }
                let joined = joined(texts.iter().flatten().map(|text| &**text));
                Content::Text(PyString::new(py, &joined).try_into()?)
            }
        };
        let flag = match content {
            Content::Fingerprint(_) => field(record, RELIABLE_FIELD)?,
            Content::Text(_) => None,
        };
        let reliable = match flag.filter(|flag| !flag.is_none()) {
            Some(flag) => flag
                .extract()
                .map_err(|error| of_field(RELIABLE_FIELD, error))?,
            None => true,
        };
        Ok(OwnedRecord {
            id,
            key: key.map(Text::into_utf8),
            scope: scope.map(Text::into_utf8),
            fields,
            arrival,
            content,
            reliable,
        })
    }

    /// The fields of a record to be stored, without missing values.
    fn kept_fields(&self, record: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        if self.keep.is_empty() {
            return Ok(None);
        }
        let kept = PyDict::new(record.py());
        for name in &self.keep {
            let value = field(record, name)?;
            // JSON has no infinite numbers, and in a column they are left out too.
            let is_infinite = |value: &Bound<'_, PyAny>| {
                // NumPy has further floats.
                let is_float =
                    value.is_instance_of::<PyFloat>() || type_name(value).starts_with("float");
                is_float && value.extract().is_ok_and(f64::is_infinite)
            };
            if let Some(value) = value.filter(|value| !is_missing(value) && !is_infinite(value)) {
                kept.set_item(name, value)?;
            }
        }
        Ok(Some(kept.extract::<Fields>()?.0))
    }

    /// A record that is a tuple of an id, or a key, and a content.
    fn pair(&self, pair: &Bound<'_, PyTuple>, number: u64) -> PyResult<OwnedRecord> {
        let py = pair.py();
        let Ok((id, content)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
            let message = format!("record {number} is a tuple, but not of an id and a text");
            return Err(invalid_argument(py, &message));
        };
        if self.scope.is_some() || self.arrival.is_some() || !self.keep.is_empty() {
            let message =
                format!("record {number} is a tuple; scope, arrival and keep name fields of dicts");
            return Err(invalid_argument(py, &message));
        }
        let of_record = |error| in_record(py, &format!("record {number}"), error);
        let (id, key) = match &self.key {
            Some(_) => (number, Some(id.extract::<Text>().map_err(of_record)?)),
            None => (id_of(&id).map_err(of_record)?, None),
        };
        Ok(OwnedRecord {
            id,
            key: key.map(Text::into_utf8),
            scope: None,
            fields: None,
            arrival: None,
            content: self.content(&content).map_err(of_record)?,
            reliable: true,
        })
    }

    fn content(&self, object: &Bound<'_, PyAny>) -> PyResult<Content> {
        match self.fingerprints.is_some() {
            true => fingerprint_of(object).map(Content::Fingerprint),
            false => object.extract(),
        }
    }
}
