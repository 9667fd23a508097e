//! The report of `simdb-cli explain`, as JSON and as text.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};
use simdb::containment::{Alignment, Containment};
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Document, Fingerprinter, TextFingerprint, UnreliableReason};

use super::features::{BITS, FeatureComparison, SharedFeature};
use crate::commands::STRICT_RADIUS;
use crate::console::alignment::{picture, rows, verdict_line};
use crate::console::counted;
use crate::console::rows::{cells, or_dash, yes_or_no};
use crate::console::table::Align::{Left, Right};
use crate::console::table::{Table, columns, one_line};

/// Blocks of a fingerprint, and bits of a block.
const BLOCKS: usize = 4;
const BLOCK_BITS: usize = BITS / BLOCKS;

const NAMES: [&str; 2] = ["A", "B"];

pub(super) struct Side {
    /// `None` for a text that is not stored.
    pub id: Option<u64>,
    /// `None` if the database keeps no texts.
    pub text: Option<String>,
    pub made: TextFingerprint,
    /// The reason why the fingerprint is unreliable; `None` if it is reliable, or not made of the
    /// text.
    pub reason: Option<UnreliableReason>,
    /// `false` if the document is stored with another fingerprint than that of its text.
    pub is_made_of_text: bool,
}

/// The comparison of two texts.
pub(super) struct Explanation {
    pub recipe: &'static str,
    pub sides: [Side; 2],
    /// `None` unless both fingerprints are made of known texts.
    pub features: Option<FeatureComparison>,
    /// `None` unless both texts are known.
    pub resemblance: Option<Resemblance>,
    pub alignment: Option<Alignment>,
    pub likeness: Likeness,
    pub decision: simdb::Decision,
}

/// The answer to the question if two texts are near-duplicates, and the reason.
#[derive(Serialize)]
struct Decision {
    near_duplicates: bool,
    because: String,
}

impl Side {
    pub fn of_text(fingerprinter: &Fingerprinter, text: String) -> Result<Self> {
        Ok(Self {
            id: None,
            made: fingerprinter.fingerprint(&text)?,
            reason: fingerprinter.unreliable_reason(&text)?,
            text: Some(text),
            is_made_of_text: true,
        })
    }

    pub fn of_document(fingerprinter: &Fingerprinter, document: Document) -> Result<Self> {
        let stored = (document.fingerprint, document.reliable);
        let id = Some(document.id.0);
        if let Some(text) = &document.text
            && fingerprinter.recipe().takes_texts()
        {
            let side = Self::of_text(fingerprinter, text.clone())?;
            if (side.made.fingerprint, side.made.reliable) == stored {
                return Ok(Self { id, ..side });
            }
        }
        let (fingerprint, reliable) = stored;
        Ok(Self {
            id,
            text: document.text,
            made: TextFingerprint {
                fingerprint,
                reliable,
            },
            reason: None,
            is_made_of_text: false,
        })
    }

    fn json(&self) -> Value {
        let mut side = json!({
            "id": self.id,
            "fingerprint": self.made.fingerprint.to_string(),
            "reliable": self.made.reliable,
            "doubt": self.reason.map(|reason| match reason {
                UnreliableReason::TooFewFeatures { .. } => "too-few-features",
                UnreliableReason::Repetitive { .. } => "repetitive",
                UnreliableReason::NoLetter => "no-letter",
                UnreliableReason::SingleWord => "single-word",
                UnreliableReason::OneOutweighs => "one-outweighs",
                _ => "other",
            }),
            "because": self.reason.map(|reason| reason.to_string()),
        });
        if let (None, Some(fields)) = (self.id, side.as_object_mut()) {
            fields.shift_remove("id");
        }
        side
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
        one.made.fingerprint.distance(other.made.fingerprint)
    }

    /// The least radius at which a query by one side finds the other; `None` if a side is
    /// unreliable.
    fn found_from_radius(&self) -> Option<u32> {
        let are_reliable = self.sides.iter().all(|side| side.made.reliable);
        are_reliable.then(|| self.distance())
    }

    /// The keys of both sides in each block.
    fn keys(&self) -> [[u16; 2]; BLOCKS] {
        std::array::from_fn(|block| {
            let shift = BITS - BLOCK_BITS * (block + 1);
            [0, 1].map(|side| (self.sides[side].made.fingerprint.bits() >> shift) as u16)
        })
    }

    /// The bits that differ, each with its block, the most significant bit first.
    fn differing_bits(&self) -> impl Iterator<Item = (usize, usize)> {
        let [one, other] = &self.sides;
        let differing = one.made.fingerprint.bits() ^ other.made.fingerprint.bits();
        let bits = (0..BITS).rev().filter(move |bit| differing >> bit & 1 == 1);
        bits.map(|bit| (bit, (BITS - 1 - bit) / BLOCK_BITS))
    }

