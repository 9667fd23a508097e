//! What `simdb-cli explain` says, as JSON and as lines for people.

use anyhow::Result;
use serde::Serialize;
use simdb::{Doubt, Likeness, Resemblance};

use super::explain::{Explanation, STRICT_RADIUS, Side};
use super::explain_features::{BITS, Comparison, Shared};
use crate::console::table::{Align, Table, columns, one_line};
use crate::console::{Output, counted};

/// How many blocks a fingerprint has, and bits in each.
const BLOCKS: usize = 4;
const BLOCK_BITS: usize = BITS / BLOCKS;

/// The most features in a list of JSON.
const MOST_LISTED: usize = 1000;

/// The most features that are said to pull a bit to one side.
const MOST_PULLING: usize = 3;

/// The names of the two in the report.
const NAMES: [&str; 2] = ["A", "B"];

#[derive(Serialize)]
pub(super) struct ExplainLine {
    recipe: &'static str,
    a: SideLine,
    b: SideLine,
    distance: u32,
    blocks: Vec<BlockLine>,
    /// The least radius at which a query by one finds the other; `None` if none does.
    found_from_radius: Option<u32>,
    features: Option<FeaturesLine>,
    bits: Option<Vec<BitLine>>,
    wording: Option<WordingLine>,
    strict: Decision,
    similar: Option<Decision>,
    pub near_duplicates: bool,
    #[serde(skip)]
    likeness: Likeness,
}

#[derive(Serialize)]
struct SideLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    fingerprint: String,
    reliable: bool,
    /// A name for the reason, for programs.
    doubt: Option<&'static str>,
    because: Option<String>,
}

#[derive(Serialize)]
struct BlockLine {
    block: usize,
    a: String,
    b: String,
    differing_bits: u32,
}

#[derive(Serialize)]
struct FeaturesLine {
    cosine: f64,
    expected_distance: f64,
    both: GroupLine,
    only_a: GroupLine,
    only_b: GroupLine,
}

/// Features, and what share of the weight of either text they have.
#[derive(Serialize)]
struct GroupLine {
    count: usize,
    share_of_a: Option<f64>,
    share_of_b: Option<f64>,
    heaviest: Vec<FeatureLine>,
}

#[derive(Serialize)]
struct FeatureLine {
    token: String,
    a: f64,
    b: f64,
}

#[derive(Serialize)]
struct BitLine {
    /// 0 is the least significant.
    bit: usize,
    block: usize,
    sum_a: f64,
    sum_b: f64,
    chance_a: f64,
    chance_b: f64,
    to_one: Vec<FeatureLine>,
    to_zero: Vec<FeatureLine>,
}

#[derive(Serialize)]
struct WordingLine {
    same_wording: bool,
    edit_similarity: Option<f64>,
    jaccard: f64,
    comparable: bool,
}

#[derive(Serialize)]
struct Decision {
    near_duplicates: bool,
    because: String,
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
        Doubt::TooFewFeatures { .. } => "too-few-features",
        Doubt::Repetitive { .. } => "repetitive",
        Doubt::NoLetter => "no-letter",
        Doubt::SingleWord => "single-word",
        Doubt::OneOutweighs => "one-outweighs",
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

/// What a query at radius 3 says.
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

pub(super) fn print(line: &ExplainLine, output: &mut Output) -> Result<()> {
    let parts = [
        fingerprints(line),
        features(line),
        bits(line),
        wording(line),
        decisions(line),
    ];
    let mut parts = parts.map(|part| part.lines().collect::<Vec<_>>());
    // Beside the fingerprints it would move them apart.
    parts[0].push(at_radius(line));
    let parts = parts.iter().filter(|part| !part.is_empty());
    for (place, part) in parts.enumerate() {
        if place > 0 {
            output.line("")?;
        }
        for row in part {
            output.line(row)?;
        }
    }
    Ok(())
}

fn fingerprints(line: &ExplainLine) -> Table {
    let mut table = Table::new(&[Align::Left; 6]);
    for (name, side) in NAMES.into_iter().zip([&line.a, &line.b]) {
        let name = match side.id {
            Some(id) => format!("{name}, document {id}"),
            None => name.to_owned(),
        };
        let reliable = match (&side.because, side.reliable) {
            (_, true) => "reliable".to_owned(),
            (Some(because), false) => format!("unreliable: {because}"),
            (None, false) => "unreliable".to_owned(),
        };
        let keys = line
            .blocks
            .iter()
            .map(|block| match side.fingerprint == line.a.fingerprint {
                true => block.a.clone(),
                false => block.b.clone(),
            });
        let cells = [vec![name], keys.collect(), vec![reliable]];
        table.row(cells.concat());
    }
    let differing = line.blocks.iter().map(|block| match block.differing_bits {
        0 => "=".to_owned(),
        bits => bits.to_string(),
    });
    let cells = [
        vec!["bits that differ".to_owned()],
        differing.collect(),
        vec![format!(
            "distance {} (recipe {})",
            line.distance, line.recipe
        )],
    ];
    table.row(cells.concat());
    table
}

/// Which blocks agree, and what follows for a query.
fn at_radius(line: &ExplainLine) -> String {
    let equal = line.blocks.iter().filter(|block| block.differing_bits == 0);
    let equal: Vec<_> = equal.map(|block| block.block.to_string()).collect();
    let says = match equal.len() {
        0 => format!("no block is equal: a query at radius {STRICT_RADIUS} does not look at it"),
        1 => format!(
            "block {} is equal: a query at radius {STRICT_RADIUS} looks at it",
            equal[0]
        ),
        _ => format!(
            "blocks {} are equal: a query at radius {STRICT_RADIUS} looks at it",
            equal.join(", ")
        ),
    };
    match line.found_from_radius {
        Some(radius) => format!("{says}; found from radius {radius} on"),
        None => "found at no radius, since unreliable fingerprints match no other".to_owned(),
    }
}

fn features(line: &ExplainLine) -> Table {
    let mut table = Table::new(&[
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ]);
    let Some(features) = &line.features else {
        return table;
    };
    table.row(["features", "", "of A", "of B", "the heaviest"]);
    let percent =
        |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1}%", share * 100.0));
    for (name, group) in [
        ("in both", &features.both),
        ("in A only", &features.only_a),
        ("in B only", &features.only_b),
    ] {
        table.row([
            name.to_owned(),
            group.count.to_string(),
            percent(group.share_of_a),
            percent(group.share_of_b),
            tokens(&group.heaviest, columns().saturating_sub(36).max(30)),
        ]);
    }
    table.row([
        "cosine".to_owned(),
        format!("{:.3}", features.cosine),
        String::new(),
        String::new(),
        format!(
            "{:.1} bits are to be expected to differ",
            features.expected_distance
        ),
    ]);
    table
}

