//! [`DocumentFields`]: the fields that hold the parts of a document, and their values as a
//! document.

use anyhow::{Result, bail};
use serde_json::{Map, Value};
use simdb::copies::Copies;
use simdb::{DocId, Fingerprint, Timestamp};

use super::html::text_of_html;
use super::id_sequence::IdSequence;
use super::json_reason::reason_of;
use super::score::Score;
use super::time::{TimeRules, time_of_ms};
use super::{
    DocumentContent, Item, MAX_LINE_BYTES, MAX_TEXT_BYTES, RELIABLE_FIELD, excerpt, fingerprint_of,
    id_of, text_of,
};

/// The names of the JSON fields or columns that hold the parts of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFields {
    pub id: String,
    /// `None` if documents have ids.
    pub key: Option<String>,
    /// `None` if all documents are in the empty scope.
    pub scope: Option<String>,
    /// The fields to keep with each document. The fields of a kept object are kept one by one.
    pub keep: Vec<String>,
    /// The copies of a document, as an export has them, or their number; `None` if copies are not
    /// read.
    pub copies: Option<String>,
    /// The times of the first and the last copy, beside their number.
    pub copies_times: Option<[String; 2]>,
    /// `None` if texts are not read.
    pub text: Option<String>,
    /// The fields whose values follow the value of `text`, at most [`MAX_MORE_TEXTS`].
    pub more_texts: Vec<String>,
    /// `None` if fingerprints are made of the texts.
    pub fingerprint: Option<String>,
    /// The features and weights that make fingerprints; `None` unless texts have none.
    pub features: Option<String>,
    /// The arrival time, or `None` if documents arrive now.
    pub time: Option<String>,
    pub time_rules: TimeRules,
    /// The number by which `dedup` chooses keepers.
    pub score: Option<String>,
    /// The value that puts documents into groups, within or between which `dedup` compares.
    pub group: Option<String>,
    /// Every record gets the next id of a sequence, bad records included.
    pub are_counted: bool,
    /// The longest text that is read.
    pub max_text_bytes: usize,
    /// `true` if texts are HTML, and are read without their tags.
    pub strips_html: bool,
    pub textless: Textless,
}

impl Default for DocumentFields {
    /// The field `id` alone.
    fn default() -> Self {
        Self {
            id: "id".to_owned(),
            key: None,
            scope: None,
            keep: Vec::new(),
            copies: None,
            copies_times: None,
            text: None,
            more_texts: Vec::new(),
            fingerprint: None,
            features: None,
            time: None,
            time_rules: TimeRules::default(),
            score: None,
            group: None,
            are_counted: false,
            max_text_bytes: MAX_TEXT_BYTES,
            strips_html: false,
            textless: Textless::Bad,
        }
    }
}

/// The records without a text that are no bad records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Textless {
    /// None. An empty text is a text.
    #[default]
    Bad,
    /// Records with an empty text.
    Empty,
    /// Records with an empty text, or whose text is null or missing.
    Missing,
}

/// A part of a document in a field or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentPart {
    Id,
    Key,
    Scope,
    Text,
    SecondText,
    ThirdText,
    FourthText,
    Fingerprint,
    Features,
    /// `false` if the fingerprint is unreliable.
    Reliable,
    Time,
    Score,
    Group,
    /// The copies of the document. A document may have none.
    Copies,
    FirstCopy,
    LastCopy,
}

/// A text has at most four fields.
pub const MAX_MORE_TEXTS: usize = DocumentPart::MORE_TEXTS.len();

impl DocumentPart {
    const MORE_TEXTS: [Self; 3] = [Self::SecondText, Self::ThirdText, Self::FourthText];

