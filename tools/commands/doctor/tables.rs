//! What `simdb-cli doctor` found, as people read it.

use anyhow::Result;

use super::findings::{Finding, percent};
use super::report::{BlockLine, DoctorLine, Sample};
use crate::console::table::{Align, Table, columns, one_line};
use crate::console::{Output, grouped};

/// How many of the hottest keys of a block are shown.
const HOTTEST_SHOWN: usize = 3;

/// Prints what was found as tables, and what needs attention in sentences.
pub fn print(line: &DoctorLine, output: &mut Output) -> Result<()> {
    let parts = [
        counts(line),
        keys(line),
        hottest(line),
        bits(line),
        largest_groups(line),
        queries(line),
    ];
    for part in parts {
        let mut rows = part.lines().peekable();
        if rows.peek().is_none() {
            continue;
        }
        for row in rows {
            output.line(row)?;
        }
        output.line("")?;
    }
    for Finding {
        finding,
        says,
        advice,
    } in &line.findings
    {
        output.line(format_args!("attention  {finding}: {says}"))?;
        output.line(format_args!("           {advice}"))?;
    }
    if line.ok {
        output.line("sound  nothing needs attention")?;
    }
    Ok(())
}

fn counts(line: &DoctorLine) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    let mut row = |name: &str, count: u64, of: u64| {
        let share = if of == 0 {
            String::new()
        } else {
            percent(count as f64 / of as f64)
        };
        table.row([name.to_owned(), grouped(count), share]);
    };
    row("documents", line.documents, 0);
    row("unreliable", line.unreliable, line.documents);
    row("distinct fingerprints", line.distinct_fingerprints, 0);
    row(
        "documents that share one",
        line.duplicates.documents,
        line.documents,
    );
    row(
        "fingerprints that are shared",
        line.duplicates.groups,
        line.distinct_fingerprints,
    );
    table
}

/// One row for each bin: how many keys so many fingerprints have, in each block, and how many would
/// if fingerprints were random.
fn keys(line: &DoctorLine) -> Table {
    let mut table = Table::new(&[Align::Right; 6]);
    let row = |first: String, each: &dyn Fn(&BlockLine) -> String, last: String| {
        let mut cells = vec![first];
        cells.extend(line.blocks.iter().map(each));
        cells.push(last);
        cells
    };
    table.row(row(
        "fingerprints a key".to_owned(),
        &|block| format!("block {}", block.block),
        "if random".to_owned(),
    ));
    // All blocks have the same mean, so their bins are the same but for the last ones.
    let bins = line.blocks.iter().map(|block| &block.histogram);
    for bin in bins.max_by_key(|bins| bins.len()).into_iter().flatten() {
        let label = match bin.to {
            Some(to) if to == bin.from => grouped(to),
            Some(to) => format!("{} to {}", grouped(bin.from), grouped(to)),
            None => format!("{} and more", grouped(bin.from)),
        };
        let found = |block: &BlockLine| {
            let bins = block.histogram.iter();
            let found = bins
                .filter(|found| found.from == bin.from)
                .map(|found| found.keys);
            grouped(found.sum())
        };
        table.row(row(label, &found, tenths(bin.keys_if_random)));
    }
    let dispersion = |block: &BlockLine| match block.dispersion {
        Some(dispersion) => format!("{dispersion:.2}"),
        None => "-".to_owned(),
    };
    table.row(row(
        "variance / mean".to_owned(),
        &dispersion,
        "1.0".to_owned(),
    ));
    table
}

fn hottest(line: &DoctorLine) -> Table {
    let mut table = Table::new(&[
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Left,
    ]);
    if line.distinct_fingerprints > 0 {
        table.row([
            "block",
            "hottest key",
            "fingerprints",
            "documents",
            "such as",
        ]);
    }
    for block in &line.blocks {
        for hot in block.hottest.iter().take(HOTTEST_SHOWN) {
            let cells = [
                block.block.to_string(),
                hot.key.clone(),
                grouped(hot.distinct_fingerprints),
                grouped(hot.documents),
                samples(&hot.samples),
            ];
            table.row(cells);
        }
    }
    table
}

/// One row for each block: the share of ones in its bits, the most significant one first.
fn bits(line: &DoctorLine) -> Table {
    let mut table = Table::new(&[Align::Left; 3]);
    let Some(shares) = &line.ones else {
        return table;
    };
    table.row(["block", "bits", "ones in each, in hundredths"]);
    for (block, shares) in shares.rchunks(16).enumerate() {
        let lowest = 48 - 16 * block;
        let each = shares
            .iter()
            .rev()
            .map(|share| format!("{:>3.0}", share * 100.0));
        table.row([
            block.to_string(),
            format!("{} to {lowest}", lowest + 15),
            each.collect::<Vec<_>>().join(" "),
        ]);
    }
    table
}

fn largest_groups(line: &DoctorLine) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    if !line.duplicates.largest.is_empty() {
        table.row(["shared fingerprint", "documents", "such as"]);
    }
    for group in &line.duplicates.largest {
        table.row([
            group.fingerprint.clone(),
            grouped(group.documents),
            samples(&group.samples),
        ]);
    }
    table
}

fn queries(line: &DoctorLine) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.row(["a query at radius 3", "candidates", "if random", "look-ups"]);
    for query in &line.queries {
        let name = match query.growth {
            1.0 => "now".to_owned(),
            growth => format!("with {growth} times as many documents"),
        };
        table.row([
            name,
            tenths(query.candidates),
            tenths(query.candidates_if_random),
            tenths(query.look_ups),
        ]);
    }
    table
}

/// A number that may be small or large.
fn tenths(number: f64) -> String {
    if number < 100.0 {
        format!("{number:.1}")
    } else {
        grouped(number.round() as u64)
    }
}

/// The ids, and how the first text begins where texts are kept.
fn samples(samples: &[Sample]) -> String {
    let ids: Vec<String> = samples.iter().map(|sample| sample.id.to_string()).collect();
    let mut said = ids.join(" ");
    if let Some(text) = samples.iter().find_map(|sample| sample.text.as_ref()) {
        said = format!("{said}: {text}");
    }
    one_line(&said, columns().saturating_sub(50).max(30))
}
