//! The tokens of a text, with classes and keys.

use std::cell::LazyCell;
use std::ops::Range;

use smol_str::SmolStr;

use super::english::{English, may_be_participle};
use super::folding::{folded, is_accent};
use super::identifiers::{capitals_of, capitals_of_identifier, is_cased, is_in_name};
use super::lexicon::{Class, Lexicon, LexiconEntry};
use super::number;
use super::scanner::{Break, Kind, Lexeme, has_small_letters};
use super::token::{Possessive, Token};
use super::units::is_unit_by_case;
use super::values::is_number;
use crate::text::is_cjk;

/// The tokens of the lexemes of a text, and the bytes of the text that each token has.
pub(crate) fn tokens(lexemes: Vec<Lexeme>, text: &str) -> Vec<(Token, Range<usize>)> {
    let mut cutter = Cutter {
        lexicon: Lexicon::builtin(),
        has_small_letters: has_small_letters(text),
        is_traditional: lexemes.iter().any(|lexeme| is_traditional(lexeme, text)),
        words: 0,
        english: 0,
        has_accents: false,
        tokens: Vec::with_capacity(lexemes.len() + 8),
    };
    for (at, lexeme) in lexemes.iter().enumerate() {
        let is_followed = lexemes.get(at + 1).is_some_and(|next| next.is_joined);
        let before = cutter.tokens.len();
        match lexeme.kind {
            Kind::Word => cutter.word(lexeme, text, is_followed),
            Kind::Cjk => cutter.cjk(lexeme, text),
            Kind::Number => cutter.number(lexeme, text),
            Kind::Markup => cutter.push(lexeme, Class::Light, lexeme.text.clone()),
            Kind::Symbol => cutter.push(lexeme, Class::Symbol, lexeme.text.clone()),
        }
        if let Some((last, _)) = cutter.tokens.last_mut() {
            last.end = last.end.or(lexeme.end);
            last.is_label |= lexeme.is_label;
        }
        // A word of code has no forms: `ship` and `ships` are two variables.
        for (token, _) in cutter.tokens.iter_mut().skip(before) {
            token.is_exact |= lexeme.is_code;
        }
    }
    cutter.mark_counted();
    cutter.mark_language(text);
    cutter.restore_apostrophes();
    cutter.mark_capitals(text);
    cutter.tokens
}

/// A text of fewer words, such as the name of a product, may be in any language.
const MIN_WORDS: usize = 5;

/// Words of which a form is another word, or is written as one: found, arms, twenties.
#[rustfmt::skip]
const HOMOGRAPHS: [&str; 29] = [
    "found", "saw", "wound", "bound", "ground", "fell", "lay", "felt", "arm", "custom", "glass", "good", "mean",
    "spectacle", "compass", "manner", "premise", "damage", "content", "saving", "spirit", "twenty", "thirty",
    "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// Words that begin a clause behind "that".
const BEGIN_CLAUSES: [&str; 23] = [
    "a", "an", "the", "this", "these", "those", "there", "it", "he", "she", "they", "we", "you",
    "i", "his", "her", "its", "their", "our", "your", "my", "if", "when",
];

/// Ends of English nouns whose possessive is no plural, also without an apostrophe: "fishermans".
const IRREGULAR_PLURALS: [&str; 3] = ["man", "men", "children"];

/// Keys of words of which "a" is another quantity than "the".
const COUNTED: [&str; 10] = [
    "number", "majority", "minority", "first", "second", "third", "fourth", "most", "few", "little",
];

/// The things that Roman numerals count at the start of a sentence.
const NUMBERED: [&str; 12] = [
    "chapter", "part", "volume", "book", "article", "section", "act", "phase", "type", "appendix",
    "table", "title",
];

/// Units of Cyrillic letters with the prefix milli, which a capital letter makes mega: МВт.
const MILLI_UNITS: [&str; 8] = ["мВт", "мГц", "мПа", "мДж", "мВ", "мА", "мОм", "мЗв"];

/// Apostrophes, and the quotation marks that replace them.
const APOSTROPHES: [char; 7] = ['\'', '’', '‘', '“', '”', '`', '´'];

/// Returns `true` for kana of Japanese grammar. Chinese texts write の for 的.
fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}') && c != 'の'
}

/// Returns `true` if normalisation has simplified a character.
fn is_traditional(lexeme: &Lexeme, text: &str) -> bool {
    let original = text[lexeme.range.clone()].chars().filter(|c| is_cjk(*c));
    lexeme.kind == Kind::Cjk
        && original
            .zip(lexeme.text.chars())
            .any(|(one, other)| one != other)
}

