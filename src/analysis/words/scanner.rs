//! Cuts a text into lexemes: words, CJK characters, numbers and symbols, with their byte ranges.
//!
//! Normalisation removes symbols, signs and the ends of clauses, which turn the sense of a text. So
//! the text is scanned as it is, and each lexeme is normalised alone.

use std::ops::Range;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::number;
use crate::text::{Normaliser, floor_char_boundary, is_cjk, is_letter_or_digit, is_mark};

/// At most 4 bytes of spaces are typography between two CJK characters.
const MAX_CJK_GAP_BYTES: usize = 4;

/// The characters of operators.
const OPERATORS: &str = "=<>!+-*/%&|^~";

/// A longer run of operators is a rule.
const MAX_OPERATOR_BYTES: usize = 3;

/// A formula in brackets is at most this long.
const MAX_FORMULA_BYTES: usize = 64;

/// In a longer line no operator is looked for.
const MAX_LINE_BYTES: usize = 1 << 12;

/// The end of a clause or sentence before a lexeme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Break {
    /// The lexeme continues a clause.
    #[default]
    None,
    /// A comma, a bracket, a dash.
    Clause,
    /// The end of a line within which no sentence ends, as of a title.
    Line,
    /// The end of a sentence.
    Sentence,
}

impl Break {
    /// Returns `true` for the end of a sentence or of a line.
    pub fn ends_unit(self) -> bool {
        self >= Self::Line
    }
}

/// The kind of a lexeme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A run of letters and digits, an identifier, an address.
    Word,
    /// A run of CJK characters, which the lexicon cuts.
    Cjk,
    /// A number in canonical form.
    Number,
    /// A sign with a meaning.
    Symbol,
}

/// A piece of a text.
#[derive(Debug)]
pub(crate) struct Lexeme {
    /// The bytes of the piece in the text.
    pub range: Range<usize>,
    /// The piece, normalised.
    pub text: String,
    pub kind: Kind,
    pub before: Break,
    /// `true` if no space is between the piece and the piece before it, as in `gnuplot-mode`.
    pub is_joined: bool,
    /// The mark behind the piece, if it ends a sentence.
    pub end: End,
}

/// The mark that ends a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum End {
    /// No sentence ends, or it ends without a mark.
    #[default]
    None,
    Statement,
    Question,
}

/// The lexemes of a text, in text order. No lexeme is empty.
pub(crate) fn lexemes(normaliser: &Normaliser, text: &str) -> Vec<Lexeme> {
    let mut scanner = Scanner {
        normaliser,
        text,
        at: 0,
        line: 0,
        has_small_letters: has_small_letters(text),
        before: Break::Sentence,
        lexemes: Vec::with_capacity(text.len() / 6 + 4),
    };
    while scanner.at < text.len() {
        scanner.next();
    }
    scanner.lexemes
}

