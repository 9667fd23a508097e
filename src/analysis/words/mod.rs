//! [`Words`]: a text cut into words.
//!
//! | file | responsibility |
//! |---|---|
//! | `mojibake` | repairs UTF-8 that was read as Windows-1252 |
//! | `entities` | replaces the entities of HTML and the escapes of JSON: `variants` |
//! | `scanner` | cuts a text into words, numbers and symbols: `number`, `pieces`, `marks`, `symbols`, `operators`, `markup` |
//! | `readings` | finds Pinyin, Jyutping and Bopomofo in brackets behind Chinese characters |
//! | `code` | recognises lines of code, in which every mark counts |
//! | `stamps` | finds passages without information: stamps, credits, marks of truncation |
//! | `token` | a word, a number or a symbol, and which of them are equal |
//! | `tokens` | gives each piece its class and its key: `cjk`, `misread`, `contractions`, `names`, `english`, `folding`, `units` |
//! | `forms` | puts other tokens in the place of some: the forms of `dates`, `amounts` and `values` |
//! | `amounts` | finds amounts of several tokens or in another order: HK$5, 人民币5元, 5 km per hour |
//! | `values` | gives the forms of a price, a number, a unit and an ordinal the same tokens |
//! | `headings` | finds lines before lines of another form |
//! | `repeats` | drops a second "the", and marks what adds nothing: a repeated headline, numbers and signs of items |
//! | `lexicon` | the words that a comparison treats in a particular way |
//! | `weights` | the information of a word |
//! | `vocabulary` | the words of many texts, each word once: `spellings` |
//! | `key_filter` | the keys of the words of a text in few bits |

mod amounts;
mod cjk;
mod code;
mod contractions;
mod dates;
pub(crate) mod english;
mod entities;
mod folding;
mod forms;
mod headings;
mod identifiers;
mod key_filter;
pub(crate) mod lexicon;
mod marks;
mod markup;
mod misread;
mod mojibake;
mod names;
mod number;
mod operators;
mod pieces;
mod ranges;
pub(crate) mod readings;
mod repeats;
pub(crate) mod scanner;
pub(crate) mod spellings;
pub(crate) mod stamps;
mod symbols;
pub(crate) mod token;
mod tokens;
mod units;
pub(crate) mod values;
mod variants;
pub(crate) mod vocabulary;
pub(crate) mod weights;

use std::cmp::Ordering;
use std::collections::HashSet;
use std::iter;
use std::ops::Range;

use foldhash::fast::FixedState;

use crate::text::Normaliser;
use entities::Decoded;
use headings::mark_headings;
pub(crate) use key_filter::KeyFilter;
use lexicon::Class;
use names::mark_names;
use repeats::{drop_doubled, mark_bullets, mark_headline, mark_numbers_of_items};
use scanner::{Break, lexemes};
use stamps::Stamps;
use token::Token;
use tokens::tokens;
pub(crate) use vocabulary::Vocabulary;
use weights::Weights;

/// The letters at each end of a word by which a misspelling is recognised.
const END_LETTERS: usize = 3;

/// The tokens of a text. Most of the time of a comparison is spent on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    pub(crate) tokens: Vec<Token>,
    /// The bytes of each token in the text; empty for a text that a vocabulary stores.
    pub(crate) ranges: Vec<Range<usize>>,
}

impl Words {
    pub(crate) fn new(normaliser: &Normaliser, text: &str) -> Words {
        if let Some(utf8) = mojibake::undone(text) {
            return Self::new(normaliser, &utf8.text).at_places(&utf8);
        }
        let decoded = Decoded::new(text);
        let words = Self::of_decoded(normaliser, &decoded.text);
        if !decoded.is_changed() {
            return words;
        }
        let mut words = words.at_places(&decoded);
        // A text that writes ligatures writes accents.
        if text.contains(['œ', 'æ', 'Œ', 'Æ']) {
            (words.tokens.iter_mut()).for_each(|token| token.has_accents = true);
        }
        words
    }

    /// The words of a text, at their places before characters were replaced.
    fn at_places(mut self, decoded: &Decoded<'_>) -> Words {
        for range in &mut self.ranges {
            *range = decoded.place(range.start)..decoded.place(range.end);
        }
        self
    }

