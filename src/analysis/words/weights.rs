//! The weights of words: the information of a word in nats, from document frequencies.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

use foldhash::fast::FixedState;
use xxhash_rust::xxh3::Xxh3;

use super::Words;
use super::lexicon::Class;
use super::token::Token;
use crate::text::{Normaliser, is_cjk};

const BUILTIN: &[u8] = include_bytes!("weights.bin");

/// The first bytes of a table. The digit is the version of the format.
const MAGIC: &[u8] = b"simdb weights 1\n";

/// Weights are stored in steps of 0.05 nats, in a byte.
const STEPS_PER_NAT: f64 = 20.0;

/// At most 16 MiB of words per table: a damaged or hostile table cannot ask for more memory.
const MAX_TABLE_BYTES: usize = 1 << 24;

/// At most a million distinct words are counted. Words with one text are forgotten then, and count
/// as unknown.
const MAX_COUNTED_WORDS: usize = 1 << 20;

/// Longer words are not learned, and count as unknown. The table stores a length in a byte.
const MAX_WORD_BYTES: usize = 64;

/// Words in at most one of 20,000 texts are rare: a rare word that is one letter away from a word
/// that is not rare is a misspelling.
const RARE: f64 = 9.9;

/// A word in fewer texts than one of 150,000 weighs no more, 11.9 nats.
const HEAVIEST: f64 = 11.9;

/// The weights of words, in nats: the negative logarithm of the share of texts with the word.
///
/// CJK characters are counted among texts with CJK characters, other words among texts with other
/// words. A word that is not in the table has the weight [`Weights::unknown`].
///
/// [`Weights::builtin`] has the frequencies of 340,000 English and Chinese descriptions of software
/// and of short texts. Words have other frequencies elsewhere: [`Weights::from_texts`] counts the
/// words of a collection. The words of a template that a collection repeats then weigh little.
///
/// # Examples
///
/// ```
/// use simdb::Normaliser;
/// use simdb::containment::Weights;
///
/// let weights = Weights::builtin();
/// assert!(weights.of("library") < weights.of("ferry"));
/// assert_eq!(weights.of("qwrtz"), weights.unknown());
///
/// let feed = (0..5000).map(|number| format!("the ferry to port {number}"));
/// let learned = Weights::from_texts(&Normaliser::new(), feed, 1);
/// assert!(learned.of("ferry") < weights.of("ferry"));
/// assert_ne!(learned.checksum(), weights.checksum());
/// assert_eq!(Weights::from_bytes(&learned.to_bytes()), Some(learned));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// The weight of each key, in steps.
    steps: HashMap<Box<str>, u8, FixedState>,
    /// The weight of a key that is not in the table, in steps.
    unknown: u8,
    /// `true` if passages before and after the body of a text weigh nothing.
    pub(crate) are_ends_free: bool,
}