struct Scanner<'t> {
    normaliser: &'t Normaliser,
    text: &'t str,
    at: usize,
    /// The start of the line.
    line: usize,
    /// `false` if most letters are capitals.
    has_small_letters: bool,
    /// The largest break since the last lexeme.
    before: Break,
    lexemes: Vec<Lexeme>,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&mut self) {
        let Some(c) = self.rest().chars().next() else {
            return;
        };
        if c == ' ' {
            self.at += 1;
        } else if is_cjk(c) {
            self.cjk();
        } else if let Some(end) = number::end(self.text, self.at) {
            self.number(end);
        } else if is_part(c) {
            self.word();
        } else {
            self.mark(c);
        }
    }

    fn push(&mut self, end: usize, text: String, kind: Kind) {
        let range = self.at..end;
        self.at = end;
        if text.is_empty() {
            return;
        }
        let last = self.lexemes.last();
        let is_joined = last.is_some_and(|last| {
            let between = &self.text[last.range.end..range.start];
            !between.contains(char::is_whitespace) && between.len() <= 3
        });
        self.lexemes.push(Lexeme {
            range,
            text,
            kind,
            before: std::mem::take(&mut self.before),
            is_joined,
            end: End::None,
        });
    }

    /// A run of CJK characters. A space between two of them is typography.
    fn cjk(&mut self) {
        let mut end = self.at;
        let mut gap = 0;
        for c in self.rest().chars() {
            let is_space = c == ' ' || c == '\u{3000}' || is_format(c);
            if is_cjk(c) || gap == 0 && is_mark(c) {
                end += gap + c.len_utf8();
                gap = 0;
            } else if is_space && gap < MAX_CJK_GAP_BYTES {
                gap += c.len_utf8();
            } else {
                break;
            }
        }
        let text = self.normaliser.letters(&self.text[self.at..end]);
        self.push(end, text, Kind::Cjk);
    }

    fn number(&mut self, end: usize) {
        let text = number::canonical(&self.text[self.at..end]);
        self.push(end, text, Kind::Number);
    }

    fn word(&mut self) {
        if let Some(end) = end_of_address(self.rest()) {
            let end = self.at + end;
            let text = address(&self.text[self.at..end]);
            self.push(end, text, Kind::Word);
            return;
        }
        let end = self.at + end_of_word(self.rest());
        let piece = &self.text[self.at..end];
        let text = match is_plain(piece) {
            true => piece.to_ascii_lowercase(),
            false => self.normalised(piece),
        };
        self.push(end, text, Kind::Word);
    }

    /// A word with connecting characters, which the normaliser takes for separators at its ends.
    fn normalised(&self, piece: &str) -> String {
        let is_connector = |c: char| matches!(c, '.' | '_' | '@' | '\\' | ':' | '+' | '#' | '&');
        if !piece.contains(is_connector) {
            return self.normaliser.letters(piece);
        }
        // `U.S.` is `US`.
        let mut letters = piece.split('.').filter(|part| !part.is_empty());
        if piece.contains('.') && letters.all(|part| part.chars().count() == 1) {
            return self.normaliser.letters(piece);
        }
        let mut text = String::with_capacity(piece.len());
        for part in piece.split_inclusive(is_connector) {
            let letters = part.trim_end_matches(is_connector);
            text.push_str(&self.normaliser.letters(letters));
            text.push_str(&part[letters.len()..]);
        }
        text
    }

    /// A character that is neither a letter nor a digit.
    fn mark(&mut self, c: char) {
        if let Some((symbol, end)) = self.symbol(c) {
            self.push(end, symbol, Kind::Symbol);
            return;
        }
        let mut end = self.at + c.len_utf8();
        if OPERATORS.contains(c) {
            // A rule of many characters is skipped at once.
            let run = self.run_of_operators();
            end = if run > MAX_OPERATOR_BYTES {
                self.at + run
            } else {
                end
            };
        }
        if c == '\n' {
            self.line = end;
        }
        let after = self.text[end..].chars().next().unwrap_or('\n');
        let found = match c {
            '\n' | '\r' => self.end_of_line(),
            '.' | '!' | '?' | '…' if !is_letter_or_digit(after) => Break::Sentence,
            '。' | '！' | '？' | '．' | '｡' | '।' | '؟' => Break::Sentence,
            ',' | ';' | ':' | '，' | '；' | '：' | '、' | '､' | '،' | '؛' | '|' => {
                Break::Clause
            }
            '(' | ')' | '[' | ']' | '{' | '}' | '（' | '）' | '【' | '】' | '—' => {
                Break::Clause
            }
            '-' | '–' if after.is_whitespace() && self.is_after_space() => Break::Clause,
            _ => Break::None,
        };
        let mark = match c {
            _ if found != Break::Sentence => End::None,
            '?' | '？' | '؟' | ';' => End::Question,
            _ => End::Statement,
        };
        if let Some(last) = self.lexemes.last_mut().filter(|last| last.end == End::None)
            && self.before < Break::Line
        {
            last.end = mark;
        }
        self.before = self.before.max(found);
        self.at = end;
    }

    /// The length of the run of operators that begins here.
    fn run_of_operators(&self) -> usize {
        let rest = self.rest();
        rest.find(|c| !OPERATORS.contains(c)).unwrap_or(rest.len())
    }

    /// Returns `true` for a bracket of a formula: "(3 + 5) * 2".
    fn is_arithmetic(&self) -> bool {
        const OPERATORS: [char; 6] = ['+', '-', '*', '/', '×', '÷'];
        let to = floor_char_boundary(self.text, self.at + 2 + MAX_FORMULA_BYTES);
        let from = self.at.saturating_sub(1 + MAX_FORMULA_BYTES);
        let from = floor_char_boundary(self.text, from);
        let inner = match self.rest().starts_with('(') {
            true => self.text[self.at + 1..to]
                .split_once(')')
                .map(|(inner, _)| inner),
            false => self.text[from..self.at]
                .rsplit_once('(')
                .map(|(_, inner)| inner),
        };
        inner.is_some_and(|inner| {
            let is_part = |c: char| {
                c.is_ascii_alphanumeric() || OPERATORS.contains(&c) || matches!(c, ' ' | '.' | '^')
            };
            inner.len() <= MAX_FORMULA_BYTES
                && inner.contains(OPERATORS)
                && inner.contains(' ')
                && inner.contains(|c: char| c.is_ascii_digit())
                && inner.chars().all(is_part)
        })
    }

    /// Returns `true` between two operands: digits, brackets, names of one letter.
    fn is_formula(&self) -> bool {
        let from = self.line;
        if self.at - from > MAX_LINE_BYTES {
            return false;
        }
        let to = floor_char_boundary(self.text, from + MAX_LINE_BYTES + 1);
        let line = self.text[from..to].split('\n').next().unwrap_or_default();
        let side = |text: Option<&str>| {
            text.is_some_and(|word| {
                word.ends_with(|c: char| c.is_ascii_digit() || matches!(c, ')' | '(' | ';'))
                    || word.starts_with(|c: char| c.is_ascii_digit() || c == '(')
                    || word.chars().count() == 1 && word.starts_with(char::is_alphabetic)
            })
        };
        line.len() <= MAX_LINE_BYTES
            && side(self.text[from..self.at].split_whitespace().next_back())
            && side(self.text[self.at..].split_whitespace().nth(1))
            && line.matches(" | ").count() < 2
    }

    fn is_after_space(&self) -> bool {
        self.text[..self.at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    }

    /// A line ends a sentence, unless the next line goes on with a small letter, as in wrapped
    /// text.
    fn end_of_line(&self) -> Break {
        let rest = self.rest().trim_start_matches(['\r', ' ', '\t']);
        let rest = rest.strip_prefix('\n').unwrap_or(rest);
        let next = rest.trim_start_matches([' ', '\t']).chars().next();
        match next {
            Some(c) if c.is_lowercase() => Break::None,
            Some(c) if c.is_uppercase() && !self.has_small_letters => Break::None,
            _ => Break::Line,
        }
    }

    /// The canonical form of the symbol that begins here, and its end; `None` for punctuation.
    fn symbol(&self, c: char) -> Option<(String, usize)> {
        if matches!(c, '(' | ')') {
            return self.is_arithmetic().then(|| (c.to_string(), self.at + 1));
        }
        if c.is_ascii() {
            return self.operator(c);
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
            '￥' => Some("¥"),
            '￡' => Some("£"),
            '＄' => Some("$"),
            '٪' => Some("%"),
            '‰' | '§' | '¶' | '′' | '″' | '‖' => return Some((c.to_string(), end)),
            _ => None,
        };
        if let Some(wide) = wide {
            return Some((wide.to_owned(), end));
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
            if !is_variation {
                symbol.push(next);
            }
            end += next.len_utf8();
        }
        Some((symbol, end))
    }

    /// A face, a box, an empty cell, or the sign before a currency; `None` for other marks.
    fn mark_of_ascii(&self, c: char) -> Option<&'static str> {
        if !matches!(c, ':' | ';' | '[' | ',' | '-' | '|') {
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
        if c == '|' {
            let after = rest[1..].trim_start_matches([' ', '\t']);
            return (after.starts_with('|') && after.len() + 1 < rest.len()).then_some("|");
        }
        let mut marks = ASCII_MARKS.into_iter();
        marks.find(|mark| is_apart && rest.starts_with(mark))
    }

    /// An operator of ASCII characters, a percent or a currency sign; `None` for bullets, rules and
    /// marks of formatted text.
    fn operator(&self, c: char) -> Option<(String, usize)> {
        if c == '$' {
            let is_price = self.text[self.at + 1..]
                .trim_start()
                .starts_with(|c: char| c.is_numeric());
            return is_price.then(|| ("$".to_owned(), self.at + 1));
        }
        let rest = self.rest();
        if let Some(symbol) = self.mark_of_ascii(c) {
            return Some((symbol.to_owned(), self.at + symbol.len()));
        }
        if !OPERATORS.contains(c) {
            return None;
        }
        let length = self.run_of_operators();
        let run = &rest[..length];
        let before = self.text[..self.at].chars().next_back().unwrap_or('\n');
        let after = rest[length..].chars().next().unwrap_or('\n');
        let end = self.at + length;
        let begins_line = self.text[self.line..self.at].trim_start().is_empty();
        let is_symbol = match run {
            "%" => before.is_alphanumeric() || before.is_whitespace(),
            "&" => true,
            // Operators of arithmetic and of code, unlike bullets, emphasis and columns of a table.
            "*" if !begins_line
                && (is_operand(before) && is_operand(after)
                    || before == ' ' && after.is_whitespace()) =>
            {
                true
            }
            "/" if !begins_line && before == ' ' && after == ' ' => true,
            "*" | "/" | "-" | "|" | "||" | "**" => {
                before == ' ' && after == ' ' && self.is_formula() && !begins_line
            }
            "--" | "---" | "~~" => false,
            "!" => is_letter_or_digit(after) && !is_letter_or_digit(before),
            "~" => after.is_numeric(),
            ">" | "+" | "<" => {
                !begins_line
                    && before.is_whitespace()
                    && (after.is_whitespace() || run != "+" && after.is_numeric())
                    || is_operand(before) && is_operand(after)
            }
            _ if run.starts_with("!") && !run.contains('=') => false,
            // Rules, arrows of decoration.
            _ if length > MAX_OPERATOR_BYTES => false,
            _ => !begins_line && after != '\n' && run.contains(['=', '<', '>', '^', '&', '+']),
        };
        is_symbol.then(|| (run.to_owned(), end))
    }
}

