//! Texts from Python: lists, NumPy arrays and Arrow arrays of strings.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_cast::cast;
use arrow_schema::DataType;
use numpy::{
    Element, IntoPyArray as _, PyArray1, PyArrayMethods as _, PyReadonlyArray1, PyUntypedArray,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyString};
use pyo3_arrow::PyChunkedArray;
use pyo3_arrow::input::AnyArray;

use crate::arguments::id_of;
use crate::error::{invalid_argument, type_error};
use crate::fingerprint::Fingerprint;
use crate::interpreter_exit::{call_python, has_attribute, iterate, length_of};
use crate::numbers::{type_name, unexpected, whole_number};
use crate::utf8::utf8_of;

/// A text. An error says what was given in its place, and what to do.
pub struct Text(PyBackedStr);

impl Text {
    pub fn into_utf8(self) -> PyBackedStr {
        self.0
    }
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyString>() {
            Ok(text) => utf8_of(&text, "the text").map(Self),
            Err(_) => Err(no_text(&object, "a text (str)", "")),
        }
    }
}

/// The exception for an object in place of a text. `more` ends the advice about a number.
fn no_text(object: &Bound<'_, PyAny>, expected: &str, more: &str) -> PyErr {
    call_python(|| {
        let found = type_name(object);
        let has = |name: &str| object.hasattr(name).unwrap_or(false);
        // An array has the methods of a number.
        let is_number = !has("__len__") && (has("__index__") || has("__float__"));
        let message = if is_missing(object) {
            format!("{expected} is expected, not {object}; leave it out, or give an empty text")
        } else if is_bytes(object) {
            format!("{expected} is expected, not {found}; decode the bytes: data.decode('utf-8')")
        } else if is_number {
            format!(
                "{expected} is expected, not the {found} {object}; give str({object}) for a text{more}"
            )
        } else {
            format!("{expected} is expected, not {found}")
        };
        type_error(object.py(), &message)
    })
}

/// Returns `true` for None, NaN, and the missing values of pandas.
pub fn is_missing(object: &Bound<'_, PyAny>) -> bool {
    object.is_none()
        || call_python(|| object.extract()).is_ok_and(f64::is_nan)
        || matches!(type_name(object).as_str(), "NAType" | "NaTType")
}

/// The exception of a record, with its number before the text of the exception.
pub fn in_record(py: Python<'_>, record: &str, error: PyErr) -> PyErr {
    let message = format!("{record}: {}", error.value(py));
    let made = error.get_type(py).call1((message,));
    made.map_or_else(|_| error, PyErr::from_value)
}

/// A text, or a fingerprint that was made before.
pub enum Content {
    Text(PyBackedStr),
    Fingerprint(u64),
}

impl<'py> FromPyObject<'_, 'py> for Content {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyString>() {
            Ok(text) => utf8_of(&text, "the text").map(Self::Text),
            Err(_) => match object.cast::<Fingerprint>() {
                Ok(fingerprint) => Ok(Self::Fingerprint(fingerprint.get().0)),
                Err(_) => {
                    let expected = "a text (str) or a simdb.Fingerprint";
                    let number = &*object;
                    let more = format!(", or simdb.Fingerprint({number}) for a fingerprint");
                    Err(no_text(number, expected, &more))
                }
            },
        }
    }
}

/// A fingerprint where only fingerprints are expected: a `Fingerprint`, or an int.
pub fn fingerprint_of(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole_number(object, "a fingerprint", "a simdb.Fingerprint or an int")
}

/// A text or a fingerprint, borrowed.
#[derive(Clone, Copy)]
pub enum ContentRef<'a> {
    Text(&'a str),
    Fingerprint(u64),
}

impl ContentRef<'_> {
    /// The bytes of the text.
    pub fn len_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Fingerprint(_) => 0,
        }
    }
}

