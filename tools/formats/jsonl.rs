//! JSON Lines: one object a line. Blank lines are skipped.

use std::borrow::Cow;
use std::fmt;

use anyhow::Result;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::fields::{DocumentFields, DocumentPart, FieldValue, PartValues};
use super::id_sequence::IdSequence;
use super::input::{BOM, InputStream, LineReader};
use super::json_reason::reason_of;
use super::{Item, Records, excerpt, utf8};

/// A reader of JSON Lines.
pub struct JsonLines {
    lines: LineReader,
    fields: DocumentFields,
    /// The ids of the next objects; `None` if objects have ids.
    counted: Option<IdSequence>,
}

impl JsonLines {
    /// Reads the named fields of every object.
    pub fn new(input: InputStream, fields: DocumentFields, counted: IdSequence) -> Result<Self> {
        Ok(Self {
            lines: LineReader::new(input, fields.max_line_bytes())?,
            counted: fields.are_counted.then_some(counted),
            fields,
        })
    }
}

impl Records for JsonLines {
    fn next(&mut self) -> Result<Option<Item>> {
        let Some((number, line)) = self.lines.next_not_blank()? else {
            return Ok(None);
        };
        let values = line.and_then(|line| JsonParts::parse(utf8(line)?, &self.fields));
        Ok(Some(self.fields.item(
            number,
            self.counted.as_mut(),
            values,
        )))
    }

    fn next_ids(&self) -> Option<IdSequence> {
        self.counted
    }
}

/// The values of the named fields of one object, by part, and the fields that are kept.
#[derive(Debug, Default)]
pub struct JsonParts([Option<Value>; DocumentPart::ALL.len()], Map<String, Value>);

impl JsonParts {
    /// The named fields of the object in a line, or the reason why the line is not one object. A
    /// lone surrogate, which RFC 8259 admits in an escape, is read as U+FFFD.
    pub fn parse(line: &str, fields: &DocumentFields) -> Result<Self, String> {
        let parse = |line: &str| {
            let mut json = serde_json::Deserializer::from_str(line);
            let parts = json.deserialize_map(ObjectVisitor { fields, path: None });
            parts.and_then(|parts| json.end().map(|()| parts))
        };
        parse(line).or_else(|error| match without_lone_surrogates(line) {
            Some(replaced) => {
                let parts = parse(&replaced).map_err(|error| reason_in(&replaced, &error))?;
                parts.refuse_replaced_name(fields)
            }
            None => Err(reason_in(line, &error)),
        })
    }

    /// Refuses a key, a scope or a group in which a lone surrogate may have been replaced: two of
    /// them would become one.
    fn refuse_replaced_name(self, fields: &DocumentFields) -> Result<Self, String> {
        for part in [DocumentPart::Key, DocumentPart::Scope, DocumentPart::Group] {
            if let (Some(Value::String(value)), Some(name)) =
                (&self.0[part as usize], fields.name(part))
                && value.contains('\u{fffd}')
            {
                return Err(format!("field {name:?}: a name has no lone surrogate"));
            }
        }
        Ok(self)
    }

    /// Adds the parts of another object. An error names a part that both have.
    fn extend(&mut self, mut other: Self) -> Result<(), DocumentPart> {
        self.1.append(&mut other.1);
        for (part, inner) in DocumentPart::ALL.into_iter().zip(other.in_order()) {
            let value = &mut self.0[part as usize];
            if value.is_some() && inner.is_some() {
                return Err(part);
            }
            *value = value.take().or(inner);
        }
        Ok(())
    }

    /// The values of [`DocumentPart::ALL`].
    fn in_order(mut self) -> [Option<Value>; DocumentPart::ALL.len()] {
        DocumentPart::ALL.map(|part| self.0[part as usize].take())
    }

    /// Returns `true` if the object has the field of a part, even a `null`.
    pub fn has(&self, part: DocumentPart) -> bool {
        self.0[part as usize].is_some()
    }

    /// The value of a [kept](DocumentFields::keep) field.
    pub fn kept(&self, name: &str) -> Option<&Value> {
        self.1.get(name)
    }

    /// Returns `true` if the object lacks the field of a part, or has a `null` there.
    pub fn is_null(&self, part: DocumentPart) -> bool {
        matches!(self.0[part as usize], None | Some(Value::Null))
    }
}

impl PartValues for JsonParts {
    const KIND: &'static str = "field";

