//! Unequal tokens that are one word: accents that a writer drops, words of Taiwan, misspellings,
//! digits misread for letters, words written in two or three.

use super::Equality;
use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::analysis::words::spellings::{
    MAX_WRONG_LETTERS, MIN_LETTERS_OF_TWO, calendar_name, has_few_wrong_letters, is_word,
    may_be_misspelled, without_accents,
};
use crate::analysis::words::token::Token;
use crate::analysis::words::weights::Weights;

/// At most three tokens are written as one.
pub(super) const MAX_GLUED: usize = 3;

/// The parts of a word have at least three letters: "apart" is not "a part".
const MIN_PART_LETTERS: usize = 3;

/// The reason why two tokens in one place of two texts are one word; `None` if they are two.
pub(super) fn forgiven(weights: &Weights, a: &Token, b: &Token) -> Option<Equality> {
    // Most tokens end here: the test of each costs a nanosecond.
    if begin_apart(a, b) {
        return None;
    }
    if a.text.is_ascii() && b.text.is_ascii() {
        return is_misspelling(weights, a, b).then_some(Equality::Misspelling);
    }
    if differ_in_accents(a, b) {
        return Some(Equality::Accent);
    }
    let lexicon = Lexicon::builtin();
    let is_regional = |taiwan: &Token, mainland: &Token| {
        taiwan.is_traditional
            && !mainland.is_traditional
            && lexicon.is_regional(&taiwan.text, &mainland.text)
    };
    if is_regional(a, b) || is_regional(b, a) {
        return Some(Equality::Regional);
    }
    is_misspelling(weights, a, b).then_some(Equality::Misspelling)
}

/// Returns `true` for tokens that begin with different ASCII characters. Only the rule for words of
/// Taiwan may forgive the difference of such tokens.
fn begin_apart(a: &Token, b: &Token) -> bool {
    let firsts = a.text.as_bytes().first().zip(b.text.as_bytes().first());
    firsts.is_some_and(|(a, b)| a != b && a.is_ascii() && b.is_ascii())
        && !(a.is_traditional || b.is_traditional)
}

/// Returns `true` if one of two tokens has no accents, and is the other one without its accents.
fn differ_in_accents(a: &Token, b: &Token) -> bool {
    let (plain, accented) = match (a.text.is_ascii(), b.text.is_ascii()) {
        (true, false) => (a, b),
        (false, true) => (b, a),
        _ => return false,
    };
    // The accents of a text that writes them carry sense: más, mas. An address is no word.
    !plain.has_accents
        && !accented.is_cjk()
        && !plain.text.contains(['.', '/'])
        && without_accents(&accented.text).any(|letters| letters == plain.text)
}

/// Returns `true` if the plain one of two tokens turns a sentence or is short. Its accents may be
/// missing only in a text that writes none: `sí` and `si`, `à` and `a`.
pub(super) fn needs_accents(a: &Token, b: &Token) -> bool {
    let plain = if a.text.is_ascii() { a } else { b };
    plain.is_turn() || plain.text.len() < MIN_PART_LETTERS
}

/// Returns `true` if one of two tokens is no English word, and one letter or two away from the
/// other one, which is.
///
/// A word of a collection, such as the name of a program, is no misspelling. The first letters are
/// equal, since prefixes change the meaning: `import` and `export`, `moral` and `amoral`.
pub(super) fn is_misspelling(weights: &Weights, a: &Token, b: &Token) -> bool {
    let has_same_start = a.text.as_bytes().first() == b.text.as_bytes().first();
    let is_too_far = a.text.len().abs_diff(b.text.len()) > MAX_WRONG_LETTERS;
    if !has_same_start || is_too_far || !may_be_misspelled(a) || !may_be_misspelled(b) {
        return false;
    }
    match (is_word(&a.text), is_word(&b.text)) {
        (true, false) => is_misspelled_as(weights, a, b),
        (false, true) => is_misspelled_as(weights, b, a),
        _ => false,
    }
}