impl Content {
    pub fn borrow(&self) -> ContentRef<'_> {
        match self {
            Self::Text(text) => ContentRef::Text(text),
            Self::Fingerprint(bits) => ContentRef::Fingerprint(*bits),
        }
    }
}

/// Many texts. Texts of an Arrow array are not copied.
pub enum Texts {
    Python(Vec<PyBackedStr>),
    Arrow(Vec<ArrayRef>),
}

impl<'py> FromPyObject<'_, 'py> for Texts {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Self::named(&object, &|index| format!("text {index}"))
    }
}

impl Texts {
    /// The texts of an object. `name` gives the name of a text in an error.
    pub fn named(object: &Bound<'_, PyAny>, name: &dyn Fn(usize) -> String) -> PyResult<Self> {
        let py = object.py();
        refuse_one_text(object)?;
        if is_arrow(object)? {
            let (chunks, _) = chunked(object)?.into_inner();
            let strings = chunks.iter().map(|chunk| strings_of(py, chunk));
            return Ok(Self::Arrow(strings.collect::<PyResult<_>>()?));
        }
        let mut texts = Vec::with_capacity(length_of(object).unwrap_or(0));
        for (index, text) in iterate(object)?.enumerate() {
            let text = text?;
            texts.push(match text.cast::<PyString>() {
                Ok(string) => {
                    // The name is made for an error only.
                    let utf8 = PyBackedStr::try_from(string.clone());
                    utf8.or_else(|_| utf8_of(string, &name(index)))?
                }
                Err(_) => {
                    let refused = no_text(&text, "a text (str)", "");
                    return Err(in_record(py, &name(index), refused));
                }
            });
        }
        Ok(Self::Python(texts))
    }

    /// All texts, in order.
    ///
    /// # Errors
    /// `InvalidArgumentError` for a null.
    pub fn borrow(&self, py: Python<'_>) -> PyResult<Vec<&str>> {
        match self {
            Self::Python(texts) => Ok(texts.iter().map(|text| &**text).collect()),
            Self::Arrow(chunks) => {
                let mut texts = Vec::with_capacity(chunks.iter().map(Array::len).sum());
                for chunk in chunks {
                    for text in optional_strings(chunk) {
                        let index = texts.len();
                        texts.push(text.ok_or_else(|| null_text(py, index))?);
                    }
                }
                Ok(texts)
            }
        }
    }
}

/// Refuses a text in place of several: its characters are no texts.
pub fn refuse_one_text(object: &Bound<'_, PyAny>) -> PyResult<()> {
    match object.is_instance_of::<PyString>() || is_bytes(object) {
        true => Err(invalid_argument(
            object.py(),
            "a list of texts is expected, not one text",
        )),
        false => Ok(()),
    }
}

fn is_bytes(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>()
}

fn null_text(py: Python<'_>, index: usize) -> PyErr {
    invalid_argument(
        py,
        &format!("text {index} is null; remove it, or give an empty text"),
    )
}

/// Returns `true` if an object has the Arrow C data or stream interface.
pub fn is_arrow(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    Ok(has_attribute(object, intern!(py, "__arrow_c_stream__"))?
        || has_attribute(object, intern!(py, "__arrow_c_array__"))?)
}

fn chunked(object: &Bound<'_, PyAny>) -> PyResult<PyChunkedArray> {
    Ok(object.extract::<AnyArray>()?.into_chunked_array()?)
}

/// The array as one of the three types of strings, cast if it is of another type.
pub fn strings_of(py: Python<'_>, array: &ArrayRef) -> PyResult<ArrayRef> {
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(array.clone()),
        DataType::Dictionary(_, values) if values.is_string() => cast(array, &DataType::LargeUtf8)
            .map_err(|error| invalid_argument(py, &error.to_string())),
        DataType::Struct(_) => Err(invalid_argument(
            py,
            "a column of strings is expected, not a table; select the column",
        )),
        other => Err(invalid_argument(
            py,
            &format!("a column of strings is expected, not of {other}"),
        )),
    }
}

