//! Plain lines: the text is the line, the id its number.

use anyhow::Result;

use super::html::text_of_html;
use super::id_sequence::IdSequence;
use super::input::{InputStream, LineReader};
use super::{DocumentContent, Item, Records, utf8};

/// A reader of plain lines. A blank line is not a document, but takes an id.
pub struct TextLines {
    lines: LineReader,
    /// The ids of the next lines.
    counted: IdSequence,
    strips_html: bool,
}

impl TextLines {
    pub fn new(
        input: InputStream,
        counted: IdSequence,
        max_text_bytes: usize,
        strips_html: bool,
    ) -> Result<Self> {
        Ok(Self {
            lines: LineReader::new(input, max_text_bytes)?,
            counted,
            strips_html,
        })
    }
}

impl Records for TextLines {
    fn next(&mut self) -> Result<Option<Item>> {
        while let Some((number, line)) = self.lines.next_line()? {
            let id = self.counted.take();
            let text = line.and_then(utf8);
            if text.as_ref().is_ok_and(|text| text.trim().is_empty()) {
                continue;
            }
            let content = text.map(|text| DocumentContent {
                text: Some(match self.strips_html {
                    true => text_of_html(text),
                    false => text.to_owned(),
                }),
                ..DocumentContent::default()
            });
            return Ok(Some(Item::with_id(number, id, content)));
        }
        Ok(None)
    }

    fn next_ids(&self) -> Option<IdSequence> {
        Some(self.counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_of_line_is_its_number_after_blank_lines() {
        let input = InputStream::of_bytes("test", b"one\n\n \r\nfour\r\n\xff\nsix");
        let mut lines = TextLines::new(input, IdSequence::new(101), 100, false).unwrap();
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
    fn line_after_last_id_is_rejected_unless_blank() {
        let input = InputStream::of_bytes("test", b"last\n\nbeyond\n");
        let mut lines = TextLines::new(input, IdSequence::new(u64::MAX), 100, false).unwrap();
        assert!(matches!(lines.next(), Ok(Some(Item::Record(_)))));
        let Ok(Some(Item::Reject(reject))) = lines.next() else {
            panic!("accepted")
        };
        assert_eq!((reject.number, reject.id), (3, None));
        assert!(lines.next().unwrap().is_none());
    }
}
