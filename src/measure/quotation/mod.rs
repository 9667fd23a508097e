//! [`quoted_in`]: the test if a longer text quotes a text.

mod winnow;

use crate::analysis::Analysed;
use crate::analysis::words::Roots;
use crate::measure::containment::{Containment, Weights};
pub(crate) use winnow::winnow;

/// The least share of the phrases of a text that are in a text which quotes it. Three words in a
/// row are seldom in two texts by chance. An edited word changes three phrases.
const MIN_SHARE: f64 = 0.65;

/// The fewest distinct phrases of a text that can be quoted.
const MIN_PHRASES: usize = 6;

/// The least weight of the distinct words of a text that can be quoted, in nats: some four words
/// that are neither stop words nor numbers. Much longer texts contain texts of less weight by
/// chance, such as "Read more" or "See the documentation for details".
const MIN_INFORMATION: f64 = 25.0;

/// The largest share of the weight of the distinct words that are not in the longer text in any
/// form. This bound refuses most texts of a template that name something else, before their words
/// are aligned.
const MAX_REWORDED: f64 = 0.05;

/// Words of a quoted text that have at most this weight, in nats, may be written in another way.
const MIN_LOST: f64 = 3.0;

/// The phrases of a text that are looked up; none if the text has too few phrases to be quoted.
pub(crate) fn winnowed(text: &Analysed) -> Vec<u32> {
    match text.distinct_phrases().len() < MIN_PHRASES {
        true => Vec::new(),
        false => winnow(text.phrases()),
    }
}

/// The containment of a text, A, in a longer text, B; `None` unless B quotes A. B quotes A if
/// - A has enough phrases and words of weight to be quoted;
/// - B has at most `max_ratio` times the words of A;
/// - B has 65 % of the phrases of A;
/// - the words of A that are not in B in any form have at most 5 % of the weight of A, or weigh
///   at most 3 nats;
/// - B covers A.
pub(crate) fn quoted_in(a: &Analysed, b: &Analysed, max_ratio: f64) -> Option<Containment> {
    if a.distinct_phrases().len() < MIN_PHRASES {
        return None;
    }
    let roots = a.roots();
    if roots.information < MIN_INFORMATION || !are_in(roots, b.sentences()) {
        return None;
    }
    let is_too_long = words(b.phrases()) as f64 > words(a.phrases()) as f64 * max_ratio;
    if is_too_long || share_in(a.distinct_phrases(), b.phrases()) < MIN_SHARE {
        return None;
    }
    let found = Containment::between(Weights::builtin(), a.words(), b.words());
    found.verdict.is_a_in_b().then_some(found)
}

/// The share of distinct phrases, ascending, that are in a list of phrases.
fn share_in(distinct: &[u64], phrases: &[u64]) -> f64 {
    let mut is_in = vec![false; distinct.len()];
    for phrase in phrases {
        if let Ok(at) = distinct.binary_search(phrase) {
            is_in[at] = true;
        }
    }
    let count = is_in.iter().filter(|is_in| **is_in).count();
    count as f64 / distinct.len().max(1) as f64
}

/// Returns `true` if nearly all words with these roots are in the normalised sentences of a text.
fn are_in(roots: &Roots, sentences: &str) -> bool {
    // A space before and after each word.
    let sentences = format!(" {sentences} ");
    let mut left = (roots.information * MAX_REWORDED).max(MIN_LOST);
    roots.roots.iter().all(|root| {
        if !root.may_be_in(&sentences) {
            left -= root.weight;
        }
        left >= 0.0
    })
}

/// The number of words of a text with these phrases, each CJK character counted as a word.
pub(crate) fn words(phrases: &[u64]) -> usize {
    // A text of n words has n - 2 phrases.
    phrases.len() + 2
}
