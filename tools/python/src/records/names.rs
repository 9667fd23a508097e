//! The names of the fields, or columns, of records.

use pyo3::prelude::*;

use crate::numbers::unexpected;

/// The names of the fields, or columns, of records.
#[derive(Default)]
pub struct FieldNames {
    /// `None` to number the records from 0, unless they have keys.
    pub id: Option<String>,
    /// The fields of the text, in order.
    pub text: Vec<String>,
    /// The field of fingerprints, in place of the field of texts.
    pub fingerprints: Option<String>,
    /// The field of keys, in place of the field of ids.
    pub key: Option<String>,
    pub scope: Option<String>,
    /// The field of arrival times.
    pub arrival: Option<String>,
    /// The fields to store.
    pub keep: Vec<String>,
}

impl FieldNames {
    /// The fields of the content; several make one text.
    pub fn contents(&self) -> &[String] {
        let fingerprints = self.fingerprints.as_ref();
        fingerprints.map_or(&self.text, std::slice::from_ref)
    }
}

/// The name of the field of the text, or the names of several.
pub enum TextNames {
    One(String),
    Several(Vec<String>),
}

impl<'py> FromPyObject<'_, 'py> for TextNames {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let several = |_| object.extract().map(Self::Several);
        let names = object.extract().map(Self::One).or_else(several);
        names.map_err(|_: PyErr| {
            unexpected(
                &object,
                "text, the name of a field (str) or a list of names,",
            )
        })
    }
}

impl Default for TextNames {
    fn default() -> Self {
        Self::One("text".to_owned())
    }
}

impl TextNames {
    pub fn into_names(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Several(names) => names,
        }
    }
}
