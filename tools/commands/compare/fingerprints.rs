//! Two fingerprints, block by block and bit by bit.

use serde_json::{Value, json};

use super::features::{BITS, FeatureComparison};
use super::side::{NAMES, Side};
use crate::commands::STRICT_RADIUS;
use crate::console::rows::cells;
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;

/// Blocks of a fingerprint, and bits of a block.
const BLOCKS: usize = 4;
const BLOCK_BITS: usize = BITS / BLOCKS;

/// The keys of both sides in each block.
fn keys(sides: &[Side; 2]) -> [[u16; 2]; BLOCKS] {
    std::array::from_fn(|block| {
        // Block 0 has the most significant bits, as in the tables of a database.
        let shift = BITS - BLOCK_BITS * (block + 1);
        [0, 1].map(|side| (sides[side].made.fingerprint.bits() >> shift) as u16)
    })
}

/// The bits that differ, each with its block, the most significant bit first.
fn differing_bits([one, other]: &[Side; 2]) -> impl Iterator<Item = (usize, usize)> {
    let differing = one.made.fingerprint.bits() ^ other.made.fingerprint.bits();
    let bits = (0..BITS).rev().filter(move |bit| differing >> bit & 1 == 1);
    bits.map(|bit| (bit, (BITS - 1 - bit) / BLOCK_BITS))
}

pub(super) fn blocks_json(sides: &[Side; 2]) -> Value {
    let blocks = keys(sides).into_iter().enumerate().map(|(block, [a, b])| {
        let differing = (a ^ b).count_ones();
        let [a, b] = [a, b].map(|key| format!("{key:04x}"));
        json!({"block": block, "a": a, "b": b, "differing_bits": differing})
    });
    blocks.collect()
}

pub(super) fn bits_json(sides: &[Side; 2], features: &FeatureComparison) -> Value {
    let bits = differing_bits(sides);
    bits.map(|(bit, block)| features.bit_json(bit, block))
        .collect()
}

/// Both fingerprints in blocks, and the number of bits that differ in each block.
pub(super) fn blocks_table(sides: &[Side; 2]) -> Table {
    let mut table = Table::new(&[Left; 6]);
    for (index, side) in sides.iter().enumerate() {
        let document = side.name().map(|name| format!(", document {name}"));
        let name = NAMES[index].to_owned() + document.as_deref().unwrap_or_default();
        let [a, b, c, d] = keys(sides).map(|keys| format!("{:04x}", keys[index]));
        let reliable = match &side.reason {
            _ if side.made.reliable => "reliable".to_owned(),
            Some(reason) => format!("unreliable: {reason}"),
            None => "unreliable".to_owned(),
        };
        table.row([name, a, b, c, d, reliable]);
    }
    let differing = keys(sides).map(|[a, b]| (a ^ b).count_ones());
    let [a, b, c, d] = differing.map(|bits| match bits {
        0 => "=".to_owned(),
        bits => bits.to_string(),
    });
    let equal = differing.iter().filter(|bits| **bits == 0).count();
    let looks = match equal {
        0 => format!("no block is equal: a query at radius {STRICT_RADIUS} does not look at it"),
        blocks => format!("{blocks} of {BLOCKS} blocks are equal"),
    };
    table.row(cells!["bits that differ", a, b, c, d, looks]);
    table
}

/// The sums of each bit that differs, and the features that pull it.
pub(super) fn bits_table(sides: &[Side; 2], features: &FeatureComparison) -> Table {
    let mut table = Table::new(&[Right, Right, Right, Right, Left, Left]);
    table.row("bit|block|sum in A|sum in B|to 1 pull|to 0 pull".split('|'));
    for (bit, block) in differing_bits(sides) {
        let [a, b] = features.sums(bit).map(|sum| format!("{sum:+.2}"));
        let [to_zero, to_one] = [0, 1].map(|to| features.pulls(bit, to));
        table.row(cells![bit, block, a, b, to_one, to_zero]);
    }
    let [a, b] = features.chance.map(|chance| format!("±{chance:.2}"));
    table.row(["", "chance", &a, &b, "token, weight, and which text has it"]);
    table
}
