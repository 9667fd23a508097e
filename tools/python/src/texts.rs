//! Texts from Python: lists, NumPy arrays and Arrow arrays of strings.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_cast::cast;
use arrow_schema::DataType;
use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;
use pyo3_arrow::PyChunkedArray;
use pyo3_arrow::input::AnyArray;

use crate::arguments::{type_name, whole_number};
use crate::error::invalid_argument;

/// A text, or a fingerprint that was made before.
pub enum Content {
    Text(PyBackedStr),
    Fingerprint(u64),
}

impl<'py> FromPyObject<'_, 'py> for Content {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyString>() {
            Ok(text) => Ok(Self::Text(text.to_owned().try_into()?)),
            Err(_) => {
                let expected = "a text (str) or a fingerprint (int)";
                whole_number(&object, "a fingerprint", expected).map(Self::Fingerprint)
            }
        }
    }
}

/// A text or a fingerprint, borrowed.
#[derive(Clone, Copy)]
pub enum ContentRef<'a> {
    Text(&'a str),
    Fingerprint(u64),
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
        let py = object.py();
        if object.is_instance_of::<PyString>() {
            return Err(invalid_argument(
                py,
                "a list of texts is expected, not one text",
            ));
        }
        if is_arrow(&object)? {
            let (chunks, _) = chunked(&object)?.into_inner();
            let strings = chunks.iter().map(|chunk| strings_of(py, chunk));
            return Ok(Self::Arrow(strings.collect::<PyResult<_>>()?));
        }
        let mut texts = Vec::with_capacity(object.len().unwrap_or(0));
        for (index, text) in object.try_iter()?.enumerate() {
            let text = text?;
            texts.push(text.extract().map_err(|_| {
                let found = type_name(&text);
                invalid_argument(py, &format!("text {index} is no string but {found}"))
            })?);
        }
        Ok(Self::Python(texts))
    }
}

impl Texts {
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

fn null_text(py: Python<'_>, index: usize) -> PyErr {
    invalid_argument(
        py,
        &format!("text {index} is null; remove it, or give an empty text"),
    )
}

/// Returns `true` if an object has the Arrow C data or stream interface.
pub fn is_arrow(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    Ok(object.hasattr(intern!(py, "__arrow_c_stream__"))?
        || object.hasattr(intern!(py, "__arrow_c_array__"))?)
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

/// The numbers of a column of integers without nulls.
pub fn numbers_of(py: Python<'_>, array: &ArrayRef) -> PyResult<UInt64Array> {
    let refuse = |what: &str| Err(invalid_argument(py, what));
    if !array.data_type().is_integer() {
        return refuse(&format!(
            "a column of integers is expected, not of {}",
            array.data_type()
        ));
    }
    match cast(array, &DataType::UInt64) {
        Ok(numbers) if numbers.null_count() == 0 => Ok(numbers.as_primitive().clone()),
        Ok(_) => refuse("a column of integers has a null or a negative number; remove it"),
        Err(error) => refuse(&error.to_string()),
    }
}

/// Fingerprints from a NumPy or Arrow array of uint64, or from a list of integers.
pub fn fingerprints_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    if let Ok(array) = object.extract::<numpy::PyReadonlyArray1<'_, u64>>() {
        // Copied: other threads may change the array while the library reads.
        return Ok(array.as_array().to_vec());
    }
    let py = object.py();
    if is_arrow(object)? {
        let (chunks, _) = chunked(object)?.into_inner();
        let mut numbers = Vec::new();
        for chunk in &chunks {
            numbers.extend_from_slice(numbers_of(py, chunk)?.values());
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
    let numbers = object.try_iter()?.enumerate();
    numbers
        .map(|(index, number)| {
            let expected = format!("a fingerprint (int) as query {index}");
            whole_number(&number?, "a fingerprint", &expected)
        })
        .collect()
}
