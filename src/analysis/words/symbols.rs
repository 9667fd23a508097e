//! The symbols of a text: operators, currencies, faces, emoji.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

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

/// In a longer line no operator is looked for.
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
        if !"_#@^\\$()[]{}|".contains(c) {
            return None;
        }
        let after = self.rest()[1..].chars().next().unwrap_or('\n');
        let before = &self.text[self.line..self.at];
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

    /// A box, an empty cell, the sign before a currency or a number, the start of an
    /// escape; `None` for other marks.
    fn mark_of_ascii(&self, c: char) -> Option<&'static str> {
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
        let begins_line = self.begins_line();
        let is_symbol = match run {
            "+" | "-" | "<" | ">" if begins_line && self.is_diff() => true,
            // The value of a test: "Protein: ++".
            "+" | "++" | "+++" | "-" if after == '\n' && self.is_behind_colon() => true,
            "<" if self.is_placeholder() => true,
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

    fn begins_line(&self) -> bool {
        self.text[self.line..self.at].trim_start().is_empty()
    }

    fn is_behind_colon(&self) -> bool {
        self.text[..self.at]
            .trim_end_matches(' ')
            .ends_with([':', '：'])
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
