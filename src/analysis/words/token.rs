//! [`Token`]: a word, a number or a symbol with what a comparison needs of its place in the text.

use smol_str::SmolStr;

use super::folding::is_accented;
use super::lexicon::{Class, Lexicon};
use super::scanner::{Break, End};
use super::stamps::Stamp;
use crate::text::is_cjk;

/// The end of the text of a time before noon: 9:30 am.
pub(super) const AM: &str = " am";

/// The end of the text of a time whose zero tells that a day has 24 hours: 09:30.
pub(super) const OF_24_HOURS: &str = " h";

/// Words of grammar that are names in capital letters.
const NAMES_OF_CAPITALS: [&str; 4] = ["us", "who", "it", "aids"];

/// A word, a number, a symbol, or a CJK character or listed word of CJK characters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Token {
    /// The token, normalised.
    pub text: SmolStr,
    /// The folded letters, the lemma, the value, or the representative of equal words. Tokens with
    /// one key are equal, unless one of them is a name or their accents differ.
    pub key: SmolStr,
    pub class: Class,
    /// The end of a clause before the token.
    pub before: Break,
    /// `true` if the capital letters of the text make the token a name, or a letter joins it to an
    /// identifier.
    pub is_name: bool,
    /// `true` for the last token of a text that is cut short.
    pub is_cut: bool,
    /// The mark behind the token, if it ends a sentence.
    pub end: End,
    /// `true` before a colon.
    pub is_label: bool,
    /// `true` in a text of mostly English words.
    pub is_english: bool,
    /// `true` for a word without forms and equal words, such as a Latin word in a text of another
    /// language than English.
    pub is_exact: bool,
    /// `true` in a text that writes accents.
    pub has_accents: bool,
    /// `true` if the token begins with a capital letter.
    pub is_capital: bool,
    /// `true` for a word with a capital letter within a sentence of few of them.
    pub is_proper: bool,
    /// The capital letters of an identifier such as `getUrl`, a bit each; 0 for other words.
    pub capitals: u32,
    /// `true` if capital letters and small letters make two tokens: the keys `p` and `P`.
    pub is_cased: bool,
    pub possessive: Possessive,
    /// `true` in a line or a sentence about the page. It may be absent as a whole.
    pub is_in_frame: bool,
    /// The stamp that a passage without information is, as one token.
    pub stamp: Option<Stamp>,
    /// `true` in a text with traditional characters, where words of Taiwan are expected.
    pub is_traditional: bool,
}

/// The number of a noun before an apostrophe: the teacher's, the teachers'.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Possessive {
    #[default]
    None,
    Singular,
    Plural,
}

/// Returns `true` for 9:30 am and 9:30, which may be in the evening.
fn is_other_half(one: &Token, other: &Token) -> bool {
    let is_morning = |token: &Token| token.text.ends_with(AM);
    let is_open = |token: &Token| token.text.ends_with(|c: char| c.is_ascii_digit());
    is_morning(one) && is_open(other) || is_open(one) && is_morning(other)
}

impl Token {
    /// A text without words, as one token.
    pub fn whole(text: &str) -> Token {
        Token {
            text: text.into(),
            key: text.into(),
            class: Class::Symbol,
            before: Break::Sentence,
            ..Token::default()
        }
    }

    /// A passage without information.
    pub fn passage(text: &str, stamp: Stamp) -> Token {
        Token {
            text: text.into(),
            // No word has a space before it.
            key: format!(" {text}").into(),
            class: Class::Light,
            before: Break::Line,
            is_in_frame: true,
            stamp: Some(stamp),
            ..Token::default()
        }
    }

    /// The token with another text, which is its key too.
    pub fn with_text(&self, text: SmolStr) -> Token {
        Token {
            key: text.clone(),
            text,
            ..self.clone()
        }
    }

    /// Returns `true` for a token that may be absent.
    pub fn is_light(&self) -> bool {
        self.class == Class::Light || self.is_in_frame
    }

    pub fn is_turn(&self) -> bool {
        matches!(self.class, Class::Turn | Class::Symbol)
    }

    pub fn is_cjk(&self) -> bool {
        self.text.starts_with(is_cjk)
    }

    /// The words that a token counts for, times two: a CJK character counts as half a word.
    pub fn half_words(&self) -> usize {
        if self.is_cjk() { 1 } else { 2 }
    }

    /// Returns `true` if two tokens with one key are equal. The forms of a name are other names:
    /// Robert, Roberts.
    pub fn is_equal_form(&self, other: &Token) -> bool {
        if self.text != other.text && (self.is_exact || other.is_exact) {
            return false;
        }
        if self.class == Class::Number && is_other_half(self, other) {
            return false;
        }
        // A text of capital letters writes names and words alike.
        let is_word = |token: &Token| !token.is_name && !token.is_capital;
        if (is_word(self) && other.is_name || is_word(other) && self.is_name)
            && NAMES_OF_CAPITALS.contains(&&*self.text)
        {
            return false;
        }
        // `getURL` and `getUrl`, one text of Base64 and another one.
        let are_cased = self.capitals.min(other.capitals) > 0 || self.is_cased && other.is_cased;
        if self.capitals != other.capitals && are_cased {
            return false;
        }
        // the teacher's pay, the teachers' pay
        if self.text != other.text
            && self.possessive != other.possessive
            && ![self.possessive, other.possessive].contains(&Possessive::None)
        {
            return false;
        }
        // πότε and ποτέ. Without accents, each is written as ποτε.
        let is_plain = |token: &Token| !token.has_accents && !is_accented(&token.text);
        if self.text != other.text
            && (is_accented(&self.text) || is_accented(&other.text))
            && !is_plain(self)
            && !is_plain(other)
        {
            return false;
        }
        let is_plural = |one: &Token, other: &Token| {
            one.text
                .strip_suffix('s')
                .is_some_and(|one| one == other.text)
        };
        // Miller, Millers
        if self.is_proper && other.is_proper && (is_plural(self, other) || is_plural(other, self)) {
            return false;
        }
        // The words of other scripts have no forms.
        let may_be_form = !(self.is_name || other.is_name)
            || self.class == Class::Number
            || !self.text.is_ascii();
        // "attacked", "attacking" and "attacks" are three sides, and "need" is no past.
        let endings = |token: &Token| ["ing", "ed"].map(|end| token.text.ends_with(end));
        let are_bases = [self, other].map(|token| token.text == token.key);
        let is_of_one_side = endings(self) == endings(other)
            && (endings(self) == [false; 2] || are_bases[0] == are_bases[1]);
        let (lexicon, texts) = (Lexicon::builtin(), [&*self.text, &*other.text]);
        self.text == other.text
            // learned, learnt
            || may_be_form && (is_of_one_side || lexicon.are_equal(texts))
            || lexicon.are_short(texts)
    }
}
