//! `simdb-cli doctor`: whether the fingerprints lie so that queries are quick, and if not, why.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::{BlockDiagnosis, Diagnosis, DocId, Snapshot};

use super::doctor_findings::{Finding, findings, most_bias, percent, shares};
use super::open_to_read;
use crate::console::table::{Align, Table, columns, one_line};
use crate::console::{Answer, Output, grouped, note};
use crate::options::RecipeOptions;

/// Says whether the fingerprints lie so that queries are quick, and if not, why and what to do
///
/// For each block: how many of its 65,536 keys so many distinct fingerprints have, beside what is
/// to be expected if fingerprints were random (Poisson); the hottest keys, with samples. The share
/// of ones in each bit; documents that share a fingerprint; what a query at radius 3 meets, now,
/// and with 2 and 10 times as many documents like these. In the end what needs attention:
///
/// dead-bits, the same in all fingerprints; biased-bits, with a share of ones farther than 0.3 and
/// six standard deviations from one half; slow-queries, 20,000 candidates and 8 times what is to
/// be expected; hot-keys, 4,096 fingerprints and 16 times the average; copies, 1,000 documents and
/// 1% of all with one fingerprint; unreliable, 100 documents and 10% of all without one that means
/// anything.
///
/// The exit code is 1 if there is any of these, 0 if there is none. Whether the file is damaged,
/// check says. --json prints one object, with `ok` and `findings`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli doctor news.simdb
  simdb-cli doctor news.simdb --json")]
pub struct Doctor {
    /// The database
    database: PathBuf,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    recipe: RecipeOptions,
}

