//! Lines of code, in which every mark is a token: brackets, quotes, single operators, the end of an
//! indented block.
//!
//! In prose these marks are punctuation, which copies of a text write in different ways. In code
//! they carry the sense: `foo()` is not `foo`, `[0, 1]` is not `(0, 1)`, and a line that leaves a
//! loop runs once.

use super::markup::is_latex;
use crate::text::{floor_char_boundary, is_cjk, is_letter_or_digit};

/// A longer line is no code.
const MAX_LINE_BYTES: usize = 1 << 10;

/// A longer pattern in backticks is no pattern.
const MAX_PATTERN_BYTES: usize = 1 << 7;

/// A longer interval is a bracket of prose.
const MAX_INTERVAL_BYTES: usize = 24;

/// A line of more words is prose.
const MAX_WORDS: usize = 20;

/// An assignment begins with at most three words: `static int count = 0`.
const MAX_WORDS_BEFORE_EQUALS: usize = 3;

/// A statement has at most two words of small letters behind its keyword: `return cost | mask`.
const MAX_STATEMENT_WORDS: usize = 2;

/// The words that begin a block or a condition in common languages.
const BLOCKS: [&str; 16] = [
    "if", "elif", "else", "for", "foreach", "while", "switch", "case", "try", "except", "catch",
    "with", "def", "class", "func", "function",
];

/// The words that begin a statement.
const STATEMENTS: [&str; 10] = [
    "return", "print", "echo", "let", "const", "var", "import", "int", "char", "void",
];

/// Commands of a shell that are no words of prose.
const COMMANDS: [&str; 18] = [
    "cp", "mv", "rm", "ls", "cd", "mkdir", "chmod", "chown", "grep", "sed", "awk", "sudo", "git",
    "apt-get", "pip", "curl", "wget", "ssh",
];

/// The lines of code of a text, as a scanner reaches them.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// `true` within a line of code.
    pub is_code: bool,
    /// The indentation of the line.
    indentation: usize,
    /// The indentations of the lines that began the open blocks.
    blocks: Vec<usize>,
    /// `true` if the line begins a block with a colon.
    begins_block: bool,
    /// `true` behind a blank line.
    is_apart: bool,
}

/// The place of a line of code behind another one.
pub(super) struct CodeLine {
    /// The number of blocks that end before the line.
    pub ended: usize,
    /// `true` without a blank line before the line.
    pub goes_on: bool,
}

impl Code {
    /// Begins a line; `None` unless the line and the line before are code.
    pub fn begin_line(&mut self, line: &str) -> Option<CodeLine> {
        let text = line.trim();
        if text.is_empty() {
            self.is_apart = true;
            return None;
        }
        let indentation = line.len() - line.trim_start().len();
        let was_code = self.is_code;
        if was_code && self.begins_block {
            self.blocks.push(self.indentation);
        }
        let open = self.blocks.len();
        self.blocks.retain(|block| *block < indentation);
        // A word alone is code in a block: `pass`.
        self.is_code = was_code && !self.blocks.is_empty() || is_code(text);
        if !self.is_code {
            *self = Self::default();
            return None;
        }
        self.indentation = indentation;
        self.begins_block = text.ends_with(':');
        let line = CodeLine {
            ended: open - self.blocks.len(),
            goes_on: !std::mem::take(&mut self.is_apart),
        };
        was_code.then_some(line)
    }
}

/// The code in backticks at a position, if every mark of it counts: a regular expression, such as
/// `\bcat`, or a slice, such as `ships[1:]`. A path is no such code: `C:\data`.
pub(super) fn pattern_at(text: &str, at: usize) -> Option<&str> {
    let end = floor_char_boundary(text, at + MAX_PATTERN_BYTES);
    let (code, _) = text[at..end].strip_prefix('`')?.split_once('`')?;
    let is_slice = code.contains('[') && code.contains(':');
    let is_pattern = code.contains('^') || code.contains('\\') && !code.contains(":\\");
    // A copy may write an escape alone without backticks: `\n`.
    let is_escape = code.len() == 2 && code.ends_with(|c: char| c.is_ascii_lowercase());
    // The next backtick may begin other code.
    let is_open = !text[..at].ends_with(is_letter_or_digit) && code.trim() == code;
    (is_open && (is_slice || is_pattern && !is_escape) && !code.contains('\n')).then_some(code)
}

/// The length of the regular expression that begins here, outside of backticks: `\d{4}/\d{2}`.
pub(super) fn len_of_pattern(before: &str, text: &str) -> Option<usize> {
    let is_class = |text: &str| text.starts_with(['d', 'w', 's', 'b', 'D', 'W', 'S', 'B']);
    let goes_on = |text: &str| text.starts_with(['{', '[', '+', '*', '?', '\\', '(']);
    let begins = match text.strip_prefix('\\') {
        Some(rest) => is_class(rest) && goes_on(&rest[1..]),
        None => text.starts_with("^["),
    };
    // The path `C:\data` and the note `Ulm^[1]` go on.
    let is_behind_word = before.ends_with(|c: char| c.is_alphanumeric() && !is_cjk(c) || c == ':');
    let text = &text[..floor_char_boundary(text, MAX_PATTERN_BYTES)];
    let is_end = |c: char| c.is_whitespace() || is_cjk(c);
    (begins && !is_behind_word).then(|| text.find(is_end).unwrap_or(text.len()))
}

