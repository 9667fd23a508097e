//! Cuts a text into lexemes: words, CJK characters, numbers and symbols, with their byte ranges.
//!
//! Normalisation removes symbols, signs and the ends of clauses, which turn the sense of a text. So
//! the text is scanned as it is, and each lexeme is normalised alone.

use std::cell::OnceCell;
use std::ops::Range;

use smol_str::{SmolStr, StrExt, ToSmolStr};

use super::code::{Code, CodeLine};
use super::folding::in_one_script;
use super::markup::{Tag, paired_elements, paired_of_forum};
use super::number;
use super::pieces::{address, end_of_address, end_of_mail, end_of_word, is_format, is_part};
use crate::text::{Normaliser, is_cjk, is_mark};

/// At most 4 bytes of spaces are typography between two CJK characters.
const MAX_CJK_GAP_BYTES: usize = 4;

/// A narrower line is not wrapped: it may be a verse. A CJK character takes two columns.
const MIN_WRAPPED_COLUMNS: usize = 32;

/// A wrapped line may be shorter than the longest one by the width of a character and a sign.
const WRAPPED_COLUMNS: usize = 3;

/// The token for the end of an indented block of code.
const BLOCK_END: &str = "⇤";

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
    /// The start of a line with a sign before an item: `-`, `*`, `•`.
    Item,
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
    /// A tag, the target of a link, a reading of Chinese characters.
    Markup,
}

/// A piece of a text.
#[derive(Debug)]
pub(crate) struct Lexeme {
    /// The bytes of the piece in the text.
    pub range: Range<usize>,
    /// The piece, normalised.
    pub text: SmolStr,
    pub kind: Kind,
    pub before: Break,
    /// `true` if no space is between the piece and the piece before it, as in `gnuplot-mode`.
    pub is_joined: bool,
    /// The mark behind the piece, if it ends a sentence.
    pub end: End,
    /// `true` before a colon, as a speaker and a heading are.
    pub is_label: bool,
    /// `true` in a line of code.
    pub is_code: bool,
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

impl End {
    /// Another mark, if there is one, and this mark otherwise.
    pub fn or(self, other: Self) -> Self {
        match other {
            Self::None => self,
            other => other,
        }
    }
}

/// The lexemes of a text outside of some passages, which are ascending, in text order. No lexeme is
/// empty.
pub(crate) fn lexemes(
    normaliser: &Normaliser,
    text: &str,
    passages: &[Range<usize>],
) -> Vec<Lexeme> {
    let mut scanner = Scanner {
        normaliser,
        whole: text,
        text,
        at: 0,
        line: 0,
        code: Code::default(),
        has_small_letters: has_small_letters(text),
        has_at: text.contains('@'),
        wrapped_columns: OnceCell::new(),
        paired: OnceCell::new(),
        paired_of_forum: OnceCell::new(),
        choices: OnceCell::new(),
        is_diff: OnceCell::new(),
        is_table: OnceCell::new(),
        before: Break::Sentence,
        lexemes: Vec::with_capacity(text.len() / 6 + 4),
    };
    scanner.begin_line();
    for passage in passages {
        scanner.scan_until(passage.start);
        scanner.skip_until(passage.end);
    }
    scanner.scan_until(text.len());
    scanner.lexemes
}

pub(super) struct Scanner<'t> {
    normaliser: &'t Normaliser,
    pub(super) whole: &'t str,
    /// The text before the next passage that is left out.
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// The start of the line.
    pub(super) line: usize,
    pub(super) code: Code,
    /// `false` if most letters are capitals.
    pub(super) has_small_letters: bool,
    has_at: bool,
    /// The columns of the longest line, if the last line is shorter.
    wrapped_columns: OnceCell<Option<usize>>,
    /// The inline elements of HTML that the text opens and closes.
    paired: OnceCell<Vec<&'static str>>,
    /// The tags of a forum that the text opens and closes.
    paired_of_forum: OnceCell<Vec<&'static str>>,
    /// `true` for each pair of boxes that the text has both of.
    pub(super) choices: OnceCell<[bool; 2]>,
    /// `true` if lines of the text are added, and lines are removed.
    pub(super) is_diff: OnceCell<bool>,
    /// `true` if all lines of the text have the same number of tabs, at least two.
    pub(super) is_table: OnceCell<bool>,
    /// The largest break since the last lexeme.
    pub(super) before: Break,
    pub(super) lexemes: Vec<Lexeme>,
}