    fn take(&mut self, part: DocumentPart) -> Result<Option<FieldValue>, String> {
        Ok(self.0[part as usize].take().map(FieldValue::Json))
    }

    fn take_kept(&mut self) -> Result<Map<String, Value>, String> {
        Ok(std::mem::take(&mut self.1))
    }
}

/// The message of an error in a line, with the cause if the line shows one.
fn reason_in(line: &str, error: &serde_json::Error) -> String {
    if line.trim_start().starts_with('[') {
        return NOT_AN_ARRAY.to_owned();
    }
    if error.classify() == serde_json::error::Category::Data {
        return reason_of(error);
    }
    if line.contains('\0') {
        return NUL_BYTES.to_owned();
    }
    if line.starts_with(BOM) {
        return INNER_BOM.to_owned();
    }
    // The column counts bytes, up to the byte that is not expected.
    let mut from = error.column().saturating_sub(1).min(line.len());
    while !line.is_char_boundary(from) {
        from -= 1;
    }
    let token = line[from..].trim_start();
    // Behind the sign of -Infinity, the column is at the I.
    let names = ["NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"];
    let is_number = names.iter().any(|name| token.starts_with(name));
    if is_number {
        return NO_NUMBER.to_owned();
    }
    let is_of_python = ["'", "None", "True", "False"].iter();
    if is_of_python
        .into_iter()
        .any(|start| token.starts_with(start))
    {
        return PYTHON.to_owned();
    }
    if line.contains('\r') {
        return CARRIAGE_RETURNS.to_owned();
    }
    let advice = match error.classify() {
        serde_json::error::Category::Eof => NOT_COMPLETE,
        _ if token.starts_with(['{', ',']) => NOT_ALONE,
        _ => "",
    };
    reason_of(error) + advice
}

const PYTHON: &str = "single quotes, None, True and False are Python and no JSON; write the records \
    with json.dumps";

const NOT_COMPLETE: &str = "; a line is one whole object: `jq -c .` joins the lines of an object, unless \
    the file was cut";

const NOT_ALONE: &str = "; a line is one object without a comma behind it: `jq -c .` writes each object \
    on a line";

const NUL_BYTES: &str = "the line has NUL bytes (zero bytes), as a file has after a crash, or in \
    UTF-16; remove them with `tr -d '\\000'`, or convert the file with `iconv -f UTF-16 -t UTF-8`";

const INNER_BOM: &str = "the line begins with a byte order mark (BOM), as where files were joined; \
    remove it with `sed 's/^\\xEF\\xBB\\xBF//'`";

const NO_NUMBER: &str = "NaN and Infinity are no JSON; write null";

const CARRIAGE_RETURNS: &str = "the line has carriage returns between objects; a line ends with a \
    line feed: convert the file with `tr '\\r' '\\n'`";

