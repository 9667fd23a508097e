//! [`Record`]: a text to be stored, with the key and the fields of its document.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

/// The most bytes of a key; a key has at least one byte.
pub(crate) const KEY_LIMIT_BYTES: usize = 1024;
/// The most bytes of fields.
pub(crate) const FIELDS_LIMIT_BYTES: usize = 64 << 10;

/// A length is written in digits of 7 bits, the least significant first, so that every record is
/// UTF-8.
const DIGIT_BITS: u32 = 7;
const KEY_DIGITS: usize = 2;
const HEAD_DIGITS: usize = KEY_DIGITS + 1;
const FIELDS_DIGITS: usize = 3;

/// A plain text; or, in a database with keys or fields, one string of key, fields and text.
///
/// | part of the string | content |
/// |---|---|
/// | 2 digits | bytes of the key; 0 without a key |
/// | 1 digit | 1 if the document has a text, else 0 |
/// | key | UTF-8 |
/// | 3 digits | bytes of the fields; 0 without fields |
/// | fields | UTF-8 |
/// | the rest | the text |
///
/// The parts travel as one string, so journal, memtable, flush, bulk load and copies of a database
/// carry key and fields wherever they carry a text.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Record {
    content: Box<str>,
    /// The start of the text; 0 in a plain text.
    text_from: u32,
}

impl Record {
    pub(crate) fn new(key: Option<&str>, fields: Option<&str>, text: Option<&str>) -> Self {
        let (key, fields) = (key.unwrap_or_default(), fields.unwrap_or_default());
        let mut content = String::new();
        push_length::<KEY_DIGITS>(&mut content, key.len());
        push_length::<1>(&mut content, usize::from(text.is_some()));
        content.push_str(key);
        push_length::<FIELDS_DIGITS>(&mut content, fields.len());
        content.push_str(fields);
        let text_from = content.len() as u32;
        content.push_str(text.unwrap_or_default());
        Self {
            content: content.into(),
            text_from,
        }
    }

    /// The record with this [`content`](Self::content); `None` for damaged content.
    pub(crate) fn parse(content: impl Into<Box<str>>) -> Option<Self> {
        let content = content.into();
        let head = Head::parse(content.as_bytes())?;
        let fields_from = head.end + FIELDS_DIGITS;
        let fields = length::<FIELDS_DIGITS>(content.get(head.end..)?.as_bytes())?;
        let text = content.get(fields_from + fields..)?;
        (head.has_text || text.is_empty()).then_some(())?;
        Some(Self {
            text_from: u32::try_from(fields_from + fields).ok()?,
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
        let key = &self.content[HEAD_DIGITS..self.head()?.end];
        (!key.is_empty()).then_some(key)
    }

    pub(crate) fn fields(&self) -> Option<&str> {
        let from = self.head()?.end + FIELDS_DIGITS;
        let fields = &self.content[from..self.text_from as usize];
        (!fields.is_empty()).then_some(fields)
    }

    /// The content behind the key, as it is in table `texts`; the whole content of a plain text.
    pub(crate) fn without_key(&self) -> &str {
        &self.content[self.head().map_or(0, |head| head.end)..]
    }

    /// The record of content [without a key](Self::without_key); `None` for damaged content.
    pub(crate) fn parse_without_key(content: &str, has_text: bool) -> Option<Self> {
        let mut whole = String::with_capacity(HEAD_DIGITS + content.len());
        push_length::<KEY_DIGITS>(&mut whole, 0);
        push_length::<1>(&mut whole, usize::from(has_text));
        whole.push_str(content);
        Self::parse(whole)
    }

    /// Returns `true` if table `texts` has a row for the document: it has a text or fields.
    pub(crate) fn has_row(&self) -> bool {
        self.has_text() || self.fields().is_some()
    }

    fn head(&self) -> Option<Head> {
        match self.is_plain() {
            true => None,
            false => Head::parse(self.content.as_bytes()),
        }
    }
}

/// The first parts of the content of a record, up to the end of the key.
struct Head {
    has_text: bool,
    /// The end of the head.
    end: usize,
}

impl Head {
    /// `None` for damaged content.
    fn parse(content: &[u8]) -> Option<Self> {
        let end = HEAD_DIGITS + length::<KEY_DIGITS>(content)?;
        let has_text = *content.get(KEY_DIGITS)?;
        (has_text <= 1 && end <= content.len()).then_some(Self {
            has_text: has_text == 1,
            end,
        })
    }
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

    #[test]
    fn record_has_the_parts_that_it_was_made_of() {
        let long = "键".repeat(341);
        let fields = "f".repeat(FIELDS_LIMIT_BYTES);
        for key in [None, Some("k"), Some(long.as_str())] {
            for fields in [None, Some("{\"t\":1}"), Some(fields.as_str())] {
                for text in [None, Some(""), Some("text\0短")] {
                    let record = Record::new(key, fields, text);
                    let parsed = Record::parse(record.content()).unwrap();
                    assert_eq!(parsed, record);
                    assert_eq!((parsed.key(), parsed.fields()), (key, fields));
                    assert_eq!(parsed.text(), text.unwrap_or_default());
                    assert_eq!(parsed.into_text().as_deref(), text);
                }
            }
        }
        let plain = Record::from("短");
        assert_eq!((plain.key(), plain.text()), (None, "短"));
    }

    #[test]
    fn cut_record_is_damaged() {
        let record = Record::new(Some("key"), Some("fields"), None);
        for end in 0..record.content().len() {
            assert_eq!(Record::parse(&record.content()[..end]), None, "{end}");
        }
        assert_eq!(Record::parse(format!("{}x", record.content())), None);
    }
}
