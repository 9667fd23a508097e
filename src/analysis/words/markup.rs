//! Tags of HTML. A tag may be absent, since a copy of a page has its text alone, and is not
//! exchanged for another tag.

use crate::text::floor_char_boundary;

/// A longer tag is text.
const MAX_TAG_BYTES: usize = 512;

/// Elements around words.
#[rustfmt::skip]
const INLINE: [&str; 24] = [
    "a", "abbr", "b", "big", "cite", "code", "em", "font", "i", "img", "kbd", "mark", "meta", "nobr", "small", "span",
    "strong", "sub", "sup", "tt", "u", "var", "wbr", "link",
];

/// Elements around lines.
#[rustfmt::skip]
const BLOCKS: [&str; 37] = [
    "article", "aside", "body", "br", "caption", "center", "dd", "div", "dl", "dt", "figcaption", "figure",
    "footer", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "li", "main", "nav", "ol", "p",
    "pre", "section", "table", "tbody", "td", "th", "thead", "tr", "ul",
];

/// Attributes with words that a reader sees.
const ATTRIBUTES_OF_WORDS: [&str; 5] = ["alt=", "title=", "content=", "value=", "placeholder="];

/// A tag of HTML at the start of a text.
pub(super) struct Tag {
    /// The bytes of the tag.
    pub len: usize,
    /// `true` for a tag at which a line ends.
    pub is_block: bool,
}

impl Tag {
    /// The tag that begins here; `None` for other text. An inline element without attributes is one
    /// of the paired elements of the text.
    pub fn at(text: &str, is_paired: impl Fn(&str) -> bool) -> Option<Self> {
        let inner = text.strip_prefix('<')?;
        let inner = inner.strip_prefix('/').unwrap_or(inner);
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric())?;
        let name = inner[..end].to_ascii_lowercase();
        let is_block = BLOCKS.contains(&&*name);
        if !is_block && !INLINE.contains(&&*name) {
            return None;
        }
        let limit = floor_char_boundary(text, text.len().min(MAX_TAG_BYTES));
        let start = text.len() - inner.len() + end;
        let len = text[..limit].find('>')? + 1;
        let attributes = text.get(start..len - 1)?.trim_end_matches('/').trim();
        let has_words =
            |name: &&str| attributes.contains(name) && !attributes.contains(&format!("{name}\"\""));
        // The first attribute has a value: a <b and c = d> e has none.
        let is_tag = match attributes.split_whitespace().next() {
            None => is_block || is_paired(&name),
            Some(first) => first.contains('=') && !ATTRIBUTES_OF_WORDS.iter().any(has_words),
        };
        (is_tag && !attributes.contains('<')).then_some(Self { len, is_block })
    }
}

/// The inline elements that a text opens and closes.
pub(super) fn paired_elements(text: &str) -> Vec<&'static str> {
    let text = text.to_ascii_lowercase();
    let has = |tag: String| text.contains(&tag);
    let is_paired = |name: &&str| {
        has(format!("</{name}>")) && (has(format!("<{name}>")) || has(format!("<{name} ")))
    };
    INLINE.into_iter().filter(is_paired).collect()
}