/// [`is_misspelling`] of an English word and a word that is none, which begin with one letter.
pub(super) fn is_misspelled_as(weights: &Weights, right: &Token, wrong: &Token) -> bool {
    let is_of_calendar = || {
        let name = calendar_name(&right.text).filter(|name| right.text.starts_with(name));
        name.is_some() && calendar_name(&wrong.text) == name
    };
    // Forms that the list of English words lacks: learnt.
    let is_listed = || Lexicon::builtin().entry(&wrong.text).is_some();
    // A capital letter at the start of a sentence may begin a name.
    let is_name = wrong.is_capital || wrong.is_name || right.is_name;
    if is_name && !is_of_calendar() || is_listed() {
        return false;
    }
    if wrong.class == Class::Number {
        return is_misread(&wrong.text, &right.text);
    }
    if !weights.is_rare(&wrong.text) || !has_few_wrong_letters(&right.text, &wrong.text) {
        return false;
    }
    // Two rare words may be two terms: nifedipine, nimodipine; silicon, silicone.
    right.class != Class::Turn && (!weights.is_rare(&right.key) || is_of_calendar())
        || is_slip(&right.text, &wrong.text)
}

/// The fewest letters of a word of which two letters may change places.
const MIN_LETTERS_OF_SLIP: usize = 7;

/// Returns `true` if two words differ in the order of two letters beside each other.
fn are_swapped(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let at = one.iter().zip(other).position(|(a, b)| a != b);
    let parts = at.and_then(|at| Some((one.get(at..)?, other.get(at..)?)));
    let Some(([a, b, rest @ ..], [c, d, others @ ..])) = parts else {
        return false;
    };
    // The last two letters are another ending: marian, marina; castro, castor.
    !rest.is_empty() && (a, b, rest) == (d, c, others)
}

/// Returns `true` if two words have the same letters in another order or another number, or if the
/// second word lacks one letter.
fn is_slip(right: &str, wrong: &str) -> bool {
    let letters = |word: &str| {
        let mut letters = word.as_bytes().to_vec();
        letters.sort_unstable();
        letters
    };
    let without_doubled = |word: &str| {
        let mut letters = word.as_bytes().to_vec();
        letters.dedup();
        letters
    };
    let len = right.len();
    let lacks_one = || {
        let common = right.bytes().zip(wrong.bytes());
        let start = common.take_while(|(a, b)| a == b).count();
        right.get(start + 1..) == wrong.get(start..)
    };
    let is_nearly_spelled = || without_doubled(right) == without_doubled(wrong) || lacks_one();
    // In a short word a doubled letter makes another term: diamine, diammine.
    are_swapped(right, wrong)
        || len >= MIN_LETTERS_OF_SLIP && letters(right) == letters(wrong)
        || len >= MIN_LETTERS_OF_TWO && is_nearly_spelled()
}

/// Returns `true` if a word is another one with digits in the place of letters of their shape:
/// `be1ow`.
fn is_misread(wrong: &str, right: &str) -> bool {
    let letter = |digit, letter| match digit {
        b'0' => letter == b'o',
        b'1' => matches!(letter, b'i' | b'l'),
        b'5' => letter == b's',
        digit => digit == letter,
    };
    wrong.len() == right.len()
        && wrong
            .bytes()
            .zip(right.bytes())
            .all(|(one, other)| letter(one, other))
}

/// Returns `true` if a token is written in several tokens in the other text.
pub(super) fn is_glued(whole: &Token, parts: &[Token]) -> bool {
    let mut rest = &*whole.text;
    for part in parts {
        match rest.strip_prefix(&*part.text) {
            Some(stripped) if may_be_part(part) => rest = stripped,
            _ => return false,
        }
    }
    rest.is_empty() && parts.len() > 1 && !parts.iter().all(|part| part.class == Class::Number)
}

/// Returns `true` for a token that may be a part of a word that is written in several tokens.
pub(super) fn may_be_part(part: &Token) -> bool {
    let is_long_word = || {
        let mut letters = part.text.chars();
        letters.nth(MIN_PART_LETTERS - 1).is_some() && !part.is_cjk()
    };
    part.class == Class::Number || !part.is_light() && !part.is_turn() && is_long_word()
}

/// Returns `false` only for letters of which no token [`may_be_part`]. A part of fewer letters is a
/// number, which has a digit or other characters.
pub(super) fn may_be_letters_of_part(letters: &str) -> bool {
    letters.len() >= MIN_PART_LETTERS || letters.bytes().any(|byte| !byte.is_ascii_lowercase())
}
