//! [`Fields`]: where the parts of a document are found in a record, and the document that they make.

use serde_json::Value;
use simdb::DocId;

use super::score::Score;
use super::time::time_of;
use super::{
    DocumentContent, Item, MAX_LINE_BYTES, RELIABLE_FIELD, fingerprint_of, id_of, text_of,
};

/// The names of the JSON fields or columns that hold the parts of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFields {
    pub id: String,
    /// `None` if texts are not read.
    pub text: Option<String>,
    /// `None` if fingerprints are made of the texts.
    pub fingerprint: Option<String>,
    /// The time of arrival, or `None` if documents arrive now.
    pub time: Option<String>,
    /// A number by which a document is preferred to others.
    pub score: Option<String>,
    /// Documents have no ids: they are counted, bad ones too.
    pub are_counted: bool,
    /// The most bytes that a text may have.
    pub max_text_bytes: usize,
}

/// A part of a document, as it stands in a field or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentPart {
    Id,
    Text,
    Fingerprint,
    /// `false` if the fingerprint says nothing.
    Reliable,
    Time,
    Score,
}

impl DocumentPart {
    pub const ALL: [Self; 6] = [
        Self::Id,
        Self::Text,
        Self::Fingerprint,
        Self::Time,
        Self::Score,
        // Last, so that a field of this name that is named for something else is that.
        Self::Reliable,
    ];

    /// The option that names the field of a part. `None` if the field has a fixed name and may be
    /// missing.
    pub fn option(self) -> Option<&'static str> {
        match self {
            Self::Id => Some("--id"),
            Self::Text => Some("--text"),
            Self::Fingerprint => Some("--fingerprint"),
            Self::Reliable => None,
            Self::Time => Some("--time"),
            Self::Score => Some("--score"),
        }
    }
}

/// The values of the parts of one record.
pub trait PartValues {
    /// The word that messages use for a field.
    const KIND: &'static str;

    /// Takes the value of a part out. `None` if the record has no such field.
    fn take(&mut self, part: DocumentPart) -> Result<Option<Value>, String>;
}

/// The room in a line for fields other than the text.
const OTHER_FIELDS_BYTES: usize = 1 << 20;

impl DocumentFields {
    /// The name of the field that holds a part, or `None` if that part is not read.
    pub fn name(&self, part: DocumentPart) -> Option<&str> {
        match part {
            DocumentPart::Id => (!self.are_counted).then_some(&self.id),
            DocumentPart::Text => self.text.as_ref(),
            DocumentPart::Fingerprint => self.fingerprint.as_ref(),
            DocumentPart::Reliable => return self.fingerprint.as_ref().map(|_| RELIABLE_FIELD),
            DocumentPart::Time => self.time.as_ref(),
            DocumentPart::Score => self.score.as_ref(),
        }
        .map(String::as_str)
    }

    /// The most bytes a line may have: room for a text whose every character is escaped, and for
    /// other fields.
    pub fn max_line_bytes(&self) -> usize {
        let text_bytes = self.max_text_bytes.saturating_mul(2);
        text_bytes
            .saturating_add(OTHER_FIELDS_BYTES)
            .min(MAX_LINE_BYTES)
    }

    /// The document in a record, or the reason why the record is none. Documents that are counted have
    /// the id `counted`.
    pub fn item(&self, number: u64, counted: Option<DocId>, mut values: impl PartValues) -> Item {
        let id = match counted {
            Some(id) => Ok(id),
            None => self.id(&mut values),
        };
        match id {
            Ok(id) => Item::of(number, id, self.content(values)),
            Err(reason) => Item::reject(number, None, reason),
        }
    }

    /// The id of a document that is not counted.
    pub fn id<V: PartValues>(&self, values: &mut V) -> Result<DocId, String> {
        match self.required(values, DocumentPart::Id)? {
            Some((name, value)) => id_of(&value).map_err(in_field::<V>(name)),
            None => Err("it has no id".to_owned()),
        }
    }

    /// The content of a document. Beside a fingerprint the text may be missing. Every other part that
    /// has a name must be there.
    pub fn content<V: PartValues>(&self, mut values: V) -> Result<DocumentContent, String> {
        let values = &mut values;
        let text = match (
            self.name(DocumentPart::Text),
            values.take(DocumentPart::Text)?,
        ) {
            (None, _) => None,
            (Some(_), Some(Value::String(text))) => Some(text_of(text, self.max_text_bytes)?),
            (Some(_), None | Some(Value::Null)) if self.fingerprint.is_some() => None,
            (Some(name), None) => return Err(missing::<V>(name)),
            (Some(name), Some(other)) => return Err(not_a_string::<V>(name, &other)),
        };
        let fingerprint = match self.required(values, DocumentPart::Fingerprint)? {
            None => None,
            Some((name, Value::String(digits))) => {
                let fingerprint = fingerprint_of(&digits).map_err(in_field::<V>(name))?;
                Some((fingerprint, is_reliable(values)?))
            }
            Some((name, other)) => return Err(not_a_string::<V>(name, &other)),
        };
        let arrival = match self.required(values, DocumentPart::Time)? {
            None => None,
            Some((name, value)) => Some(time_of(&value).map_err(in_field::<V>(name))?),
        };
        let score = match self.required(values, DocumentPart::Score)? {
            None => None,
            Some((name, value)) => Some(score_of(&value).map_err(in_field::<V>(name))?),
        };
        Ok(DocumentContent {
            text,
            fingerprint,
            arrival,
            score,
        })
    }

    /// The value of a part and the name of its field. An error if the part is read and not there.
    fn required<V: PartValues>(
        &self,
        values: &mut V,
        part: DocumentPart,
    ) -> Result<Option<(&str, Value)>, String> {
        let Some(name) = self.name(part) else {
            return Ok(None);
        };
        match values.take(part)? {
            Some(value) => Ok(Some((name, value))),
            None => Err(missing::<V>(name)),
        }
    }
}

fn is_reliable<V: PartValues>(values: &mut V) -> Result<bool, String> {
    match values.take(DocumentPart::Reliable)? {
        None | Some(Value::Null) => Ok(true),
        Some(Value::Bool(is_reliable)) => Ok(is_reliable),
        Some(_) => Err(format!(
            "{} {RELIABLE_FIELD:?} is neither true nor false",
            V::KIND
        )),
    }
}

fn score_of(value: &Value) -> Result<Score, String> {
    match value {
        Value::String(digits) => Score::of_digits(digits),
        other => Score::of_digits(&other.to_string()),
    }
}

fn in_field<V: PartValues>(name: &str) -> impl FnOnce(String) -> String {
    move |reason| format!("{} {name:?}: {reason}", V::KIND)
}

fn missing<V: PartValues>(name: &str) -> String {
    format!("there is no {} {name:?}", V::KIND)
}

fn not_a_string<V: PartValues>(name: &str, value: &Value) -> String {
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("{} {name:?} is {is}, a string is expected", V::KIND)
}

#[cfg(test)]
impl DocumentFields {
    /// The fields `id` and those named here.
    pub fn of_names(text: Option<&str>, fingerprint: Option<&str>) -> Self {
        Self {
            id: "id".to_owned(),
            text: text.map(str::to_owned),
            fingerprint: fingerprint.map(str::to_owned),
            time: None,
            score: None,
            are_counted: false,
            max_text_bytes: super::MAX_TEXT_BYTES,
        }
    }
}