/// The line with U+FFFD in place of each escape of a lone surrogate; `None` without such escapes.
fn without_lone_surrogates(line: &str) -> Option<String> {
    let mut replaced = String::new();
    let (mut copied, mut from) = (0, 0);
    while let Some(found) = line[from..].find('\\') {
        let at = from + found;
        let unit = escaped_unit(line, at);
        match unit {
            Some(0xd800..0xdc00) if matches!(escaped_unit(line, at + 6), Some(0xdc00..0xe000)) => {
                from = at + 12;
            }
            Some(0xd800..0xe000) => {
                replaced.push_str(&line[copied..at]);
                replaced.push_str("\\ufffd");
                from = at + 6;
                copied = from;
            }
            Some(_) => from = at + 6,
            // The character after a backslash, as in `\\\\`, begins no escape.
            None => from = at + 1 + line[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    (copied > 0).then(|| replaced + &line[copied..])
}

/// The UTF-16 unit of an escape `\uXXXX` at a position; `None` if there is no such escape.
fn escaped_unit(line: &str, at: usize) -> Option<u16> {
    let digits = line.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

const NOT_AN_ARRAY: &str = "the line is an array; a JSON object is expected, one object a line; \
     convert the array with `jq -c '.[]'`";

/// A key, borrowed from the line unless it has escapes.
#[derive(Deserialize)]
struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

/// Reads one object and keeps the named fields. A name `a.b` is field b of the object in field a,
/// unless the line has a field `a.b`.
struct ObjectVisitor<'f> {
    fields: &'f DocumentFields,
    /// The names of the objects around this object, each with a dot behind it; `None` for the line.
    path: Option<String>,
}

impl ObjectVisitor<'_> {
    /// The part whose field has this path.
    fn part(&self, path: &str) -> Option<DocumentPart> {
        let mut parts = DocumentPart::ALL.into_iter();
        parts.find(|part| self.fields.name(*part) == Some(path))
    }

    /// Returns `true` if the field of a part is within the object at this path.
    fn has_parts_within(&self, path: &str) -> bool {
        let parts = DocumentPart::ALL.into_iter();
        let named = parts.filter_map(|part| self.fields.name(part));
        let mut names = named.chain(self.fields.keep.iter().map(String::as_str));
        names.any(|name| {
            let rest = name.strip_prefix(path);
            rest.is_some_and(|rest| rest.starts_with('.'))
        })
    }
}

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = JsonParts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonParts, A::Error> {
        let mut parts = JsonParts::default();
        // Fields within objects, which a field of the whole name precedes.
        let mut within = JsonParts::default();
        while let Some(Key(key)) = map.next_key()? {
            let path = match &self.path {
                Some(path) => Cow::from(format!("{path}{key}")),
                None => key,
            };
            let is_kept = self.fields.keep.iter().any(|name| *name == path);
            let twice = |key: &str| A::Error::custom(format!("field {key:?} is there twice"));
            let invalid =
                |error| A::Error::custom(format!("field {path:?}: {}", reason_of(&error)));
            let Some(part) = self.part(&path) else {
                if is_kept {
                    let value = value_of(map.next_value()?).map_err(invalid)?;
                    if parts.1.insert(path.to_string(), value).is_some() {
                        return Err(twice(&path));
                    }
                } else if self.has_parts_within(&path) {
                    let inner = Inner(ObjectVisitor {
                        fields: self.fields,
                        path: Some(format!("{path}.")),
                    });
                    within.extend(map.next_value_seed(inner)?).map_err(|part| {
                        let name = self.fields.name(part).unwrap_or_default();
                        A::Error::custom(format!("field {name:?} is there twice"))
                    })?;
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
                continue;
            };
            let value = &mut parts.0[part as usize];
            // JSON parsers disagree about which of two equal keys counts.
            if value.is_some() {
                return Err(twice(&path));
            }
            let read: Value = match is_kept || part == DocumentPart::Features {
                true => value_of(map.next_value()?).map_err(invalid)?,
                // A text is scanned once.
                false => map.next_value()?,
            };
            if is_kept {
                parts.1.insert(path.to_string(), read.clone());
            }
            *value = Some(read);
        }
        for (value, inner) in parts.0.iter_mut().zip(within.0) {
            *value = value.take().or(inner);
        }
        for (name, value) in within.1 {
            parts.1.entry(name).or_insert(value);
        }
        Ok(parts)
    }
}

/// Visits a JSON object. Two fields with one name are an error, because JSON parsers disagree which
/// of them counts.
pub struct UniqueFields;

impl<'de> Visitor<'de> for UniqueFields {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if fields.contains_key(&name) {
                let name = excerpt(&name);
                return Err(A::Error::custom(format!("field {name:?} is there twice")));
            }
            fields.insert(name, map.next_value()?);
        }
        Ok(fields)
    }
}

/// The value of a field. Two fields of one name in an object are an error; objects within it are
/// not looked at.
fn value_of(raw: &RawValue) -> Result<Value, serde_json::Error> {
    let text = raw.get();
    match text.starts_with('{') {
        true => {
            let mut json = serde_json::Deserializer::from_str(text);
            json.deserialize_map(UniqueFields).map(Value::Object)
        }
        false => serde_json::from_str(text),
    }
}

/// Reads the value of a field that may hold an object with named fields.
struct Inner<'f>(ObjectVisitor<'f>);

impl<'de> DeserializeSeed<'de> for Inner<'_> {
    type Value = JsonParts;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonParts, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// A value that is no object has no fields.
