//! The characters that are neither letters nor digits: the ends of clauses and sentences, marks of
//! notes, hyphens at the ends of lines.

use std::ops::Range;

use smol_str::{SmolStr, ToSmolStr};

use super::code::{is_interval_end, is_shell_quote, len_of_pattern, pattern_at};
use super::english::English;
use super::markup::Tag;
use super::pieces::{end_of_word, len_of_reference};
use super::readings::{common_form, len_of_reading};
use super::scanner::{Break, End, Kind, Scanner};
use crate::text::{is_cjk, is_letter_or_digit};
use crate::time_reader::{month_named, weekday_named};

/// Titles before a name, in their short forms.
const TITLES: [&str; 11] = [
    "mr", "mrs", "ms", "dr", "prof", "gen", "sen", "gov", "capt", "lt", "rev",
];

/// Parts of words that are written with a hyphen too.
const HYPHENATED: [&str; 10] = [
    "non", "self", "co", "anti", "multi", "pre", "post", "re", "un", "not",
];

/// First parts of words that are written with a hyphen and without it: "co-operate". The part "re"
/// is not one of them, since "re-sign" and "resign" are two words.
const OPTIONAL_HYPHEN: [&str; 4] = ["e", "co", "on", "off"];

/// The fewest letters of a word that is written without the hyphen of [`OPTIONAL_HYPHEN`]. Shorter
/// words differ: "co-op" and "coop", "on-set" and "onset". A word that begins with "e-" may be
/// shorter: "e-mail".
const MIN_LETTERS_WITHOUT_HYPHEN: usize = 6;

