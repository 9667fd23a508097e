//! The symbols of a text: marks of syntax, currencies, faces, emoji, and `operators`.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::scanner::Scanner;
use crate::text::{floor_char_boundary, is_cjk, is_letter_or_digit};

/// In a longer line no operator and no free mark is looked for, and its start is not sought.
const MAX_LINE_BYTES: usize = 1 << 12;

/// Boxes of a list, and empty cells.
const ASCII_MARKS: [&str; 5] = ["[x]", "[X]", "[ ]", ",,", ";;"];

/// At most three marks between quotes or brackets are named: `'=='`, (+).
const MAX_NAMED_MARKS: usize = 3;

/// A quote is opened at most this many bytes before its end.
const MAX_QUOTE_BYTES: usize = 512;

/// The quotes and brackets around a mark that is named, the opening ones and the closing ones.
const ENCLOSURES: [[&str; 2]; 5] = [
    ["'`‘‚", "'’‘`"],
    ["\"“„«「『", "\"”“»」』"],
    ["(（", ")）"],
    ["[【", "]】"],
    ["<", ">"],
];

impl Scanner<'_> {
    /// The canonical form of the symbol that begins here, and its end; `None` for punctuation.
    pub(super) fn symbol(&self, c: char) -> Option<(String, usize)> {
        if self.is_dash_of_range(c) {
            return Some(("–".to_owned(), self.at + c.len_utf8()));
        }
        if let Some(end) = self.end_of_named().or_else(|| self.end_of_free(c)) {
            let marks = self.text[self.at..end].chars().map(without_width);
            return Some((marks.collect(), end));
        }
        if let Some(sign) = self.length_unit(c) {
            return Some((sign.to_owned(), self.at + c.len_utf8()));
        }
        if let Some((face, end)) = self.face(c) {
            return Some((face, end));
        }
        if matches!(c, '(' | ')') {
            return self.is_arithmetic().then(|| (c.to_string(), self.at + 1));
        }
        if c == '\t' {
            return self.is_empty_cell().then(|| (",,".to_owned(), self.at + 1));
        }
        if c.is_ascii() {
            return self.option(c).or_else(|| self.operator(c));
        }
        let end = self.at + c.len_utf8();
        let wide = match c {
            '％' => Some("%"),
            '＝' => Some("="),
            '＜' => Some("<"),
            '＞' => Some(">"),
            '＋' => Some("+"),
            '≠' => Some("!="),
            '≤' | '≦' => Some("<="),
            '≥' | '≧' => Some(">="),
            '→' | '⇒' => Some("->"),
            '←' => Some("<-"),
            '℃' => Some("°c"),
            '°' if self.is_celsius() => return Some(("°c".to_owned(), end + 1)),
            '￥' => Some("¥"),
            '￡' => Some("£"),
            '＄' => Some("$"),
            '٪' => Some("%"),
            '‰' | '§' | '¶' | '†' | '‡' | '‖' | '⌊' | '⌋' | '⌈' | '⌉' => {
                return Some((c.to_string(), end));
            }
            _ => None,
        };
        if let Some(wide) = wide {
            return Some((wide.to_owned(), end));
        }
        // A range of numbers: 36…40.
        if c == '…' && self.is_between_digits(end) || self.is_choice(c) {
            return Some((c.to_string(), end));
        }
        if c.general_category_group() != GeneralCategoryGroup::Symbol || is_decoration(c) {
            return None;
        }
        if c.general_category() != GeneralCategory::OtherSymbol {
            return Some((c.to_string(), end));
        }
        // An emoji with its modifiers: colours of skin, joined emoji, flags.
        let mut end = end;
        let mut symbol = c.to_string();
        let mut is_glued = is_flag(c);
        for next in self.text[end..].chars() {
            let is_modifier = matches!(next, '\u{1f3fb}'..='\u{1f3ff}' | '\u{200d}' | '\u{20e3}');
            let is_variation = matches!(next, '\u{fe0e}' | '\u{fe0f}');
            let goes_on = is_glued && next.general_category_group() == GeneralCategoryGroup::Symbol;
            if !is_modifier && !is_variation && !goes_on {
                break;
            }
            is_glued = next == '\u{200d}';
            // A colour of the skin is a variant too.
            if !is_variation && !matches!(next, '\u{1f3fb}'..='\u{1f3ff}') {
                symbol.push(next);
            }
            end += next.len_utf8();
        }
        Some((symbol, end))
    }

    /// Returns `true` for a tab before an empty cell of a table, whose lines have as many tabs.
    fn is_empty_cell(&self) -> bool {
        let tabs = |line: &str| line.matches('\t').count();
        let is_table = || {
            let lines = self.whole.lines().filter(|line| !line.trim().is_empty());
            let mut tabs = lines.map(tabs);
            let first = tabs.next().unwrap_or_default();
            first > 1 && tabs.next() == Some(first) && tabs.all(|tabs| tabs == first)
        };
        let next = self.text[self.at + 1..].chars().next();
        matches!(next, None | Some('\t' | '\r' | '\n')) && *self.is_table.get_or_init(is_table)
    }

    /// The end of the marks that begin here and stand alone in quotes or brackets. Dots stand for
    /// words, and a bracket within brackets is no mark: `f()`.
    fn end_of_named(&self) -> Option<usize> {
        let mut before = self.text[..self.at].chars().rev();
        let open = before.next()?;
        let at = (ENCLOSURES.iter()).position(|[opening, _]| opening.contains(open))?;
        let is_quote = at < 2;
        let is_end = |c: char| ENCLOSURES[at][1].contains(c);
        let mut marks = self.rest().char_indices().take(MAX_NAMED_MARKS + 1);
        let (_, first) = marks.next()?;
        let is_mark = |c: char| !is_letter_or_digit(c) && !c.is_whitespace() && !is_decoration(c);
        let is_own = |c: char| is_mark(c) && (is_quote || !"()[]<>（）【】".contains(c));
        let (length, end) = marks.find(|(_, c)| is_end(*c) || !is_own(*c))?;
        let is_dots = |marks: &str| marks.len() > 1 && marks.chars().all(|c| ".…".contains(c));
        // The comma of `"a","b"`.
        let has_sides = !"\"'".contains(open);
        let is_free = |c: char| !is_letter_or_digit(c) || has_sides && is_cjk(c);
        let is_apart = |c: Option<char>| c.is_none_or(is_free);
        let after = self.text[self.at + length + end.len_utf8()..]
            .chars()
            .next();
        (is_end(end)
            && is_own(first)
            && first != open
            && !is_dots(&self.rest()[..length])
            && (!is_quote || is_apart(before.next()) && is_apart(after)))
        .then_some(self.at + length)
    }

    /// The end of a mark of syntax that begins here: alone between spaces, unless it is one of two
    /// brackets, between words (`a|b`), or before an option (`[-r]`).
    fn end_of_free(&self, c: char) -> Option<usize> {
        let before = &self.text[self.line..self.at];
        if !"_#@^\\$()[]{}|".contains(c) || before.len() > MAX_LINE_BYTES {
            return None;
        }
        let after = self.rest()[1..].chars().next().unwrap_or('\n');
        // Not a heading, a comment, or a line that goes on.
        let is_alone = self.is_after_space()
            && (after == ' ' && !self.begins_line() || after == '\n' && c != '\\')
            && self.text[..self.at]
                .trim_end()
                .ends_with(is_letter_or_digit);
        let pair = ["()", "[]", "{}"].into_iter().find(|pair| pair.contains(c));
        let is_mark = match (c, pair) {
            ('[', _) if after == '-' => {
                self.rest()[2..].starts_with(|c: char| c == '-' || c.is_alphabetic())
            }
            ('|', _) if is_alone => before.rfind(['(', '[', '{']) > before.rfind([')', ']', '}']),
            ('|', _) => {
                let is_name = |c: char| c.is_ascii_alphanumeric();
                before.ends_with(is_name) && is_name(after)
            }
            (_, Some(pair)) => {
                let is_unpaired = |line: &str| {
                    let count = |end: &str| line.matches(end).count();
                    count(&pair[..1]) != count(&pair[1..])
                };
                is_alone && self.short_line().is_some_and(is_unpaired)
            }
            _ => is_alone,
        };
        (is_mark && self.short_line().is_some()).then_some(self.at + 1)
    }

    /// The sign of feet or of inches behind a number, unless it closes a quotation.
    fn length_unit(&self, c: char) -> Option<&'static str> {
        let (quotes, sign) = match c {
            '′' => return Some("′"),
            '″' => return Some("″"),
            '\'' | '’' => (['\'', '’', '‘'], "′"),
            '"' | '”' => (['"', '”', '“'], "″"),
            _ => return None,
        };
        let before = &self.text[..self.at];
        let after = self.text[self.at + c.len_utf8()..].chars().next();
        if !before.ends_with(char::is_numeric) || after.is_some_and(is_letter_or_digit) {
            return None;
        }
        let from = floor_char_boundary(before, before.len().saturating_sub(MAX_QUOTE_BYTES));
        let is_open = before[from..].rfind(quotes).is_some_and(|at| {
            let mut quoted = before[from + at..].chars();
            let is_word = |c: char| is_letter_or_digit(c) && !is_cjk(c);
            let begins = |next: char| {
                is_cjk(next) || !next.is_whitespace() && !before[..from + at].ends_with(is_word)
            };
            quoted.next().is_some_and(|c| "‘“".contains(c)) || quoted.next().is_none_or(begins)
        });
        (!is_open).then_some(sign)
    }

    /// The face that begins here, without its nose, and its end: `:-)`, `=(`, `(:`.
    fn face(&self, c: char) -> Option<(String, usize)> {
        let is_eyes = |c: char| ":;=".contains(c);
        if !self.is_after_space() || !is_eyes(c) && !"()".contains(c) {
            return None;
        }
        let word = self.rest().split(char::is_whitespace).next()?;
        let word = word.trim_end_matches(['.', ',', '!', '?']);
        let (inner, last) = (word.get(1..)?, word.chars().next_back()?);
        let inner = inner.get(..inner.len().checked_sub(last.len_utf8())?)?;
        let is_face = match is_eyes(c) {
            true => "()[]|DPp/".contains(last),
            false => is_eyes(last),
        };
        (is_face && inner.len() <= 2 && inner.chars().all(|c| "-'()".contains(c)))
            .then(|| (word.replace('-', ""), self.at + word.len()))
    }

    /// A box, an empty cell, the sign before a currency or a number, the start of an
    /// escape; `None` for other marks.
    pub(super) fn mark_of_ascii(&self, c: char) -> Option<&'static str> {
        if !matches!(c, ';' | '[' | ',' | '-' | '|' | '#' | '\\') {
            return None;
        }
        let rest = self.rest();
        let before = self.text[..self.at].chars().next_back().unwrap_or(' ');
        let is_apart = before.is_whitespace() || c == ',' || c == '[';
        if c == '-' {
            let mut next = rest[1..].chars();
            let is_price =
                next.next().is_some_and(is_currency) && next.next().is_some_and(char::is_numeric);
            return (is_price && is_apart).then_some("-");
        }
        if c == '#' || c == '\\' {
            let next = rest[1..].chars().next().unwrap_or(' ');
            let is_mark = match c {
                '#' => next.is_numeric() && is_apart,
                _ => next.is_alphabetic(),
            };
            return is_mark.then_some(if c == '#' { "#" } else { "\\" });
        }
        if c == '|' {
            let after = rest[1..].trim_start_matches([' ', '\t']);
            return (after.starts_with('|') && after.len() + 1 < rest.len()).then_some("|");
        }
        let mut marks = ASCII_MARKS.into_iter();
        marks.find(|mark| {
            // An empty cell, and no comment.
            let is_place = match *mark {
                ";;" => before.is_alphanumeric(),
                _ => is_apart,
            };
            is_place && rest.starts_with(mark)
        })
    }

    /// The end of a run of one shape: `●●●`. Its length is a value.
    pub(super) fn end_of_shapes(&self, c: char) -> Option<usize> {
        let is_shape = matches!(c, '\u{2580}'..='\u{25ff}') && is_decoration(c);
        (is_shape && !self.is_choice(c))
            .then(|| self.text.len() - self.rest().trim_start_matches(c).len())
    }

    /// Returns `true` for boxes that are full or empty, of which the text has both.
    fn is_choice(&self, c: char) -> bool {
        const BOXES: [[char; 2]; 2] = [['□', '■'], ['○', '●']];
        let pair = BOXES.iter().position(|pair| pair.contains(&c));
        pair.is_some_and(|pair| {
            self.choices
                .get_or_init(|| BOXES.map(|boxes| boxes.iter().all(|c| self.whole.contains(*c))))
                [pair]
        })
    }

    pub(super) fn begins_line(&self) -> bool {
        let before = &self.text[self.line..self.at];
        // Behind the marks of a quotation.
        before.len() <= MAX_LINE_BYTES
            && before
                .trim_start()
                .trim_start_matches(['>', ' '])
                .is_empty()
    }

    pub(super) fn is_between_digits(&self, end: usize) -> bool {
        self.text[..self.at].ends_with(char::is_numeric)
            && self.text[end..].starts_with(char::is_numeric)
    }

    /// Returns `true` for °C.
    fn is_celsius(&self) -> bool {
        let mut rest = self.rest().chars().skip(1);
        rest.next().is_some_and(|c| c.eq_ignore_ascii_case(&'c'))
            && !rest.next().is_some_and(is_letter_or_digit)
    }

    /// The line, unless it is longer than 4,096 bytes.
    pub(super) fn short_line(&self) -> Option<&str> {
        if self.at - self.line > MAX_LINE_BYTES {
            return None;
        }
        let end = floor_char_boundary(self.text, self.line + MAX_LINE_BYTES + 1);
        let line = self.text[self.line..end].split('\n').next()?;
        (line.len() <= MAX_LINE_BYTES).then_some(line)
    }

    pub(super) fn is_after_space(&self) -> bool {
        self.text[..self.at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    }
}

pub(super) fn is_currency(c: char) -> bool {
    c.general_category() == GeneralCategory::CurrencySymbol
}

fn is_flag(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// The ASCII form of a mark of full width.
fn without_width(c: char) -> char {
    match c {
        '！'..='～' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        '−' | '–' => '-',
        c => c,
    }
}

/// Bullets and ornaments, trade marks, modifiers alone.
fn is_decoration(c: char) -> bool {
    matches!(
        c,
        '©' | '®' | '™' | '¦' | '´' | '¨' | '¯' | '¸' | '`' | '\u{2500}'..='\u{259f}' | '■' | '□' | '▪' | '▫'
            | '●' | '～' | '〜' | '＊' | '＃' | '＾' | '｀' | '｜' | '○' | '◆' | '◇' | '◦' | '\u{fffc}' | '\u{fffd}' | '˂'..='˿'
    )
}
