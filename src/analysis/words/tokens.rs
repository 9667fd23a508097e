//! The tokens of a text, with classes and keys.

use std::cell::LazyCell;
use std::ops::Range;

use smol_str::SmolStr;

use super::english::English;
use super::folding::{folded, is_accent, is_accented};
use super::lexicon::{Class, Lexicon};
use super::number;
use super::scanner::{Break, End, Kind, Lexeme, has_small_letters};
use super::stamps::Stamp;
use super::units::is_unit_by_case;
use crate::text::{is_cjk, is_mark};

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
    /// `true` in a line or a sentence about the page. It may be absent as a whole.
    pub is_in_frame: bool,
    /// The stamp that a passage without information is, as one token.
    pub stamp: Option<Stamp>,
    /// `true` in a text with traditional characters, where words of Taiwan are expected.
    pub is_traditional: bool,
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
        // A text of capital letters writes names and words alike.
        let is_word = |token: &Token| !token.is_name && !token.is_capital;
        if (is_word(self) && other.is_name || is_word(other) && self.is_name)
            && NAMES_OF_CAPITALS.contains(&&*self.text)
        {
            return false;
        }
        // `getURL` and `getUrl`, one text of Base64 and another one.
        if self.capitals != other.capitals && self.capitals.min(other.capitals) > 0 {
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
        // "attacked", "attacking" and "attacks" are three sides.
        let is_of_one_side = ["ing", "ed"].map(|end| self.text.ends_with(end))
            == ["ing", "ed"].map(|end| other.text.ends_with(end));
        self.text == other.text || may_be_form && is_of_one_side
    }
}

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
        match lexeme.kind {
            Kind::Word => cutter.word(lexeme, text, is_followed),
            Kind::Cjk => cutter.cjk(lexeme, text),
            Kind::Number => cutter.number(lexeme),
            Kind::Markup => cutter.push(lexeme, Class::Light, lexeme.text.clone()),
            Kind::Symbol => cutter.push(lexeme, Class::Symbol, lexeme.text.clone()),
        }
        if let Some((last, _)) = cutter.tokens.last_mut() {
            last.end = last.end.or(lexeme.end);
            last.is_label |= lexeme.is_label;
        }
    }
    for at in 1..cutter.tokens.len() {
        if cutter.tokens[at - 1].0.text == "the" && COUNTED.contains(&&*cutter.tokens[at].0.key) {
            cutter.tokens[at - 1].0.is_exact = true;
        }
    }
    let mut capitals = 0;
    let is_english = 2 * cutter.english > cutter.words;
    // Latin words in a text of CJK characters are names.
    let is_foreign = !is_english && {
        let cjk = cutter.tokens.iter().filter(|(token, _)| token.is_cjk());
        cutter.words > cjk.count()
    };
    let has_kana = LazyCell::new(|| text.contains(is_kana));
    let is_latin = || text.chars().all(|c| c < '\u{370}' || !c.is_alphabetic());
    for (token, range) in &mut cutter.tokens {
        let piece = &text[range.clone()];
        // 3,125 is 3125 in English, and a decimal in many other languages.
        if !is_english && cutter.words >= MIN_WORDS && number::is_ambiguous(piece) && is_latin() {
            token.text = piece.into();
            token.key = piece.into();
        }
        if is_foreign && token.text.bytes().all(|byte| byte.is_ascii_lowercase()) {
            let entry = cutter.lexicon.entry(&token.text);
            token.is_exact |= !entry.is_some_and(|entry| entry.is_everywhere);
        }
        if token.class == Class::Light
            && (is_foreign && token.is_exact || token.is_cjk() && *has_kana)
        {
            token.class = Class::Word;
        }
        token.is_english = is_english;
        // Greek words in capital letters have no accents.
        let is_upper = || piece.chars().nth(1).is_some() && !piece.contains(char::is_lowercase);
        token.has_accents = cutter.has_accents && (piece.is_ascii() || !is_upper());
        token.is_capital = piece.starts_with(char::is_uppercase);
        token.capitals = capitals_of_identifier(piece);
        capitals += usize::from(token.is_capital);
    }
    if 2 * capitals < cutter.words {
        for (token, _) in &mut cutter.tokens {
            token.is_proper = token.is_capital && !token.before.ends_unit();
        }
    }
    cutter.tokens
}

/// A longer run of Chinese numerals is no number.
const MAX_NUMERALS: usize = 32;

/// Words of grammar that are names in capital letters.
const NAMES_OF_CAPITALS: [&str; 4] = ["us", "who", "it", "aids"];

/// A text of fewer words, such as the name of a product, may be in any language.
const MIN_WORDS: usize = 5;

/// Verbs that are also the past form of another verb.
const HOMOGRAPHS: [&str; 8] = [
    "found", "saw", "wound", "bound", "ground", "fell", "lay", "felt",
];