#[derive(Serialize)]
struct DoctorLine {
    ok: bool,
    documents: u64,
    distinct_fingerprints: u64,
    unreliable: u64,
    unmerged_changes: u64,
    blocks: Vec<BlockLine>,
    /// Of bit 0 first; `None` without fingerprints.
    ones: Option<Vec<f64>>,
    /// How far from one half a share of ones may be.
    most_bias: f64,
    duplicates: DuplicatesLine,
    queries: Vec<QueryLine>,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct BlockLine {
    block: usize,
    histogram: Vec<u64>,
    expected: Vec<f64>,
    /// 1 if fingerprints are random; `None` without any.
    dispersion: Option<f64>,
    hottest: Vec<HotLine>,
}

#[derive(Serialize)]
struct HotLine {
    /// 4 hexadecimal digits.
    key: String,
    distinct_fingerprints: u64,
    documents: u64,
    samples: Vec<Sample>,
}

#[derive(Serialize)]
struct DuplicatesLine {
    groups: u64,
    documents: u64,
    largest: Vec<GroupLine>,
}

#[derive(Serialize)]
struct GroupLine {
    fingerprint: String,
    documents: u64,
    samples: Vec<Sample>,
}

#[derive(Serialize)]
struct Sample {
    id: u64,
    /// How its text begins, where texts are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Serialize)]
struct QueryLine {
    growth: f64,
    candidates: f64,
    candidates_if_random: f64,
    look_ups: f64,
}

/// How wide the beginning of a text is, in columns of a terminal.
const TEXT_COLUMNS: usize = 60;

/// How many of the hottest keys of a block people are shown.
const HOTTEST_SHOWN: usize = 3;

/// What a query meets is said for so many times as many documents.
const GROWTHS: [f64; 3] = [1.0, 2.0, 10.0];

impl Doctor {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let database = open_to_read(&self.database, &self.recipe)?;
        let snapshot = database.snapshot()?;
        let diagnosis = snapshot.diagnose()?;
        let line = examine(&snapshot, &diagnosis)?;
        if line.unmerged_changes > 0 {
            note(format_args!(
                "{} changes are in the journal and were not looked at; ask again",
                grouped(line.unmerged_changes)
            ));
        }
        if self.json {
            output.json(&line)?;
        } else {
            print(&line, output)?;
        }
        Ok(if line.ok { Answer::Yes } else { Answer::No })
    }
}

fn examine(snapshot: &Snapshot, diagnosis: &Diagnosis) -> Result<DoctorLine> {
    let sample = |id: &DocId| -> Result<Sample> {
        let text = snapshot.get(*id)?.and_then(|document| document.text);
        let text = text.map(|text| one_line(&text, TEXT_COLUMNS));
        Ok(Sample { id: id.0, text })
    };
    let samples = |ids: &[DocId]| ids.iter().map(sample).collect::<Result<Vec<_>>>();
    let block_line = |(block, found): (usize, &BlockDiagnosis)| -> Result<BlockLine> {
        let hottest = found.hottest.iter().map(|hot| {
            Ok(HotLine {
                key: format!("{:04x}", hot.key),
                distinct_fingerprints: hot.distinct_fingerprints,
                documents: hot.documents,
                samples: samples(&hot.samples)?,
            })
        });
        Ok(BlockLine {
            block,
            histogram: found.histogram.clone(),
            expected: found.expected_histogram(),
            dispersion: found.dispersion(),
            hottest: hottest.collect::<Result<_>>()?,
        })
    };
    let group_line = |group: &simdb::DuplicateGroup| -> Result<GroupLine> {
        Ok(GroupLine {
            fingerprint: group.fingerprint.to_string(),
            documents: group.documents,
            samples: samples(&group.samples)?,
        })
    };
    let query_line = |growth: f64| {
        let load = diagnosis.query_load(growth);
        QueryLine {
            growth,
            candidates: load.candidates,
            candidates_if_random: load.candidates_if_random,
            look_ups: load.look_ups,
        }
    };
    let findings = findings(diagnosis);
    let largest = diagnosis.duplicates.largest.iter().map(group_line);
    Ok(DoctorLine {
        ok: findings.is_empty(),
        documents: diagnosis.documents + diagnosis.unreliable,
        distinct_fingerprints: diagnosis.distinct_fingerprints,
        unreliable: diagnosis.unreliable,
        unmerged_changes: diagnosis.unmerged_changes,
        blocks: diagnosis
            .blocks
            .iter()
            .enumerate()
            .map(block_line)
            .collect::<Result<_>>()?,
        ones: shares(diagnosis),
        most_bias: most_bias(diagnosis),
        duplicates: DuplicatesLine {
            groups: diagnosis.duplicates.groups,
            documents: diagnosis.duplicates.documents,
            largest: largest.collect::<Result<_>>()?,
        },
        queries: GROWTHS.map(query_line).into(),
        findings,
    })
}

fn print(line: &DoctorLine, output: &mut Output) -> Result<()> {
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

/// One row for each power of two: how many keys so many fingerprints have, in each block, and how
/// many would.
fn keys(line: &DoctorLine) -> Table {
    let mut table = Table::new(&[Align::Right; 6]);
    let row = |first: String, each: &dyn Fn(&BlockLine) -> String, last: String| {
        let mut cells = vec![first];
        cells.extend(line.blocks.iter().map(each));
        cells.push(last);
        cells
    };
    let Some(expected) = line
        .blocks
        .iter()
        .map(|block| &block.expected)
        .max_by_key(|e| e.len())
    else {
        return table;
    };
    table.row(row(
        "fingerprints a key".to_owned(),
        &|block| format!("block {}", block.block),
        "if random".to_owned(),
    ));
    for (bits, keys) in expected.iter().enumerate() {
        let label = match bits {
            0 => "0".to_owned(),
            1 => "1".to_owned(),
            _ => format!(
                "{} to {}",
                grouped(1 << (bits - 1)),
                grouped((1 << bits) - 1)
            ),
        };
        let found = |block: &BlockLine| grouped(block.histogram.get(bits).copied().unwrap_or(0));
        table.row(row(label, &found, grouped(keys.round() as u64)));
    }
    let dispersion = |block: &BlockLine| match block.dispersion {
        Some(dispersion) => format!("{dispersion:.2}"),
        None => "-".to_owned(),
    };
    table.row(row(
        "variance / mean".to_owned(),
        &dispersion,
        "1.00".to_owned(),
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
