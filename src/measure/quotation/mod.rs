//! [`QuotableText`]: the phrases of a text, and the texts that quote it.

mod winnow;

use std::ops::Range;
use std::sync::OnceLock;

use crate::forest::ForestKeys;
use crate::measure::containment::{Alignment, Containment, MAX_MISSING, Prepared, Root, Weights};
use crate::measure::decision::DecidingText;
use crate::measure::phrases;
pub(crate) use winnow::winnow;

/// The least share of the phrases of a text that are in a text which quotes it. Three words in a row are
/// seldom in two texts by chance. An edited word changes three phrases.
const MIN_SHARE: f64 = 0.65;

/// The fewest distinct phrases of a text that can be quoted.
const MIN_PHRASES: usize = 6;

/// The least weight of the distinct words of a text that can be quoted, in nats: some four words that are
/// neither stop words nor numbers. Much longer texts contain texts of less weight by chance, such as "Read
/// more" or "See the documentation for details".
const MIN_INFORMATION: f64 = 25.0;

/// The largest share of the weight of the distinct words that are not in the longer text in any form. This
/// bound refuses most texts of a template that name something else, before their words are aligned.
const MAX_REWORDED: f64 = 0.05;

/// The largest weight of the words that a quotation may lose, in nats: the weight of a filler. A verdict
/// allows more: the words "library files" in the description of a theme weigh 2 nats.
const MAX_LOST: f64 = 1.0;

/// The most words with a weight in a qualifier. A qualifier is inserted into a quotation by the longer text,
/// and names another thing: "Debian Science [Nanoscale] Physics packages". A longer insertion is a sentence
/// that an abridged text leaves out.
const MAX_QUALIFIER_WORDS: usize = 3;

/// The most words in a qualifier, including the words without weight. A Chinese sentence has few characters
/// with a weight.
const MAX_INSERTED_WORDS: usize = 6;

/// The least number of words of a text for each qualifier that the longer text may insert.
const WORDS_PER_QUALIFIER: usize = 40;

/// A text that other texts may quote.
pub(crate) struct QuotableText<'t> {
    text: &'t DecidingText,
    /// The hashes of the phrases, in text order.
    phrases: Vec<u64>,
    /// The distinct phrases, ascending.
    distinct: Vec<u64>,
    /// Made for the first candidate: most texts have none.
    roots: OnceLock<Roots>,
}

/// The roots of the words of a text.
struct Roots {
    /// The roots of the distinct words, the heaviest first.
    roots: Vec<Root>,
    /// The sum of the weights, in nats.
    information: f64,
}

impl<'t> QuotableText<'t> {
    pub(crate) fn new(text: &'t DecidingText) -> Self {
        let phrases = phrases(&sentences_of(text.text()));
        let mut distinct = phrases.clone();
        distinct.sort_unstable();
        distinct.dedup();
        Self {
            text,
            phrases,
            distinct,
            roots: OnceLock::new(),
        }
    }

    /// The number of words, each CJK character counted as a word.
    pub(crate) fn words(&self) -> usize {
        words(&self.phrases)
    }

    /// The phrases that are looked up; none if the text has too few phrases to be quoted.
    pub(crate) fn winnowed(&self) -> Vec<u32> {
        match self.distinct.len() < MIN_PHRASES {
            true => Vec::new(),
            false => winnow(&self.phrases),
        }
    }

    /// The containment of this text, A, in a longer text, B; `None` unless B quotes A. B quotes A if
    /// - A has enough phrases and words of weight to be quoted;
    /// - B has at most `max_ratio` times the words of A;
    /// - B has 65 % of the phrases of A;
    /// - the words of A that are not in B in any form have at most 5 % of the weight of A, or weigh less than
    ///   one ordinary word;
    /// - the words of A that B does not say in the alignment of both texts weigh no more than a filler;
    /// - B inserts at most one qualifier for each 40 words of A; whole sentences are no qualifiers.
    pub(crate) fn quoted_in(&self, longer: &str, max_ratio: f64) -> Option<Containment> {
        if self.distinct.len() < MIN_PHRASES {
            return None;
        }
        let normaliser = ForestKeys::shared().normaliser();
        let a = self.text.words(normaliser);
        let roots = self.roots.get_or_init(|| Roots::of(a));
        let sentences = sentences_of(longer);
        if roots.information < MIN_INFORMATION || !roots.are_in(&sentences) {
            return None;
        }
        let phrases = phrases(&sentences);
        let is_too_long = words(&phrases) as f64 > self.words() as f64 * max_ratio;
        if is_too_long || self.share_in(&phrases) < MIN_SHARE {
            return None;
        }
        let prepared = Prepared::new(normaliser, longer);
        let found = Alignment::between(Weights::builtin(), a, &prepared);
        let most_qualifiers = found.a.len() / WORDS_PER_QUALIFIER;
        let is_quoted = found.containment.verdict.is_a_in_b()
            && found.containment.weight_missing_in_b() <= MAX_LOST
            && (qualifiers(a, &found, &[]) <= most_qualifiers
                || qualifiers(a, &found, &sentence_starts(longer, found.b.len()))
                    <= most_qualifiers);
        is_quoted.then_some(found.containment)
    }

    /// The share of the distinct phrases that are in a list of phrases.
    fn share_in(&self, phrases: &[u64]) -> f64 {
        let mut is_in = vec![false; self.distinct.len()];
        for phrase in phrases {
            if let Ok(at) = self.distinct.binary_search(phrase) {
                is_in[at] = true;
            }
        }
        let count = is_in.iter().filter(|is_in| **is_in).count();
        count as f64 / self.distinct.len().max(1) as f64
    }
}

impl Roots {
    fn of(text: &Prepared<'_>) -> Self {
        let roots = text.roots(Weights::builtin());
        Self {
            information: roots.iter().map(|root| root.weight).sum(),
            roots,
        }
    }

    /// Returns `true` if nearly all words are in the normalised sentences of a text.
    fn are_in(&self, sentences: &str) -> bool {
        // A space before and after each word.
        let sentences = format!(" {sentences} ");
        let mut left = (self.information * MAX_REWORDED).max(MAX_MISSING);
        self.roots.iter().all(|root| {
            if !root.may_be_in(&sentences) {
                left -= root.weight;
            }
            left >= 0.0
        })
    }
}

/// The number of places where text B inserts a few words that say something between two words of A. Whole
/// sentences of B, which begin at `starts`, are left out by an abridged text, and are no qualifiers.
fn qualifiers(a: &Prepared<'_>, alignment: &Alignment, starts: &[usize]) -> usize {
    // Stop words are left out, because a stop word of A may be aligned with one of the inserted words.
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

/// The positions of the words at which the sentences and lines of a text begin; none if the words of the
/// sentences are not the `words` words of the text.
fn sentence_starts(text: &str, words: usize) -> Vec<usize> {
    let normaliser = ForestKeys::shared().normaliser();
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
            words_before += Prepared::new(normaliser, sentence).len();
        }
    }
    starts.push(words_before);
    match words_before == words {
        true => starts,
        false => Vec::new(),
    }
}

/// The normalised text.
pub(crate) fn sentences_of(text: &str) -> String {
    ForestKeys::shared().normaliser().sentences(text)
}

/// The number of words of a text with these phrases, each CJK character counted as a word.
pub(crate) fn words(phrases: &[u64]) -> usize {
    // A text of n words has n - 2 phrases.
    phrases.len() + 2
}
