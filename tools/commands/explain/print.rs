//! What `simdb-cli explain` says, as lines for people.

use anyhow::Result;

use super::report::{Decision, ExplainLine, FeatureLine, NAMES};
use crate::commands::STRICT_RADIUS;
use crate::console::Output;
use crate::console::table::{Align, Table, columns, one_line};

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
