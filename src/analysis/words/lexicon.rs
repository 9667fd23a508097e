//! The words that containment treats in a particular way, from the table `words.txt`.

use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::FixedState;
use rust_stemmers::{Algorithm, Stemmer};

use crate::text::table_lines;

const WORDS: &str = include_str!("words.txt");

/// Shorter words have no endings: `bus`, `as`.
const MIN_STEMMED_BYTES: usize = 4;

/// The part that a word plays in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Grammar, without a weight.
    Stop,
    /// Praise and padding.
    Filler,
    /// The name of a piece of software. Words of one number are one kind.
    Kind(u16),
    /// A token with a digit.
    Number,
    /// A negation.
    Not,
    /// A word that is never without weight: numerals, months, `only`, `under`.
    Strong,
    /// Any other word or character.
    Word,
}

/// An entry of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub class: Class,
    /// The word that represents all equal words.
    pub canonical: &'static str,
    pub has_equals: bool,
    /// The opposites of the word: its lines of the table, a bit for each. Words left of the bar
    /// have their bits in the first number, words right of the bar in the second number.
    pub sides: [u128; 2],
    /// `true` if the next word has a role: `to`, `from`.
    pub is_toward: bool,
}

/// All entries of the table.
pub(crate) struct Lexicon {
    entries: HashMap<String, Entry, FixedState>,
    /// The stems of words that have equal words.
    stems: HashMap<String, Entry, FixedState>,
    stemmer: Stemmer,
    /// The longest word of Han characters, in characters.
    longest_han: usize,
}

impl Entry {
    /// Returns `true` if two words are opposites.
    pub fn is_opposite(&self, other: &Self) -> bool {
        self.sides[0] & other.sides[1] != 0 || self.sides[1] & other.sides[0] != 0
    }
}

impl Lexicon {
    /// The table of this version of the crate.
    pub fn builtin() -> &'static Self {
        static LEXICON: OnceLock<Lexicon> = OnceLock::new();
        LEXICON.get_or_init(|| Self::parse(WORDS))
    }

    fn parse(table: &'static str) -> Self {
        let mut entries: HashMap<String, Entry, FixedState> = HashMap::default();
        let stemmer = Stemmer::create(Algorithm::English);
        let (mut kinds, mut opposites) = (0, 0_u32);
        for line in table_lines(table) {
            let Some((class, words)) = line.split_once(": ") else {
                continue;
            };
            kinds += u16::from(class == "kind");
            let mut side = 0;
            let mut canonical = None;
            for word in words.split_whitespace() {
                if word == "|" {
                    side = 1;
                    continue;
                }
                let entry = entries.entry(word.to_owned()).or_insert(Entry {
                    class: Class::Word,
                    canonical: word,
                    has_equals: false,
                    sides: [0; 2],
                    is_toward: false,
                });
                match class {
                    "stop" => entry.class = Class::Stop,
                    "filler" => entry.class = Class::Filler,
                    "kind" => entry.class = Class::Kind(kinds),
                    "strong" => entry.class = Class::Strong,
                    "not" => entry.class = Class::Not,
                    "toward" => entry.is_toward = true,
                    "opposite" => entry.sides[side] |= 1 << opposites,
                    "equal" => {
                        entry.canonical = canonical.get_or_insert(word);
                        entry.has_equals = true;
                    }
                    _ => {}
                }
            }
            opposites += u32::from(class == "opposite");
        }
        // Only words with equal words are found by other forms. Of fillers, "powered" would hide
        // "power", and "ease" the name "EAS".
        let mut stems = HashMap::default();
        let mut listed: Vec<_> = entries
            .iter()
            .filter(|(_, entry)| entry.has_equals)
            .collect();
        // Two words may share a stem. Sorted, so that the order of the map does not decide.
        listed.sort_by_key(|(word, _)| *word);
        for (word, entry) in listed {
            let stem = stem_with(&stemmer, word).into_owned();
            stems.entry(stem).or_insert(*entry);
        }
        let han = entries.keys().filter(|word| !word.is_ascii());
        Self {
            longest_han: han.map(|word| word.chars().count()).max().unwrap_or(1),
            entries,
            stems,
            stemmer,
        }
    }

    /// The entry of another form of a word with equal words.
    pub fn entry_of_stem(&self, stem: &str) -> Option<&Entry> {
        self.stems.get(stem)
    }

    /// The entry of exactly these characters.
    pub fn entry(&self, word: &str) -> Option<&Entry> {
        self.entries.get(word)
    }

    /// The stem of an English word; other words as they are.
    pub fn stem<'w>(&self, word: &'w str) -> std::borrow::Cow<'w, str> {
        stem_with(&self.stemmer, word)
    }

    pub fn longest_han(&self) -> usize {
        self.longest_han
    }
}

fn stem_with<'w>(stemmer: &Stemmer, word: &'w str) -> std::borrow::Cow<'w, str> {
    let is_english =
        word.len() >= MIN_STEMMED_BYTES && word.bytes().all(|b| b.is_ascii_lowercase());
    if is_english {
        stemmer.stem(word)
    } else {
        word.into()
    }
}