/// Words that begin a clause behind "that".
const BEGIN_CLAUSES: [&str; 23] = [
    "a", "an", "the", "this", "these", "those", "there", "it", "he", "she", "they", "we", "you",
    "i", "his", "her", "its", "their", "our", "your", "my", "if", "when",
];

/// Keys of words of which "a" is another quantity than "the".
const COUNTED: [&str; 10] = [
    "number", "majority", "minority", "first", "second", "third", "fourth", "most", "few", "little",
];

/// The things that Roman numerals count at the start of a sentence.
const NUMBERED: [&str; 12] = [
    "chapter", "part", "volume", "book", "article", "section", "act", "phase", "type", "appendix",
    "table", "title",
];

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

/// The capital letters of a word with a capital letter behind a small one, a bit each. The first
/// letter may begin a sentence.
fn capitals_of_identifier(word: &str) -> u32 {
    // Most words end here.
    if !word.as_bytes().iter().skip(1).any(u8::is_ascii_uppercase) {
        return 0;
    }
    let is_cased = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    if !word.as_bytes().windows(2).any(is_cased) {
        return 0;
    }
    let letters = word.chars().filter(|c| c.is_alphanumeric()).skip(1);
    letters.fold(0, |bits, c| {
        bits.rotate_left(1) ^ u32::from(c.is_uppercase())
    })
}

