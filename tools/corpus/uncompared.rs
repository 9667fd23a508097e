//! [`Uncompared`]: what is left out of the texts of a corpus before they are compared.

use simdb::frames::Frames;

use super::repeated_blocks::RepeatedBlocks;

/// The kind of what is left out, and the least number of documents that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UncomparedRule {
    Paragraphs(u64),
    Frames(u64),
}

impl UncomparedRule {
    /// The name of the number of documents in a report, and the number.
    pub fn field(self) -> (&'static str, u64) {
        match self {
            Self::Paragraphs(number) => ("in_documents", number),
            Self::Frames(number) => ("frames_in_documents", number),
        }
    }

    /// The words for what is left out.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paragraphs(_) => "paragraphs",
            Self::Frames(_) => "frames",
        }
    }
}

/// The parts that are left out of each text.
pub enum Uncompared {
    /// The paragraphs that many documents have, anywhere in a text.
    Paragraphs(Box<RepeatedBlocks>),
    /// The lines and sentences that many documents with different bodies have, at the head and the
    /// tail of a text.
    Frames(Frames),
}

impl Uncompared {
    /// The number of different paragraphs or frames.
    pub fn len(&self) -> usize {
        match self {
            Self::Paragraphs(paragraphs) => paragraphs.len(),
            Self::Frames(frames) => frames.len(),
        }
    }

    /// The text of a group as it is compared.
    pub fn compared(&self, group: Option<u64>, text: String) -> String {
        match self {
            Self::Paragraphs(paragraphs) => paragraphs.compared(text),
            Self::Frames(frames) => body(frames, group.unwrap_or_default(), text),
        }
    }

    /// The frames that are left out of a text of a group; `None` if paragraphs are left out.
    pub fn frames_of(&self, group: Option<u64>, text: &str) -> Option<Vec<String>> {
        let Self::Frames(frames) = self else {
            return None;
        };
        let of_text = frames.of_text(group.unwrap_or_default(), text);
        Some(of_text.into_iter().map(str::to_owned).collect())
    }
}

/// The text without its frames.
pub fn body(frames: &Frames, group: u64, text: String) -> String {
    match frames.body(group, &text) {
        std::borrow::Cow::Owned(body) => body,
        std::borrow::Cow::Borrowed(_) => text,
    }
}