/// The strings of an array of [`strings_of`], `None` for nulls.
pub fn optional_strings<'a>(array: &'a ArrayRef) -> Box<dyn Iterator<Item = Option<&'a str>> + 'a> {
    match array.data_type() {
        DataType::Utf8 => Box::new(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => Box::new(array.as_string::<i64>().iter()),
        _ => Box::new(array.as_string_view().iter()),
    }
}

/// The numbers of a column of integers without nulls. `first` is the number of rows before.
pub fn numbers_of(py: Python<'_>, array: &ArrayRef, first: u64) -> PyResult<UInt64Array> {
    let refuse = |what: &str| Err(invalid_argument(py, what));
    if !array.data_type().is_integer() {
        return refuse(&format!(
            "a column of integers is expected, not of {}",
            array.data_type()
        ));
    }
    match cast(array, &DataType::UInt64) {
        Ok(numbers) if numbers.null_count() == 0 => Ok(numbers.as_primitive().clone()),
        Ok(numbers) => {
            let row = (0..numbers.len()).find(|row| numbers.is_null(*row));
            let row = first + row.unwrap_or_default() as u64;
            refuse(&format!(
                "row {row} of a column of integers is null or a negative number; remove the row"
            ))
        }
        Err(error) => refuse(&error.to_string()),
    }
}

/// The numbers of a NumPy array, copied: other threads may change the array meanwhile.
pub fn copied<T: Element>(array: &PyReadonlyArray1<'_, T>) -> PyResult<Vec<T>> {
    array.to_vec().or_else(|_| {
        // Not contiguous, or not aligned, as a field of packed records.
        let contiguous = array.call_method0(intern!(array.py(), "copy"))?;
        Ok(contiguous.cast_into::<PyArray1<T>>()?.to_vec()?)
    })
}

/// A NumPy array of numbers. The first one of a process imports NumPy, code of Python.
pub fn array_of<T: Element>(py: Python<'_>, numbers: Vec<T>) -> Py<PyArray1<T>> {
    call_python(|| numbers.into_pyarray(py)).unbind()
}

/// Fingerprints from a NumPy or Arrow array of uint64, or from an iterable of fingerprints or ints.
pub fn fingerprints_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    numbers_64(object, "fingerprint", fingerprint_of)
}

/// Ids from a NumPy or Arrow array of uint64, or from an iterable of ints.
pub fn ids_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    numbers_64(object, "id", id_of)
}

/// The numbers of an array, or of the items of an iterable. `name` is the name of an item in an
/// error.
fn numbers_64(
    object: &Bound<'_, PyAny>,
    name: &str,
    number: fn(&Bound<'_, PyAny>) -> PyResult<u64>,
) -> PyResult<Vec<u64>> {
    if let Ok(array) = call_python(|| object.extract()) {
        return copied(&array);
    }
    let py = object.py();
    if is_arrow(object)? {
        let (chunks, _) = chunked(object)?.into_inner();
        let mut numbers = Vec::new();
        for chunk in &chunks {
            let before = numbers.len() as u64;
            numbers.extend_from_slice(numbers_of(py, chunk, before)?.values());
        }
        return Ok(numbers);
    }
    if object.is_instance_of::<PyUntypedArray>() && object.len()? > 0 {
        let shape = object.getattr(intern!(py, "shape"))?;
        if shape.len()? != 1 {
            let message = format!("an array of one dimension is expected, not of shape {shape}");
            return Err(invalid_argument(py, &message));
        }
    }
    // The bytes of bytes, and the keys of a dict, are ints too.
    if is_bytes(object) || object.is_instance_of::<PyDict>() {
        return Err(unexpected(
            object,
            &format!("an array or a list of {name}s"),
        ));
    }
    let numbers = iterate(object)?.enumerate();
    numbers
        .map(|(index, found)| {
            let refused = |error| in_record(py, &format!("{name} {index}"), error);
            number(&found?).map_err(refused)
        })
        .collect()
}