/// Faces of ASCII characters, and boxes of a list.
const ASCII_MARKS: [&str; 12] = [
    ":)", ":(", ":-)", ":-(", ";)", ";-)", ":D", ":P", "[x]", "[X]", "[ ]", ",,",
];

/// Returns `true` unless most letters with a case are capitals.
pub(crate) fn has_small_letters(text: &str) -> bool {
    let small = text.chars().filter(|c| c.is_lowercase()).count();
    let capital = text.chars().filter(|c| c.is_uppercase()).count();
    small >= capital
}

fn is_operand(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '(' | ')' | '_')
}

fn is_currency(c: char) -> bool {
    c.general_category() == GeneralCategory::CurrencySymbol
}

fn is_flag(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Bullets and ornaments, trade marks, modifiers alone.
fn is_decoration(c: char) -> bool {
    matches!(
        c,
        '©' | '®' | '™' | '¦' | '´' | '¨' | '¯' | '¸' | '`' | '\u{2500}'..='\u{259f}' | '■' | '□' | '▪' | '▫'
            | '●' | '～' | '〜' | '＊' | '＃' | '＾' | '｀' | '｜' | '○' | '◆' | '◇' | '◦' | '\u{fffc}' | '\u{fffd}' | '˂'..='˿'
    )
}

/// Letters, digits, marks, and the format characters that normalisation removes.
fn is_part(c: char) -> bool {
    is_letter_or_digit(c) || is_mark(c) || is_format(c)
}

fn is_format(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::Format
}

fn is_plain(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The end of a word: a run of letters and digits, with connecting characters between two of them.
fn end_of_word(text: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = &text[end..];
        let is_own = |c: char| is_part(c) && !is_cjk(c);
        end += rest.find(|c| !is_own(c)).unwrap_or(rest.len());
        let rest = &text[end..];
        let mut next = rest.chars();
        let connector = next.next();
        let after = next.next().unwrap_or(' ');
        let goes_on = match connector {
            Some('_' | '@' | '\\') => is_own(after),
            Some('.') => is_own(after) && is_within(&text[..end], &rest[1..]),
            Some(':') if after == ':' => {
                rest[2..].starts_with(is_own) && {
                    end += 1;
                    true
                }
            }
            Some('&') => {
                is_own(after) && text[..end].ends_with(char::is_uppercase) && after.is_uppercase()
            }
            _ => false,
        };
        if !goes_on {
            break;
        }
        end += 1;
    }
    let rest = &text[end..];
    // The last point of `U.S.`.
    if rest.starts_with('.')
        && text[..end].contains('.')
        && text[..end].split('.').all(|part| part.chars().count() == 1)
    {
        return end + 1;
    }
    let signs = rest
        .find(|c| c != '+' && c != '#')
        .unwrap_or(rest.len())
        .min(2);
    let after = rest[signs..].chars().next().unwrap_or(' ');
    if is_part(after) || matches!(after, '=' | '+' | '#') {
        end
    } else {
        end + signs
    }
}

/// Returns `true` for a point within a version or between the letters of an abbreviation. A point
/// between two words separates them: `example.com`, "the end.Next".
fn is_within(before: &str, after: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(char::is_numeric);
    if is_digit(before.chars().next_back()) || is_digit(after.chars().next()) {
        return true;
    }
    let is_part = |c: char| is_part(c) && !is_cjk(c);
    let last = before.rsplit('.').next().unwrap_or(before);
    let next = after.find(|c| !is_part(c)).unwrap_or(after.len());
    last.chars().count() == 1 && after[..next].chars().count() == 1
}

/// The length of the web address that begins here.
fn end_of_address(text: &str) -> Option<usize> {
    let begins = |start: &str| {
        text.as_bytes()
            .get(..start.len())
            .is_some_and(|bytes| bytes.eq_ignore_ascii_case(start.as_bytes()))
    };
    if !["http://", "https://", "ftp://", "www."]
        .into_iter()
        .any(begins)
    {
        return None;
    }
    let is_end = |c: char| {
        c.is_whitespace() || is_cjk(c) || matches!(c, '"' | '<' | '>' | '，' | '。' | '）' | '」')
    };
    let length = text.find(is_end).unwrap_or(text.len());
    let trimmed =
        text[..length].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '*']);
    Some(trimmed.len())
}

/// An address without scheme and without parameters of a campaign.
fn address(text: &str) -> String {
    let lower = text.to_lowercase();
    let rest = lower.split_once("://").map_or(&*lower, |(_, rest)| rest);
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let kept: Vec<_> = query
        .split('&')
        .filter(|part| !part.is_empty() && !part.starts_with("utm_"))
        .collect();
    let path = path.trim_end_matches('/');
    match kept.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", kept.join("&")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn long_runs_of_marks_are_scanned_in_linear_time() {
        let normaliser = Normaliser::new();
        for piece in [
            "(", ")", " - ", "=+", "<", "/", "- a ", "1 + ", "\n", ". ", "的", "👍",
        ] {
            let text = piece.repeat((1 << 18) / piece.len());
            let start = Instant::now();
            lexemes(&normaliser, &text);
            assert!(start.elapsed() < Duration::from_secs(5), "{piece:?}");
        }
    }
}
