//! [`Record`]: a text to be stored, with the key, the scope and the fields of its document.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use crate::copies::Copies;

/// The most bytes of the name of a scope; a name has at least one byte.
pub(crate) const SCOPE_LIMIT_BYTES: usize = 64;
/// The most bytes of fields.
pub(crate) const FIELDS_LIMIT_BYTES: usize = 64 << 10;

/// A length is written in digits of 7 bits, the least significant first, so that every record is
/// UTF-8.
const DIGIT_BITS: u32 = 7;
const KEY_DIGITS: usize = 2;
const HEAD_DIGITS: usize = KEY_DIGITS + 1;
const SCOPE_DIGITS: usize = 1;
const FIELDS_DIGITS: usize = 3;
const COPIES_DIGITS: usize = 3;

// The bits of the digit of flags.
const HAS_TEXT: u8 = 1;
const HAS_COPIES: u8 = 2;
const HAS_SCOPE: u8 = 4;

/// A plain text; or, in a database with keys, fields or copies, one string of key, scope, fields,
/// copies and text.
///
/// | part of the string | content |
/// |---|---|
/// | 2 digits | bytes of the key; 0 without a key |
/// | 1 digit | 1 if the document has a text, plus 2 if it has copies, plus 4 if it has a scope |
/// | key | UTF-8 |
/// | 1 digit | bytes of the name of the scope; absent without a scope |
/// | name of the scope | UTF-8 |
/// | 3 digits | bytes of the fields; 0 without fields |
/// | fields | UTF-8 |
/// | 3 digits and [`Copies::encode`] | the copies with their bytes in front; absent without copies |
/// | the rest | the text |
///
/// The parts travel as one string, so journal, memtable, flush, bulk load and copies of a database
/// carry key, scope and fields wherever they carry a text.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Record {
    content: Box<str>,
    /// The start of the text; 0 in a plain text.
    text_from: u32,
}

impl Record {
    /// The record of a document; `scope` is `None` for the empty scope.
    pub(crate) fn new(
        key: Option<&str>,
        scope: Option<&str>,
        fields: Option<&str>,
        copies: Option<&Copies>,
        text: Option<&str>,
    ) -> Self {
        let (key, fields) = (key.unwrap_or_default(), fields.unwrap_or_default());
        let flags = flags(text.is_some(), copies.is_some(), scope.is_some());
        let copies = copies.map(Copies::encode);
        let text = text.unwrap_or_default();
        // Exact, or the text is copied again.
        let mut content = String::with_capacity(
            HEAD_DIGITS
                + key.len()
                + scope.map_or(0, |scope| SCOPE_DIGITS + scope.len())
                + FIELDS_DIGITS
                + fields.len()
                + copies
                    .as_ref()
                    .map_or(0, |copies| COPIES_DIGITS + copies.len())
                + text.len(),
        );
        push_length::<KEY_DIGITS>(&mut content, key.len());
        push_length::<1>(&mut content, usize::from(flags));
        content.push_str(key);
        if let Some(scope) = scope {
            push_length::<SCOPE_DIGITS>(&mut content, scope.len());
            content.push_str(scope);
        }
        push_length::<FIELDS_DIGITS>(&mut content, fields.len());
        content.push_str(fields);
        if let Some(copies) = copies {
            push_length::<COPIES_DIGITS>(&mut content, copies.len());
            content.push_str(&copies);
        }
        let text_from = content.len() as u32;
        content.push_str(text);
        Self {
            content: content.into(),
            text_from,
        }
    }

    /// The record with this [`content`](Self::content); `None` for damaged content.
    pub(crate) fn parse(content: impl Into<Box<str>>) -> Option<Self> {
        let content = content.into();
        let head = Head::parse(content.as_bytes())?;
        let fields = length::<FIELDS_DIGITS>(content.get(head.end..)?.as_bytes())?;
        let mut text_from = head.end + FIELDS_DIGITS + fields;
        if head.has_copies {
            let copies = length::<COPIES_DIGITS>(content.get(text_from..)?.as_bytes())?;
            let copies_from = text_from + COPIES_DIGITS;
            text_from = copies_from + copies;
            Copies::parse(content.get(copies_from..text_from)?)?;
        }
        let text = content.get(text_from..)?;
        (head.has_text || text.is_empty()).then_some(())?;
        Some(Self {
            text_from: u32::try_from(text_from).ok()?,
            content,
        })
    }

