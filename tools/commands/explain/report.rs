//! The report of `simdb-cli explain`: its JSON, and its text.

use std::fmt::{self, Display, Formatter};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use simdb::{Fingerprint, Likeness, Resemblance, UnreliableReason};

use super::features::{BITS, FeatureComparison, SharedFeature};
use crate::commands::STRICT_RADIUS;
use crate::console::counted;
use crate::console::rows::{cells, displayed, or_dash, yes_or_no};
use crate::console::table::Align::{Left, Right};
use crate::console::table::{Table, columns, one_line};

/// Blocks of a fingerprint, and bits in each.
const BLOCKS: usize = 4;
const BLOCK_BITS: usize = BITS / BLOCKS;

/// The names of both sides.
const NAMES: [&str; 2] = ["A", "B"];

/// One of the two texts or documents.
#[derive(Serialize)]
pub(super) struct Side {
    /// Its id, if it is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Its text, if that is known.
    #[serde(skip)]
    pub text: Option<String>,
    #[serde(serialize_with = "displayed")]
    pub fingerprint: Fingerprint,
    pub reliable: bool,
    /// The reason why the fingerprint is not reliable, if that is known, as a name for programs.
    pub doubt: Option<&'static str>,
    /// The same in words.
    pub because: Option<String>,
    /// `true` if the features of the text make the fingerprint: a document may be stored with
    /// another.
    #[serde(skip)]
    pub is_made_of_text: bool,
}

/// Everything that is known of two texts.
pub(super) struct Explanation {
    pub recipe: &'static str,
    pub sides: [Side; 2],
    /// `None` unless both fingerprints are made of texts that are known.
    pub features: Option<FeatureComparison>,
    /// `None` unless both texts are known.
    pub resemblance: Option<Resemblance>,
    pub likeness: Likeness,
}

/// A yes or no to whether two texts are near-duplicates, and the reason.
#[derive(Serialize)]
struct Decision {
    near_duplicates: bool,
    because: String,
}

/// The name of a doubt, for programs.
pub(super) fn name_of(doubt: UnreliableReason) -> &'static str {
    match doubt {
        UnreliableReason::TooFewFeatures { .. } => "too-few-features",
        UnreliableReason::Repetitive { .. } => "repetitive",
        UnreliableReason::NoLetter => "no-letter",
        UnreliableReason::SingleWord => "single-word",
        UnreliableReason::OneOutweighs => "one-outweighs",
        _ => "other",
    }
}

impl Explanation {
    /// Returns `true` for near-duplicates by their wording or, without texts, by their bits.
    pub fn near_duplicates(&self) -> bool {
        let decision = self.similar().unwrap_or_else(|| self.strict());
        decision.near_duplicates
    }

    fn distance(&self) -> u32 {
        let [one, other] = &self.sides;
        one.fingerprint.distance(other.fingerprint)
    }

    /// The least radius at which a query by one finds the other, if any does.
    fn found_from_radius(&self) -> Option<u32> {
        let are_reliable = self.sides.iter().all(|side| side.reliable);
        are_reliable.then(|| self.distance())
    }

    /// The keys of both sides in each block.
    fn keys(&self) -> [[u16; 2]; BLOCKS] {
        std::array::from_fn(|block| {
            let shift = BITS - BLOCK_BITS * (block + 1);
            [0, 1].map(|side| (self.sides[side].fingerprint.bits() >> shift) as u16)
        })
    }

    /// The bits that differ, each with its block, the most significant bit first.
    fn differing_bits(&self) -> impl Iterator<Item = (usize, usize)> {
        let [one, other] = &self.sides;
        let differing = one.fingerprint.bits() ^ other.fingerprint.bits();
        let bits = (0..BITS).rev().filter(move |bit| differing >> bit & 1 == 1);
        bits.map(|bit| (bit, (BITS - 1 - bit) / BLOCK_BITS))
    }

