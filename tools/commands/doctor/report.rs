//! The report of `simdb-cli doctor`, as JSON and as text.

use std::collections::HashMap;

use anyhow::Result;
use serde_json::{Value, json};
use simdb::diagnosis::{BlockDiagnosis, Diagnosis};
use simdb::{DocId, Snapshot};

use super::findings::{Finding, findings, most_bias, percent, shares_of_ones};
use super::histogram::{Bin, dispersion, fingerprints_per_key, histogram};
use super::query_load::query_load;
use crate::commands::stats::ahead_of_clock;
use crate::console::rows::{cells, or_dash};
use crate::console::table::Align::{Left, Right};
use crate::console::table::{Table, columns, one_line};
use crate::console::{counted, grouped};

/// A diagnosis with its findings and the texts of its samples.
pub struct Examination {
    pub diagnosis: Diagnosis,
    pub findings: Vec<Finding>,
    /// The first line of each sample with a text.
    texts: HashMap<DocId, String>,
}

/// At most 60 columns of the text of a sample.
const TEXT_COLUMNS: usize = 60;

/// The factors of growth for which the load of queries is reported.
const GROWTHS: [f64; 3] = [1.0, 2.0, 10.0];

/// At most 3 hot keys of a block in the text; JSON has all of the diagnosis.
const HOTTEST_SHOWN: usize = 3;

impl Examination {
    /// Diagnoses a database, and fetches the texts of the samples.
    pub fn new(snapshot: &Snapshot) -> Result<Self> {
        let diagnosis = snapshot.diagnose()?;
        let keys = diagnosis.blocks.iter().flat_map(|block| &block.hottest);
        let keys = keys.flat_map(|key| &key.samples);
        let groups = diagnosis
            .duplicates
            .largest
            .iter()
            .flat_map(|group| &group.samples);
        let mut texts = HashMap::new();
        for id in keys.chain(groups) {
            if let Some(text) = snapshot.get(*id)?.and_then(|document| document.text) {
                texts.insert(*id, one_line(&text, TEXT_COLUMNS));
            }
        }
        Ok(Self {
            findings: findings(&diagnosis, ahead_of_clock(snapshot)),
            diagnosis,
            texts,
        })
    }

    fn all_documents(&self) -> u64 {
        self.diagnosis.documents + self.diagnosis.unreliable
    }

    fn samples_json(&self, ids: &[DocId]) -> Value {
        let sample = |id: &DocId| match self.texts.get(id) {
            Some(text) => json!({ "id": id.0, "text": text }),
            None => json!({ "id": id.0 }),
        };
        ids.iter().map(sample).collect()
    }

    fn block_json(&self, (block, found): (usize, &BlockDiagnosis)) -> Value {
        let counts = fingerprints_per_key(found);
        let hottest = found.hottest.iter().map(|hot| {
            json!({
                "key": format!("{:04x}", hot.key),
                "distinct_fingerprints": hot.distinct_fingerprints,
                "documents": hot.documents,
                "samples": self.samples_json(&hot.samples),
            })
        });
        json!({
            "block": block,
            "histogram": histogram(&counts),
            "dispersion": dispersion(&counts),
            "hottest": hottest.collect::<Value>(),
        })
    }

    pub fn json(&self) -> Value {
        let diagnosis = &self.diagnosis;
        let duplicates = &diagnosis.duplicates;
        let blocks = diagnosis.blocks.iter().enumerate();
        let groups = duplicates.largest.iter().map(|group| {
            json!({
                "fingerprint": group.fingerprint.to_string(),
                "documents": group.documents,
                "samples": self.samples_json(&group.samples),
            })
        });
        let queries = GROWTHS.map(|growth| query_load(diagnosis, growth));
        json!({
            "ok": self.findings.is_empty(),
            "documents": self.all_documents(),
            "distinct_fingerprints": diagnosis.distinct_fingerprints,
            "unreliable": diagnosis.unreliable,
            "unmerged_changes": diagnosis.unmerged_changes,
            "blocks": blocks.map(|block| self.block_json(block)).collect::<Value>(),
            "ones": shares_of_ones(diagnosis),
            "most_bias": most_bias(diagnosis),
            "duplicates": {
                "groups": duplicates.groups,
                "documents": duplicates.documents,
                "largest": groups.collect::<Value>(),
            },
            "queries": queries,
            "findings": self.findings,
        })
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n{}\n\n", self.counts(), self.keys());
        for table in [self.hottest(), self.bits(), self.largest_groups()] {
            // Without fingerprints or duplicates a table is only its header.
            if table.lines().nth(1).is_some() {
                text += &format!("{table}\n\n");
            }
        }
        text += &format!("{}\n", self.queries());
        for found in &self.findings {
            let Finding {
                finding,
                says,
                advice,
            } = found;
            text += &format!("\nattention  {finding}: {says}\n           {advice}");
        }
        if self.findings.is_empty() {
            text += "\nsound  nothing needs attention";
        }
        text
    }

