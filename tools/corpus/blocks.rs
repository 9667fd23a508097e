//! Blocks of a text: its lines, or its paragraphs. Pure functions of a text.

use std::fmt::Write;
use std::iter;

use simdb::Normaliser;

/// The kind of block into which a text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockUnit {
    /// A line ends with a line feed, or a carriage return and a line feed.
    Line,
    /// The lines between lines of white space.
    Paragraph,
}

/// A block. All blocks of a text, one after the other, are the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'t> {
    /// The block without the end of its last line. Empty for the blank lines before the first
    /// paragraph.
    pub content: &'t str,
    /// The end of the last line, and the blank lines after a paragraph.
    separator: &'t str,
}

/// The blocks of a text, in order.
pub fn blocks(text: &str, unit: BlockUnit) -> impl Iterator<Item = Block<'_>> {
    let mut rest = text;
    iter::from_fn(move || {
        let (block, after) = split_block(rest, unit)?;
        rest = after;
        Some(block)
    })
}

fn split_block(text: &str, unit: BlockUnit) -> Option<(Block<'_>, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    let (mut content_len, mut len) = (without_end(first).len(), first.len());
    if unit == BlockUnit::Paragraph {
        let mut is_after = is_blank(first);
        content_len *= usize::from(!is_after);
        for line in lines {
            match is_blank(line) {
                true => is_after = true,
                false if is_after => break,
                false => content_len = len + without_end(line).len(),
            }
            len += line.len();
        }
    }
    let (block, after) = text.split_at(len);
    let (content, separator) = block.split_at(content_len);
    Some((Block { content, separator }, after))
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// The text without the blocks that `is_cut` selects, or `None` if none is selected.
///
/// A block is cut with its separator. The text ends as before: if the last block is cut, its
/// separator replaces the separator of the last block that remains.
pub fn without_blocks<'t>(
    text: &'t str,
    unit: BlockUnit,
    mut is_cut: impl FnMut(&'t str) -> bool,
) -> Option<String> {
    let (mut kept, mut kept_end) = (String::new(), 0);
    let (mut has_cut, mut last) = (false, None);
    for block in blocks(text, unit) {
        if is_cut(block.content) {
            has_cut = true;
            last = Some(block.separator);
        } else {
            kept.push_str(block.content);
            kept_end = kept.len();
            kept.push_str(block.separator);
            last = None;
        }
    }
    if let Some(separator) = last.filter(|_| !kept.is_empty()) {
        kept.truncate(kept_end);
        kept.push_str(separator);
    }
    has_cut.then_some(kept)
}

/// The form in which blocks are compared; `None` if the block has no letter.
///
/// Case, width, white space, punctuation, and traditional or simplified characters make no
/// difference. The form is the letters and digits of [`Normaliser::sentences`], then the numbers
/// and signs of names in them: 3.14 and 31.4 have the same letters and digits, and so have C++ and
/// C. A block without a letter, such as a rule of dashes, a price or a score, is not compared.
pub fn comparable(normaliser: &Normaliser, block: &str) -> Option<String> {
    let sentences = normaliser.sentences(block);
    if !sentences.contains(char::is_alphabetic) {
        return None;
    }
    let mut form: String = sentences.chars().filter(|c| !is_separator(*c)).collect();
    let is_of_number = |c: char| c.is_numeric() || CONNECTORS.contains(&c);
    for number in sentences.split(|c: char| !is_of_number(c)) {
        // The end of a sentence and dashes between words are punctuation.
        let number = number.trim_end_matches(PUNCTUATION);
        if number.contains(|c: char| c.is_numeric() || SIGNS.contains(&c)) {
            // A string accepts all that is written.
            let _ = write!(form, " {number}");
        }
    }
    Some(form)
}

/// The characters other than letters and digits that [`Normaliser::sentences`] keeps, beside the
/// space.
const CONNECTORS: [char; 7] = ['+', '#', '&', '.', '_', '%', '-'];
/// The connectors that separate, unless a number goes on after them.
const PUNCTUATION: [char; 4] = ['&', '.', '_', '-'];
/// The connectors that are part of names and quantities: C++, C#, 5 %.
const SIGNS: [char; 3] = ['+', '#', '%'];

fn is_separator(c: char) -> bool {
    c == ' ' || CONNECTORS.contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contents(text: &str, unit: BlockUnit) -> Vec<&str> {
        blocks(text, unit).map(|block| block.content).collect()
    }

    fn without(text: &str, unit: BlockUnit, cut: &[&str]) -> Option<String> {
        without_blocks(text, unit, |block| cut.contains(&block))
    }

    #[test]
    fn lines_end_at_line_feeds_with_or_without_carriage_returns() {
        let text = "a\r\n\nb \r c\n \nlast";
        assert_eq!(
            contents(text, BlockUnit::Line),
            ["a", "", "b \r c", " ", "last"]
        );
        assert_eq!(contents("a\n", BlockUnit::Line), ["a"]);
        assert!(contents("", BlockUnit::Line).is_empty());
    }

    #[test]
    fn paragraphs_are_separated_by_lines_of_white_space() {
        let text = "\n \na\r\nb\r\n\t\r\n\u{3000}\n  c\nd";
        assert_eq!(
            contents(text, BlockUnit::Paragraph),
            ["", "a\r\nb", "  c\nd"]
        );
        assert_eq!(contents("a\n\n\n", BlockUnit::Paragraph), ["a"]);
        assert_eq!(contents(" \n\n", BlockUnit::Paragraph), [""]);
        assert!(contents("", BlockUnit::Paragraph).is_empty());
    }

    #[test]
    fn text_ends_as_before_when_blocks_are_cut() {
        use BlockUnit::*;
        for (text, unit, cut, left) in [
            (
                "nav\n\nbody\n\nend\n",
                Paragraph,
                &["nav"][..],
                "body\n\nend\n",
            ),
            ("nav\n\nbody\n\nend\n", Paragraph, &["end"], "nav\n\nbody\n"),
            ("nav\n\nbody\n\nend", Paragraph, &["body", "end"], "nav"),
            (
                "nav\r\n\r\nbody\r\n\r\nend\r\n",
                Paragraph,
                &["end"],
                "nav\r\n\r\nbody\r\n",
            ),
            ("\n\nnav\n\nbody", Paragraph, &["nav"], "\n\nbody"),
            ("\n\nnav\n\n", Paragraph, &["nav"], "\n\n"),
            ("nav\n\n", Paragraph, &["nav"], ""),
            ("a\nb\nc", Line, &["c"], "a\nb"),
            ("a\nb\nc\n", Line, &["b"], "a\nc\n"),
            ("a\n\nc\n", Line, &["c"], "a\n\n"),
            ("a\na", Line, &["a"], ""),
        ] {
            assert_eq!(without(text, unit, cut).as_deref(), Some(left), "{text:?}");
        }
        assert_eq!(without("a\nb", Line, &["c"]), None);
    }

    #[test]
    fn wording_and_numbers_decide_if_blocks_are_equal() {
        let normaliser = Normaliser::new();
        let form = |block: &str| comparable(&normaliser, block);
        for (one, other) in [
            ("All prices include VAT.", "all prices  include vat"),
            ("Home | Log in | Basket", "HOME·Log in·Basket —"),
            ("《漢語》，版本１.2。", "汉语 版本1.2"),
            ("Since 1962.", "since 1962"),
        ] {
            assert_eq!(form(one), form(other), "{one} {other}");
            assert!(form(one).is_some());
        }
        for (one, other) in [
            ("Price 3.14", "Price 31.4"),
            ("Rooms 1, 2", "Rooms 12"),
            ("-5 degrees", "5 degrees"),
            ("Written in C++", "Written in C"),
            ("gained 5 %", "gained 5"),
            ("Home", "Homes"),
        ] {
            assert_ne!(form(one), form(other), "{one} {other}");
        }
        for none in ["", "   ", "-----", "}", "3 : 2", "19.99 €", "***"] {
            assert_eq!(form(none), None, "{none}");
        }
    }

    /// Paragraphs as lists of lines, and the blank lines between them.
    fn paragraphs_of_model(text: &str) -> Vec<String> {
        let mut paragraphs = vec![Vec::new()];
        for line in text.split('\n') {
            match line.trim().is_empty() {
                true => paragraphs.push(Vec::new()),
                false => paragraphs.last_mut().unwrap().push(line),
            }
        }
        paragraphs.retain(|lines| !lines.is_empty());
        paragraphs.iter().map(|lines| lines.join("\n")).collect()
    }

    proptest! {
        #[test]
        fn blocks_are_the_text_and_its_paragraphs(text in "[ab \r\n]{0,24}") {
            for unit in [BlockUnit::Line, BlockUnit::Paragraph] {
                let whole: String = blocks(&text, unit)
                    .flat_map(|block| [block.content, block.separator])
                    .collect();
                prop_assert_eq!(&whole, &text);
            }
            let mut paragraphs = contents(&text, BlockUnit::Paragraph);
            paragraphs.retain(|content| !content.is_empty());
            let expected = paragraphs_of_model(&text);
            let ends = |text: &str| text.strip_suffix('\r').unwrap_or(text).to_owned();
            let expected: Vec<String> = expected.iter().map(|text| ends(text)).collect();
            prop_assert_eq!(paragraphs, expected);
        }

        #[test]
        fn rest_has_the_blocks_that_are_not_cut(text in "([abc]{1,2}\r?\n|[ab]?\n| \n){0,12}[abc]?") {
            for unit in [BlockUnit::Line, BlockUnit::Paragraph] {
                let is_cut = |block: &str| block.contains('a');
                let kept: Vec<&str> = contents(&text, unit);
                let kept: Vec<&str> = kept.into_iter().filter(|block| !is_cut(block)).collect();
                match without_blocks(&text, unit, is_cut) {
                    None => prop_assert_eq!(kept, contents(&text, unit)),
                    Some(rest) => {
                        prop_assert!(without_blocks(&rest, unit, is_cut).is_none());
                        let is_not_blank = |block: &&str| !block.is_empty();
                        let rest: Vec<&str> =
                            contents(&rest, unit).into_iter().filter(is_not_blank).collect();
                        let kept: Vec<&str> = kept.into_iter().filter(is_not_blank).collect();
                        prop_assert_eq!(rest, kept);
                    }
                }
            }
        }
    }
}
