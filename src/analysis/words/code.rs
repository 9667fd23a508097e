//! Lines of code, in which every mark is a token: brackets, quotes, single operators, the end of an
//! indented block.
//!
//! In prose these marks are punctuation, which copies of a text write in different ways. In code
//! they carry the sense: `foo()` is not `foo`, `[0, 1]` is not `(0, 1)`, and a line that leaves a
//! loop runs once.

use crate::text::{floor_char_boundary, is_letter_or_digit};

/// A longer line is no code.
const MAX_LINE_BYTES: usize = 1 << 10;

/// A longer pattern in backticks is no pattern.
const MAX_PATTERN_BYTES: usize = 1 << 7;

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
    let end = floor_char_boundary(text, text.len().min(at + MAX_PATTERN_BYTES));
    let (code, _) = text[at..end].strip_prefix('`')?.split_once('`')?;
    let is_slice = code.contains('[') && code.contains(':');
    let is_pattern = code.contains('^') || code.contains('\\') && !code.contains(":\\");
    // A copy may write an escape alone without backticks: `\n`.
    let is_escape = code.len() == 2 && code.ends_with(|c: char| c.is_ascii_lowercase());
    // The next backtick may begin other code.
    let is_open = !text[..at].ends_with(is_letter_or_digit) && code.trim() == code;
    (is_open && (is_slice || is_pattern && !is_escape) && !code.contains('\n')).then_some(code)
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
        || text.ends_with('}') && text.contains('{')
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
