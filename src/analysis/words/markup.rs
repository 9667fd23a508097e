//! Tags of HTML, of forums (BBCode), of wikis and of LaTeX. A tag may be absent, since a copy of a
//! page has its text alone, and is not exchanged for another tag.

use crate::text::floor_char_boundary;

/// A longer tag is text.
const MAX_TAG_BYTES: usize = 512;

/// Elements around words.
#[rustfmt::skip]
const INLINE: [&str; 26] = [
    "a", "abbr", "b", "big", "cite", "code", "em", "font", "i", "img", "kbd", "mark", "meta", "nobr", "small", "span", "rb", "ruby",
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

/// Tags of forums.
#[rustfmt::skip]
const FORUM: [&str; 13] = [
    "b", "i", "u", "url", "color", "size", "quote", "img", "center", "font", "align", "left", "right",
];

/// Commands of LaTeX for the type of some words.
const LATEX: [&str; 3] = ["\\emph{", "\\textbf{", "\\textit{"];

/// The ends of an environment of LaTeX for prose.
const ENVIRONMENTS: [&str; 2] = ["\\begin{abstract}", "\\end{abstract}"];

/// A tag at the start of a text.
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
        let limit = floor_char_boundary(text, MAX_TAG_BYTES);
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

    /// The tag of a forum that begins here, one of the paired tags of the text: `[b]`,
    /// `[color=red]`. The author of a quotation is no tag, and neither is a tag between spaces, of
    /// which a text tells.
    pub fn of_forum(
        text: &str,
        is_after_space: bool,
        is_paired: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let limit = floor_char_boundary(text, MAX_TAG_BYTES);
        let len = text[..limit].find(']')? + 1;
        let inner = text.get(1..len - 1)?;
        if is_after_space && text[len..].starts_with(' ') {
            return None;
        }
        let inner = inner.strip_prefix('/').unwrap_or(inner);
        let (name, value) = inner.split_once('=').unwrap_or((inner, ""));
        let name = name.to_ascii_lowercase();
        let is_block = matches!(&*name, "quote" | "center");
        let is_value = value.is_empty() || !is_block && !value.contains(char::is_whitespace);
        (is_value && is_paired(&name)).then_some(Self { len, is_block })
    }

    /// The command of LaTeX that begins here, with the bracket before its words.
    pub fn of_latex(text: &str) -> Option<Self> {
        let find = |commands: &[&str]| {
            commands
                .iter()
                .find(|of| text.starts_with(**of))
                .map(|of| of.len())
        };
        if let Some(len) = find(&ENVIRONMENTS) {
            return Some(Self {
                len,
                is_block: true,
            });
        }
        let len = find(&LATEX)?;
        let limit = floor_char_boundary(text, MAX_TAG_BYTES);
        let words = &text[len..limit];
        let is_plain = |words: &str| !words.trim().is_empty() && !words.contains(['{', '\\', '\n']);
        is_plain(&words[..words.find('}')?]).then_some(Self {
            len,
            is_block: false,
        })
    }
}

/// Returns `true` for prose with a tag of LaTeX.
pub(super) fn is_latex(text: &str) -> bool {
    (LATEX.iter().chain(&ENVIRONMENTS)).any(|command| text.contains(command))
}

/// The tags of a forum that a text opens and closes equally often.
pub(super) fn paired_of_forum(text: &str) -> Vec<&'static str> {
    let text = text.to_ascii_lowercase();
    let count = |tag: String| text.matches(&tag).count();
    let is_paired = |name: &&str| {
        let closed = count(format!("[/{name}]"));
        closed > 0 && closed == count(format!("[{name}]")) + count(format!("[{name}="))
    };
    FORUM.into_iter().filter(is_paired).collect()
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