impl Weights {
    /// The weights that this version of the crate was built with.
    ///
    /// # Cost
    /// The first call unpacks the table, in some milliseconds.
    pub fn builtin() -> &'static Self {
        static WEIGHTS: OnceLock<Weights> = OnceLock::new();
        WEIGHTS.get_or_init(|| Self::from_bytes(BUILTIN).unwrap_or_else(Self::empty))
    }

    /// The built-in weights, by which passages before and after the body of a text weigh nothing.
    ///
    /// Copies of a report have another headline, a lead-in, a line of the editor, an advertisement.
    /// A passage is a sentence or a line at the head or the tail that the other text does not have.
    /// - A sentence of at most twelve words, without a number, a name or a negation, may be
    ///   absent: three at each end.
    /// - If the body has at least 32 content words, a headline on a line of its own may be
    ///   replaced, and passages may have facts: 16 content words in all, or a twelfth of the body.
    ///
    /// The fact that such a passage adds to an equal body is lost.
    pub fn news() -> &'static Self {
        static WEIGHTS: OnceLock<Weights> = OnceLock::new();
        WEIGHTS.get_or_init(|| Self {
            are_ends_free: true,
            ..Self::builtin().clone()
        })
    }

    /// A table without words: each word is unknown.
    pub fn empty() -> Self {
        Self {
            steps: HashMap::default(),
            unknown: to_steps(HEAVIEST),
            are_ends_free: false,
        }
    }

    /// Learns the weights from a collection of texts, each taken once, without words that are in
    /// fewer than `min_texts` texts: the way the built-in table was made. The frequencies of fewer
    /// than some thousand texts are a poor estimate.
    ///
    /// # Cost
    /// Cuts each text into words, as a comparison does: some 30 MB of text a second. Memory: some
    /// 60 bytes for each distinct word, a million words at most.
    pub fn from_texts<T: AsRef<str>>(
        normaliser: &Normaliser,
        texts: impl IntoIterator<Item = T>,
        min_texts: u32,
    ) -> Self {
        let mut counts: HashMap<Box<str>, u32, FixedState> = HashMap::default();
        // Texts with CJK characters, and texts with other words.
        let mut totals = [0_u32; 2];
        for text in texts {
            let tokens = Words::new(normaliser, text.as_ref()).tokens;
            let keys: HashSet<&str, FixedState> =
                tokens.iter().map(|token| token.key.as_ref()).collect();
            for script in [true, false] {
                let has = tokens.iter().any(|token| is_in_cjk(&token.text) == script);
                totals[usize::from(script)] += u32::from(has);
            }
            for key in keys.into_iter().filter(|key| key.len() <= MAX_WORD_BYTES) {
                match counts.get_mut(key) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(key.into(), 1)),
                }
            }
            if counts.len() > MAX_COUNTED_WORDS {
                counts.retain(|_, count| *count > 1);
            }
        }
        let counts = counts.into_iter().filter(|(_, count)| *count >= min_texts);
        let steps = counts.map(|(key, count)| {
            let total = f64::from(totals[usize::from(is_in_cjk(&key))]);
            let weight = libm::log((total + 1.0) / f64::from(count));
            (key, to_steps(weight))
        });
        Self {
            steps: steps.collect(),
            unknown: to_steps(HEAVIEST),
            are_ends_free: false,
        }
    }

    /// The weight of a word or of a CJK character, in nats.
    ///
    /// Other forms of an English word have the same weight. A word that containment treats in a
    /// particular way, such as a negation, may count more or less in a comparison.
    pub fn of(&self, word: &str) -> f64 {
        match Words::new(Normaliser::shared(), word).tokens.first() {
            Some(token) => self.of_key(&token.key),
            None => 0.0,
        }
    }

    /// The weight of words that are not in the table, in nats.
    pub fn unknown(&self) -> f64 {
        f64::from(self.unknown) / STEPS_PER_NAT
    }

    /// The number of words in the table.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns `true` if each word is unknown.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The weight of a token without regard to its class.
    pub(crate) fn of_token(&self, token: &Token) -> f64 {
        if token.class == Class::Word
            && is_in_cjk(&token.text)
            && !self.steps.contains_key(&*token.key)
        {
            // A listed word that the collection does not have: its characters.
            let mut bytes = [0; 4];
            let characters = token.text.chars();
            let weights = characters.map(|c| self.of_key(c.encode_utf8(&mut bytes)));
            return weights.sum::<f64>().min(self.unknown());
        }
        self.of_key(&token.key)
    }

    /// Returns `true` if a word is too rare to be told from a misspelling by its frequency.
    pub(crate) fn is_rare(&self, key: &str) -> bool {
        self.of_key(key) > RARE
    }

    fn of_key(&self, key: &str) -> f64 {
        f64::from(*self.steps.get(key).unwrap_or(&self.unknown)) / STEPS_PER_NAT
    }

    /// The table in a compact form, for [`Weights::from_bytes`]: some four bytes a word.
    pub fn to_bytes(&self) -> Vec<u8> {
        let words: BTreeMap<&str, u8> = self.steps.iter().map(|(k, w)| (&**k, *w)).collect();
        // Three columns, because each compresses better alone: bytes shared with the word before,
        // bytes that follow, weights.
        let (mut shared, mut rest, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let mut last: &[u8] = b"";
        for (word, weight) in words {
            let word = word.as_bytes();
            let common = last.iter().zip(word).take_while(|(a, b)| a == b).count();
            shared.push(common as u8);
            rest.extend_from_slice(&word[common..]);
            // No word has a zero byte: it would be a separator.
            rest.push(0);
            weights.push(weight);
            last = word;
        }
        let mut bytes = MAGIC.to_vec();
        bytes.push(self.unknown);
        let mut table = (shared.len() as u32).to_le_bytes().to_vec();
        table.extend([shared, weights, rest].concat());
        bytes.extend(zstd::bulk::compress(&table, 19).unwrap_or_default());
        bytes
    }

    /// The `xxh3_64` of the words, in order, and their weights: equal tables have equal checksums.
    ///
    /// A verdict can be repeated with weights of the same checksum.
    ///
    /// # Cost
    /// Sorts the words: some ten milliseconds.
    pub fn checksum(&self) -> u64 {
        let words: BTreeMap<&str, u8> = self.steps.iter().map(|(k, w)| (&**k, *w)).collect();
        let mut hash = Xxh3::new();
        hash.update(&[self.unknown]);
        for (word, weight) in words {
            hash.update(word.as_bytes());
            // No word has a zero byte.
            hash.update(&[0, weight]);
        }
        hash.digest()
    }

    /// Reads the bytes of [`Weights::to_bytes`]. `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(MAGIC)?;
        let (&unknown, bytes) = bytes.split_first()?;
        let table = zstd::bulk::decompress(bytes, MAX_TABLE_BYTES).ok()?;
        let (count, table) = table.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (shared, table) = table.split_at_checked(count)?;
        let (weights, rest) = table.split_at_checked(count)?;
        let mut rest = rest.split(|byte| *byte == 0);
        let mut steps: HashMap<Box<str>, u8, FixedState> = HashMap::default();
        let mut word = Vec::new();
        for (shared, weight) in shared.iter().zip(weights) {
            if usize::from(*shared) > word.len() {
                return None;
            }
            word.truncate(usize::from(*shared));
            word.extend_from_slice(rest.next()?);
            steps.insert(std::str::from_utf8(&word).ok()?.into(), *weight);
        }
        // The last word ends with a zero byte too.
        (rest.next() == Some(b"") && rest.next().is_none() || count == 0).then_some(Self {
            steps,
            unknown,
            are_ends_free: false,
        })
    }
}

fn to_steps(nats: f64) -> u8 {
    (nats.clamp(0.0, HEAVIEST) * STEPS_PER_NAT).round() as u8
}

fn is_in_cjk(text: &str) -> bool {
    text.starts_with(is_cjk)
}
