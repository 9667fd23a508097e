//! Arrival times from Python: single ones, and columns.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use simdb::Timestamp;
use simdb::time_reader::TimeReader;

use crate::error::{Failure, invalid_argument};
use crate::interpreter_exit::{call_python, has_attribute};
use crate::numbers::{refuse_bool, unexpected};
use crate::texts::{in_record, optional_strings, strings_of};

const BEFORE_1970: &str = "the arrival time lies before 1970";
const NO_ARRIVAL: &str = "the arrival time is null; remove the row";

/// An arrival time: milliseconds since 1970, a datetime, or a text as [`TimeReader`] reads it.
#[derive(Clone, Copy)]
pub struct Arrival(pub Timestamp);

impl<'py> FromPyObject<'_, 'py> for Arrival {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let expected = "an arrival time (datetime, str, or int of milliseconds since 1970)";
        refuse_bool(&object, expected)?;
        if let Ok(milliseconds) = call_python(|| object.extract::<u64>()) {
            return Ok(Self(Timestamp(milliseconds)));
        }
        let py = object.py();
        if let Ok(text) = object.cast::<PyString>() {
            return read(py, &text.to_string_lossy()).map(Self);
        }
        let is_before = || invalid_argument(py, BEFORE_1970);
        if object.extract::<i64>().is_ok() {
            return Err(is_before());
        }
        if !has_attribute(&object, intern!(py, "timestamp"))? {
            return Err(unexpected(&object, expected));
        }
        let seconds = call_python(|| object.call_method0(intern!(py, "timestamp")))?;
        let seconds: f64 = seconds.extract()?;
        if !(0.0..=1e16).contains(&seconds) {
            return Err(is_before());
        }
        // Microseconds are exact in the number, and a text loses them too.
        let microseconds = (seconds * 1e6).round() as u64;
        Ok(Self(Timestamp(microseconds / 1000)))
    }
}

fn read(py: Python<'_>, text: &str) -> PyResult<Timestamp> {
    let read = TimeReader::new().read(text);
    read.map_err(|error| Failure::from(error).into_exception(py))
}

/// The arrival times of a column of timestamps with a time zone, of integers, milliseconds since
/// 1970, or of strings. `first` is the number of rows before.
pub fn arrivals_of(py: Python<'_>, array: &ArrayRef, first: u64) -> PyResult<Vec<Timestamp>> {
    let milliseconds = match array.data_type() {
        DataType::Timestamp(_, None) => {
            let message = "a column of arrival times has no time zone; give it one, such as UTC";
            return Err(invalid_argument(py, message));
        }
        DataType::Timestamp(..) => cast(array, &DataType::Timestamp(TimeUnit::Millisecond, None)),
        kind if kind.is_integer() => Ok(array.clone()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = strings_of(py, array)?;
            let arrivals = optional_strings(&texts).map(|text| match text {
                Some(text) => read(py, text),
                None => Err(invalid_argument(py, NO_ARRIVAL)),
            });
            return in_rows(py, first, arrivals);
        }
        kind => {
            let message = format!(
                "a column of arrival times, of timestamps, integers or strings, is expected, not of {kind}"
            );
            return Err(invalid_argument(py, &message));
        }
    };
    let milliseconds = milliseconds.and_then(|times| cast(&times, &DataType::Int64));
    let milliseconds = milliseconds.map_err(|error| invalid_argument(py, &error.to_string()))?;
    let milliseconds = milliseconds.as_primitive::<Int64Type>();
    let arrivals = milliseconds.iter().map(|found| match found {
        Some(found) => u64::try_from(found)
            .map(Timestamp)
            .map_err(|_| invalid_argument(py, BEFORE_1970)),
        None => Err(invalid_argument(py, NO_ARRIVAL)),
    });
    in_rows(py, first, arrivals)
}

/// The arrival times of rows. An error names its row; `first` is the number of rows before.
fn in_rows(
    py: Python<'_>,
    first: u64,
    arrivals: impl Iterator<Item = PyResult<Timestamp>>,
) -> PyResult<Vec<Timestamp>> {
    let of_row = |(row, arrival): (u64, PyResult<Timestamp>)| {
        arrival.map_err(|error| in_record(py, &format!("row {row}"), error))
    };
    (first..).zip(arrivals).map(of_row).collect()
}
