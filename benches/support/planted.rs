//! Labelled pairs from texts without labels: edited copies, and pairs of unrelated texts.

use std::collections::BTreeSet;

use simdb::similarity::tokens;
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Fingerprint, Normaliser};

use super::keys::SplitMix;

/// The number of strengths of each edit.
const STRENGTHS: usize = 3;

/// Two texts with more in common may be near-duplicates by chance. The limits are well below those
/// of the check of wording, so doubtful pairs are left out of the set.
const RESEMBLES: Likeness = Likeness {
    edit_similarity: 0.5,
    jaccard: 0.4,
};

/// An edit: random generator, text, another text as donor, strength.
type Edit = fn(&mut SplitMix, &str, &str, usize) -> String;

const EDITS: [(&str, Edit); 5] = [
    ("typos", typos),
    ("words", words),
    ("moved", moved),
    ("cut", |_, text, _, strength| {
        cut(text, [0.1, 0.2, 0.33][strength])
    }),
    ("header", |_, text, donor, strength| {
        header(text, donor, [0.1, 0.2, 0.3][strength])
    }),
];

pub struct EditedCopy {
    pub original: usize,
    pub text: String,
    pub edit: &'static str,
    pub strength: usize,
}

/// The labelled pairs of [`plant`].
#[derive(Default)]
pub struct PlantedPairs {
    pub copies: Vec<EditedCopy>,
    /// Indices of two texts that are no near-duplicates.
    pub unrelated: BTreeSet<(usize, usize)>,
    /// The number of pairs that are left out, since their wording resembles.
    pub left_out: usize,
}

/// Makes edited copies of each text, and pairs each text with two unrelated ones: a random text,
/// and the text with the nearest fingerprint, which is the hardest case. A seed always gives the
/// same pairs.
pub fn plant(texts: &[&str], fingerprints: &[Fingerprint], seed: u64) -> PlantedPairs {
    let mut draws = SplitMix(seed);
    let normaliser = Normaliser::new();
    let mut planted = PlantedPairs::default();
    for (original, text) in texts.iter().enumerate() {
        let letters = normaliser.letters(text);
        for strength in 0..STRENGTHS {
            let donor = texts[other(&mut draws, original, texts.len())];
            // The edits take turns. An edit that changes no letter of a text is skipped, such as
            // moving the only sentence.
            let in_turn = EDITS
                .iter()
                .cycle()
                .skip(original + strength)
                .take(EDITS.len());
            let mut edited = in_turn.map(|(edit, apply)| EditedCopy {
                original,
                text: apply(&mut draws, text, donor, strength),
                edit,
                strength,
            });
            planted.copies.extend(edited.find(|copy| {
                let edited = normaliser.letters(&copy.text);
                !edited.is_empty() && edited != letters
            }));
        }
        let distance = |other: &usize| fingerprints[original].distance(fingerprints[*other]);
        let others = (0..texts.len()).filter(|other| *other != original);
        let nearest = others.min_by_key(distance);
        for other in nearest
            .into_iter()
            .chain([other(&mut draws, original, texts.len())])
        {
            let pair = (original.min(other), original.max(other));
            if Resemblance::new(&normaliser, texts[pair.0], texts[pair.1]).is_enough(&RESEMBLES) {
                planted.left_out += 1;
            } else {
                planted.unrelated.insert(pair);
            }
        }
    }
    planted
}

/// Asserts that every edit changes a text and keeps most of it, is deterministic, and panics for no
/// text.
pub fn check_edits() {
    const TEXT: &str =
        "海内存知己，天涯若比邻。The cat sat on the mat. It looked at the rain outside.";
    const DONOR: &str = "A database of fingerprints finds in microseconds what a scan would.";
    let normaliser = Normaliser::new();
    for (name, edit) in EDITS {
        for strength in 0..STRENGTHS {
            let edited = edit(&mut SplitMix(7), TEXT, DONOR, strength);
            assert_eq!(
                edited,
                edit(&mut SplitMix(7), TEXT, DONOR, strength),
                "{name}"
            );
            let found = Resemblance::new(&normaliser, TEXT, &edited);
            assert!(
                edited != TEXT && found.score() > 0.4,
                "{name} {strength}: {edited}"
            );
            for text in ["", "。", "a", "哈", "\u{301}", "a\u{301}"] {
                for donor in ["", "…", "b"] {
                    edit(&mut SplitMix(1), text, donor, strength);
                }
            }
        }
    }
    assert_eq!(cut("十个字，这里有九个", 0.33), "十个字，这里");
    assert_eq!(header("xxxxxxxx", "abcdef", 0.2), "ab\nxxxxxxxx");
}