/// Returns `true` for a quotation mark that keeps a shell from replacing a word: `"*.tmp"`,
/// `"$file"`, `<<'EOF'`.
pub(super) fn is_shell_quote(before: &str, text: &str) -> bool {
    let Some(mark) = text.chars().next() else {
        return false;
    };
    let quoted = &text[mark.len_utf8()..];
    let name = quoted
        .trim_start_matches('$')
        .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let is_variable = quoted.starts_with('$') && name.starts_with([mark, '/', '”', '’']);
    let is_document = before.ends_with("<<") && name.len() < quoted.len() && name.starts_with(mark);
    quoted.starts_with("*.") || quoted.starts_with("~/") || is_variable || is_document
}

/// Returns `true` for a bracket of an interval with one open end: `[0, 1)`.
pub(super) fn is_interval_end(before: &str, text: &str) -> bool {
    const BRACKETS: [char; 4] = ['[', '(', ']', ')'];
    let (bracket, inner, end) = match text.chars().next() {
        Some('[' | '(') => match text[1..].find(BRACKETS) {
            Some(end) => (&text[..1], &text[1..][..end], &text[1..][end..=end]),
            None => return false,
        },
        Some(']' | ')') => match before.rfind(BRACKETS) {
            Some(start) => (&before[start..=start], &before[start + 1..], &text[..1]),
            None => return false,
        },
        _ => return false,
    };
    let is_open = matches!((bracket, end), ("[", ")") | ("(", "]"));
    // The brackets of prose have words.
    let mut words = inner.split(|c: char| !c.is_alphabetic());
    is_open
        && inner.len() <= MAX_INTERVAL_BYTES
        && inner.contains([',', ';', '，', '、'])
        && words.all(|word| word.chars().nth(1).is_none())
}

fn is_code(text: &str) -> bool {
    if text.len() > MAX_LINE_BYTES {
        return false;
    }
    // The marks of a quotation and of a comment, and the prompt of a shell.
    let text = text.trim_start_matches(['>', '|', '$', '#', ';', ' ']);
    let first = text.find(|c: char| !c.is_ascii_alphabetic() && c != '-');
    let (first, rest) = text.split_at(first.unwrap_or(text.len()));
    let words = text.split_whitespace().count();
    if words > MAX_WORDS || text.ends_with(['.', ',', '!']) {
        return false;
    }
    let begins_block = BLOCKS.contains(&first)
        && (text.ends_with(':')
            || rest.trim_start().starts_with('(') && text.ends_with([')', ';']));
    let is_statement = STATEMENTS.contains(&first)
        && small_words(rest) <= MAX_STATEMENT_WORDS
        && rest.contains([
            '=', '|', '&', '!', '<', '>', '*', '+', '-', '/', '$', '[', '"', '\'', '`', '(',
        ]);
    let is_command = COMMANDS.contains(&first) && rest.starts_with(' ');
    begins_block
        || is_statement
        || is_command
        || is_bracketed(text)
        || is_call(text)
        || is_assignment(text)
}

/// The number of words of small letters alone, with a comma behind them or not.
fn small_words(text: &str) -> usize {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_end_matches(','));
    let is_small = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    words.filter(is_small).count()
}

/// Returns `true` for a line that opens or closes a block with a bracket, or has no letters.
fn is_bracketed(text: &str) -> bool {
    text.ends_with('{')
        || text.ends_with('}') && text.contains('{') && !is_latex(text)
        || text.contains(['(', ')', '{', '}', '[', ']'])
            && text.chars().all(|c| "()[]{};, ".contains(c))
}

/// Returns `true` for the call of a function, alone on its line.
fn is_call(text: &str) -> bool {
    let text = text.trim_end_matches(';');
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '>');
    let name = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, arguments) = text.split_at(name);
    // The plural of "name(s)" and the sections of "printf(3), scanf(3)".
    let is_section = |word: &str| {
        let inner = word.split_once('(').map(|(_, inner)| inner.as_bytes());
        matches!(inner, Some([b's' | b'1'..=b'9', b')']))
    };
    let is_word = text.split(", ").all(is_section);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && arguments.starts_with('(')
        && arguments.ends_with(')')
        && !is_word
}

fn is_assignment(text: &str) -> bool {
    let Some((before, after)) = text.split_once('=') else {
        return false;
    };
    let before = before.trim_end_matches(['+', '-', '*', '/', '|', '&', ':', '!', '<', '>', ' ']);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c.is_ascii_punctuation() || c == ' ';
    let begins = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '*' | '&' | '@');
    before.starts_with(begins)
        && before.chars().all(is_part)
        && !before.contains([':', '/', ',', ';', '?'])
        && before.split(' ').count() <= MAX_WORDS_BEFORE_EQUALS
        && !after.trim().is_empty()
}