/// The number of a noun before the apostrophe that begins a text.
fn possessive(noun: &str, text: &str) -> Possessive {
    let Some(ending) = text.strip_prefix(['\'', '’']) else {
        return Possessive::None;
    };
    let goes_on = |text: &str| text.starts_with(char::is_alphanumeric);
    match ending.strip_prefix(['s', 'S']) {
        Some(behind) if !goes_on(behind) => Possessive::Singular,
        None if noun.ends_with(['s', 'S']) && !goes_on(ending) => Possessive::Plural,
        _ => Possessive::None,
    }
}

pub(super) struct Cutter {
    pub(super) lexicon: &'static Lexicon,
    has_small_letters: bool,
    is_traditional: bool,
    /// The number of words of letters, and of English words among them. A word that tells a
    /// language counts once more.
    words: usize,
    english: usize,
    /// `true` if a word has an accent.
    has_accents: bool,
    pub(super) tokens: Vec<(Token, Range<usize>)>,
}

impl Cutter {
    pub(super) fn push(&mut self, lexeme: &Lexeme, class: Class, text: impl Into<SmolStr>) {
        self.push_part(lexeme.range.clone(), class, text.into(), lexeme.before);
    }

    pub(super) fn push_part(
        &mut self,
        range: Range<usize>,
        class: Class,
        text: SmolStr,
        before: Break,
    ) {
        let key = self.key_of(&folded(&text));
        self.push_token(range, class, text, key, before);
    }

    /// The representative of equal words.
    pub(super) fn key_of(&self, text: &SmolStr) -> SmolStr {
        let canonical = self.lexicon.canonical(text);
        canonical.map_or_else(|| text.clone(), SmolStr::from)
    }

    /// Puts a token in the place of the last one, which goes on to the end of a lexeme.
    pub(super) fn replace_last(&mut self, class: Class, text: &str, lexeme: &Lexeme) {
        let text = SmolStr::from(text);
        let key = self.key_of(&text);
        if let Some((last, range)) = self.tokens.last_mut() {
            (last.class, last.key, last.text) = (class, key, text);
            range.end = lexeme.range.end;
        }
    }

    fn push_token(
        &mut self,
        range: Range<usize>,
        class: Class,
        text: SmolStr,
        key: SmolStr,
        before: Break,
    ) {
        self.tokens.push((
            Token {
                text,
                key,
                class,
                before,
                is_traditional: self.is_traditional,
                ..Token::default()
            },
            range,
        ));
    }

    fn number(&mut self, lexeme: &Lexeme, text: &str) {
        // 1 1/2
        if let Some((last, range)) = self.tokens.last_mut()
            && last.class == Class::Number
            && lexeme.before == Break::None
            && lexeme.range.start <= range.end + 1
            && let Some(value) = number::mixed(&last.text, &lexeme.text)
        {
            last.text = value.clone().into();
            last.key = value.into();
            range.end = lexeme.range.end;
            return;
        }
        let number = match lexeme.is_code {
            true => text[lexeme.range.clone()].into(),
            false => lexeme.text.clone(),
        };
        self.push(lexeme, Class::Number, number);
    }