    /// Returns `true` for a text without key and fields in front.
    pub(crate) fn is_plain(&self) -> bool {
        self.text_from == 0
    }

    /// The text, with key and fields in front unless the record is plain.
    pub(crate) fn content(&self) -> &str {
        &self.content
    }

    /// The text; empty without one.
    pub(crate) fn text(&self) -> &str {
        &self.content[self.text_from as usize..]
    }

    pub(crate) fn has_text(&self) -> bool {
        self.head().is_none_or(|head| head.has_text)
    }

    /// The text; `None` without one.
    pub(crate) fn into_text(self) -> Option<String> {
        let has_text = self.has_text();
        let mut text = String::from(self.content);
        text.drain(..self.text_from as usize);
        has_text.then_some(text)
    }

    pub(crate) fn key(&self) -> Option<&str> {
        let key = &self.content[HEAD_DIGITS..self.head()?.key_end];
        (!key.is_empty()).then_some(key)
    }

    /// The name of the scope; `None` for the empty scope, and for a record of the tables, where
    /// the id has the number of the scope.
    pub(crate) fn scope(&self) -> Option<&str> {
        let head = self.head()?;
        let scope = self.content[head.key_end..head.end].get(SCOPE_DIGITS..);
        scope.filter(|scope| !scope.is_empty())
    }

    pub(crate) fn fields(&self) -> Option<&str> {
        let fields = self.split_fields()?.0;
        (!fields.is_empty()).then_some(fields)
    }

    /// The copies of the document; `None` without a copy.
    pub(crate) fn copies(&self) -> Option<Copies> {
        self.has_copies().then_some(())?;
        Copies::parse(self.split_fields()?.1.get(COPIES_DIGITS..)?)
    }

    pub(crate) fn has_copies(&self) -> bool {
        self.head().is_some_and(|head| head.has_copies)
    }

    /// The record with other copies.
    pub(crate) fn with_copies(&self, copies: Option<&Copies>) -> Self {
        let text = self.has_text().then(|| self.text());
        Self::new(self.key(), self.scope(), self.fields(), copies, text)
    }

    /// The fields, and the copies with their length in front.
    fn split_fields(&self) -> Option<(&str, &str)> {
        let from = self.head()?.end;
        let fields = length::<FIELDS_DIGITS>(self.content.get(from..)?.as_bytes())?;
        let rest = self
            .content
            .get(from + FIELDS_DIGITS..self.text_from as usize)?;
        rest.split_at_checked(fields)
    }

    /// The content behind key and scope, as it is in table `texts`; the whole content of a plain
    /// text.
    pub(crate) fn without_head(&self) -> &str {
        &self.content[self.head().map_or(0, |head| head.end)..]
    }

    /// The record of content [without a head](Self::without_head); `None` for damaged content.
    pub(crate) fn parse_without_head(
        content: &str,
        has_text: bool,
        has_copies: bool,
    ) -> Option<Self> {
        let mut whole = String::with_capacity(HEAD_DIGITS + content.len());
        push_length::<KEY_DIGITS>(&mut whole, 0);
        push_length::<1>(&mut whole, usize::from(flags(has_text, has_copies, false)));
        whole.push_str(content);
        Self::parse(whole)
    }

    /// Returns `true` if table `texts` has a row for the document: it has a text, fields
    /// or copies.
    pub(crate) fn has_row(&self) -> bool {
        self.has_text() || self.fields().is_some() || self.has_copies()
    }

    fn head(&self) -> Option<Head> {
        match self.is_plain() {
            true => None,
            false => Head::parse(self.content.as_bytes()),
        }
    }
}

/// The first parts of the content of a record, up to the end of the scope.
struct Head {
    has_text: bool,
    has_copies: bool,
    /// The end of the key.
    key_end: usize,
    /// The end of the head.
    end: usize,
}

