//! Cuts a normalised text into tokens with classes and keys.

use std::borrow::Cow;

use super::lexicon::{Class, Entry, Lexicon};
use crate::text::{is_cjk, is_letter_or_digit, is_mark};

/// A word, a number, or a CJK character or listed word of CJK characters.
#[derive(Debug, Clone)]
pub(crate) struct Token<'t> {
    /// The token as it is in the normalised text.
    pub text: Cow<'t, str>,
    /// The stem, or the representative of equal words. Tokens with one key say the same.
    pub key: Cow<'t, str>,
    pub class: Class,
    pub entry: Option<&'static Entry>,
    /// `true` if the capital letters of the text make the token a name.
    pub is_name: bool,
}

impl Token<'_> {
    /// The token without a borrow of its text.
    pub fn into_owned(self) -> Token<'static> {
        Token {
            text: self.text.into_owned().into(),
            key: self.key.into_owned().into(),
            ..self
        }
    }

    /// Returns `true` for words and characters, numbers, negations and kinds.
    pub fn is_content(&self) -> bool {
        !matches!(self.class, Class::Stop | Class::Filler)
    }

    pub fn is_toward(&self) -> bool {
        self.entry.is_some_and(|entry| entry.is_toward)
    }

    pub fn is_opposite(&self, other: &Self) -> bool {
        match (self.entry, other.entry) {
            (Some(one), Some(other)) => one.is_opposite(other),
            _ => false,
        }
    }
}

/// Writes currency signs as words, because normalisation removes them.
pub(crate) fn with_currencies(text: &str) -> Cow<'_, str> {
    let name = |c| match c {
        '$' | '＄' => Some("usd"),
        '€' => Some("eur"),
        '£' | '￡' => Some("gbp"),
        '¥' | '￥' => Some("cny"),
        '₿' => Some("btc"),
        _ => None,
    };
    if !text.contains(|c| name(c).is_some()) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut characters = text.chars().peekable();
    let mut last = ' ';
    while let Some(c) = characters.next() {
        // A dollar sign also begins the name of a variable.
        let next = characters.peek().copied().unwrap_or(' ');
        let is_price = last.is_numeric() || next.is_numeric();
        match name(c).filter(|_| is_price) {
            Some(name) => {
                out.push(' ');
                out.push_str(name);
                out.push(' ');
            }
            None => out.push(c),
        }
        last = c;
    }
    out.into()
}

/// The tokens of a text that [`Normaliser::sentences`](crate::Normaliser::sentences) has
/// normalised.
///
/// A run of letters and digits is a token; `3.10` and `-5` are numbers; a word keeps the `+` and
/// `#` after it. A CJK character is a token, unless a longer word of the table begins there.
pub(crate) fn tokens<'t>(lexicon: &'static Lexicon, text: &'t str) -> Vec<Token<'t>> {
    let mut tokens = Vec::with_capacity(text.len() / 6 + 4);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let end = if is_cjk(c) {
            end_of_cjk(lexicon, text, at)
        } else if is_letter_or_digit(c) {
            end_of_word(text, at)
        } else {
            let end = at + c.len_utf8();
            let is_sign = c == '-' && !text[..at].ends_with(is_letter_or_digit);
            if c == '%' {
                tokens.push(token(lexicon, "percent"));
            } else if is_sign && text[end..].starts_with(|c: char| c.is_ascii_digit()) {
                let end = end_of_word(text, end);
                tokens.push(token(lexicon, &text[at..end]));
                at = end;
                continue;
            }
            at = end;
            continue;
        };
        let mut token = token(lexicon, &text[at..end]);
        if is_unit(&token) && tokens.last().is_some_and(is_digits) {
            token.class = Class::Strong;
        }
        tokens.push(token);
        at = end;
    }
    tokens
}

fn is_digits(token: &Token<'_>) -> bool {
    token.text.ends_with(|c: char| c.is_ascii_digit())
}

/// Returns `true` if a token after a number can only be its unit: `g` and `m`, which elsewhere are
/// stop words (`e.g.`, `I'm`), but no article.
fn is_unit(token: &Token<'_>) -> bool {
    matches!(&*token.text, "d" | "e" | "g" | "m" | "s" | "t")
}

fn token<'t>(lexicon: &'static Lexicon, text: &'t str) -> Token<'t> {
    let stem = lexicon.stem(text);
    let entry = lexicon.entry(text);
    let entry = entry.or_else(|| lexicon.entry_of_stem(&stem));
    let class = match entry {
        Some(entry) => entry.class,
        None if text.contains(|c: char| c.is_numeric()) => Class::Number,
        None => Class::Word,
    };
    let key = match (class, entry) {
        // Only words of one kind are equal.
        (Class::Kind(kind), _) => kind_key(kind).into(),
        (_, Some(entry)) if entry.has_equals => lexicon.stem(entry.canonical),
        _ => stem,
    };
    Token {
        text: text.into(),
        key,
        class,
        entry,
        is_name: false,
    }
}

/// The key of all words of a kind. No text has a token with a space.
fn kind_key(kind: u16) -> String {
    format!("kind {kind}")
}

/// The end of the longest listed word that begins at a CJK character, or of the character.
fn end_of_cjk(lexicon: &Lexicon, text: &str, at: usize) -> usize {
    let mut end = at;
    let mut longest = at;
    let characters = text[at..].chars().take(lexicon.longest_han());
    for (count, c) in characters.take_while(|c| is_cjk(*c)).enumerate() {
        end += c.len_utf8();
        if count == 0 || lexicon.entry(&text[at..end]).is_some() {
            longest = end;
        }
    }
    longest + marks(&text[longest..])
}

fn end_of_word(text: &str, at: usize) -> usize {
    let mut end = at;
    let is_part = |c: char| is_mark(c) || is_letter_or_digit(c) && !is_cjk(c);
    loop {
        let rest = &text[end..];
        end += rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let rest = &text[end..];
        // The point of a version or of a decimal number.
        let is_point = text[..end].ends_with(|c: char| c.is_ascii_digit())
            && rest.starts_with('.')
            && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if !is_point {
            break;
        }
        end += 1;
    }
    let rest = &text[end..];
    end + rest
        .find(|c| c != '+' && c != '#')
        .unwrap_or(rest.len())
        .min(2)
}

fn marks(text: &str) -> usize {
    text.find(|c| !is_mark(c)).unwrap_or(text.len())
}