impl<'de> Visitor<'de> for Inner<'_> {
    type Value = JsonParts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<JsonParts, A::Error> {
        self.0.visit_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<JsonParts, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(JsonParts::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<JsonParts, E> {
        Ok(JsonParts::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<JsonParts, E> {
        Ok(JsonParts::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<JsonParts, E> {
        Ok(JsonParts::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<JsonParts, E> {
        Ok(JsonParts::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<JsonParts, E> {
        Ok(JsonParts::default())
    }

    fn visit_unit<E>(self) -> Result<JsonParts, E> {
        Ok(JsonParts::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{DocumentContent, InputRecord};
    use simdb::{DocId, Fingerprint};

    fn texts() -> DocumentFields {
        DocumentFields::of_names(Some("text"), None)
    }

    fn fingerprints() -> DocumentFields {
        DocumentFields::of_names(None, Some("fp"))
    }

    fn read(bytes: &[u8], fields: DocumentFields) -> Vec<Item> {
        let mut records = JsonLines::new(
            InputStream::of_bytes("test", bytes),
            fields,
            IdSequence::new(1),
        )
        .unwrap();
        std::iter::from_fn(|| records.next().unwrap()).collect()
    }

    fn reason(line: &str, fields: DocumentFields) -> String {
        match &read(line.as_bytes(), fields)[..] {
            [Item::Reject(reject)] => reject.reason.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn objects_have_line_numbers_and_blank_lines_are_skipped() {
        let items = read(
            b"{\"id\":1,\"text\":\"a\\u4e2d\",\"x\":[{}]}\n\n \t\r\n{\"text\":\"\",\"id\":\"2\"}",
            texts(),
        );
        let record = |number, id, text: &str| {
            Item::Record(InputRecord {
                number,
                id: DocId(id),
                content: DocumentContent {
                    text: Some(text.to_owned()),
                    ..DocumentContent::default()
                },
            })
        };
        assert_eq!(items, [record(1, 1, "a中"), record(4, 2, "")]);
    }

    #[test]
    fn reliable_flag_of_fingerprint_is_read() {
        let items = read(
            br#"{"id":1,"fp":"00000000000000ff","text":7}
                {"id":2,"fp":"00000000000000ff","reliable":false}"#,
            fingerprints(),
        );
        let read: Vec<_> = items
            .iter()
            .map(|item| match item {
                Item::Record(record) => (record.id.0, record.content.fingerprint),
                other => panic!("{other:?}"),
            })
            .collect();
        let fingerprint = Fingerprint::from_bits(0xff);
        assert_eq!(
            read,
            [
                (1, Some((fingerprint, true))),
                (2, Some((fingerprint, false)))
            ]
        );
    }

    #[test]
    fn bad_line_is_rejected_with_reason() {
        for (line, expected) in [
            ("{\"id\":1,", "malformed JSON at column 8"),
            ("{\"id\":1,\"text\":\"a\"} x", "malformed JSON"),
            ("[1]", "a JSON object"),
            ("[", "jq -c '.[]'"),
            ("{\"text\":\"a\"}", "there is no field \"id\""),
            ("{\"id\":1}", "there is no field \"text\""),
            ("{\"id\":1,\"text\":null}", "field \"text\": it is null"),
            ("{\"id\":1,\"text\":7}", "field \"text\": it is a number"),
            (
                "{\"id\":-1,\"text\":\"a\"}",
                "field \"id\": -1 is not an id",
            ),
            (
                "{\"id\":1,\"id\":2,\"text\":\"a\"}",
                "field \"id\" is there twice",
            ),
            ("{\"id\":1,\"text\":\"\\ud80\"}", "malformed JSON"),
        ] {
            let reason = reason(line, texts());
            assert!(reason.contains(expected), "{line}: {reason}");
        }
        let reason = reason("{\"id\":1,\"fp\":\"ff\"}", fingerprints());
        assert!(reason.contains("16 hexadecimal digits"), "{reason}");
        let [Item::Reject(reject)] = &read(b"{\"id\":1,\"text\":\"\xff\"}", texts())[..] else {
            panic!("accepted");
        };
        assert!(
            reject.reason.contains("invalid UTF-8 after 16 bytes"),
            "{}",
            reject.reason
        );
    }

    #[test]
    fn deeply_nested_json_is_rejected() {
        let line = format!("{{\"id\":{}1", "[".repeat(100_000));
        assert!(reason(&line, texts()).contains("recursion limit"));
        let ignored = format!("{{\"x\":{}", "[".repeat(100_000));
        assert!(reason(&ignored, texts()).contains("malformed JSON"));
    }

    #[test]
    fn rejected_line_keeps_its_id() {
        let [Item::Reject(reject)] = &read(b"{\"id\":7}", texts())[..] else {
            panic!("accepted");
        };
        assert_eq!((reject.number, reject.id), (1, Some(DocId(7))));
    }
}