    pub const ALL: [Self; 16] = [
        Self::Id,
        Self::Key,
        Self::Scope,
        Self::Text,
        Self::SecondText,
        Self::ThirdText,
        Self::FourthText,
        Self::Fingerprint,
        Self::Features,
        Self::Time,
        Self::Score,
        Self::Group,
        Self::Copies,
        Self::FirstCopy,
        Self::LastCopy,
        // Last, so that an option that names a field `reliable` takes precedence.
        Self::Reliable,
    ];

    /// The option that names the field of a part. `None` if the name is fixed and the field
    /// optional.
    pub fn option(self) -> Option<&'static str> {
        match self {
            Self::Id => Some("--id"),
            Self::Key => Some("--key"),
            Self::Scope => Some("--scope"),
            Self::Text | Self::SecondText | Self::ThirdText | Self::FourthText => Some("--text"),
            Self::Fingerprint => Some("--fingerprint"),
            Self::Features => Some("--features"),
            Self::Reliable => None,
            Self::Time => Some("--time"),
            Self::Score => Some("--score"),
            Self::Group => Some("--within or --across"),
            Self::Copies | Self::FirstCopy | Self::LastCopy => Some("--copies-from"),
        }
    }
}

/// The value of a field or column.
pub enum FieldValue {
    Json(Value),
    /// A fingerprint in an INT64 column.
    Bits(u64),
    /// A timestamp in milliseconds since 1970.
    Millis(i64),
}

impl FieldValue {
    fn into_json(self) -> Value {
        match self {
            Self::Json(value) => value,
            Self::Bits(bits) => bits.into(),
            Self::Millis(ms) => ms.into(),
        }
    }
}

/// The values of the parts of one record.
pub trait PartValues {
    /// `field` or `column`, for messages.
    const KIND: &'static str;

    /// `true` if a null beside a fingerprint is no text; otherwise it is a bad text.
    const TEXT_MAY_BE_NULL: bool = true;

    /// Takes the value of a part out of the record. `None` if the record has no such field.
    fn take(&mut self, part: DocumentPart) -> Result<Option<FieldValue>, String>;

    /// Takes the fields that are [kept](DocumentFields::keep) out of the record.
    fn take_kept(&mut self) -> Result<Map<String, Value>, String> {
        Ok(Map::new())
    }
}

/// The longest key, name of a scope, and fields of a document, that a database stores.
const MAX_KEY_BYTES: usize = 1024;
const MAX_SCOPE_BYTES: usize = 64;
const MAX_FIELDS_BYTES: usize = 64 << 10;

/// The bytes of a line that fields other than the text may take.
const OTHER_FIELDS_BYTES: usize = 1 << 20;

impl DocumentFields {
    /// The name of the field that holds a part, or `None` if that part is not read.
    pub fn name(&self, part: DocumentPart) -> Option<&str> {
        match part {
            DocumentPart::Id => (!self.are_counted && self.key.is_none()).then_some(&self.id),
            DocumentPart::Key => self.key.as_ref(),
            DocumentPart::Scope => self.scope.as_ref(),
            DocumentPart::Text => self.text.as_ref(),
            DocumentPart::SecondText => self.more_texts.first(),
            DocumentPart::ThirdText => self.more_texts.get(1),
            DocumentPart::FourthText => self.more_texts.get(2),
            DocumentPart::Fingerprint => self.fingerprint.as_ref(),
            DocumentPart::Features => self.features.as_ref(),
            DocumentPart::Reliable => return self.fingerprint.as_ref().map(|_| RELIABLE_FIELD),
            DocumentPart::Time => self.time.as_ref(),
            DocumentPart::Score => self.score.as_ref(),
            DocumentPart::Group => self.group.as_ref(),
            DocumentPart::Copies => self.copies.as_ref(),
            DocumentPart::FirstCopy => self.copies_times.as_ref().map(|[first, _]| first),
            DocumentPart::LastCopy => self.copies_times.as_ref().map(|[_, last]| last),
        }
        .map(String::as_str)
    }