/// Returns `true` for a magnitude that is written apart from its number: 1500 亿.
fn is_spaced_magnitude(text: &str) -> bool {
    let mut characters = text.chars();
    matches!(characters.next(), Some('万' | '亿'))
        && !matches!(
            characters.next(),
            Some('能' | '一' | '分' | '里' | '物' | '达' | '科' | '宝' | '象')
        )
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

    fn push_part(&mut self, range: Range<usize>, class: Class, text: SmolStr, before: Break) {
        let key = self.key_of(&folded(&text));
        self.push_token(range, class, text, key, before);
    }

    /// The representative of equal words.
    fn key_of(&self, text: &SmolStr) -> SmolStr {
        let entry = self.lexicon.entry(text);
        let canonical = entry.and_then(|entry| entry.canonical);
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

    fn number(&mut self, lexeme: &Lexeme) {
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
        self.push(lexeme, Class::Number, lexeme.text.clone());
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
        if self.has_small_letters && self.is_after_number() && is_unit_by_case(piece) {
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
        let value = number::of_roman(piece).filter(|_| self.may_be_counted(lexeme, text));
        if let Some(value) = value {
            self.push(lexeme, Class::Number, value);
            return;
        }
        let listed = self.lexicon.entry(word);
        let is_joined = lexeme.is_joined && !after_apostrophe || is_followed;
        let is_short = word.len() == 1 && !self.is_article(lexeme, piece, text);
        let is_capital = self.has_small_letters
            && piece.chars().count() > 1
            && !piece.contains(char::is_lowercase)
            && piece.contains(char::is_uppercase);
        let class = match listed.and_then(|entry| entry.class) {
            // Parts of names and identifiers: US, vitamin E, gnuplot-mode.
            Some(_) if is_short || is_capital => Class::Word,
            Some(Class::Light) if is_joined => Class::Word,
            Some(class) => class,
            None if word.contains(|c: char| c.is_numeric()) => Class::Number,
            None => Class::Word,
        };
        let is_english = word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase());
        let english = English::builtin();
        let base = is_english.then(|| english.base(word)).flatten();
        let is_known = base.is_some() || is_english && english.has_behind_prefix(word);
        let tells = listed.and_then(|entry| entry.tells_english);
        self.count_language(word, piece, is_known, tells);
        // Other scripts have no accents, except of these letters.
        let has_accent = |c: char| is_accent(c) || !c.is_ascii() && c < '\u{370}';
        self.has_accents |= !word.is_ascii() && word.contains(has_accent);
        // "that" is the subject of a verb, or belongs to a noun: the drug that cures, that drug.
        if let Some((last, _)) = self
            .tokens
            .last_mut()
            .filter(|(last, _)| last.text == "that")
            && !piece.starts_with(char::is_uppercase)
            && !BEGIN_CLAUSES.contains(&&**word)
        {
            last.class = Class::Word;
        }
        // "few" and "a few" are two quantities.
        if matches!(&**word, "few" | "little" | "bit")
            && let Some((last, _)) = self.tokens.last_mut().filter(|(last, _)| last.text == "a")
        {
            last.class = Class::Turn;
        }
        let is_lemma = is_english
            && listed.is_none_or(|entry| entry.canonical.is_none())
            && class == Class::Word;
        if is_lemma {
            // A past form of another verb: found and founded.
            let base = base.filter(|base| !HOMOGRAPHS.contains(&&**base));
            let lemma = base.unwrap_or_else(|| (&**word).into());
            let canonical = self.lexicon.entry(&lemma).and_then(|entry| entry.canonical);
            let key = match canonical {
                Some(canonical) => canonical.into(),
                None => (*lemma).into(),
            };
            self.push_token(
                lexeme.range.clone(),
                class,
                word.clone(),
                key,
                lexeme.before,
            );
        } else {
            self.push(lexeme, class, word.clone());
        }
        if let Some((token, _)) = self.tokens.last_mut() {
            token.is_name = is_capital || is_short;
        }
    }

    /// Counts a word of letters, which is an English word or not, and may tell a language.
    fn count_language(&mut self, word: &str, piece: &str, is_known: bool, tells: Option<bool>) {
        // A word with a capital letter within is a name, in any language.
        let is_name =
            self.has_small_letters && !is_known && piece.chars().skip(1).any(char::is_uppercase);
        self.words += usize::from(word.len() > 2 && !is_name || tells == Some(false));
        self.english += usize::from(is_known && tells != Some(false));
        self.english += usize::from(tells == Some(true));
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

    /// Multiplies the number before; `false` if no plain number is before.
    pub(super) fn scale_last(&mut self, power: u32, lexeme: &Lexeme) -> bool {
        let Some((last, range)) = self.tokens.last_mut() else {
            return false;
        };
        let is_number =
            last.class == Class::Number || last.key.bytes().all(|byte| byte.is_ascii_digit());
        let Some(value) = number::times_power_of_ten(&last.key, power).filter(|_| is_number) else {
            return false;
        };
        last.class = Class::Number;
        last.text = value.clone().into();
        last.key = value.into();
        range.end = lexeme.range.end;
        true
    }

    /// Cuts a run of CJK characters: numerals, the longest listed words, single characters.
    fn cjk(&mut self, lexeme: &Lexeme, text: &str) {
        let run = &lexeme.text;
        let original = &text[lexeme.range.clone()];
        // Normalisation keeps the number of characters, except of joined Hangul.
        let offsets = original
            .char_indices()
            .filter(|(_, c)| is_cjk(*c) || is_mark(*c));
        let offsets = offsets.map(|(at, _)| lexeme.range.start + at);
        let offsets: Vec<usize> = offsets.chain([lexeme.range.end]).collect();
        let is_aligned = offsets.len() == run.chars().count() + 1;
        let mut before = lexeme.before;
        let mut at = 0;
        let mut index = 0;
        while at < run.len() {
            let rest = &run[at..];
            let numerals: usize = rest
                .chars()
                .take(MAX_NUMERALS)
                .take_while(|c| number::is_cjk_numeral(*c))
                .map(char::len_utf8)
                .sum();
            let numeral = &rest[..numerals];
            let (length, class, token) = if let Some(power) =
                rest.chars().next().and_then(number::magnitude)
                && before == Break::None
                && (lexeme.is_joined || at > 0 || is_spaced_magnitude(rest))
                && self.is_after_number()
                && self.scale_last(power, lexeme)
            {
                let length = rest.chars().next().map_or(0, char::len_utf8);
                at += length;
                index += 1;
                continue;
            } else if numeral.chars().count() > 1
                && let Some(value) = number::of_cjk(numeral)
            {
                (numerals, Class::Number, value.into())
            } else {
                let length = self.listed_or_character(rest);
                let word = &rest[..length];
                (length, self.lexicon.class(word), word.into())
            };
            let count = rest[..length].chars().count();
            let range = match is_aligned {
                true => offsets[index]..offsets[(index + count).min(offsets.len() - 1)],
                false => lexeme.range.clone(),
            };
            self.push_part(range, class, token, std::mem::take(&mut before));
            at += length;
            // 两月 are two months, 二月 is the second one.
            if let Some((last, _)) = self.tokens.last_mut()
                && last.text == "两"
                && run[at..].starts_with(['月', '楼', '号', '层', '班', '章'])
            {
                last.is_exact = true;
            }
            index += count;
        }
    }

    fn is_after_number(&self) -> bool {
        let last = self.tokens.last();
        last.is_some_and(|(token, _)| {
            token.class == Class::Number
                && token.text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        })
    }

    /// The length of the longest listed word, or of the character and its marks.
    fn listed_or_character(&self, text: &str) -> usize {
        let mut longest = 0;
        let mut end = 0;
        for (count, c) in text.chars().take(self.lexicon.longest_han()).enumerate() {
            end += c.len_utf8();
            if count == 0 || self.lexicon.entry(&text[..end]).is_some() {
                longest = end;
            }
        }
        let marks = text[longest..].find(is_cjk).unwrap_or(text.len() - longest);
        longest + marks
    }
}
