//! What `simdb-cli explain` says, in the shape of its JSON.

use serde::Serialize;
use simdb::{DocId, Fingerprint, Likeness, Resemblance, UnreliableReason};

use super::features::{BITS, Comparison, Shared};
use crate::commands::STRICT_RADIUS;
use crate::console::counted;

/// How many blocks a fingerprint has, and bits in each.
const BLOCKS: usize = 4;
const BLOCK_BITS: usize = BITS / BLOCKS;

/// The most features in a list of JSON.
const MOST_LISTED: usize = 1000;

/// The most features that are said to pull a bit to one side.
const MOST_PULLING: usize = 3;

/// The names of the two in the report.
pub(super) const NAMES: [&str; 2] = ["A", "B"];

/// One of the two that are compared.
pub(super) struct Side {
    /// Its id, if it is stored.
    pub id: Option<DocId>,
    /// Its text, if that is known.
    pub text: Option<String>,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// Whether that means anything.
    pub reliable: bool,
    /// Why it does not, as far as that can be told.
    pub doubt: Option<UnreliableReason>,
    /// Whether the features of the text make the fingerprint: one may have been stored with
    /// another.
    pub is_made_of_text: bool,
}

/// Everything that is said of two texts.
pub(super) struct Explanation<'e> {
    pub recipe: &'static str,
    pub sides: &'e [Side; 2],
    pub comparison: Option<Comparison>,
    pub resemblance: Option<Resemblance>,
    pub likeness: Likeness,
}

#[derive(Serialize)]
pub(super) struct ExplainLine {
    pub recipe: &'static str,
    pub a: SideLine,
    pub b: SideLine,
    pub distance: u32,
    pub blocks: Vec<BlockLine>,
    /// The least radius at which a query by one finds the other; `None` if none does.
    pub found_from_radius: Option<u32>,
    pub features: Option<FeaturesLine>,
    pub bits: Option<Vec<BitLine>>,
    pub wording: Option<WordingLine>,
    pub strict: Decision,
    pub similar: Option<Decision>,
    pub near_duplicates: bool,
    #[serde(skip)]
    pub likeness: Likeness,
}

#[derive(Serialize)]
pub(super) struct SideLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    pub fingerprint: String,
    pub reliable: bool,
    /// A name for the reason, for programs.
    pub doubt: Option<&'static str>,
    pub because: Option<String>,
}

#[derive(Serialize)]
pub(super) struct BlockLine {
    pub block: usize,
    pub a: String,
    pub b: String,
    pub differing_bits: u32,
}

#[derive(Serialize)]
pub(super) struct FeaturesLine {
    pub cosine: f64,
    pub expected_distance: f64,
    pub both: GroupLine,
    pub only_a: GroupLine,
    pub only_b: GroupLine,
}

/// Features, and what share of the weight of either text they have.
#[derive(Serialize)]
pub(super) struct GroupLine {
    pub count: usize,
    pub share_of_a: Option<f64>,
    pub share_of_b: Option<f64>,
    pub heaviest: Vec<FeatureLine>,
}

#[derive(Serialize)]
pub(super) struct FeatureLine {
    pub token: String,
    pub a: f64,
    pub b: f64,
}

#[derive(Serialize)]
pub(super) struct BitLine {
    /// 0 is the least significant.
    pub bit: usize,
    pub block: usize,
    pub sum_a: f64,
    pub sum_b: f64,
    pub chance_a: f64,
    pub chance_b: f64,
    pub to_one: Vec<FeatureLine>,
    pub to_zero: Vec<FeatureLine>,
}

#[derive(Serialize)]
pub(super) struct WordingLine {
    pub same_wording: bool,
    pub edit_similarity: Option<f64>,
    pub jaccard: f64,
    pub comparable: bool,
}

#[derive(Serialize)]
pub(super) struct Decision {
    pub near_duplicates: bool,
    pub because: String,
}

impl ExplainLine {
    pub fn of(explanation: &Explanation<'_>) -> Self {
        let [one, other] = explanation.sides;
        let distance = one.fingerprint.distance(other.fingerprint);
        let are_reliable = one.reliable && other.reliable;
        let likeness = explanation.likeness;
        let strict = strict(distance, explanation.sides);
        let similar = explanation
            .resemblance
            .map(|found| similar(&found, &likeness));
        let differing = one.fingerprint.bits() ^ other.fingerprint.bits();
        let comparison = explanation.comparison.as_ref();
        Self {
            recipe: explanation.recipe,
            a: side_line(one),
            b: side_line(other),
            distance,
            blocks: (0..BLOCKS)
                .map(|block| block_line(block, explanation.sides))
                .collect(),
            found_from_radius: are_reliable.then_some(distance),
            features: comparison.map(features_line),
            bits: comparison.map(|comparison| {
                let differing = (0..BITS).rev().filter(|bit| differing >> bit & 1 == 1);
                differing.map(|bit| bit_line(bit, comparison)).collect()
            }),
            wording: explanation.resemblance.map(|found| WordingLine {
                same_wording: found.same_wording,
                edit_similarity: found.edit_similarity,
                jaccard: found.jaccard,
                comparable: found.comparable,
            }),
            near_duplicates: similar.as_ref().unwrap_or(&strict).near_duplicates,
            strict,
            similar,
            likeness,
        }
    }
}

