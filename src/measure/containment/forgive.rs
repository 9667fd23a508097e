//! The differences of words that say the same: misspellings, glued words, acronyms.

use rapidfuzz::distance::osa;

use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::analysis::words::tokens::Token;
use crate::analysis::words::weights::Weights;
use crate::text::is_cjk;

/// Words of fewer letters are not misspelled: too many are words themselves.
const MIN_MISSPELLED_LETTERS: usize = 5;

/// Words of at least this number of letters may have two wrong letters.
const MIN_LETTERS_OF_TWO: usize = 9;

/// The lengths of acronyms, in letters. Shorter ones fit too many phrases.
const ACRONYM_LETTERS: std::ops::RangeInclusive<usize> = 3..=6;

/// The most tokens that an acronym spells, with a stop word between each two words.
pub(super) const MAX_SPELLED: usize = 2 * *ACRONYM_LETTERS.end() - 1;

/// At most three tokens are glued into one.
pub(super) const MAX_GLUED: usize = 3;

/// Returns `true` if one word is a misspelling of the other, or the agent of its action.
///
/// One of two words must be rare and the other one not: names and words that both occur in many
/// texts are different words. The first letters are equal, since prefixes change the meaning:
/// `import` and `export`, `moral` and `amoral`. Of two rare words one may have a doubled letter
/// more, or two letters swapped.
pub(super) fn is_misspelling(weights: &Weights, a: &Token<'_>, b: &Token<'_>) -> bool {
    let can_be =
        |token: &Token<'_>| token.class != Class::Number && !token.text.starts_with(is_cjk);
    let (one, other) = (&*a.text, &*b.text);
    if !can_be(a) || !can_be(b) || one.chars().next() != other.chars().next() || a.is_opposite(b) {
        return false;
    }
    let (shorter, longer) = (one.len().min(other.len()), one.len().max(other.len()));
    if longer > shorter + 8 {
        return false;
    }
    // The agent of an action: `convert` and `converter`.
    let is_agent = |longer: &str, shorter: &str| {
        longer.strip_suffix("er").or(longer.strip_suffix("or")) == Some(shorter)
    };
    if is_agent(one, &b.key) || is_agent(other, &a.key) {
        return true;
    }
    let letters = one.chars().count().min(other.chars().count());
    if letters < MIN_MISSPELLED_LETTERS {
        return false;
    }
    let most = 1 + usize::from(letters >= MIN_LETTERS_OF_TWO);
    let args = osa::Args::default().score_cutoff(most);
    let Some(distance) = osa::distance_with_args(one.chars(), other.chars(), &args) else {
        return false;
    };
    match (weights.is_rare(&a.key), weights.is_rare(&b.key)) {
        (true, true) => distance == 1 && is_slip(one, other),
        (false, false) => false,
        _ => true,
    }
}

/// Returns `true` if a letter is doubled or two letters are swapped, and no letter is another one.
fn is_slip(one: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<_> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let undoubled = |text: &str| {
        let mut letters: Vec<_> = text.chars().collect();
        letters.dedup();
        letters
    };
    sorted(one) == sorted(other) || undoubled(one) == undoubled(other)
}

/// Returns `true` if two tokens begin with the same byte. Most tokens do not, and are rejected by
/// it.
#[inline]
pub(super) fn has_first_letter_of(one: &Token<'_>, other: &Token<'_>) -> bool {
    one.text.as_bytes().first() == other.text.as_bytes().first()
}

/// The end of the run of tokens from `at` on that are written as one in `glued`.
#[inline]
pub(super) fn end_of_glued(
    lexicon: &Lexicon,
    glued: &Token<'_>,
    tokens: &[Token<'_>],
    at: usize,
) -> Option<usize> {
    if !has_first_letter_of(&tokens[at], glued) {
        return None;
    }
    let rest = glued.text.strip_prefix(&*tokens[at].text)?;
    // The glued word goes on with the next token. This rejects most pairs without a stem.
    let next = tokens.get(at + 1)?;
    if rest.chars().next() != next.text.chars().next() {
        return None;
    }
    let mut joined = tokens[at].text.to_string();
    for (end, token) in tokens.iter().enumerate().skip(at + 1).take(MAX_GLUED - 1) {
        joined.push_str(&token.text);
        if joined == glued.text || lexicon.stem(&joined) == glued.key {
            return Some(end + 1);
        }
        if joined.len() > glued.text.len() + 1 {
            break;
        }
    }
    None
}

/// Returns `true` if a token can be an acronym.
pub(super) fn can_be_acronym(token: &Token<'_>) -> bool {
    ACRONYM_LETTERS.contains(&token.text.len())
        && token.class == Class::Word
        && token.text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The positions of the words from `at` on whose first letters are the acronym. A stop word may
/// stand between two of them. The last word is no filler: "PNG decoder fully" is not PDF.
pub(super) fn spelled_out(acronym: &str, tokens: &[Token<'_>], at: usize) -> Option<Vec<usize>> {
    let mut letters = acronym.bytes();
    let mut wanted = letters.next();
    let mut found = Vec::new();
    for (place, token) in tokens.iter().enumerate().skip(at) {
        let Some(letter) = wanted else { break };
        let is_word = token.text.len() > 1 && token.text.is_ascii();
        let may_be_skipped =
            token.class == Class::Stop && found.last().is_some_and(|last| last + 1 == place);
        if is_word && token.text.as_bytes()[0] == letter {
            found.push(place);
            wanted = letters.next();
        } else if !may_be_skipped {
            return None;
        }
    }
    let is_filler = |at: &usize| tokens[*at].class == Class::Filler;
    (wanted.is_none() && !found.last().is_some_and(is_filler)).then_some(found)
}