impl Head {
    /// `None` for damaged content.
    fn parse(content: &[u8]) -> Option<Self> {
        let key_end = HEAD_DIGITS + length::<KEY_DIGITS>(content)?;
        let flags = *content.get(KEY_DIGITS)?;
        let end = match flags & HAS_SCOPE {
            0 => key_end,
            _ => key_end + SCOPE_DIGITS + length::<SCOPE_DIGITS>(content.get(key_end..)?)?,
        };
        let is_known = flags & !(HAS_TEXT | HAS_COPIES | HAS_SCOPE) == 0;
        (is_known && end <= content.len()).then_some(Self {
            has_text: flags & HAS_TEXT != 0,
            has_copies: flags & HAS_COPIES != 0,
            key_end,
            end,
        })
    }
}

fn flags(has_text: bool, has_copies: bool, has_scope: bool) -> u8 {
    u8::from(has_text) * HAS_TEXT
        + u8::from(has_copies) * HAS_COPIES
        + u8::from(has_scope) * HAS_SCOPE
}

/// The bits of a hash. Among ten million keys, ninety of ten million look-ups meet another key of
/// the same hash, which costs a comparison. With 64 bits an entry would take three bytes more.
const HASH_BITS: u32 = 40;

/// The hash by which a table finds the document of a key.
pub(crate) fn key_hash(key: &str) -> u64 {
    xxh3_64(key.as_bytes()) >> (u64::BITS - HASH_BITS)
}

pub(crate) fn push_length<const DIGITS: usize>(content: &mut String, length: usize) {
    for digit in 0..DIGITS as u32 {
        let digit = (length >> (digit * DIGIT_BITS)) & 0x7f;
        content.push(char::from(digit as u8));
    }
}

pub(crate) fn length<const DIGITS: usize>(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.get(..DIGITS)?;
    let add = |length, digit: &u8| length << DIGIT_BITS | usize::from(*digit);
    let is_length = digits.iter().all(u8::is_ascii);
    is_length.then(|| digits.iter().rev().fold(0, add))
}

impl<T: Into<Box<str>>> From<T> for Record {
    fn from(text: T) -> Self {
        Self {
            content: text.into(),
            text_from: 0,
        }
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copies::{Sighting, SightingKind};
    use crate::ids::Timestamp;

    fn copies(key: &str) -> Copies {
        let sighting = Sighting {
            document: key.into(),
            seen: Timestamp(7),
            kind: SightingKind::Same,
        };
        Copies::with(None, sighting, None, 1)
    }

    #[test]
    fn record_has_the_parts_that_it_was_made_of() {
        let long = "键".repeat(341);
        let fields = "f".repeat(FIELDS_LIMIT_BYTES);
        for key in [None, Some("k"), Some(long.as_str())] {
            for fields in [None, Some("{\"t\":1}"), Some(fields.as_str())] {
                for (text, scope) in [
                    (None, None),
                    (Some(""), Some("s")),
                    (Some("text\0短"), Some("范围")),
                ] {
                    for copies in [None, Some(copies("短")), Some(copies(&long))] {
                        let record = Record::new(key, scope, fields, copies.as_ref(), text);
                        let parsed = Record::parse(record.content()).unwrap();
                        assert_eq!(parsed, record);
                        assert_eq!((parsed.key(), parsed.fields()), (key, fields));
                        assert_eq!(parsed.scope(), scope);
                        assert_eq!(parsed.text(), text.unwrap_or_default());
                        assert_eq!(parsed.copies(), copies);
                        assert_eq!(
                            parsed.with_copies(None),
                            Record::new(key, scope, fields, None, text)
                        );
                        let (has_text, has_copies) = (text.is_some(), copies.is_some());
                        let tail = parsed.without_head();
                        let tail = Record::parse_without_head(tail, has_text, has_copies);
                        let without_head = Record::new(None, None, fields, copies.as_ref(), text);
                        assert_eq!(tail, Some(without_head));
                        assert_eq!(parsed.into_text().as_deref(), text);
                    }
                }
            }
        }
        let plain = Record::from("短");
        assert_eq!((plain.key(), plain.text()), (None, "短"));
    }

    #[test]
    fn cut_record_is_damaged() {
        let copies = copies("copy");
        let record = Record::new(
            Some("key"),
            Some("scope"),
            Some("fields"),
            Some(&copies),
            None,
        );
        for end in 0..record.content().len() {
            assert_eq!(Record::parse(&record.content()[..end]), None, "{end}");
        }
        assert_eq!(Record::parse(format!("{}x", record.content())), None);
    }
}