    /// The decision of a query at the usual radius.
    fn strict(&self) -> Decision {
        let distance = self.distance();
        let is_near = distance <= STRICT_RADIUS;
        let bits = counted(distance.into(), "bit");
        let unreliable: Vec<_> = (0..2).filter(|side| !self.sides[*side].reliable).collect();
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

    /// The decision by the wording.
    fn similar(&self) -> Option<Decision> {
        let found = self.resemblance?;
        let least = self.likeness;
        let edits = match found.edit_similarity {
            Some(similarity) => format!("the edit similarity is {similarity:.3}"),
            None => "the texts are too long for an edit similarity".to_owned(),
        };
        let phrases = format!("{:.3} of the phrases are in both", found.jaccard);
        let because = if found.same_wording {
            "the wording is the same".to_owned()
        } else if !found.comparable {
            "a text says so little that only one of the same wording is its near-duplicate"
                .to_owned()
        } else if found.edit_similarity >= Some(least.edit_similarity) {
            format!("{edits}, and {} is enough", least.edit_similarity)
        } else if found.jaccard >= least.jaccard {
            format!("{phrases}, and {} is enough", least.jaccard)
        } else {
            format!(
                "{edits}, where {} would be enough, and {phrases}, where {} would",
                least.edit_similarity, least.jaccard
            )
        };
        Some(Decision {
            near_duplicates: found.is_enough(&self.likeness),
            because,
        })
    }
}

impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let blocks = self.keys().into_iter().enumerate().map(|(block, [a, b])| {
            json!({
                "block": block,
                "a": format!("{a:04x}"),
                "b": format!("{b:04x}"),
                "differing_bits": (a ^ b).count_ones(),
            })
        });
        let bits = self.features.as_ref().map(|features| {
            let bits = self.differing_bits();
            bits.map(|(bit, block)| features.bit_json(bit, block))
                .collect::<Value>()
        });
        let wording = self.resemblance.map(|found| {
            json!({
                "same_wording": found.same_wording,
                "edit_similarity": found.edit_similarity,
                "jaccard": found.jaccard,
                "comparable": found.comparable,
            })
        });
        let report = json!({
            "recipe": self.recipe,
            "a": self.sides[0],
            "b": self.sides[1],
            "distance": self.distance(),
            "blocks": blocks.collect::<Value>(),
            "found_from_radius": self.found_from_radius(),
            "features": self.features.as_ref().map(FeatureComparison::json),
            "bits": bits,
            "wording": wording,
            "strict": self.strict(),
            "similar": self.similar(),
            "near_duplicates": self.near_duplicates(),
        });
        report.serialize(serializer)
    }
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}\n\n", self.fingerprints(), self.at_radius())?;
        if let Some(features) = &self.features {
            write!(f, "{}\n\n", groups(features))?;
            if self.distance() > 0 {
                write!(f, "{}\n\n", self.bits(features))?;
            }
        }
        if let Some(found) = &self.resemblance {
            write!(f, "{}\n\n", self.wording(found))?;
        }
        write!(f, "{}", self.decisions())
    }
}

impl Explanation {
    fn fingerprints(&self) -> Table {
        let mut table = Table::new(&[Left; 6]);
        for (index, side) in self.sides.iter().enumerate() {
            let id = side.id.map(|id| format!(", document {id}"));
            let name = NAMES[index].to_owned() + id.as_deref().unwrap_or_default();
            let [a, b, c, d] = self.keys().map(|keys| format!("{:04x}", keys[index]));
            let reliable = match &side.because {
                _ if side.reliable => "reliable".to_owned(),
                Some(because) => format!("unreliable: {because}"),
                None => "unreliable".to_owned(),
            };
            table.row([name, a, b, c, d, reliable]);
        }
        let [a, b, c, d] = self.keys().map(|[a, b]| match (a ^ b).count_ones() {
            0 => "=".to_owned(),
            bits => bits.to_string(),
        });
        let distance = format!("distance {} (recipe {})", self.distance(), self.recipe);
        table.row(cells!["bits that differ", a, b, c, d, distance]);
        table
    }