fn side_line(side: &Side) -> SideLine {
    let name = |doubt| match doubt {
        UnreliableReason::TooFewFeatures { .. } => "too-few-features",
        UnreliableReason::Repetitive { .. } => "repetitive",
        UnreliableReason::NoLetter => "no-letter",
        UnreliableReason::SingleWord => "single-word",
        UnreliableReason::OneOutweighs => "one-outweighs",
        _ => "other",
    };
    SideLine {
        id: side.id.map(|id| id.0),
        fingerprint: side.fingerprint.to_string(),
        reliable: side.reliable,
        doubt: side.doubt.map(name),
        because: side.doubt.map(|doubt| doubt.to_string()),
    }
}

fn block_line(block: usize, sides: &[Side; 2]) -> BlockLine {
    let shift = BITS - BLOCK_BITS * (block + 1);
    let [a, b] = [0, 1].map(|side| (sides[side].fingerprint.bits() >> shift) as u16);
    BlockLine {
        block,
        a: format!("{a:04x}"),
        b: format!("{b:04x}"),
        differing_bits: (a ^ b).count_ones(),
    }
}

fn features_line(comparison: &Comparison) -> FeaturesLine {
    let [share_a, share_b] = [0, 1].map(|text| comparison.share_in_both(text));
    let rest = |share: Option<f64>| share.map(|share| 1.0 - share);
    FeaturesLine {
        cosine: comparison.cosine,
        expected_distance: comparison.expected_distance(),
        both: GroupLine {
            count: comparison.in_both().count(),
            share_of_a: share_a,
            share_of_b: share_b,
            heaviest: feature_lines(comparison.in_both(), MOST_LISTED),
        },
        only_a: GroupLine {
            count: comparison.only_in(0).count(),
            share_of_a: rest(share_a),
            share_of_b: share_b.map(|_| 0.0),
            heaviest: feature_lines(comparison.only_in(0), MOST_LISTED),
        },
        only_b: GroupLine {
            count: comparison.only_in(1).count(),
            share_of_a: share_a.map(|_| 0.0),
            share_of_b: rest(share_b),
            heaviest: feature_lines(comparison.only_in(1), MOST_LISTED),
        },
    }
}

fn feature_lines<'c>(features: impl Iterator<Item = &'c Shared>, most: usize) -> Vec<FeatureLine> {
    let line = |feature: &Shared| FeatureLine {
        token: feature.token.clone(),
        a: feature.weights[0],
        b: feature.weights[1],
    };
    features.take(most).map(line).collect()
}

fn bit_line(bit: usize, comparison: &Comparison) -> BitLine {
    let pulling = |to| feature_lines(comparison.pulling(bit, to), MOST_PULLING);
    BitLine {
        bit,
        block: (BITS - 1 - bit) / BLOCK_BITS,
        sum_a: comparison.sums[0][bit],
        sum_b: comparison.sums[1][bit],
        chance_a: comparison.chance[0],
        chance_b: comparison.chance[1],
        to_one: pulling(1),
        to_zero: pulling(0),
    }
}

/// What a query at the usual radius says.
fn strict(distance: u32, sides: &[Side; 2]) -> Decision {
    let unreliable: Vec<_> = (0..2).filter(|&side| !sides[side].reliable).collect();
    let is_near = distance <= STRICT_RADIUS;
    let bits = counted(distance.into(), "bit");
    Decision {
        near_duplicates: is_near && unreliable.is_empty(),
        because: match unreliable[..] {
            [] if is_near => format!("the fingerprints differ in {bits}"),
            [] => format!("the fingerprints differ in {bits}, more than {STRICT_RADIUS}"),
            [side] => format!(
                "the fingerprint of {} is unreliable, so it matches no other",
                NAMES[side]
            ),
            _ => "both fingerprints are unreliable, so they match no other".to_owned(),
        },
    }
}

/// What the wording says.
fn similar(found: &Resemblance, likeness: &Likeness) -> Decision {
    let edit_similarity = found.edit_similarity.unwrap_or(0.0);
    let edits = match found.edit_similarity {
        Some(similarity) => format!("the edit similarity is {similarity:.3}"),
        None => "the texts are too long for an edit similarity".to_owned(),
    };
    let phrases = format!("{:.3} of the phrases are in both", found.jaccard);
    let because = if found.same_wording {
        "the wording is the same".to_owned()
    } else if !found.comparable {
        "a text says so little that only one of the same wording is its near-duplicate".to_owned()
    } else if edit_similarity >= likeness.edit_similarity && found.edit_similarity.is_some() {
        format!("{edits}, and {} is enough", likeness.edit_similarity)
    } else if found.jaccard >= likeness.jaccard {
        format!("{phrases}, and {} is enough", likeness.jaccard)
    } else {
        format!(
            "{edits}, where {} would be enough, and {phrases}, where {} would",
            likeness.edit_similarity, likeness.jaccard
        )
    };
    Decision {
        near_duplicates: found.is_enough(likeness),
        because,
    }
}