/// A random index other than `index`.
fn other(draws: &mut SplitMix, index: usize, count: usize) -> usize {
    (index + 1 + below(draws, count.max(2) - 1)) % count
}

fn below(draws: &mut SplitMix, limit: usize) -> usize {
    (draws.next() % limit.max(1) as u64) as usize
}

/// A random share of the indices below `count`, at least one if `count` is not 0.
fn some_of(draws: &mut SplitMix, share: f64, count: usize) -> BTreeSet<usize> {
    let mut some = BTreeSet::new();
    while some.len() < share_of(share, count).min(count) {
        some.insert(below(draws, count));
    }
    some
}

fn share_of(share: f64, count: usize) -> usize {
    ((share * count as f64).round() as usize).max(1)
}

/// Removes, doubles, swaps or replaces characters.
fn typos(draws: &mut SplitMix, text: &str, _: &str, strength: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    let letters = (0..characters.len()).filter(|index| characters[*index].is_alphanumeric());
    let letters: Vec<usize> = letters.collect();
    let typos = some_of(draws, [0.02, 0.05, 0.1][strength], letters.len());
    let typos: BTreeSet<_> = typos.into_iter().map(|typo| letters[typo]).collect();
    let mut edited = String::with_capacity(text.len());
    let mut index = 0;
    while let Some(&character) = characters.get(index) {
        index += 1;
        if !typos.contains(&(index - 1)) {
            edited.push(character);
            continue;
        }
        match (below(draws, 4), characters.get(index)) {
            (0, _) => {}
            (1, _) => edited.extend([character, character]),
            (2, Some(&next)) => {
                edited.extend([next, character]);
                index += 1;
            }
            _ => edited.push(characters[letters[below(draws, letters.len())]]),
        }
    }
    edited
}

/// Replaces tokens by the tokens of the donor.
fn words(draws: &mut SplitMix, text: &str, donor: &str, strength: usize) -> String {
    let (own, others) = (tokens(text), tokens(donor));
    let replaced = some_of(draws, [0.05, 0.1, 0.18][strength], own.len());
    let (mut edited, mut rest) = (String::new(), text);
    for (index, token) in own.into_iter().enumerate() {
        // Tokens are slices of the text, in order, so each token is found.
        let Some((before, after)) = rest.split_once(token) else {
            break;
        };
        let is_replaced = replaced.contains(&index) && !others.is_empty();
        let word = if is_replaced {
            others[below(draws, others.len())]
        } else {
            token
        };
        edited.extend([before, word]);
        rest = after;
    }
    edited + rest
}

/// Swaps neighbouring sentences.
fn moved(draws: &mut SplitMix, text: &str, _: &str, strength: usize) -> String {
    let mut sentences = sentences(text);
    if sentences.len() > 1 {
        for _ in 0..=strength {
            let index = below(draws, sentences.len() - 1);
            sentences.swap(index, index + 1);
        }
    }
    sentences.join(" ")
}

/// The trimmed sentences of a text. A sentence ends with a mark or a line feed, and has a letter or
/// digit.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = match c {
            // Not the point in `3.14`.
            '.' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            c => "。｡．！!？?；;…\n\r".contains(c),
        };
        if ends || chars.peek().is_none() {
            let end = at + c.len_utf8();
            let sentence = text[start..end].trim();
            if sentence.contains(char::is_alphanumeric) {
                sentences.push(sentence);
            }
            start = end;
        }
    }
    sentences
}

/// Removes a share of the text at its end.
fn cut(text: &str, share: f64) -> String {
    let characters = text.chars().count();
    let kept = characters.saturating_sub(share_of(share, characters));
    text.chars().take(kept).collect()
}

/// Puts the beginning of the donor before the text. `share` is its share of the result.
fn header(text: &str, donor: &str, share: f64) -> String {
    let characters = share_of(share / (1.0 - share), text.chars().count());
    let header: String = donor.chars().take(characters).collect();
    format!("{header}\n{text}")
}
