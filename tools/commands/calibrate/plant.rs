//! Labelled pairs out of texts without labels: planted edits, and pairs of other texts.

use std::collections::HashSet;

use anyhow::{Result, bail};
use fastrand::Rng;
use simdb::similarity::tokens;
use simdb::{Fingerprinter, Likeness, Normaliser, Recipe, Resemblance};

use super::corpus::{Corpus, Doc, Key, Pair, key};
use crate::measures::sentences;

/// How a text is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    /// Characters lost, doubled, swapped, or replaced by another of the text.
    Typos,
    /// Tokens replaced by those of another text.
    Words,
    /// Sentences swapped with the next one.
    Moved,
    /// The end cut off.
    Cut,
    /// The beginning of another text put before it.
    Header,
}

const EDITS: [Edit; 5] = [
    Edit::Typos,
    Edit::Words,
    Edit::Moved,
    Edit::Cut,
    Edit::Header,
];

/// What share of a text is edited, at three strengths.
const TYPOS: [f64; 3] = [0.02, 0.05, 0.1];
const WORDS: [f64; 3] = [0.05, 0.1, 0.18];
const MOVED: [usize; 3] = [1, 2, 3];
const CUT: [f64; 3] = [0.1, 0.2, 0.33];
const HEADER: [f64; 3] = [0.1, 0.2, 0.3];

/// Two texts that have more in common than this may be near-duplicates that nobody planted. Well
/// below what the wording check asks for, so that what lies between is left out.
const RESEMBLES: Likeness = Likeness {
    edit_similarity: 0.5,
    jaccard: 0.4,
};

/// What came of planting.
pub(super) struct Planted {
    pub corpus: Corpus,
    /// Pairs of different texts that were left out because their wording resembles.
    pub left_out: u64,
}

/// Edited copies of some of the documents, at three strengths each, and for each of them a random
/// other one and the one with the nearest fingerprint. The same seed gives the same pairs.
pub(super) fn plant(
    mut documents: Vec<Doc>,
    sample: usize,
    seed: u64,
    recipe: &Recipe,
) -> Result<Planted> {
    let mut rng = Rng::with_seed(seed);
    rng.shuffle(&mut documents);
    let normaliser = Normaliser::new();
    documents.retain(|document| !normaliser.letters(&document.text).is_empty());
    documents.truncate(sample);
    if documents.len() < 2 {
        bail!("there are fewer than 2 documents with letters or digits, so no pairs");
    }
    let originals = documents.len();
    let mut planted = Planted {
        corpus: Corpus {
            documents,
            ..Corpus::default()
        },
        left_out: 0,
    };
    for original in 0..originals {
        for strength in 0..TYPOS.len() {
            let donor = other(&mut rng, original, originals);
            let first = original + strength;
            planted.copy(&normaliser, &mut rng, original, donor, (first, strength));
        }
    }
    let mut pairs = HashSet::new();
    for (original, nearest) in nearest(&planted.corpus.documents[..originals], recipe)? {
        for other in [other(&mut rng, original, originals), nearest] {
            let pair = key(original as u32, other as u32);
            if pairs.insert(pair) {
                planted.unrelated(&normaliser, pair);
            }
        }
    }
    Ok(planted)
}

/// A place other than this one.
fn other(rng: &mut Rng, place: usize, places: usize) -> usize {
    (place + rng.usize(1..places)) % places
}

/// For each document the other one with the nearest fingerprint, the first of equals.
fn nearest(documents: &[Doc], recipe: &Recipe) -> Result<Vec<(usize, usize)>> {
    let fingerprinter = Fingerprinter::new(recipe.clone());
    let made = documents
        .iter()
        .map(|document| fingerprinter.fingerprint(&document.text));
    let made = made.collect::<simdb::Result<Vec<_>>>()?;
    let nearest = |place: usize| {
        let others = (0..made.len()).filter(move |other| *other != place);
        others.min_by_key(|other| made[place].fingerprint.distance(made[*other].fingerprint))
    };
    let places = 0..made.len();
    Ok(places
        .filter_map(|place| Some((place, nearest(place)?)))
        .collect())
}

impl Planted {
    /// Adds an edited copy: of the kinds of edits, in turn, the first that changes the wording.
    fn copy(
        &mut self,
        normaliser: &Normaliser,
        rng: &mut Rng,
        original: usize,
        donor: usize,
        (first, strength): (usize, usize),
    ) {
        let documents = &mut self.corpus.documents;
        let text = &documents[original].text;
        let letters = normaliser.letters(text);
        let kinds = EDITS
            .iter()
            .cycle()
            .skip(first % EDITS.len())
            .take(EDITS.len());
        let edited = kinds.map(|edit| edit.apply(rng, text, &documents[donor].text, strength));
        let is_other = |edited: &String| {
            let others = normaliser.letters(edited);
            !others.is_empty() && others != letters
        };
        let Some(edited) = edited.into_iter().find(is_other) else {
            return;
        };
        let class = documents[original].class.clone();
        let pair = key(original as u32, documents.len() as u32);
        documents.push(Doc {
            text: edited,
            family: None,
            class: class.clone(),
        });
        self.corpus.pairs.push(Pair {
            key: pair,
            label: true,
            class,
        });
    }

