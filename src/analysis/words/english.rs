//! The English words, and which of their forms are regular.
//!
//! A stemmer takes `international` for `internal`. A form is proved here by a list: `ferries` is a
//! form of `ferry`, because the list has `ferry` with this plural, and not `ferries` as a word of
//! its own.
//!
//! # Source
//! The words and affixes of the Hunspell dictionary *en_US* and the British spellings of SCOWL, by
//! Kevin Atkinson. Rarer words and names, without forms: SCOWL to size 80, WordNet, and words of
//! the dictionaries of CSpell (MIT). Only words that are nearly another word of the list are taken.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::FixedState;

const WORDS: &[u8] = include_bytes!("english.txt.zst");

/// The unpacked list has 1.05 MB.
const MAX_LIST_BYTES: usize = 1 << 21;

/// Prefixes that make a word of a word.
const PREFIXES: [&str; 8] = ["re", "un", "pre", "non", "mis", "over", "sub", "multi"];

/// A word behind a prefix has at least five letters.
const MIN_PREFIXED_BYTES: usize = 5;

/// The words of the list.
pub(crate) struct English {
    words: HashMap<&'static str, EnglishEntry, FixedState>,
}

/// A word of the list.
enum EnglishEntry {
    /// A word, with the forms that it has: D for `-ed`, G for `-ing`, S for `-s`.
    Base(&'static str),
    /// Another spelling or a form of the word given.
    Spelling(&'static str),
    /// A rare word or a name. Its forms are not known, and it proves no form of another word.
    Rare,
}

impl English {
    /// The list of this version of the crate. The first call unpacks it, in some 10 ms.
    pub fn builtin() -> &'static Self {
        static ENGLISH: OnceLock<English> = OnceLock::new();
        ENGLISH.get_or_init(|| {
            let list = zstd::bulk::decompress(WORDS, MAX_LIST_BYTES).unwrap_or_default();
            let list = String::from_utf8(list).unwrap_or_default().leak();
            let entry = |line: &'static str| match line.split_once('=') {
                Some((word, of)) => (word, EnglishEntry::Spelling(of)),
                None => {
                    let (word, forms) = line.split_once(' ').unwrap_or((line, ""));
                    let entry = match forms {
                        "-" => EnglishEntry::Rare,
                        forms => EnglishEntry::Base(forms),
                    };
                    (word, entry)
                }
            };
            let words = list.lines().map(entry).collect();
            Self { words }
        })
    }

    /// Returns `true` for a word of the list, for a regular form of one, and for one with a prefix.
    pub fn has(&self, word: &str) -> bool {
        self.base(word).is_some() || self.has_behind_prefix(word)
    }

    /// Returns `true` for a word that is spelled right: [`has`](Self::has), a rare word, a name.
    pub fn knows(&self, word: &str) -> bool {
        matches!(self.words.get(word), Some(EnglishEntry::Rare)) || self.has(word)
    }

    /// Returns `true` for a prefix and a word of the list, or a regular form of one.
    pub fn has_behind_prefix(&self, word: &str) -> bool {
        let mut rests = PREFIXES
            .iter()
            .filter_map(|prefix| word.strip_prefix(prefix));
        rests.any(|rest| rest.len() >= MIN_PREFIXED_BYTES && self.base(rest).is_some())
    }

    /// The word of the list of which a word in small letters is a regular form or a spelling.
    pub fn base<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        match self.base_entry(word) {
            Some(EnglishEntry::Base(_)) => Some(word.into()),
            Some(EnglishEntry::Spelling(of)) => Some(match self.words.get(of) {
                Some(_) => Cow::Borrowed(*of),
                None => self
                    .form(of)
                    .map_or(Cow::Borrowed(*of), |base| base.into_owned().into()),
            }),
            _ => self.form(word),
        }
    }

    /// The entry of a word that has a base.
    fn base_entry(&self, word: &str) -> Option<&EnglishEntry> {
        let entry = self.words.get(word);
        entry.filter(|entry| !matches!(entry, EnglishEntry::Rare))
    }

    /// The word of which a word is a regular form.
    fn form<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        let has = |base: &str, form| matches!(self.words.get(base), Some(EnglishEntry::Base(forms)) if forms.contains(form));
        for (ending, form) in [("s", 'S'), ("d", 'D'), ("ing", 'G')] {
            let Some(stem) = word.strip_suffix(ending) else {
                continue;
            };
            let is_sibilant = stem.ends_with(['s', 'x', 'z', 'h']);
            let ended = stem.strip_suffix('e');
            let root = match form {
                'D' => ended,
                'G' => Some(stem),
                _ => None,
            };
            // The base of "scared" is "scare": "scar" doubles its last letter.
            if let Some(root) = root.filter(|root| doubles_last_letter(root)) {
                let base = format!("{root}e");
                return self.base_entry(&base).is_some().then(|| base.into());
            }
            if form != 'D' && !(form == 'S' && is_sibilant) && has(stem, form) {
                return Some(stem.into());
            }
            match (form, ended) {
                ('G', _) => {
                    let base = format!("{stem}e");
                    if has(&base, form) {
                        return Some(base.into());
                    }
                }
                ('D', Some(_)) if has(stem, form) => return Some(stem.into()),
                (_, Some(stem))
                    if (form == 'D' || stem.ends_with(['s', 'x', 'z', 'h'])) && has(stem, form) =>
                {
                    return Some(stem.into());
                }
                _ => {}
            }
            if let Some(stem) = ended.and_then(|stem| stem.strip_suffix('i')) {
                let base = format!("{stem}y");
                if has(&base, form) {
                    return Some(base.into());
                }
            }
        }
        None
    }
}

/// Returns `true` for a word with one vowel, before one last consonant: `scar` has `scarred`.
fn doubles_last_letter(word: &str) -> bool {
    let is_vowel = |letter: &u8| b"aeiouy".contains(letter);
    let vowels = word.bytes().filter(|letter| is_vowel(letter)).count();
    let [.., vowel, last] = word.as_bytes() else {
        return false;
    };
    vowels == 1 && is_vowel(vowel) && !is_vowel(last) && !b"wx".contains(last)
}

/// Shorter words with the end of a participle are other words: "red", "king".
const MIN_PARTICIPLE_LETTERS: usize = 6;

/// Returns `true` for a word with the end of a participle.
pub(crate) fn may_be_participle(word: &str) -> bool {
    word.len() >= MIN_PARTICIPLE_LETTERS && (word.ends_with("ed") || word.ends_with("ing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_forms_have_one_lemma_and_other_words_their_own() {
        let english = English::builtin();
        for (word, lemma) in [
            ("ferries", "ferry"),
            ("boxes", "box"),
            ("caches", "cache"),
            ("closed", "close"),
            ("stopped", "stop"),
            ("scarred", "scar"),
            ("scared", "scare"),
            ("dining", "dine"),
            ("added", "add"),
            ("statd", "statd"),
            ("asking", "ask"),
            ("carried", "carry"),
            ("arriving", "arrive"),
            ("opening", "opening"),
            ("openings", "opening"),
            ("colours", "color"),
            ("travelled", "travel"),
            ("organised", "organize"),
            ("international", "international"),
            ("animation", "animation"),
            ("roberts", "roberts"),
            ("news", "news"),
            ("plone", "plone"),
        ] {
            assert_eq!(
                english.base(word).as_deref().unwrap_or(word),
                lemma,
                "{word}"
            );
        }
        assert!(english.knows("esports") && !english.has("esports") && english.knows("exports"));
        assert!(english.has("harbour") && english.has("harbours") && !english.has("harbuor"));
    }
}