    /// The decision of a query at the default radius.
    fn strict(&self) -> Decision {
        let distance = self.distance();
        let is_near = distance <= STRICT_RADIUS;
        let differ = format!(
            "the fingerprints differ in {}",
            counted(distance.into(), "bit")
        );
        let unreliable: Vec<_> = (0..2)
            .filter(|side| !self.sides[*side].made.reliable)
            .collect();
        Decision {
            near_duplicates: is_near && unreliable.is_empty(),
            because: match unreliable[..] {
                [] if is_near => differ,
                [] => format!("{differ}, more than {STRICT_RADIUS}"),
                [side] => format!(
                    "the fingerprint of {} is unreliable, so it matches no other",
                    NAMES[side]
                ),
                _ => "both fingerprints are unreliable, so they match no other".to_owned(),
            },
        }
    }

    fn similar(&self) -> Option<Decision> {
        let found = self.resemblance?;
        let Likeness {
            edit_similarity,
            jaccard,
            ..
        } = self.likeness;
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
        } else if found.edit_similarity >= Some(edit_similarity) {
            format!("{edits}, and {edit_similarity} is enough")
        } else if found.jaccard >= jaccard {
            format!("{phrases}, and {jaccard} is enough")
        } else {
            format!(
                "{edits}, where {edit_similarity} would be enough, and {phrases}, where {jaccard} \
                 would"
            )
        };
        let is_alike = found.is_enough(&self.likeness);
        let Some(found) = self.deciding().filter(|_| is_alike) else {
            return Some(Decision {
                near_duplicates: is_alike,
                because,
            });
        };
        Some(Decision {
            near_duplicates: found.verdict.is_removable(),
            because: format!("{because}; the verdict is {}", found.verdict.name()),
        })
    }

    /// The containment of both texts, unless the thresholds alone decide.
    fn deciding(&self) -> Option<&Containment> {
        let alignment = self.alignment.as_ref()?;
        (self.decision == simdb::Decision::Contained).then_some(&alignment.containment)
    }

    pub fn json(&self) -> Value {
        let blocks = self.keys().into_iter().enumerate().map(|(block, [a, b])| {
            let differing = (a ^ b).count_ones();
            let [a, b] = [a, b].map(|key| format!("{key:04x}"));
            json!({"block": block, "a": a, "b": b, "differing_bits": differing})
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
        json!({
            "recipe": self.recipe,
            "a": self.sides[0].json(),
            "b": self.sides[1].json(),
            "distance": self.distance(),
            "blocks": blocks.collect::<Value>(),
            "found_from_radius": self.found_from_radius(),
            "features": self.features.as_ref().map(FeatureComparison::json),
            "bits": bits,
            "wording": wording,
            "containment": self.alignment.as_ref().map(|alignment| json!({
                "verdict": alignment.containment.verdict.name(),
                "missing_in_b": rows(&alignment.containment.missing_in_b),
                "missing_in_a": rows(&alignment.containment.missing_in_a),
            })),
            "strict": self.strict(),
            "similar": self.similar(),
            "near_duplicates": self.near_duplicates(),
        })
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(alignment) = &self.alignment {
            let [a, b] = picture(alignment);
            text += &format!("{}\n{a}\n{b}\n\n", verdict_line(&alignment.containment));
        }
        text += &format!("{}\n{}\n\n", self.fingerprints(), self.at_radius());
        if let Some(features) = &self.features {
            text += &format!("{}\n\n", groups(features));
            if self.distance() > 0 {
                text += &format!("{}\n\n", self.bits(features));
            }
        }
        if let Some(found) = &self.resemblance {
            text += &format!("{}\n\n", self.wording(found));
        }
        text + &self.decisions().to_string()
    }

    fn fingerprints(&self) -> Table {
        let mut table = Table::new(&[Left; 6]);
        for (index, side) in self.sides.iter().enumerate() {
            let id = side.id.map(|id| format!(", document {id}"));
            let name = NAMES[index].to_owned() + id.as_deref().unwrap_or_default();
            let [a, b, c, d] = self.keys().map(|keys| format!("{:04x}", keys[index]));
            let reliable = match &side.reason {
                _ if side.made.reliable => "reliable".to_owned(),
                Some(reason) => format!("unreliable: {reason}"),
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
        table.row(["", "chance", &a, &b, "token, weight, and which text has it"]);
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
            let (answer, because) = match &decision {
                Some(decision) => (yes_or_no(decision.near_duplicates), &decision.because[..]),
                None => ("-", "a text is not kept, so its wording is not known"),
            };
            table.row([way, answer, because]);
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
        let tokens: Vec<_> = group.features.iter().map(|f| f.token.as_str()).collect();
        let tokens = one_line(&tokens.join(" "), columns().saturating_sub(36).max(30));
        table.row(cells![name, group.features.len(), a, b, tokens]);
    }
    let cosine = format!("{:.3}", features.cosine);
    let expected = format!(
        "{:.1} bits are to be expected to differ",
        features.expected_distance()
    );
    table.row(["cosine", &cosine, "", "", &expected]);
    table
}

/// The features that pull a bit to one side: `回家 1.69 AB`.
fn pulls(features: &[&SharedFeature]) -> String {
    let pulls = features.iter().map(|feature| {
        let texts = (0..2).filter(|text| feature.weights[*text] > 0.0);
        let texts: String = texts.map(|text| NAMES[text]).collect();
        let token = one_line(&feature.token, 16);
        format!("{token} {:.2} {texts}", feature.heaviest())
    });
    pulls.collect::<Vec<_>>().join(", ")
}