    /// Adds a pair of different texts, unless their wording resembles.
    fn unrelated(&mut self, normaliser: &Normaliser, pair: Key) {
        let documents = &self.corpus.documents;
        let [a, b] = [pair.0, pair.1].map(|place| documents[place as usize].text.as_str());
        if Resemblance::new(normaliser, a, b).is_enough(&RESEMBLES) {
            self.left_out += 1;
            return;
        }
        let class = self.corpus.class_of_pair(pair).to_owned();
        self.corpus.pairs.push(Pair {
            key: pair,
            label: false,
            class,
        });
    }
}

impl Edit {
    fn apply(self, rng: &mut Rng, text: &str, donor: &str, strength: usize) -> String {
        match self {
            Self::Typos => typos(rng, text, TYPOS[strength]),
            Self::Words => words(rng, text, donor, WORDS[strength]),
            Self::Moved => moved(rng, text, MOVED[strength]),
            Self::Cut => cut(text, CUT[strength]),
            Self::Header => header(text, donor, HEADER[strength]),
        }
    }
}

/// A share of so many things, at least one.
fn share_of(share: f64, count: usize) -> usize {
    ((share * count as f64).round() as usize).max(1)
}

/// Takes time in proportion to the text, however many typos there are.
fn typos(rng: &mut Rng, text: &str, share: f64) -> String {
    let characters: Vec<char> = text.chars().collect();
    let is_letter = |place: &usize| characters[*place].is_alphanumeric();
    let mut letters: Vec<usize> = (0..characters.len()).filter(is_letter).collect();
    rng.shuffle(&mut letters);
    let typos: HashSet<usize> = {
        let chosen = letters.iter().take(share_of(share, letters.len()));
        chosen.copied().collect()
    };
    let mut edited = String::with_capacity(text.len());
    let mut place = 0;
    while let Some(&character) = characters.get(place) {
        let is_typo = typos.contains(&place);
        place += 1;
        if !is_typo {
            edited.push(character);
            continue;
        }
        match (rng.u8(0..4), characters.get(place)) {
            (0, _) => {}
            (1, _) => edited.extend([character, character]),
            (2, Some(&next)) => {
                edited.extend([next, character]);
                place += 1;
            }
            _ => edited.push(characters[letters[rng.usize(..letters.len())]]),
        }
    }
    edited
}

fn words(rng: &mut Rng, text: &str, donor: &str, share: f64) -> String {
    let (own, others) = (tokens(text), tokens(donor));
    let mut places: Vec<usize> = (0..own.len()).collect();
    rng.shuffle(&mut places);
    places.truncate(share_of(share, own.len()));
    let replaced: HashSet<usize> = places.into_iter().collect();
    let (mut edited, mut rest) = (String::new(), text);
    for (place, token) in own.into_iter().enumerate() {
        // Tokens are slices of the text, in order, so each is there.
        let Some((before, after)) = rest.split_once(token) else {
            break;
        };
        let other = replaced
            .contains(&place)
            .then(|| rng.choice(&others))
            .flatten();
        edited.extend([before, other.copied().unwrap_or(token)]);
        rest = after;
    }
    edited + rest
}

fn moved(rng: &mut Rng, text: &str, times: usize) -> String {
    let mut sentences = sentences(text);
    if sentences.len() > 1 {
        for _ in 0..times {
            let place = rng.usize(1..sentences.len());
            sentences.swap(place - 1, place);
        }
    }
    sentences.join(" ")
}

fn cut(text: &str, share: f64) -> String {
    let characters = text.chars().count();
    let kept = characters.saturating_sub(share_of(share, characters));
    text.chars().take(kept).collect()
}

/// The header is the share of what comes out.
fn header(text: &str, donor: &str, share: f64) -> String {
    let characters = share_of(share / (1.0 - share), text.chars().count());
    let header: String = donor.chars().take(characters).collect();
    format!("{header}\n{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "海内存知己，天涯若比邻。The cat sat on the mat. It looked at the rain outside.";
    const DONOR: &str = "A database of fingerprints finds in microseconds what a scan would.";

    #[test]
    fn every_edit_changes_some_of_the_text_and_leaves_most() {
        let normaliser = Normaliser::new();
        for edit in EDITS {
            for strength in 0..3 {
                let mut rng = Rng::with_seed(7);
                let edited = edit.apply(&mut rng, TEXT, DONOR, strength);
                let found = Resemblance::new(&normaliser, TEXT, &edited);
                assert!(found.score() > 0.4, "{edit:?} {strength}: {edited}");
                let again = edit.apply(&mut Rng::with_seed(7), TEXT, DONOR, strength);
                assert_eq!(edited, again);
                if edit != Edit::Moved {
                    assert!(!found.same_wording, "{edit:?} {strength}: {edited}");
                }
            }
        }
    }

    #[test]
    fn a_long_text_is_edited_in_no_time() {
        let text = TEXT.repeat(30_000);
        let edited = typos(&mut Rng::with_seed(1), &text, 0.1);
        let (before, after) = (text.chars().count(), edited.chars().count());
        assert!(edited != text && before.abs_diff(after) < before / 100);
    }

    #[test]
    fn texts_without_letters_sentences_or_tokens_are_edited_without_a_panic() {
        for text in ["", "。", "a", "哈", "\u{301}", "a\u{301}"] {
            for donor in ["", "…", "b"] {
                for edit in EDITS {
                    edit.apply(&mut Rng::with_seed(1), text, donor, 2);
                }
            }
        }
        assert_eq!(cut("十个字，这里有九个", 0.33), "十个字，这里");
        assert_eq!(header("xxxxxxxx", "abcdef", 0.2), "ab\nxxxxxxxx");
    }
}
