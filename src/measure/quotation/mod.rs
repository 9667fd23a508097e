//! [`quoted_in`]: the test if a longer text quotes a text.

mod winnow;

use std::ops::Range;

use crate::analysis::Analysed;
use crate::analysis::words::{Roots, Words};
use crate::measure::containment::{Alignment, Containment, MAX_MISSING, Weights};
use crate::text::Normaliser;
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

/// The largest weight of the words that a quotation may lose, in nats: the weight of a filler. A
/// verdict allows more: the words "library files" in the description of a theme weigh 2 nats.
const MAX_LOST: f64 = 1.0;

/// The most words with a weight in a qualifier. A qualifier is inserted into a quotation by the
/// longer text, and names another thing: "Debian Science [Nanoscale] Physics packages". A longer
/// insertion is a sentence that an abridged text leaves out.
const MAX_QUALIFIER_WORDS: usize = 3;

/// The most words in a qualifier, including the words without weight. A Chinese sentence has few
/// characters with a weight.
const MAX_INSERTED_WORDS: usize = 6;

/// The least number of words of a text for each qualifier that the longer text may insert.
const WORDS_PER_QUALIFIER: usize = 40;

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
///   less than one ordinary word;
/// - the words of A that B does not cover in the alignment of both texts weigh no more than a
///   filler;
/// - B inserts at most one qualifier for each 40 words of A; whole sentences are no qualifiers.
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
    let found = Alignment::between(Weights::builtin(), a.words(), b.words());
    let most_qualifiers = found.a.len() / WORDS_PER_QUALIFIER;
    let has_few = |starts: &[usize]| qualifiers(a.words(), &found, starts) <= most_qualifiers;
    let is_quoted = found.containment.verdict.is_a_in_b()
        && found.containment.weight_missing_in_b() <= MAX_LOST
        && (has_few(&[]) || has_few(&sentence_starts(b.text(), found.b.len())));
    is_quoted.then_some(found.containment)
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
    let mut left = (roots.information * MAX_REWORDED).max(MAX_MISSING);
    roots.roots.iter().all(|root| {
        if !root.may_be_in(&sentences) {
            left -= root.weight;
        }
        left >= 0.0
    })
}

/// The number of times that text B inserts a few words with a weight between two words of A. Whole
/// sentences of B, which begin at `starts`, are left out by an abridged text, and are no
/// qualifiers.
fn qualifiers(a: &Words<'_>, alignment: &Alignment, starts: &[usize]) -> usize {
    // Stop words are left out, because a stop word of A may be aligned with one of the inserted
    // words.
    let places: Vec<usize> = (alignment.a.iter().enumerate())
        .filter(|(at, _)| a.is_content(*at))
        .filter_map(|(_, word)| word.counterpart)
        .collect();
    let has_start = |places: Range<usize>| {
        let first = starts.partition_point(|start| *start < places.start);
        starts
            .get(first)
            .is_some_and(|start| places.contains(start))
    };
    let inserts = |pair: &&[usize]| {
        let between = pair[0] + 1..pair[1].max(pair[0] + 1);
        let has_weight = |at: &usize| alignment.b.get(*at).is_some_and(|word| word.weight > 0.0);
        let inserted: Vec<usize> = between.clone().filter(has_weight).collect();
        let weight: f64 = inserted.iter().map(|at| alignment.b[*at].weight).sum();
        let is_short = between.len() <= MAX_INSERTED_WORDS && inserted.len() <= MAX_QUALIFIER_WORDS;
        let (Some(first), Some(last)) = (inserted.first(), inserted.last()) else {
            return false;
        };
        let is_sentence =
            has_start(between.start..first + 1) && has_start(last + 1..between.end + 1);
        is_short && weight > MAX_MISSING && !is_sentence
    };
    places.windows(2).filter(inserts).count()
}

/// The positions of the words at which the sentences and lines of a text begin; none if the words
/// of the sentences are not the `words` words of the text.
fn sentence_starts(text: &str, words: usize) -> Vec<usize> {
    let normaliser = Normaliser::shared();
    let (mut starts, mut words_before) = (Vec::new(), 0);
    let (mut rest, mut ends) = (text, text.char_indices().peekable());
    while let Some((_, c)) = ends.next() {
        let next = ends.peek().map_or((text.len(), ' '), |next| *next);
        let is_end = matches!(c, '\n' | '!' | '?' | '。' | '！' | '？')
            || c == '.' && next.1.is_whitespace()
            || next.0 == text.len();
        if is_end {
            let sentence = &rest[..rest.len() - (text.len() - next.0)];
            rest = &text[next.0..];
            starts.push(words_before);
            words_before += Words::new(normaliser, sentence).len();
        }
    }
    starts.push(words_before);
    match words_before == words {
        true => starts,
        false => Vec::new(),
    }
}

/// The number of words of a text with these phrases, each CJK character counted as a word.
pub(crate) fn words(phrases: &[u64]) -> usize {
    // A text of n words has n - 2 phrases.
    phrases.len() + 2
}