    /// Finds the column of each part that is read, by name. An error about a column that is
    /// `missing`, unless it is optional.
    pub fn find_columns<C>(
        &self,
        mut find: impl FnMut(DocumentPart, &str) -> Result<Option<C>>,
        missing: impl Fn(&str) -> anyhow::Error,
    ) -> Result<[Option<C>; DocumentPart::ALL.len()]> {
        let mut columns = [const { None }; DocumentPart::ALL.len()];
        for part in DocumentPart::ALL {
            let Some(name) = self.name(part) else {
                continue;
            };
            let column = find(part, name)?;
            if let (None, Some(option)) = (&column, part.option()) {
                bail!("{}; name the right one with {option}", missing(name));
            }
            columns[part as usize] = column;
        }
        Ok(columns)
    }

    /// The longest line that is read: a text whose every character is escaped, and other fields.
    pub fn max_line_bytes(&self) -> usize {
        let text_bytes = self.max_text_bytes.saturating_mul(2);
        text_bytes
            .saturating_add(OTHER_FIELDS_BYTES)
            .min(MAX_LINE_BYTES)
    }

    /// The document in record `number`, or the reason why the record has none. Its id is the next
    /// of `counted`, if documents are counted.
    pub fn item<V: PartValues>(
        &self,
        number: u64,
        counted: Option<&mut IdSequence>,
        values: Result<V, String>,
    ) -> Item {
        // A bad record takes an id too: the ids of the records after it stay the same once it is
        // corrected.
        let mut id = match counted.map(IdSequence::take).transpose() {
            Ok(id) => id,
            Err(reason) => return Item::reject(number, None, reason),
        };
        // simdb gives the ids of documents with keys.
        id = id.or(self.key.as_ref().map(|_| DocId::default()));
        let content = values.and_then(|mut values| {
            if id.is_none() {
                let own = self.id(&mut values);
                id = Some(own.map_err(|reason| format!("{reason} (--no-id numbers the records)"))?);
            }
            self.content(values)
        });
        match (id, content) {
            // No document has the id before simdb gives it.
            (_, Err(reason)) if self.key.is_some() => Item::reject(number, None, reason),
            (Some(id), content) => Item::new(number, id, content),
            (None, Err(reason)) => Item::reject(number, None, reason),
            (None, Ok(_)) => unreachable!("content is read after the id"),
        }
    }

    /// The id of a document that is not counted.
    pub fn id<V: PartValues>(&self, values: &mut V) -> Result<DocId, String> {
        let id = self.part(values, DocumentPart::Id, |value| id_of(&value.into_json()));
        id?.ok_or_else(|| "it has no id".to_owned())
    }

    /// The key of a document; `None` if keys are not read.
    pub fn key<V: PartValues>(&self, values: &mut V) -> Result<Option<String>, String> {
        self.part(values, DocumentPart::Key, key_of)
    }

    /// The names of the fields of the text.
    pub fn text_names(&self) -> impl Iterator<Item = &String> {
        self.text.iter().chain(&self.more_texts)
    }

    /// The content of a document. The text may be missing beside a fingerprint or features; every
    /// other part that has a name is required.
    pub fn content<V: PartValues>(&self, mut values: V) -> Result<DocumentContent, String> {
        let values = &mut values;
        let (text, text_fields) = match self.more_texts.is_empty() {
            true => (self.text(values)?, 0),
            false => self.joined_text(values)?,
        };
        let text = text.filter(|text| self.textless == Textless::Bad || !text.trim().is_empty());
        let fingerprint = self.part(values, DocumentPart::Fingerprint, |value| match value {
            FieldValue::Bits(bits) => Ok(Fingerprint::from_bits(bits)),
            value => fingerprint_of(&string_of(value, "a string of 16 hexadecimal digits")?),
        })?;
        let fingerprint = match fingerprint {
            Some(fingerprint) => Some((fingerprint, is_reliable(values)?)),
            None => None,
        };
        let arrival = self.arrival(values)?;
        Ok(DocumentContent {
            key: self.key(values)?,
            scope: self.scope(values)?,
            fields: fields_of(values.take_kept()?)?,
            copies: self.copies(values, arrival)?,
            text,
            text_fields,
            fingerprint,
            features: self.part(values, DocumentPart::Features, features_of)?,
            arrival,
            score: self.part(values, DocumentPart::Score, score_of)?,
            group_name: self.part(values, DocumentPart::Group, group_name_of)?,
        })
    }

