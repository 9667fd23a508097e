//! The words that containment treats in a particular way, from the table `words.txt`.

use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::FixedState;

use super::english::English;
use crate::text::table_lines;

const WORDS: &str = include_str!("words.txt");

const REGIONAL: &str = include_str!("taiwan.txt");

/// The part that a token plays in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Class {
    /// Grammar. May be absent, never exchanged.
    Light,
    /// Turns a sentence: negations, conditions, quantities, directions. Neither absent, nor added,
    /// nor exchanged.
    Turn,
    /// A token with a digit.
    Number,
    /// A symbol with a meaning. Treated as [`Class::Turn`].
    Symbol,
    /// Any other word or character.
    #[default]
    Word,
}

/// An entry of the table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LexiconEntry {
    /// `None` for a word that only has equal words.
    pub class: Option<Class>,
    /// `true` for a word that negates a sentence.
    pub negates: bool,
    /// `true` for a word of a sentence that takes back the sentence before or behind it.
    pub retracts: bool,
    /// The word that represents all equal words.
    pub canonical: Option<&'static str>,
    /// `true` for a word that has its equal words in the texts of all languages.
    pub is_everywhere: bool,
    /// `true` for a word that is written in short, also within names.
    pub is_short: bool,
    /// `true` for a word of English grammar, `false` for grammar of another language.
    pub tells_english: Option<bool>,
}

/// All entries of the table.
pub(crate) struct Lexicon {
    entries: HashMap<&'static str, LexiconEntry, FixedState>,
    /// Words of Taiwan, and the words of the mainland with their meaning.
    regional: HashMap<&'static str, Vec<&'static str>, FixedState>,
    /// The words of [`regional`](Self::regional) the other way round.
    by_mainland: HashMap<&'static str, Vec<&'static str>, FixedState>,
    /// The longest word of Han characters, in characters.
    longest_han: usize,
}

impl Lexicon {
    /// The table of this version of the crate.
    pub fn builtin() -> &'static Self {
        static LEXICON: OnceLock<Lexicon> = OnceLock::new();
        LEXICON.get_or_init(|| Self::parse(WORDS, REGIONAL))
    }

    fn parse(words: &'static str, regional: &'static str) -> Self {
        let mut entries: HashMap<&'static str, LexiconEntry, FixedState> = HashMap::default();
        for line in table_lines(words) {
            let Some((class, words)) = line.split_once(": ") else {
                continue;
            };
            let mut canonical = None;
            for word in words.split_whitespace() {
                let entry = entries.entry(word).or_default();
                match class {
                    // A word that is light in one language turns a sentence of another.
                    "light" if entry.class.is_none() => entry.class = Some(Class::Light),
                    "turn" | "not" | "foreign" => {
                        entry.class = Some(Class::Turn);
                        let is_foreign = || class == "foreign" && !English::builtin().has(word);
                        entry.negates |= class == "not" || is_foreign();
                    }
                    "status" => entry.negates = true,
                    "retracts" => (entry.negates, entry.retracts) = (true, true),
                    "equal" | "everywhere" | "short" => {
                        let first = *canonical.get_or_insert(entry.canonical.unwrap_or(word));
                        entry.canonical.get_or_insert(first);
                        entry.is_short |= class == "short";
                        entry.is_everywhere |= class != "equal";
                    }
                    "tells" => entry.tells_english = Some(true),
                    "others" => entry.tells_english = Some(false),
                    _ => {}
                }
            }
        }
        // The words of both regions are tokens.
        let mut pairs: HashMap<&'static str, Vec<&'static str>, FixedState> = HashMap::default();
        let mut by_mainland = pairs.clone();
        for line in table_lines(regional) {
            let mut words = line.split_whitespace();
            let mainland = words.next().unwrap_or_default();
            for taiwan in words {
                pairs.entry(taiwan).or_default().push(mainland);
                by_mainland.entry(mainland).or_default().push(taiwan);
                for word in [mainland, taiwan] {
                    entries.entry(word).or_default();
                }
            }
        }
        let han = entries.keys().filter(|word| !word.is_ascii());
        Self {
            longest_han: han.map(|word| word.chars().count()).max().unwrap_or(1),
            entries,
            regional: pairs,
            by_mainland,
        }
    }

    /// Returns `true` if a word of Taiwan, in simplified characters, has the meaning of a word of
    /// the mainland.
    pub fn is_regional(&self, taiwan: &str, mainland: &str) -> bool {
        let found = self.regional.get(taiwan);
        found.is_some_and(|words| words.contains(&mainland))
    }

    /// The words of the other region with the meaning of a word, which is of either region.
    pub fn other_regions(&self, word: &str) -> impl Iterator<Item = &'static str> {
        let found = [self.regional.get(word), self.by_mainland.get(word)];
        found.into_iter().flatten().flatten().copied()
    }

    /// The entry of exactly these characters.
    pub fn entry(&self, word: &str) -> Option<&LexiconEntry> {
        self.entries.get(word)
    }

    /// The class of a word; [`Class::Word`] without an entry that has one.
    pub fn class(&self, word: &str) -> Class {
        let entry = self.entry(word);
        entry.and_then(|entry| entry.class).unwrap_or(Class::Word)
    }

    /// The word that represents the words that equal a word.
    pub fn canonical(&self, word: &str) -> Option<&'static str> {
        self.entry(word)?.canonical
    }

    /// Returns `true` for a word that negates a sentence.
    pub fn negates(&self, word: &str) -> bool {
        self.entry(word).is_some_and(|entry| entry.negates)
    }

    /// Returns `true` for a word that takes back a sentence beside its own.
    pub fn retracts(&self, word: &str) -> bool {
        self.entry(word).is_some_and(|entry| entry.retracts)
    }

    /// Returns `true` for two words of one line of equal words.
    pub fn are_equal(&self, words: [&str; 2]) -> bool {
        let canonical = words.map(|word| self.canonical(word));
        matches!(canonical, [Some(one), Some(other)] if one == other)
    }

    /// Returns `true` for two words of which one is the other one in short.
    pub fn are_short(&self, words: [&str; 2]) -> bool {
        let is_short = |word| self.entry(word).is_some_and(|entry| entry.is_short);
        self.are_equal(words) && words.into_iter().all(is_short)
    }

    pub fn longest_han(&self) -> usize {
        self.longest_han
    }
}
