//! The names in a text, by their capital letters.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::lexicon::Class;
use super::token::Token;

/// Marks the tokens of a text that are names. A light word that is a name gets the class of a word:
/// both words of "The Band".
pub(super) fn mark_names(tokens: &mut [Token], text: &str) {
    let names = names(text);
    for token in tokens {
        token.is_name |= names.contains(&*token.text);
        if token.is_name && token.is_light() {
            token.class = Class::Word;
        }
    }
}

/// The words of a text that are names, in lower case.
///
/// `PayPal` is a name by a capital letter within. A word with a capital letter that does not begin
/// a sentence is a name, unless half of the words have capital letters, as in a title.
fn names(text: &str) -> HashSet<String, FixedState> {
    let mut names = HashSet::default();
    let mut capitalised = Vec::new();
    let (mut words, mut capitals, mut begins) = (0, 0, true);
    let is_part = |c: char| c.is_alphanumeric();
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        begins |= rest[..start].contains(['.', '!', '?', ':', ';', '(', '"', '-', '\n', '。']);
        rest = &rest[start..];
        let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        rest = &rest[word.len()..];
        // Scripts without case have no names here.
        if !word.contains(char::is_lowercase) && !word.contains(char::is_uppercase) {
            continue;
        }
        words += 1;
        let is_upper = word.starts_with(char::is_uppercase);
        capitals += usize::from(is_upper);
        let mut others = word.chars().skip(1);
        if others.any(char::is_uppercase) && word.contains(char::is_lowercase) {
            names.insert(word.to_lowercase());
        } else if is_upper && !begins {
            capitalised.push(word);
        }
        begins = false;
    }
    if capitals * 2 < words {
        names.extend(capitalised.into_iter().map(str::to_lowercase));
    }
    names
}
