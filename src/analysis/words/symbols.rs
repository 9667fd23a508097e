//! The symbols of a text: operators, currencies, faces, emoji.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::scanner::Scanner;
use crate::text::{floor_char_boundary, is_letter_or_digit};

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

/// In a longer line no operator is looked for.
const MAX_LINE_BYTES: usize = 1 << 12;

/// Faces of ASCII characters, and boxes of a list.
const ASCII_MARKS: [&str; 13] = [
    ":)", ":(", ":-)", ":-(", ";)", ";-)", ":D", ":P", "[x]", "[X]", "[ ]", ",,", ";;",
];

impl Scanner<'_> {
    /// The canonical form of the symbol that begins here, and its end; `None` for punctuation.
    pub(super) fn symbol(&self, c: char) -> Option<(String, usize)> {
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
            '‰' | '§' | '¶' | '†' | '‡' | '′' | '″' | '‖' | '⌊' | '⌋' | '⌈' | '⌉' =>
            {
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

    /// The option of a command that begins here, with its case: `-r` and `-R` are two options.
    fn option(&self, c: char) -> Option<(String, usize)> {
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

    /// A face, a box, an empty cell, the sign before a currency or a number, the start of an
    /// escape; `None` for other marks.
    fn mark_of_ascii(&self, c: char) -> Option<&'static str> {
        if !matches!(c, ':' | ';' | '[' | ',' | '-' | '|' | '#' | '\\') {
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
        let begins_line = self.text[self.line..self.at].trim_start().is_empty();
        let is_symbol = match run {
            "+" | "-" | "<" | ">" if begins_line && self.is_diff() => true,
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

    /// Returns `true` in a text with lines that are added and lines that are removed.
    fn is_diff(&self) -> bool {
        let has = |sign| self.whole.lines().any(|line| line.starts_with(sign));
        *self
            .is_diff
            .get_or_init(|| has('+') && has('-') || has('<') && has('>'))
    }

    fn is_between_digits(&self, end: usize) -> bool {
        self.text[..self.at].ends_with(char::is_numeric)
            && self.text[end..].starts_with(char::is_numeric)
    }

    /// Returns `true` for °C.
    fn is_celsius(&self) -> bool {
        let mut rest = self.rest().chars().skip(1);
        rest.next().is_some_and(|c| c.eq_ignore_ascii_case(&'c'))
            && !rest.next().is_some_and(is_letter_or_digit)
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

    /// The line, unless it is longer than 4,096 bytes.
    fn short_line(&self) -> Option<&str> {
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