    fn of_decoded(normaliser: &Normaliser, text: &str) -> Words {
        let stamps = Stamps::of(text);
        let mut tokens = tokens(lexemes(normaliser, text, &stamps.left_out()), text);
        drop_doubled(&mut tokens, text);
        // Values have a number, and few short texts have one.
        if tokens.iter().any(|(token, _)| values::is_number(token)) {
            let is_cjk = dates::are_cjk(&tokens);
            forms::replace(&mut tokens, |tokens, at| {
                let date = dates::form(tokens, at, text, is_cjk);
                date.or_else(|| values::joined_number(tokens, at, text))
                    .or_else(|| values::number_with_figures(tokens, at, text))
                    .or_else(|| amounts::form(tokens, at))
            });
            values::unify(&mut tokens, text);
        }
        let (mut tokens, mut ranges): (Vec<_>, Vec<_>) = tokens.into_iter().unzip();
        mark_names(&mut tokens, text);
        let mut was_in_frame = false;
        for (token, range) in tokens.iter_mut().zip(&ranges) {
            // The later tokens of a date have the end of its bytes.
            let place = range.start - usize::from(range.is_empty() && range.start > 0);
            let is_in_frame = stamps.is_in_frame(place);
            if is_in_frame {
                token.is_in_frame = true;
                token.is_name = false;
            }
            // A hashtag behind a sentence is no part of the sentence.
            if is_in_frame && !was_in_frame {
                token.before = token.before.max(Break::Line);
            }
            was_in_frame = is_in_frame;
        }
        mark_headline(&mut tokens);
        mark_headings(&mut tokens, &ranges, text);
        mark_bullets(&mut tokens, &ranges, text);
        mark_numbers_of_items(&mut tokens, &ranges, text);
        if let Some(last) = tokens.last_mut().filter(|_| stamps.is_truncated) {
            last.is_cut = true;
        }
        let trimmed = text.trim();
        if tokens.is_empty() && !trimmed.is_empty() {
            // A text of punctuation alone is covered by its copies.
            let from = text.len() - text.trim_start().len();
            return Words {
                tokens: vec![Token::whole(trimmed)],
                ranges: iter::once(from..from + trimmed.len()).collect(),
            };
        }
        for (passage, stamp) in stamps.passages {
            // The later tokens of a date have the end of its bytes.
            let at = ranges.partition_point(|range| range.end <= passage.start);
            let sentences = normaliser.sentences(&text[passage.clone()]);
            tokens.insert(at, Token::passage(sentences.trim(), stamp));
            ranges.insert(at, passage);
        }
        Words { tokens, ranges }
    }

    /// The order of two texts by their tokens.
    pub(crate) fn cmp_words(&self, other: &Words) -> Ordering {
        fn words(text: &Words) -> impl Iterator<Item = (&str, bool, u8)> {
            let tokens = text.tokens.iter();
            tokens.map(|token| (&*token.text, token.is_name, token.before as u8))
        }
        words(self).cmp(words(other))
    }
}

/// The roots of the words of a text that have a weight.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    /// The roots of the distinct words, the heaviest first, without light words and words
    /// that turn a sentence.
    pub(crate) roots: Vec<Root>,
    /// The sum of the weights, in nats.
    pub(crate) information: f64,
}

impl Roots {
    pub(crate) fn new(words: &Words, weights: &Weights) -> Self {
        let has_root = |token: &&Token| token.class == Class::Word;
        let mut seen: HashSet<&str, FixedState> = HashSet::default();
        let mut roots: Vec<Root> = (words.tokens.iter())
            .filter(|token| has_root(token) && seen.insert(&token.key))
            .map(|token| Root::new(token, weights))
            .collect();
        roots.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        Self {
            information: roots.iter().map(|root| root.weight).sum(),
            roots,
        }
    }
}

/// The letters by which a word is recognised in another text, whatever its form.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    /// The beginning that all forms share.
    text: String,
    /// A space and the first letters, and the last letters and a space. A misspelled word keeps its
    /// first or its last letters. `None` for a word that is too short to be misspelled.
    ends: Option<[String; 2]>,
    /// The weight of the word, in nats.
    pub(crate) weight: f64,
}

impl Root {
    fn new(token: &Token, weights: &Weights) -> Self {
        let letters: Vec<char> = token.text.chars().collect();
        let shared = token.text.chars().zip(token.key.chars());
        let shared = shared.take_while(|(a, b)| a == b);
        let ends = || {
            let first: String = letters[..END_LETTERS].iter().collect();
            let last: String = letters[letters.len() - END_LETTERS..].iter().collect();
            [format!(" {first}"), format!("{last} ")]
        };
        Self {
            text: shared.map(|(letter, _)| letter).collect(),
            ends: (letters.len() > END_LETTERS + 1).then(ends),
            weight: weights.of_token(token),
        }
    }

    /// Returns `false` if a normalised text with a space before and after each word has neither the
    /// word nor another form or a misspelling of it.
    pub(crate) fn may_be_in(&self, sentences: &str) -> bool {
        let mut ends = self.ends.iter().flatten();
        sentences.contains(&self.text) || ends.any(|end| sentences.contains(end))
    }
}