    fn word(&mut self, lexeme: &Lexeme, text: &str, is_followed: bool) {
        let piece = &text[lexeme.range.clone()];
        let word = &lexeme.text;
        if self.extends_number(lexeme, text) {
            return;
        }
        // 10 x 20
        let is_before_number = || {
            let after = text[lexeme.range.end..].trim_start_matches(' ');
            after.starts_with(|c: char| c.is_ascii_digit())
        };
        if piece == "x" && !is_followed && self.is_after_number() && is_before_number() {
            return self.push(lexeme, Class::Symbol, "×");
        }
        let is_unit = || is_unit_by_case(piece) || MILLI_UNITS.contains(&piece);
        if self.has_small_letters && self.is_after_number() && is_unit() {
            let unit = SmolStr::from(piece);
            let range = lexeme.range.clone();
            return self.push_token(range, Class::Word, unit.clone(), unit, lexeme.before);
        }
        let after_apostrophe = lexeme.range.start > 0
            && text[..lexeme.range.start].ends_with(APOSTROPHES)
            && lexeme.is_joined;
        if after_apostrophe && self.contraction(lexeme) || self.denial(lexeme) {
            return;
        }
        if let Some(value) = number::of_roman(piece) {
            if self.may_be_counted(lexeme, text) {
                return self.push(lexeme, Class::Number, value);
            }
            // the XIX century
            let behind = &text[lexeme.range.end..];
            if behind.starts_with(" century") || behind.starts_with(" centuries") {
                return self.push(lexeme, Class::Number, format!("{value}th"));
            }
        }
        let is_short = word.len() == 1 && !self.is_article(lexeme, piece, text);
        let is_capital = self.has_small_letters
            && piece.chars().count() > 1
            && !piece.contains(char::is_lowercase)
            && piece.contains(char::is_uppercase);
        let listed = self.lexicon.entry(word);
        let class = match listed.and_then(|entry| entry.class) {
            // Parts of names and identifiers: US, vitamin E, gnuplot-mode.
            Some(_) if is_short || is_capital => Class::Word,
            Some(Class::Light) if lexeme.is_joined && !after_apostrophe || is_followed => {
                Class::Word
            }
            Some(class) => class,
            None if word.contains(|c: char| c.is_numeric()) => Class::Number,
            None => Class::Word,
        };
        let is_ascii = word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase());
        let english = English::builtin();
        let base = is_ascii.then(|| english.base(word)).flatten();
        // "childrens", without its apostrophe
        let stem = word
            .strip_suffix('s')
            .filter(|stem| IRREGULAR_PLURALS.iter().any(|end| stem.ends_with(end)));
        let base = base.or_else(|| english.base(stem.filter(|_| is_ascii)?));
        let is_english = base.is_some() || is_ascii && english.has_behind_prefix(word);
        self.count_language(word, piece, is_english, listed);
        self.weigh_word_before(word, piece);
        let is_lemma = is_ascii
            && class == Class::Word
            && listed.is_none_or(|entry| entry.canonical.is_none());
        if is_lemma {
            // A past form of another verb: found and founded.
            let base = base.filter(|base| !HOMOGRAPHS.contains(&&**base));
            let lemma = base.map_or_else(|| word.clone(), SmolStr::from);
            let key = self.key_of(&lemma);
            let range = lexeme.range.clone();
            self.push_token(range, class, word.clone(), key, lexeme.before);
        } else {
            self.push(lexeme, class, word.clone());
        }
        if let Some((token, _)) = self.tokens.last_mut() {
            token.is_name = is_capital || is_short;
        }
    }

    /// Gives the word before a word another class, if the two together mean something else.
    fn weigh_word_before(&mut self, word: &str, piece: &str) {
        let Some((last, _)) = self.tokens.last_mut() else {
            return;
        };
        match &*last.text {
            // "that" is the subject of a verb, or belongs to a noun: the drug that cures, that
            // drug.
            "that" if !piece.starts_with(char::is_uppercase) && !BEGIN_CLAUSES.contains(&word) => {
                last.class = Class::Word;
            }
            // A verb, in place of "is" or "has": "the company's planned it".
            "s" if last.class == Class::Light && may_be_participle(word) => {
                last.class = Class::Word
            }
            // "few" and "a few" are two quantities.
            "a" if matches!(word, "few" | "little" | "bit") => last.class = Class::Turn,
            _ => {}
        }
    }

    /// Marks "the" before a word that counts: "a number" is another quantity than "the number".
    fn mark_counted(&mut self) {
        for at in 1..self.tokens.len() {
            if self.tokens[at - 1].0.text == "the" && COUNTED.contains(&&*self.tokens[at].0.key) {
                self.tokens[at - 1].0.is_exact = true;
            }
        }
    }

    /// Marks what depends on the language of the whole text.
    fn mark_language(&mut self, text: &str) {
        let is_english = 2 * self.english > self.words;
        // Latin words in a text of CJK characters are names.
        let is_foreign = !is_english && {
            let cjk = self.tokens.iter().filter(|(token, _)| token.is_cjk());
            self.words > cjk.count()
        };
        let has_kana = LazyCell::new(|| text.contains(is_kana));
        let is_latin = LazyCell::new(|| text.chars().all(|c| c < '\u{370}' || !c.is_alphabetic()));
        for (token, range) in &mut self.tokens {
            let piece = &text[range.clone()];
            token.is_english = is_english;
            // Greek words in capital letters have no accents.
            let is_upper = || piece.chars().nth(1).is_some() && !piece.contains(char::is_lowercase);
            token.has_accents = self.has_accents && (piece.is_ascii() || !is_upper());
            // 3,125 is 3125 in English, and a decimal in many other languages.
            if !is_english && self.words >= MIN_WORDS && number::is_ambiguous(piece) && *is_latin {
                token.text = piece.into();
                token.key = piece.into();
            }
            if is_foreign && token.text.bytes().all(|byte| byte.is_ascii_lowercase()) {
                let entry = self.lexicon.entry(&token.text);
                token.is_exact |= !entry.is_some_and(|entry| entry.is_everywhere);
            }
            let is_light = token.class == Class::Light;
            if is_light && (is_foreign && token.is_exact || token.is_cjk() && *has_kana) {
                token.class = Class::Word;
            }
        }
    }

    /// Marks capital letters, and the names among them in a text of few capital letters.
    fn mark_capitals(&mut self, text: &str) {
        let mut capitals = 0;
        // A text without small or without capital letters writes names and keys alike.
        let has_case = text.contains(char::is_lowercase)
            && (self.words < MIN_WORDS || text.contains(char::is_uppercase));
        let is_foreign = self.words > 0 && 2 * self.english <= self.words;
        for (token, range) in &mut self.tokens {
            let piece = &text[range.clone()];
            token.is_capital = piece.starts_with(char::is_uppercase);
            token.is_exact |= is_in_name(&text[..range.start], &text[range.end..]);
            token.is_cased = has_case && is_cased(token, text, range, is_foreign);
            token.capitals = match token.is_cased {
                true => capitals_of(piece.chars()),
                false => capitals_of_identifier(piece),
            };
            token.possessive = possessive(piece, &text[range.end..]);
            capitals += usize::from(token.is_capital);
        }
        if 2 * capitals < self.words {
            for (token, _) in &mut self.tokens {
                token.is_proper = token.is_capital && !token.before.ends_unit();
            }
        }
    }

    /// Counts a word of letters, which is an English word or not, and may tell a language.
    fn count_language(
        &mut self,
        word: &str,
        piece: &str,
        is_english: bool,
        entry: Option<&LexiconEntry>,
    ) {
        let tells = entry.and_then(|entry| entry.tells_english);
        // A word with a capital letter within is a name, in any language.
        let is_name =
            self.has_small_letters && !is_english && piece.chars().skip(1).any(char::is_uppercase);
        self.words += usize::from(word.len() > 2 && !is_name || tells == Some(false));
        self.english += usize::from(is_english && tells != Some(false));
        self.english += usize::from(tells == Some(true));
        // Other scripts have no accents, except of these letters.
        let is_latin = |c: char| c < '\u{370}' || matches!(c, '\u{1e00}'..='\u{1eff}');
        let has_accent = |c: char| is_accent(c) || !c.is_ascii() && is_latin(c);
        self.has_accents |= !word.is_ascii() && word.contains(has_accent);
    }

    /// Returns `true` for a Roman numeral behind a name, or behind a thing that is counted.
    fn may_be_counted(&self, lexeme: &Lexeme, text: &str) -> bool {
        let is_counted = |(token, range): &(Token, Range<usize>)| {
            token.class == Class::Word
                && text[range.clone()].starts_with(char::is_uppercase)
                && (!token.before.ends_unit() || NUMBERED.contains(&&*token.text))
        };
        self.has_small_letters
            && lexeme.before == Break::None
            && self.tokens.last().is_some_and(is_counted)
    }

    /// Returns `true` for a single letter that is a word, such as the article in "A ferry", but not
    /// in "group A".
    fn is_article(&self, lexeme: &Lexeme, piece: &str, text: &str) -> bool {
        let after = &text[lexeme.range.end..];
        let next = after.trim_start().chars().next();
        let begins = lexeme.before >= Break::Clause && next.is_some_and(char::is_lowercase);
        after.starts_with(' ')
            && next.is_some_and(char::is_alphabetic)
            && matches!(&*lexeme.text, "a" | "y" | "o" | "e" | "i")
            && (piece.starts_with(char::is_lowercase) || begins || !self.has_small_letters)
    }

    /// Multiplies the number before by a power of ten, whose word ends at a byte of the text.
    /// `false` if no plain number is before.
    pub(super) fn scale_last(&mut self, power: u32, end: usize) -> bool {
        let Some((last, range)) = self.tokens.last_mut() else {
            return false;
        };
        let value = number::times_power_of_ten(&last.key, power);
        let Some(value) = value.filter(|_| is_number(last)) else {
            return false;
        };
        last.class = Class::Number;
        last.text = value.clone().into();
        last.key = value.into();
        range.end = end;
        true
    }

    pub(super) fn is_after_number(&self) -> bool {
        let last = self.tokens.last();
        last.is_some_and(|(token, _)| {
            token.class == Class::Number
                && token.text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        })
    }
}
