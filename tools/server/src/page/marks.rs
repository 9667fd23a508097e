//! Two texts with their differences marked: word by word, and character by character in CJK.

use std::time::{Duration, Instant};

use maud::{Markup, html};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::words::Words;

/// The longest part of a text that is shown.
const SHOWN_BYTES: usize = 20_000;

/// After this time, the rest of two texts is marked as a whole.
const MARK_TIME: Duration = Duration::from_millis(100);

/// A part of a text, and `true` if the other text does not have it there.
type MarkedPart = (String, bool);

/// Both texts as HTML. What only the first has is `del`, what only the second has is `ins`.
pub fn marked(words: &Words, a: &str, b: &str) -> [Markup; 2] {
    let (a, a_is_cut) = shown(a);
    let (b, b_is_cut) = shown(b);
    let [a_parts, b_parts] = differences(a, b);
    let a = html! {
        @for (part, is_own) in a_parts {
            @if is_own { del { (part) } } @else { (part) }
        }
        @if a_is_cut { span.note { (words.cut) } }
    };
    let b = html! {
        @for (part, is_own) in b_parts {
            @if is_own { ins { (part) } } @else { (part) }
        }
        @if b_is_cut { span.note { (words.cut) } }
    };
    [a, b]
}

/// The second text as HTML, with marks of both: what only the first has is `del`, at its place.
pub fn merged(words: &Words, a: &str, b: &str) -> Markup {
    let (a, _) = shown(a);
    let (b, is_cut) = shown(b);
    let (a_tokens, b_tokens) = (tokens(a), tokens(b));
    html! {
        @for operation in operations(&a_tokens, &b_tokens) {
            @let (old, new) = (a_tokens[operation.old_range()].concat(), b_tokens[operation.new_range()].concat());
            @if matches!(operation, DiffOp::Equal { .. }) { (new) } @else {
                @if !old.is_empty() { del { (old) } }
                @if !new.is_empty() { ins { (new) } }
            }
        }
        @if is_cut { span.note { (words.cut) } }
    }
}

/// A text as HTML, without marks.
pub fn plain(words: &Words, text: &str) -> Markup {
    let (text, is_cut) = shown(text);
    html! {
        (text)
        @if is_cut { span.note { (words.cut) } }
    }
}

/// The part of a text that is shown, and `true` if the text is longer.
fn shown(text: &str) -> (&str, bool) {
    let mut end = SHOWN_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (&text[..end], end < text.len())
}

/// The parts of both texts, in text order.
fn differences(a: &str, b: &str) -> [Vec<MarkedPart>; 2] {
    let (a, b) = (tokens(a), tokens(b));
    let mut parts = [Vec::new(), Vec::new()];
    for operation in operations(&a, &b) {
        let is_own = !matches!(operation, DiffOp::Equal { .. });
        let texts = [
            a[operation.old_range()].concat(),
            b[operation.new_range()].concat(),
        ];
        for (parts, text) in parts.iter_mut().zip(texts) {
            parts.extend((!text.is_empty()).then_some((text, is_own)));
        }
    }
    parts
}

fn operations(a_tokens: &[&str], b_tokens: &[&str]) -> Vec<DiffOp> {
    let deadline = Some(Instant::now() + MARK_TIME);
    capture_diff_slices_deadline(Algorithm::Myers, a_tokens, b_tokens, deadline)
}

/// The kind of a character: characters of one kind make a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkKind {
    Word,
    Space,
    /// A token of its own: CJK, punctuation, symbols.
    Alone,
}

fn kind(character: char) -> MarkKind {
    if character.is_whitespace() {
        MarkKind::Space
    } else if character.is_alphanumeric() && !is_written_without_spaces(character) {
        MarkKind::Word
    } else {
        MarkKind::Alone
    }
}

/// Returns `true` for scripts that put no spaces between words.
fn is_written_without_spaces(character: char) -> bool {
    matches!(
        u32::from(character),
        // Thai and Lao, Myanmar, Khmer, kana, ideographs, and their extensions.
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x9fff
            | 0xf900..=0xfaff | 0x20000..=0x3ffff
    )
}

/// The tokens of a text. Together they are the text.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let (mut start, mut last) = (0, MarkKind::Alone);
    for (position, character) in text.char_indices() {
        let kind = kind(character);
        if position > start && (kind != last || kind == MarkKind::Alone) {
            tokens.push(&text[start..position]);
            start = position;
        }
        last = kind;
    }
    if start < text.len() {
        tokens.push(&text[start..]);
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(parts: &[MarkedPart]) -> Vec<String> {
        parts
            .iter()
            .filter(|(_, is_own)| *is_own)
            .map(|(part, _)| part.clone())
            .collect()
    }

    #[test]
    fn words_and_cjk_characters_are_tokens() {
        assert_eq!(
            tokens("The ferry's 12 km, 吃飯 ok"),
            [
                "The", " ", "ferry", "'", "s", " ", "12", " ", "km", ",", " ", "吃", "飯", " ",
                "ok"
            ]
        );
        assert_eq!(tokens("").len(), 0);
    }

    #[test]
    fn differences_are_marked_on_both_sides() {
        let [a, b] = differences("The ferry was cancelled.", "The ferry was not cancelled.");
        assert_eq!((own(&a), own(&b)), (vec![], vec!["not ".to_owned()]));
        let [a, b] = differences("今天的渡轮停航", "明天的渡轮停航");
        assert_eq!(
            (own(&a), own(&b)),
            (vec!["今".to_owned()], vec!["明".to_owned()])
        );
        for (one, other) in [("", "a b"), ("a", ""), ("same", "same"), ("a b c", "x y z")] {
            let [a, b] = differences(one, other);
            let joined = |parts: &[MarkedPart]| {
                parts
                    .iter()
                    .map(|(part, _)| part.as_str())
                    .collect::<String>()
            };
            assert_eq!((joined(&a), joined(&b)), (one.to_owned(), other.to_owned()));
        }
    }

    #[test]
    fn markup_in_a_text_is_escaped_and_a_long_text_cut() {
        let words = Words::of(&Default::default());
        let long = format!("<script>alert(1)</script>{}", "渡".repeat(10_000));
        let [a, b] = marked(words, &long, "<b>");
        let (a, b) = (a.into_string(), b.into_string());
        assert!(
            a.contains("script&gt;") && !a.contains("<script") && a.contains(words.cut),
            "{a:.99}"
        );
        assert!(!b.contains("<b>"), "{b}");
        assert!(a.len() < 3 * SHOWN_BYTES);
    }
}