    fn counts(&self) -> String {
        let distinct = self.diagnosis.distinct_fingerprints;
        let documents = self.all_documents();
        let duplicates = &self.diagnosis.duplicates;
        let count = |count: u64, of: u64| {
            let share = (of > 0).then(|| percent(count as f64 / of as f64));
            format!("{} ({})", grouped(count), or_dash(share))
        };
        format!(
            "{}, of which {} are unreliable and {} share a fingerprint with others\n{}, of which {} \
             are shared",
            counted(documents, "document"),
            count(self.diagnosis.unreliable, documents),
            count(duplicates.documents, documents),
            counted(distinct, "distinct fingerprint"),
            count(duplicates.groups, distinct),
        )
    }

    /// The histograms: a row for each bin, a column for each block and a column for random
    /// fingerprints.
    fn keys(&self) -> Table {
        let blocks = &self.diagnosis.blocks;
        let mut table = Table::new(&[Right; 6]);
        table.row("fingerprints a key|block 0|block 1|block 2|block 3|if random".split('|'));
        let counts = blocks.each_ref().map(fingerprints_per_key);
        let histograms = counts.each_ref().map(|counts| histogram(counts));
        // All blocks have the same mean, so their histograms differ only in length.
        let longest = histograms.iter().max_by_key(|bins| bins.len());
        for (index, bin) in longest.into_iter().flatten().enumerate() {
            let label = match bin.to {
                Some(to) if to == bin.from => grouped(to),
                Some(to) => format!("{} to {}", grouped(bin.from), grouped(to)),
                None => format!("{} and more", grouped(bin.from)),
            };
            let keys = |bins: &Vec<Bin>| grouped(bins.get(index).map_or(0, |bin| bin.keys));
            let [a, b, c, d] = histograms.each_ref().map(keys);
            table.row([label, a, b, c, d, tenths(bin.keys_if_random)]);
        }
        let dispersions = counts.each_ref().map(|counts| dispersion(counts));
        let shown = |dispersion: f64| format!("{dispersion:.2}");
        let [a, b, c, d] = dispersions.map(|dispersion| or_dash(dispersion.map(shown)));
        table.row(cells!["variance / mean", a, b, c, d, "1.0"]);
        table
    }

    fn hottest(&self) -> Table {
        let mut table = Table::new(&[Left, Left, Right, Right, Left]);
        table.row("block|hottest key|fingerprints|documents|such as".split('|'));
        for (block, found) in self.diagnosis.blocks.iter().enumerate() {
            for hot in found.hottest.iter().take(HOTTEST_SHOWN) {
                let counts = [hot.distinct_fingerprints, hot.documents].map(grouped);
                let (key, samples) = (format!("{:04x}", hot.key), self.samples(&hot.samples));
                table.row(cells![block, key, counts[0], counts[1], samples]);
            }
        }
        table
    }

    /// The share of ones in the bits of each block, the most significant bit first.
    fn bits(&self) -> Table {
        let mut table = Table::new(&[Left; 3]);
        table.row(["block", "bits", "ones in each, in hundredths"]);
        let shares = shares_of_ones(&self.diagnosis).unwrap_or_default();
        for (block, shares) in shares.rchunks(16).enumerate() {
            let bits = format!("{} to {}", 63 - 16 * block, 48 - 16 * block);
            let hundredths = |share: &f64| format!("{:>3.0}", share * 100.0);
            let shares: Vec<_> = shares.iter().rev().map(hundredths).collect();
            table.row(cells![block, bits, shares.join(" ")]);
        }
        table
    }

    fn largest_groups(&self) -> Table {
        let mut table = Table::new(&[Left, Right, Left]);
        table.row(["shared fingerprint", "documents", "such as"]);
        for group in &self.diagnosis.duplicates.largest {
            let samples = self.samples(&group.samples);
            table.row(cells![group.fingerprint, grouped(group.documents), samples]);
        }
        table
    }

    fn queries(&self) -> Table {
        let mut table = Table::new(&[Left, Right, Right, Right]);
        table.row(["a query at radius 3", "candidates", "if random", "look-ups"]);
        for growth in GROWTHS {
            let load = query_load(&self.diagnosis, growth);
            let name = match growth {
                1.0 => "now".to_owned(),
                growth => format!("with {growth} times as many documents"),
            };
            let [found, random] = [load.candidates, load.candidates_if_random].map(tenths);
            table.row([name, found, random, tenths(load.look_ups)]);
        }
        table
    }

    /// The ids of samples, and the text of the first sample with a text.
    fn samples(&self, ids: &[DocId]) -> String {
        let numbers: Vec<_> = ids.iter().map(DocId::to_string).collect();
        let text = ids.iter().find_map(|id| self.texts.get(id));
        let text = text.map_or_else(String::new, |text| format!(": {text}"));
        let samples = numbers.join(" ") + &text;
        one_line(&samples, columns().saturating_sub(50).max(30))
    }
}

/// A number with one decimal if it is below 100, and without decimals otherwise.
fn tenths(number: f64) -> String {
    if number < 100.0 {
        format!("{number:.1}")
    } else {
        grouped(number.round() as u64)
    }
}
