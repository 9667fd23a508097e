//! What `simdb-cli doctor` finds, as one object.

use anyhow::Result;
use serde::Serialize;
use simdb::{Bin, BlockDiagnosis, Diagnosis, DocId, DuplicateGroup, Snapshot};

use super::findings::{Finding, findings, most_bias, shares};
use crate::console::table::one_line;

#[derive(Serialize)]
pub struct DoctorLine {
    pub ok: bool,
    pub documents: u64,
    pub distinct_fingerprints: u64,
    pub unreliable: u64,
    pub unmerged_changes: u64,
    pub blocks: Vec<BlockLine>,
    /// Of bit 0 first; `None` without fingerprints.
    pub ones: Option<Vec<f64>>,
    /// How far from one half a share of ones may be.
    pub most_bias: f64,
    pub duplicates: DuplicatesLine,
    pub queries: Vec<QueryLine>,
    pub findings: Vec<Finding>,
}

#[derive(Serialize)]
pub struct BlockLine {
    pub block: usize,
    pub histogram: Vec<BinLine>,
    /// 1 if fingerprints are random; `None` without any.
    pub dispersion: Option<f64>,
    pub hottest: Vec<HotLine>,
}

/// Keys that so many fingerprints have.
#[derive(Serialize)]
pub struct BinLine {
    pub from: u64,
    /// `None`: no bound.
    pub to: Option<u64>,
    pub keys: u64,
    pub keys_if_random: f64,
}

#[derive(Serialize)]
pub struct HotLine {
    /// 4 hexadecimal digits.
    pub key: String,
    pub distinct_fingerprints: u64,
    pub documents: u64,
    pub samples: Vec<Sample>,
}

#[derive(Serialize)]
pub struct DuplicatesLine {
    pub groups: u64,
    pub documents: u64,
    pub largest: Vec<GroupLine>,
}

#[derive(Serialize)]
pub struct GroupLine {
    pub fingerprint: String,
    pub documents: u64,
    pub samples: Vec<Sample>,
}

#[derive(Serialize)]
pub struct Sample {
    pub id: u64,
    /// How its text begins, where texts are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Serialize)]
pub struct QueryLine {
    pub growth: f64,
    pub candidates: f64,
    pub candidates_if_random: f64,
    pub look_ups: f64,
}

/// How wide the beginning of a text is, in columns of a terminal.
const TEXT_COLUMNS: usize = 60;

/// What a query meets is said for so many times as many documents.
const GROWTHS: [f64; 3] = [1.0, 2.0, 10.0];

/// Looks at everything, and fetches the texts of the samples.
pub fn examine(snapshot: &Snapshot, diagnosis: &Diagnosis) -> Result<DoctorLine> {
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
            histogram: found.histogram().into_iter().map(bin_line).collect(),
            dispersion: found.dispersion(),
            hottest: hottest.collect::<Result<_>>()?,
        })
    };
    let group_line = |group: &DuplicateGroup| -> Result<GroupLine> {
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

fn bin_line(bin: Bin) -> BinLine {
    BinLine {
        from: bin.from,
        to: bin.to,
        keys: bin.keys,
        keys_if_random: bin.keys_if_random,
    }
}