    /// The text of one field.
    fn text<V: PartValues>(&self, values: &mut V) -> Result<Option<String>, String> {
        let may_lack_text = self.fingerprint.is_some() || self.features.is_some();
        let Some(name) = self.name(DocumentPart::Text) else {
            return Ok(None);
        };
        match values.take(DocumentPart::Text)? {
            None if may_lack_text => Ok(None),
            Some(FieldValue::Json(Value::Null)) if may_lack_text && V::TEXT_MAY_BE_NULL => Ok(None),
            None | Some(FieldValue::Json(Value::Null)) if self.textless == Textless::Missing => {
                Ok(None)
            }
            None => Err(missing::<V>(name)),
            Some(value) => self.text_in::<V>(name, value).map(Some),
        }
    }

    /// One text of several fields, in their order, with a line feed between two. A field that is
    /// missing, null or empty is left out. The second value has a bit for each field with a text.
    fn joined_text<V: PartValues>(&self, values: &mut V) -> Result<(Option<String>, u8), String> {
        let (mut joined, mut has_value, mut text_fields) = (String::new(), false, 0);
        let parts = [DocumentPart::Text].into_iter();
        for (index, part) in parts.chain(DocumentPart::MORE_TEXTS).enumerate() {
            let Some(name) = self.name(part) else {
                continue;
            };
            match values.take(part)? {
                None | Some(FieldValue::Json(Value::Null)) => continue,
                Some(value) => {
                    has_value = true;
                    let text = self.text_in::<V>(name, value)?;
                    let is_empty = text.trim().is_empty();
                    text_fields |= u8::from(!is_empty) << index;
                    joined.push_str(if joined.is_empty() || is_empty {
                        ""
                    } else {
                        "\n"
                    });
                    joined.push_str(if is_empty { "" } else { &text });
                }
            }
        }
        let may_lack_text = self.fingerprint.is_some() || self.features.is_some();
        match has_value {
            true => Ok((Some(text_of(joined, self.max_text_bytes)?), text_fields)),
            false if may_lack_text || self.textless == Textless::Missing => Ok((None, 0)),
            false => Err(format!("none of the {}s of --text is there", V::KIND)),
        }
    }

    fn text_in<V: PartValues>(&self, name: &str, value: FieldValue) -> Result<String, String> {
        let text = string_of(value, "a string").map_err(in_field::<V>(name))?;
        let text = text_of(text, self.max_text_bytes)?;
        Ok(match self.strips_html {
            true => text_of_html(&text),
            false => text,
        })
    }

