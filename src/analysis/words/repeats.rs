//! Tokens that tell nothing more: sentences that a text repeats, and the numbers of its items. They
//! may be absent, and are not exchanged.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;

use foldhash::fast::FixedState;

use super::lexicon::Class;
use super::scanner::Break;
use super::tokens::Token;

/// A shorter sentence, such as an answer or a row of numbers, has its meaning by its place.
const MIN_REPEATED_TOKENS: usize = 4;

/// The fewest items of a list with numbers.
const MIN_ITEMS: usize = 2;

/// Marks the repetitions of sentences and lines of a text.
pub(super) fn mark_repeated(tokens: &mut [Token]) {
    let starts = (1..tokens.len()).filter(|at| tokens[*at].before.ends_unit());
    let mut starts = starts.peekable();
    if starts.peek().is_none() {
        return;
    }
    let ends: Vec<usize> = starts.chain([tokens.len()]).collect();
    let hasher = FixedState::default();
    let mut seen: HashMap<u64, Range<usize>, FixedState> = HashMap::default();
    let mut repeated: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for end in ends {
        let (sentence, range) = (&tokens[start..end], start..end);
        let is_prose = sentence.iter().all(|token| token.class != Class::Symbol);
        start = end;
        if sentence.len() < MIN_REPEATED_TOKENS || !is_prose {
            continue;
        }
        let mut hash = hasher.build_hasher();
        sentence.iter().for_each(|token| token.text.hash(&mut hash));
        match seen.entry(hash.finish()) {
            Entry::Vacant(vacant) => drop(vacant.insert(range)),
            Entry::Occupied(first) => {
                let first = &tokens[first.get().clone()];
                let mut pairs = first.iter().zip(sentence);
                if first.len() == sentence.len() && pairs.all(|(a, b)| a.text == b.text) {
                    repeated.push(range);
                }
            }
        }
    }
    for sentence in repeated {
        for token in &mut tokens[sentence] {
            token.is_in_frame = true;
            token.is_name = false;
        }
    }
}

/// Marks the numbers of the items of a list, each at the start of a line: "1. Open the door."
pub(super) fn mark_numbers_of_items(tokens: &mut [Token], ranges: &[Range<usize>], text: &str) {
    let is_number = |at: &usize| {
        let next = tokens.get(at + 1);
        tokens[*at].before.ends_unit()
            && next.is_some_and(|next| next.before == Break::Clause)
            && begins_line(text, ranges[*at].start)
    };
    let items: Vec<usize> = (0..tokens.len()).filter(is_number).collect();
    let numbers = (1_usize..).zip(&items);
    let are_in_order = |(number, at): (usize, &usize)| tokens[*at].key.parse() == Ok(number);
    if items.len() >= MIN_ITEMS && numbers.into_iter().all(are_in_order) {
        for at in items {
            tokens[at].class = Class::Light;
        }
    }
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '\t', '(', '（', '*', '-', '#']);
    before.is_empty() || before.ends_with('\n')
}