/// Some tokens on one line.
fn tokens(features: &[FeatureLine], width: usize) -> String {
    let tokens: Vec<_> = features.iter().map(|f| f.token.as_str()).collect();
    one_line(&tokens.join(" "), width)
}

fn bits(line: &ExplainLine) -> Table {
    let mut table = Table::new(&[
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
        Align::Left,
    ]);
    let Some(bits) = line.bits.as_ref().filter(|bits| !bits.is_empty()) else {
        return table;
    };
    let chance = bits
        .first()
        .map_or([0.0; 2], |bit| [bit.chance_a, bit.chance_b]);
    table.row([
        "bit",
        "block",
        "sum in A",
        "sum in B",
        "to 1 pull",
        "to 0 pull",
    ]);
    for bit in bits {
        table.row([
            bit.bit.to_string(),
            bit.block.to_string(),
            format!("{:+.2}", bit.sum_a),
            format!("{:+.2}", bit.sum_b),
            pulling(&bit.to_one),
            pulling(&bit.to_zero),
        ]);
    }
    table.row([
        String::new(),
        "chance".to_owned(),
        format!("±{:.2}", chance[0]),
        format!("±{:.2}", chance[1]),
        "token, weight, and which text has it".to_owned(),
    ]);
    table
}

/// The features that pull a bit to one side: `回家 1.69 AB`.
fn pulling(features: &[FeatureLine]) -> String {
    let said = features.iter().map(|feature| {
        let has = [(feature.a, "A"), (feature.b, "B")];
        let has = has.map(|(weight, name)| if weight > 0.0 { name } else { "" });
        let token = one_line(&feature.token, 16);
        format!("{token} {:.2} {}", feature.a.max(feature.b), has.concat())
    });
    said.collect::<Vec<_>>().join(", ")
}

fn wording(line: &ExplainLine) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    let Some(wording) = &line.wording else {
        return table;
    };
    let row = |name: &str, value: String, says: String| [name.to_owned(), value, says];
    let same = if wording.same_wording { "yes" } else { "no" };
    table.row(row("same wording", same.to_owned(), String::new()));
    table.row(row(
        "edit similarity",
        wording
            .edit_similarity
            .map_or("-".to_owned(), |similarity| format!("{similarity:.3}")),
        format!("{} is enough", line.likeness.edit_similarity),
    ));
    table.row(row(
        "phrases, Jaccard",
        format!("{:.3}", wording.jaccard),
        format!("{} is enough", line.likeness.jaccard),
    ));
    table
}

fn decisions(line: &ExplainLine) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Left]);
    let mut row = |name: &str, decision: &Decision| {
        let answer = if decision.near_duplicates {
            "yes"
        } else {
            "no"
        };
        table.row([name.to_owned(), answer.to_owned(), decision.because.clone()]);
    };
    row("strict", &line.strict);
    match &line.similar {
        Some(similar) => row("similar", similar),
        None => table.row([
            "similar",
            "-",
            "a text is not kept, so its wording is not known",
        ]),
    }
    table
}