    /// The copies of the document, as an export has them, or their number; `None` without a copy.
    fn copies<V: PartValues>(
        &self,
        values: &mut V,
        arrival: Option<Timestamp>,
    ) -> Result<Option<Copies>, String> {
        let Some(name) = self.name(DocumentPart::Copies) else {
            return Ok(None);
        };
        let value = values
            .take(DocumentPart::Copies)?
            .map(FieldValue::into_json);
        let invalid = |reason: String| in_field::<V>(name)(reason);
        let no_copies = || invalid(NO_COPIES.to_owned());
        let value = match value {
            // A column of CSV.
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) => {
                Some(serde_json::from_str(&text).map_err(|_| no_copies())?)
            }
            value => value,
        };
        match value.unwrap_or_default() {
            Value::Null => Ok(None),
            Value::Number(number) => {
                let count = number.as_u64();
                let count = count.ok_or_else(|| in_field::<V>(name)(no_count(&number)))?;
                let arrival = arrival.unwrap_or_else(Timestamp::now);
                let first = self.time_in(values, DocumentPart::FirstCopy)?;
                let last = self.time_in(values, DocumentPart::LastCopy)?;
                let (first, last) = (first.unwrap_or(arrival), last.unwrap_or(arrival));
                Ok((count > 0).then(|| Copies {
                    count,
                    first_seen: first.min(last),
                    last_seen: first.max(last),
                    newest: Vec::new(),
                }))
            }
            value @ Value::Object(_) => {
                let copies = serde_json::from_value(value).map(Some);
                copies.map_err(|error| invalid(reason_of(&error)))
            }
            _ => Err(no_copies()),
        }
    }

    /// The time of a part; `None` if the time is missing, null or empty.
    fn time_in<V: PartValues>(
        &self,
        values: &mut V,
        part: DocumentPart,
    ) -> Result<Option<Timestamp>, String> {
        let Some(name) = self.name(part) else {
            return Ok(None);
        };
        let time = match values.take(part)? {
            None | Some(FieldValue::Json(Value::Null)) => return Ok(None),
            Some(FieldValue::Json(Value::String(text))) if text.trim().is_empty() => {
                return Ok(None);
            }
            Some(value) => self.time_of(value),
        };
        time.map(Some).map_err(in_field::<V>(name))
    }

    fn time_of(&self, value: FieldValue) -> Result<Timestamp, String> {
        match value {
            FieldValue::Millis(ms) => time_of_ms(ms),
            value => self.time_rules.time_of(&value.into_json()),
        }
    }

    /// The name of the scope; `None` for the empty scope.
    fn scope<V: PartValues>(&self, values: &mut V) -> Result<Option<Box<str>>, String> {
        let Some(name) = self.name(DocumentPart::Scope) else {
            return Ok(None);
        };
        match values.take(DocumentPart::Scope)? {
            None | Some(FieldValue::Json(Value::Null)) => Ok(None),
            Some(value) => scope_of(value).map_err(in_field::<V>(name)),
        }
    }

    /// The arrival time; `None` for a document that arrives now.
    fn arrival<V: PartValues>(&self, values: &mut V) -> Result<Option<Timestamp>, String> {
        match self.time_rules.or_now {
            true => self.time_in(values, DocumentPart::Time),
            false => self.part(values, DocumentPart::Time, |value| self.time_of(value)),
        }
    }

    /// The parsed value of a part; `None` if the part is not read. An error if the part is missing.
    fn part<V: PartValues, T>(
        &self,
        values: &mut V,
        part: DocumentPart,
        parse: impl FnOnce(FieldValue) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let Some(name) = self.name(part) else {
            return Ok(None);
        };
        let value = values.take(part)?.ok_or_else(|| missing::<V>(name))?;
        parse(value).map(Some).map_err(in_field::<V>(name))
    }
}

/// The name of a scope; `None` for an empty string.
fn scope_of(value: FieldValue) -> Result<Option<Box<str>>, String> {
    let scope = string_of(value, "a string")?;
    if scope.len() > MAX_SCOPE_BYTES || scope.contains(char::is_control) {
        return Err(format!(
            "a scope has at most {MAX_SCOPE_BYTES} bytes and no control characters, unlike {}",
            excerpt(&scope)
        ));
    }
    Ok((!scope.is_empty()).then(|| scope.into()))
}

/// The key of a document: a string, or a number in its digits.
fn key_of(value: FieldValue) -> Result<String, String> {
    let key = match value.into_json() {
        Value::Number(number) if !number.is_f64() => number.to_string(),
        value => string_of(FieldValue::Json(value), "a string")?,
    };
    match key.len() {
        1..=MAX_KEY_BYTES => Ok(key),
        bytes => Err(format!(
            "a key has 1 to {MAX_KEY_BYTES} bytes, and this one {bytes}"
        )),
    }
}