impl Scanner<'_> {
    /// A character that is neither a letter nor a digit.
    pub(super) fn mark(&mut self, c: char) {
        if self.lexeme_at_mark(c) {
            return;
        }
        let end = self.end_of_mark(c);
        let after = self.text[end..].chars().next().unwrap_or('\n');
        if matches!(c, ':' | '：')
            && (c == '：' || after.is_whitespace())
            && let Some(last) = self
                .lexemes
                .last_mut()
                .filter(|last| last.range.end == self.at)
        {
            last.is_label = true;
        }
        let found = self.break_at_mark(c, end, after);
        let mark = match c {
            _ if found != Break::Sentence => End::None,
            '?' | '？' | '؟' | ';' | '\u{37e}' => End::Question,
            _ => End::Statement,
        };
        if let Some(last) = self.lexemes.last_mut().filter(|last| last.end == End::None)
            && self.before < Break::Line
        {
            last.end = mark;
        }
        self.before = self.before.max(found);
        self.at = end;
        if c == '\n' {
            self.line = end;
            self.begin_line();
        }
    }

    /// Returns `true` if a lexeme begins with a mark, or goes on behind it: a tag, a note, a word
    /// with a hyphen, a symbol. The scanner is behind the lexeme then.
    fn lexeme_at_mark(&mut self, c: char) -> bool {
        if !self.code.is_code {
            if matches!(c, '<' | '[' | '\\')
                && let Some(tag) = self.tag()
            {
                self.push_tag(&tag);
                return true;
            }
            if matches!(c, '(' | '（' | '《') && self.reading() {
                return true;
            }
            if self.reference(c) || self.hyphenated(c) || self.optional_hyphen(c) {
                return true;
            }
            if let Some((symbol, end)) = self.code_in_prose(c) {
                self.push(end, symbol, Kind::Symbol);
                return true;
            }
        }
        if let Some(end) = self.end_of_shapes(c) {
            // The sentence begins behind a bullet.
            let before = Some(self.before).filter(|before| before.ends_unit());
            let shapes = self.text[self.at..end].to_smolstr();
            self.push(end, shapes, Kind::Markup);
            self.before = before.unwrap_or_default();
        } else if let Some((symbol, end)) = self.symbol(c) {
            self.push(end, symbol, Kind::Symbol);
        } else if self.code.is_code && c.is_ascii_punctuation() {
            self.push(self.at + 1, c.to_smolstr(), Kind::Symbol);
        } else {
            return false;
        }
        true
    }

    /// The reading of the Chinese characters directly before it.
    fn reading(&mut self) -> bool {
        let last = self.lexemes.last().filter(|last| last.range.end == self.at);
        let is_behind = last.is_some_and(|last| last.kind == Kind::Cjk);
        let length = is_behind.then(|| len_of_reading(&self.text[..self.at], self.rest()));
        let Some(length) = length.flatten() else {
            return false;
        };
        let before = self.before;
        let reading = common_form(&self.rest()[..length]);
        self.push(self.at + length, reading, Kind::Markup);
        self.before = before;
        true
    }

    /// A mark with a sense in code alone: a regular expression, a quotation mark of a shell, the
    /// end of an interval. The symbol, and its end.
    fn code_in_prose(&self, c: char) -> Option<(SmolStr, usize)> {
        let (before, rest) = self.text.split_at(self.at);
        let (symbol, length) = match c {
            '`' => {
                let code = pattern_at(self.text, self.at)?;
                (code, code.len() + 2 * c.len_utf8())
            }
            '\\' | '^' => {
                let length = len_of_pattern(before, rest)?;
                (&rest[..length], length)
            }
            '"' | '“' if is_shell_quote(before, rest) => ("\"", c.len_utf8()),
            '\'' | '‘' if is_shell_quote(before, rest) => ("'", c.len_utf8()),
            '[' | '(' | ']' | ')' if is_interval_end(before, rest) => (&rest[..1], 1),
            _ => return None,
        };
        Some((symbol.to_smolstr(), self.at + length))
    }

    fn push_tag(&mut self, tag: &Tag) {
        if tag.is_block {
            self.before = self.before.max(Break::Line);
        }
        let text = self.rest()[..tag.len].to_lowercase();
        self.push(self.at + tag.len, text, Kind::Markup);
        if tag.is_block {
            self.before = Break::Line;
        }
    }

    /// The end of a clause, a line or a sentence at a mark, before the character `after`.
    fn break_at_mark(&self, c: char, end: usize, after: char) -> Break {
        match c {
            '\n' | '\r' => self.end_of_line(),
            '\u{37e}' | ';' if self.is_greek_question(c, after) => Break::Sentence,
            '.' if self.is_behind_label() => Break::Clause,
            '.' if self.is_behind_abbreviation(end) => Break::None,
            '.' | '!' | '?' | '…' if !is_letter_or_digit(after) => Break::Sentence,
            '!' | '?' if is_cjk(after) => Break::Sentence,
            '。' | '！' | '？' | '．' | '｡' | '।' | '؟' => Break::Sentence,
            ',' | ';' | ':' | '，' | '；' | '：' | '、' | '､' | '،' | '؛' | '|' => {
                Break::Clause
            }
            '(' | ')' | '[' | ']' | '{' | '}' | '（' | '）' | '【' | '】' | '—' => {
                Break::Clause
            }
            '-' | '–' if after.is_whitespace() && self.is_after_space() => Break::Clause,
            _ => Break::None,
        }
    }

    /// Returns `true` for the question mark of Greek, which texts write as a semicolon.
    fn is_greek_question(&self, c: char, after: char) -> bool {
        let is_greek = |c: char| matches!(c, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}');
        let next = self.rest()[c.len_utf8()..].trim_start().chars().next();
        c != ';'
            || self.text[..self.at].ends_with(is_greek)
                && after.is_whitespace()
                && next.is_none_or(char::is_uppercase)
    }

    /// The mark of a note or of a link behind a word or a sentence.
    fn reference(&mut self, c: char) -> bool {
        let before = &self.text[self.line..self.at];
        // Behind a word and a space the mark may be a value: "option [1]".
        let is_behind = || {
            let is_punctuation = |c: char| ".,;!?\"”)]。，".contains(c);
            self.is_behind_prose_word() || before.trim_end().ends_with(is_punctuation)
        };
        let length = match c {
            '[' if is_behind() => len_of_reference(self.rest()),
            _ => None,
        };
        if let Some(length) = length {
            let mark = self.rest()[..length].to_smolstr();
            self.push(self.at + length, mark, Kind::Markup);
        }
        length.is_some()
    }

    /// Returns `true` directly behind a CJK character or an English word, and not behind the name
    /// of an array.
    fn is_behind_prose_word(&self) -> bool {
        let last = self.lexemes.last().filter(|last| last.range.end == self.at);
        last.is_some_and(|last| match last.kind {
            Kind::Cjk => true,
            Kind::Word => last.text.len() > 2 && English::builtin().has(&last.text),
            _ => false,
        })
    }

    /// A word that is cut at the end of a line: "in-", "jured".
    fn hyphenated(&mut self, c: char) -> bool {
        if !matches!(c, '-' | '‐') {
            return false;
        }
        let at = self.at + c.len_utf8();
        let rest = self.text[at..].trim_start_matches([' ', '\n', '\r', '\t']);
        let start = self.text.len() - rest.len();
        // A hyphen before a space may be suspended: "n- or p-type".
        let is_wrapped = self.text[at..start].matches('\n').count() == 1;
        let last = self.lexemes.last().filter(|last| last.range.end == self.at);
        let Some(last) = last.filter(|last| is_wrapped && last.kind == Kind::Word) else {
            return false;
        };
        let length = rest.bytes().take_while(u8::is_ascii_lowercase).count();
        let is_whole = length > 0 && !rest[length..].starts_with(is_letter_or_digit);
        if !is_whole || HYPHENATED.contains(&&*last.text) {
            return false;
        }
        let is_word = self.join_to_last(start..start + length);
        if is_word {
            self.line = start;
        }
        is_word
    }

    /// A word that is also written without its hyphen: "on-line".
    fn optional_hyphen(&mut self, c: char) -> bool {
        let Some(last) = self.lexemes.last().filter(|last| {
            c == '-'
                && last.range.end == self.at
                && !last.is_joined
                && OPTIONAL_HYPHEN.contains(&&*last.text)
        }) else {
            return false;
        };
        let rest = &self.text[self.at + 1..];
        let part = &rest[..end_of_word(rest)];
        // A chain of words, or the name of a file.
        let is_part_of_name = |after: &str| {
            let behind_point = after.strip_prefix('.');
            after.starts_with('-')
                || behind_point.is_some_and(|next| next.starts_with(is_letter_or_digit))
        };
        let is_one_word = !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_lowercase())
            && !is_part_of_name(&rest[part.len()..])
            && (last.text == "e" || last.text.len() + part.len() >= MIN_LETTERS_WITHOUT_HYPHEN);
        let start = self.at + 1;
        is_one_word && self.join_to_last(start..start + part.len())
    }

    /// Joins the last word and the letters behind its hyphen, if they are one English word.
    fn join_to_last(&mut self, letters: Range<usize>) -> bool {
        let Some(last) = self.lexemes.last_mut() else {
            return false;
        };
        let word = format!("{}{}", last.text, &self.text[letters.clone()]);
        let is_word = English::builtin().base(&word).is_some();
        if is_word {
            last.text = word.into();
            last.range.end = letters.end;
            self.at = letters.end;
        }
        is_word
    }

    /// Returns `true` behind the number of an item, which belongs to the item: "1. Open the door."
    fn is_behind_label(&self) -> bool {
        let last = self.lexemes.last().filter(|last| last.range.end == self.at);
        self.rest()[1..].starts_with(' ')
            && last.is_some_and(|last| {
                let before = self.text.get(self.line..last.range.start);
                last.kind == Kind::Number
                    && before.is_some_and(|before| before.trim_start().is_empty())
            })
    }

    /// Returns `true` behind the short form of a title before a name, or of a month before a day,
    /// or of a day of the week before a date.
    fn is_behind_abbreviation(&self, end: usize) -> bool {
        let next = self.text[end..].trim_start_matches(' ').chars().next();
        let last = self.lexemes.last().filter(|last| last.range.end == self.at);
        last.zip(next).is_some_and(|(last, next)| {
            let word = &*last.text;
            let is_month = || {
                let is_short = word.len() == 3 || word == "sept";
                is_short && month_named(word).is_some_and(|month| word != month)
            };
            let is_weekday = || {
                let is_capital = self.text[last.range.clone()].starts_with(char::is_uppercase);
                is_capital && word.len() == 3 && weekday_named(word).is_some()
            };
            TITLES.contains(&word) && next.is_uppercase()
                || next.is_ascii_digit() && (is_month() || is_weekday())
        })
    }

    /// A line ends a sentence, unless the next line goes on with a small letter, as in wrapped
    /// text.
    pub(super) fn end_of_line(&self) -> Break {
        let rest = self.rest().trim_start_matches(['\r', ' ', '\t']);
        let rest = rest.strip_prefix('\n').unwrap_or(rest);
        // The lines of a quotation begin alike.
        let quotation = self.text[self.line..].starts_with('>').then_some('>');
        let rest = rest.trim_start_matches(|c| c == ' ' || c == '\t' || Some(c) == quotation);
        let mut characters = rest.chars();
        match characters.next() {
            Some('-' | '*' | '•' | '·' | '–') if characters.next() == Some(' ') => Break::Item,
            Some(c) if c.is_lowercase() => Break::None,
            Some(c) if c.is_uppercase() && !self.has_small_letters => Break::None,
            _ => Break::Line,
        }
    }
}