impl Scanner<'_> {
    pub(super) fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Scans the text before a position. No lexeme goes beyond it.
    fn scan_until(&mut self, end: usize) {
        self.text = &self.whole[..end];
        while self.at < end {
            self.next();
        }
        self.text = self.whole;
    }

    /// Leaves out the text before a position. A sentence begins behind it, or goes on if whole
    /// lines are left out.
    fn skip_until(&mut self, end: usize) {
        self.at = end;
        let goes_on = self.before != Break::Sentence;
        self.before = Break::Sentence;
        if self.text[..end].ends_with('\n') {
            if goes_on && !self.lexemes.is_empty() {
                self.before = self.end_of_line();
            }
            self.line = end;
            self.begin_line();
        }
    }

    fn next(&mut self) {
        let Some(c) = self.rest().chars().next() else {
            return;
        };
        if c == ' ' {
            self.at += 1;
        } else if let Some(number) = number::circled(c) {
            self.push(self.at + c.len_utf8(), number.to_string(), Kind::Number);
            self.before = Break::Clause;
        } else if is_cjk(c) {
            self.cjk();
        } else if let Some(end) = number::end(self.text, self.at) {
            self.number(end);
        } else if number::is_superscript(c) && self.is_behind_text() {
            let before = self.before;
            let rest = self.rest().trim_start_matches(number::is_superscript);
            let end = self.text.len() - rest.len();
            let mark = self.text[self.at..end].to_smolstr();
            if c == '⁻' {
                // A negative exponent is no note: A⁻¹
                self.push(end, mark, Kind::Symbol);
            } else {
                // The mark of a note, before the next sentence.
                self.push(end, mark, Kind::Markup);
                self.before = before;
            }
        } else if is_part(c) {
            self.word();
        } else {
            self.mark(c);
        }
    }

    /// Returns `true` directly behind a word or a mark of punctuation.
    fn is_behind_text(&self) -> bool {
        let is_text = |c: char| c.is_alphabetic() || ".,;:!?\"”)。，".contains(c);
        self.text[..self.at].ends_with(is_text)
    }

    pub(super) fn push(&mut self, end: usize, text: impl Into<SmolStr>, kind: Kind) {
        let text = text.into();
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
            is_label: false,
            is_code: self.code.is_code,
        });
    }

    /// A run of CJK characters. A space between two of them is typography.
    fn cjk(&mut self) {
        let mut end = self.at;
        let mut gap = 0;
        // The next line may be indented.
        let mut is_wrapped = false;
        for c in self.rest().chars() {
            let is_space = c == ' '
                || c == '\u{3000}'
                || is_format(c)
                || c == '\n' && self.is_wrapped_at(end + gap);
            is_wrapped |= c == '\n';
            if is_cjk(c) || gap == 0 && is_mark(c) {
                end += gap + c.len_utf8();
                (gap, is_wrapped) = (0, false);
            } else if is_space && (gap < MAX_CJK_GAP_BYTES || is_wrapped) {
                gap += c.len_utf8();
            } else {
                break;
            }
        }
        let run = &self.text[self.at..end];
        if let Some(line) = run.rfind('\n') {
            self.line = self.at + line + 1;
        }
        let text = self.normaliser.letters(run);
        self.push(end, text, Kind::Cjk);
    }

    /// Returns `true` for a line of CJK characters that is wrapped: no line of the text is longer.
    fn is_wrapped_at(&self, end: usize) -> bool {
        let columns = |c: char| if c.is_ascii() { 1 } else { 2 };
        let width = |line: &str| line.trim_end().chars().map(columns).sum::<usize>();
        let start = self.text[..end].rfind('\n').map_or(0, |at| at + 1);
        let own = width(&self.text[start..end]);
        // Lines of one width are items.
        let wrapped = || {
            let longest = self.whole.lines().map(width).max()?;
            let last = self.whole.trim_end().lines().next_back().map(width)?;
            (last + WRAPPED_COLUMNS < longest).then_some(longest)
        };
        own >= MIN_WRAPPED_COLUMNS
            && self
                .wrapped_columns
                .get_or_init(wrapped)
                .is_some_and(|longest| longest <= own + WRAPPED_COLUMNS)
    }

    fn number(&mut self, end: usize) {
        let mut text = number::canonical(&self.text[self.at..end]);
        if number::is_deficit(self.text, self.at..end) {
            text.insert(0, '-');
        }
        self.push(end, text, Kind::Number);
    }

    fn word(&mut self) {
        if self.has_at
            && let Some(end) = end_of_mail(self.rest())
        {
            let end = self.at + end;
            let text = self.text[self.at..end].to_lowercase();
            return self.push(end, text, Kind::Word);
        }
        if let Some(end) = end_of_address(self.text, self.at) {
            let end = self.at + end;
            let text = address(&self.text[self.at..end]);
            // The target of a link in Markdown.
            let kind = match self.text[..self.at].ends_with("](") {
                true => Kind::Markup,
                false => Kind::Word,
            };
            self.push(end, text, kind);
            return;
        }
        let end = self.at + end_of_word(self.rest());
        let piece = &self.text[self.at..end];
        let text = match is_plain(piece) {
            true => piece.to_ascii_lowercase_smolstr(),
            false => match in_one_script(piece).filter(|_| !self.is_before_point(end)) {
                Some(word) => self.normalised(&word).into(),
                None => self.normalised(piece).into(),
            },
        };
        self.push(end, text, Kind::Word);
    }

    /// Returns `true` before a point of a name of a host.
    fn is_before_point(&self, end: usize) -> bool {
        let after = self.text[end..].strip_prefix('.');
        after.is_some_and(|after| after.starts_with(char::is_alphanumeric))
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

    /// The tag of HTML, of a forum or of LaTeX that begins here.
    pub(super) fn tag(&self) -> Option<Tag> {
        let text = self.rest();
        let is_paired = |name: &str| {
            let paired = self.paired.get_or_init(|| paired_elements(self.whole));
            paired.contains(&name)
        };
        match text.as_bytes().first() {
            Some(b'<') => Tag::at(text, is_paired),
            Some(b'[') => Tag::of_forum(text, self.is_after_space(), |name| {
                let paired = self
                    .paired_of_forum
                    .get_or_init(|| paired_of_forum(self.whole));
                paired.contains(&name)
            }),
            _ => Tag::of_latex(text),
        }
    }

    /// Lines of code without a blank line between them are one sentence: none of them may stand
    /// elsewhere.
    pub(super) fn begin_line(&mut self) {
        let (text, at) = (self.text, self.at);
        let line = text[at..].split('\n').next().unwrap_or_default();
        if let Some(CodeLine { ended, goes_on }) = self.code.begin_line(line) {
            if goes_on {
                self.before = Break::None;
            }
            if ended > 0 {
                self.push(self.at, BLOCK_END.repeat(ended), Kind::Symbol);
            }
        }
    }
}

/// Returns `true` unless most letters with a case are capitals.
pub(crate) fn has_small_letters(text: &str) -> bool {
    if text.is_ascii() {
        // Several bytes at a time.
        let count = |is: fn(&u8) -> bool| text.as_bytes().iter().filter(|byte| is(byte)).count();
        return count(u8::is_ascii_lowercase) >= count(u8::is_ascii_uppercase);
    }
    let small = text.chars().filter(|c| c.is_lowercase()).count();
    let capital = text.chars().filter(|c| c.is_uppercase()).count();
    small >= capital
}

fn is_plain(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
