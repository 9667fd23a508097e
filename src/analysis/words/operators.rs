//! The operators of a text: of arithmetic, of code, and of the options of commands.

use super::scanner::Scanner;
use crate::text::{floor_char_boundary, is_cjk, is_letter_or_digit};

/// The characters of operators.
const OPERATORS: &str = "=<>!+-*/%&|^~";

/// A longer run of operators is a rule.
const MAX_OPERATOR_BYTES: usize = 3;

/// A formula in brackets is at most this long.
const MAX_FORMULA_BYTES: usize = 64;

/// At most four options of one letter stand behind one hyphen.
const MAX_OPTIONS: usize = 4;

/// The unit before a slash has at most four bytes: km, µm.
const MAX_UNIT_BYTES: usize = 4;

/// In front of a hyphen, a longer word in capitals is no formula.
const MAX_FORMULA_LETTERS: usize = 4;

impl Scanner<'_> {
    /// An operator of ASCII characters, a percent or a currency sign; `None` for bullets, rules and
    /// marks of formatted text.
    pub(super) fn operator(&self, c: char) -> Option<(String, usize)> {
        if c == '$' {
            let is_price = self.text[self.at + 1..]
                .trim_start()
                .starts_with(|c: char| c.is_numeric());
            return is_price.then(|| ("$".to_owned(), self.at + 1));
        }
        let rest = self.rest();
        if rest.starts_with("..") && self.is_between_digits(self.at + 2) {
            return Some(("…".to_owned(), self.at + 2));
        }
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
        let begins_line = self.begins_line();
        let is_symbol = match run {
            "+" | "-" | "<" | ">" if begins_line && self.is_diff() => true,
            // The value of a test: "Protein: ++".
            "+" | "++" | "+++" | "-" if after == '\n' && self.is_behind_colon() => true,
            "<" if self.is_placeholder() => true,
            // A row of values: "< 20 copies".
            "<" if begins_line && rest[length..].trim_start().starts_with(char::is_numeric) => true,
            "%" => before.is_alphanumeric() || before.is_whitespace(),
            "&" => true,
            // Operators of arithmetic and of code, unlike bullets, emphasis and columns of a table.
            "*" if !begins_line
                && (is_operand(before) && is_operand(after) || before == ' ' && after == ' ') =>
            {
                true
            }
            "/" if !begins_line && before == ' ' && after.is_whitespace() => true,
            // A path, a quotient of units, a pattern of names, a grade or an ion, an added line.
            "/" if before.is_whitespace() && after.is_ascii_alphabetic() => true,
            "/" if after.is_ascii_alphabetic() && self.is_after_unit() => true,
            "*" if rest[1..].starts_with('.')
                && is_letter_or_digit(rest.chars().nth(2).unwrap_or(' ')) =>
            {
                true
            }
            "-" if !is_letter_or_digit(after) && self.is_after_formula() => true,
            "+" if begins_line && is_letter_or_digit(after) => true,
            // A number and all larger ones: 18+.
            "+" if before.is_numeric() && !is_letter_or_digit(after) => true,
            "*" | "/" | "-" | "|" | "||" | "**" => {
                before == ' ' && after == ' ' && self.is_formula() && !begins_line
            }
            // Text that is struck out.
            "~~" => self
                .short_line()
                .is_some_and(|line| line.matches("~~").count().is_multiple_of(2)),
            "--" | "---" => false,
            "!" => is_letter_or_digit(after) && !is_letter_or_digit(before),
            "~" => after.is_numeric() || after.is_ascii_alphabetic() && self.is_after_space(),
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

    /// The option of a command that begins here, with its case: `-r` and `-R` are two options.
    pub(super) fn option(&self, c: char) -> Option<(String, usize)> {
        let before = self.text[..self.at].chars().next_back().unwrap_or(' ');
        if c != '-' || is_letter_or_digit(before) || before == '-' {
            return None;
        }
        let letters = self.rest().bytes().skip(1);
        let letters = letters.take_while(u8::is_ascii_alphabetic).count();
        let end = self.at + 1 + letters;
        let option = &self.text[self.at..end];
        let after = self.text[end..].chars().next().unwrap_or(' ');
        // Longer names differ in more than case.
        let has_case = letters == 1
            || letters <= MAX_OPTIONS && option.contains(|c: char| c.is_ascii_uppercase());
        let is_whole = !is_letter_or_digit(after) && !matches!(after, '-' | '_' | '\'' | '’');
        (has_case && is_whole).then(|| (option.to_owned(), end))
    }

    /// Returns `true` for a bracket of a formula: "(3 + 5) * 2".
    pub(super) fn is_arithmetic(&self) -> bool {
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

    /// The end of the mark that begins here. A rule of many characters is one mark.
    pub(super) fn end_of_mark(&self, c: char) -> usize {
        let run = match OPERATORS.contains(c) {
            true => self.run_of_operators(),
            false => 0,
        };
        match run > MAX_OPERATOR_BYTES {
            true => self.at + run,
            false => self.at + c.len_utf8(),
        }
    }

    /// The length of the run of operators that begins here.
    fn run_of_operators(&self) -> usize {
        let rest = self.rest();
        rest.find(|c| !OPERATORS.contains(c)).unwrap_or(rest.len())
    }

    /// Returns `true` in a text with lines that are added and lines that are removed.
    fn is_diff(&self) -> bool {
        let has = |sign| self.whole.lines().any(|line| line.starts_with(sign));
        *self
            .is_diff
            .get_or_init(|| has('+') && has('-') || has('<') && has('>'))
    }

    /// Returns `true` for the name of a value in angle brackets: `<file>`.
    fn is_placeholder(&self) -> bool {
        let rest = &self.rest()[1..];
        let is_own =
            |c: char| c.is_alphanumeric() && !is_cjk(c) || matches!(c, '-' | '_' | ' ' | '.');
        let mut name = rest.char_indices().take(MAX_FORMULA_BYTES);
        let end = name.find(|(_, c)| !is_own(*c)).filter(|(_, c)| *c == '>');
        // A line in brackets is no name.
        let is_line = |at: usize| {
            self.begins_line() && rest[at + 1..].lines().next().is_none_or(str::is_empty)
        };
        rest.starts_with(char::is_alphabetic) && end.is_some_and(|(at, _)| !is_line(at))
    }

    fn is_behind_colon(&self) -> bool {
        self.text[..self.at]
            .trim_end_matches(' ')
            .ends_with([':', '：'])
    }

    /// Returns `true` behind a number and a short unit: 5 km/h.
    fn is_after_unit(&self) -> bool {
        let before = &self.text[..self.at];
        let number = before.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == 'µ');
        let unit = before.len() - number.len();
        (1..=MAX_UNIT_BYTES).contains(&unit)
            && number.trim_end_matches(' ').ends_with(char::is_numeric)
    }

    /// Returns `true` behind a grade or a formula of at most four characters: A-, Cl-, OH-.
    fn is_after_formula(&self) -> bool {
        let before = &self.text[..self.at];
        let rest = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric());
        let formula = &before[rest.len()..];
        let is_short = (1..=MAX_FORMULA_LETTERS).contains(&formula.len());
        let is_capital = !formula.contains(|c: char| c.is_ascii_lowercase());
        is_short
            && !rest.ends_with(is_letter_or_digit)
            && formula.starts_with(|c: char| c.is_ascii_uppercase())
            && (is_capital || formula.len() == 2)
    }

    /// Returns `true` between two operands: digits, brackets, names of one letter.
    fn is_formula(&self) -> bool {
        let Some(line) = self.short_line() else {
            return false;
        };
        let side = |text: Option<&str>| {
            text.is_some_and(|word| {
                word.ends_with(|c: char| c.is_ascii_digit() || matches!(c, ')' | '(' | ';'))
                    || word.starts_with(|c: char| c.is_ascii_digit() || c == '(')
                    || word.chars().count() == 1 && word.starts_with(char::is_alphabetic)
            })
        };
        side(self.text[self.line..self.at].split_whitespace().next_back())
            && side(self.text[self.at..].split_whitespace().nth(1))
            && line.matches(" | ").count() < 2
    }
}

fn is_operand(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '(' | ')' | '_')
}