/// The kept fields as the text of one JSON object; `None` without fields.
fn fields_of(kept: Map<String, Value>) -> Result<Option<String>, String> {
    let parts = kept.into_iter().flat_map(|(name, value)| match value {
        Value::Object(inner) => inner,
        value => Map::from_iter([(name, value)]),
    });
    let mut fields = Map::new();
    for (name, value) in parts.filter(|(_, value)| !value.is_null()) {
        if fields.contains_key(&name) {
            return Err(format!("--keep finds two fields {name:?}"));
        }
        fields.insert(name, value);
    }
    let fields = (!fields.is_empty()).then(|| Value::Object(fields).to_string());
    match &fields {
        Some(fields) if fields.len() > MAX_FIELDS_BYTES => Err(format!(
            "the fields of --keep take {} bytes; at most {MAX_FIELDS_BYTES} are kept",
            fields.len()
        )),
        _ => Ok(fields),
    }
}

fn no_count(number: &serde_json::Number) -> String {
    format!("{number} is no number of copies")
}

fn is_reliable<V: PartValues>(values: &mut V) -> Result<bool, String> {
    match values.take(DocumentPart::Reliable)? {
        None | Some(FieldValue::Json(Value::Null)) => Ok(true),
        Some(FieldValue::Json(Value::Bool(is_reliable))) => Ok(is_reliable),
        Some(_) => Err(format!(
            "{} {RELIABLE_FIELD:?} is neither true nor false",
            V::KIND
        )),
    }
}

fn string_of(value: FieldValue, expected: &str) -> Result<String, String> {
    let kind = match value.into_json() {
        Value::String(text) => return Ok(text),
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Err(format!("it is {kind}; {expected} is expected"))
}

/// The features and weights of an object `{"word": weight, ...}`.
fn features_of(value: FieldValue) -> Result<Box<[(String, f64)]>, String> {
    let Value::Object(features) = value.into_json() else {
        return Err("an object of features and their weights is expected".to_owned());
    };
    let weigh = |(feature, weight): (String, Value)| match weight.as_f64() {
        Some(weight) => Ok((feature, weight)),
        None => Err(format!(
            "the weight of {:?} is not a number",
            excerpt(&feature)
        )),
    };
    features.into_iter().map(weigh).collect()
}

fn score_of(value: FieldValue) -> Result<Score, String> {
    match value.into_json() {
        Value::String(digits) => Score::of_digits(&digits),
        other => Score::of_digits(&other.to_string()),
    }
}

/// The value of a group, as a string.
fn group_name_of(value: FieldValue) -> Result<Box<str>, String> {
    match value.into_json() {
        Value::String(text) => Ok(text.into()),
        Value::Number(number) => Ok(number.to_string().into()),
        Value::Bool(value) => Ok(value.to_string().into()),
        Value::Null => Err("it is null; a string or a number is expected".to_owned()),
        Value::Array(_) | Value::Object(_) => {
            Err("it is nested; a string or a number is expected".to_owned())
        }
    }
}

const NO_COPIES: &str =
    "it is no number of copies and no object of count, first_seen, last_seen and newest";

fn in_field<V: PartValues>(name: &str) -> impl FnOnce(String) -> String {
    move |reason| format!("{} {name:?}: {reason}", V::KIND)
}

fn missing<V: PartValues>(name: &str) -> String {
    format!("there is no {} {name:?}", V::KIND)
}

#[cfg(test)]
impl DocumentFields {
    /// The fields `id` and the fields named here.
    pub fn of_names(text: Option<&str>, fingerprint: Option<&str>) -> Self {
        Self {
            text: text.map(str::to_owned),
            fingerprint: fingerprint.map(str::to_owned),
            ..Self::default()
        }
    }
}
