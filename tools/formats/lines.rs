//! Plain lines: the text is the line, the id its number.

use anyhow::{Result, bail};
use simdb::DocId;

use super::input::{Line, LineReader, Opened};
use super::{Content, Item, Records, line_too_long, utf8};

/// Reads plain lines. A blank line is no document, but it is counted.
pub struct Lines {
    lines: LineReader,
    /// The id of line 1.
    first_id: u64,
    /// How many lines were read.
    read: u64,
    max_text_bytes: usize,
}

impl Lines {
    /// Reads lines whose ids count up from `first_id`.
    pub fn new(input: Opened, first_id: u64, max_text_bytes: usize) -> Result<Self> {
        Ok(Self {
            lines: LineReader::new(input, max_text_bytes)?,
            first_id,
            read: 0,
            max_text_bytes,
        })
    }
}

impl Records for Lines {
    fn next(&mut self) -> Result<Option<Item>> {
        while let Some((number, line)) = self.lines.next()? {
            self.read = number;
            let Some(id) = self.first_id.checked_add(number - 1).map(DocId) else {
                bail!(
                    "line {number} has no id: the ids reach {} before it",
                    u64::MAX
                );
            };
            let text = match line {
                Line::TooLong => Err(line_too_long(self.max_text_bytes)),
                Line::Whole(bytes) => utf8(bytes),
            };
            if text.as_ref().is_ok_and(|text| text.trim().is_empty()) {
                continue;
            }
            let content = text.map(|text| Content {
                text: Some(text.to_owned()),
                fingerprint: None,
                arrival: None,
                score: None,
            });
            return Ok(Some(Item::of(number, id, content)));
        }
        Ok(None)
    }

    fn next_id(&self) -> Option<u64> {
        // An id beyond the last is refused when there is a line for it.
        Some(self.first_id.saturating_add(self.read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_line_is_its_number_whatever_lies_before_it() {
        let input = Opened::of_bytes("test", b"one\n\n \r\nfour\r\n\xff\nsix");
        let mut lines = Lines::new(input, 101, 100).unwrap();
        let mut read = Vec::new();
        while let Some(item) = lines.next().unwrap() {
            read.push(match item {
                Item::Record(record) => (record.number, record.id.0, record.content.text),
                Item::Reject(reject) => (reject.number, reject.id.unwrap().0, None),
            });
        }
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            read,
            [
                (1, 101, text("one")),
                (4, 104, text("four")),
                (5, 105, None),
                (6, 106, text("six"))
            ]
        );
    }

    #[test]
    fn ids_do_not_wrap_around() {
        let input = Opened::of_bytes("test", b"last\nbeyond\n");
        let mut lines = Lines::new(input, u64::MAX, 100).unwrap();
        assert!(lines.next().unwrap().is_some());
        assert!(lines.next().is_err());
    }
}