    /// The blocks that are equal, and the radius from which on a query finds the other side.
    fn at_radius(&self) -> String {
        let Some(radius) = self.found_from_radius() else {
            return "found at no radius, since unreliable fingerprints match no other".to_owned();
        };
        let keys = self.keys().into_iter().enumerate();
        let equal = keys.filter(|(_, [a, b])| a == b);
        let equal: Vec<_> = equal.map(|(block, _)| block.to_string()).collect();
        let (blocks, looks) = match &equal[..] {
            [] => ("no block is".to_owned(), "does not look"),
            [block] => (format!("block {block} is"), "looks"),
            blocks => (format!("blocks {} are", blocks.join(", ")), "looks"),
        };
        format!(
            "{blocks} equal: a query at radius {STRICT_RADIUS} {looks} at it; found from radius \
             {radius} on"
        )
    }

    fn bits(&self, features: &FeatureComparison) -> Table {
        let mut table = Table::new(&[Right, Right, Right, Right, Left, Left]);
        table.row("bit|block|sum in A|sum in B|to 1 pull|to 0 pull".split('|'));
        for (bit, block) in self.differing_bits() {
            let [a, b] = features.sums(bit).map(|sum| format!("{sum:+.2}"));
            let [to_zero, to_one] = [0, 1].map(|to| pulls(&features.pulling(bit, to)));
            table.row(cells![bit, block, a, b, to_one, to_zero]);
        }
        let [a, b] = features.chance.map(|chance| format!("±{chance:.2}"));
        let legend = "token, weight, and which text has it";
        table.row(["", "chance", &a, &b, legend]);
        table
    }

    fn wording(&self, found: &Resemblance) -> Table {
        let least = self.likeness;
        let mut table = Table::new(&[Left, Right, Left]);
        table.row(["same wording", yes_or_no(found.same_wording)]);
        for (measure, found, least) in [
            (
                "edit similarity",
                found.edit_similarity,
                least.edit_similarity,
            ),
            ("phrases, Jaccard", Some(found.jaccard), least.jaccard),
        ] {
            let found = or_dash(found.map(|found| format!("{found:.3}")));
            table.row(cells![measure, found, format!("{least} is enough")]);
        }
        table
    }

    fn decisions(&self) -> Table {
        let mut table = Table::new(&[Left; 3]);
        for (way, decision) in [("strict", Some(self.strict())), ("similar", self.similar())] {
            let answer = decision
                .as_ref()
                .map(|decision| yes_or_no(decision.near_duplicates));
            let because = decision.map(|decision| decision.because);
            let unknown = "a text is not kept, so its wording is not known";
            table.row([
                way,
                answer.unwrap_or("-"),
                because.as_deref().unwrap_or(unknown),
            ]);
        }
        table
    }
}

fn groups(features: &FeatureComparison) -> Table {
    let mut table = Table::new(&[Left, Right, Right, Right, Left]);
    table.row(["features", "", "of A", "of B", "the heaviest"]);
    let names = ["in both", "in A only", "in B only"];
    for (name, group) in names.into_iter().zip(features.groups()) {
        let percent = |share: f64| format!("{:.1}%", share * 100.0);
        let [a, b] = group.shares.map(|share| or_dash(share.map(percent)));
        let tokens: Vec<_> = group
            .features
            .iter()
            .map(|feature| feature.token.as_str())
            .collect();
        let tokens = one_line(&tokens.join(" "), columns().saturating_sub(36).max(30));
        table.row(cells![name, group.features.len(), a, b, tokens]);
    }
    let expected = format!(
        "{:.1} bits are to be expected to differ",
        features.expected_distance()
    );
    table.row(cells![
        "cosine",
        format!("{:.3}", features.cosine),
        "",
        "",
        expected
    ]);
    table
}

/// Features that pull a bit to one side: `回家 1.69 AB`.
fn pulls(features: &[&SharedFeature]) -> String {
    let pulls = features.iter().map(|feature| {
        let texts = (0..2).filter(|text| feature.weights[*text] > 0.0);
        let texts: String = texts.map(|text| NAMES[text]).collect();
        format!(
            "{} {:.2} {texts}",
            one_line(&feature.token, 16),
            feature.heaviest()
        )
    });
    pulls.collect::<Vec<_>>().join(", ")
}
