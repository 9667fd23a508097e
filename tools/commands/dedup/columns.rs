//! [`DecisionColumns`]: the scores of `--score`, and the groups of `--within` and `--across`.

use std::collections::{HashMap, HashSet};

use anyhow::Result;
use simdb::Database;
use simdb::clusters::{Clustering, ClustersEvent, Keep, Shape};

use super::options::Dedup;
use crate::console::interrupt::Interrupt;
use crate::corpus::inputs::Input;
use crate::formats::Item;
use crate::formats::score::ranks;

/// The values of columns, by document id.
#[derive(Default)]
pub struct DecisionColumns {
    /// The rank of each score, among the documents that need one; with `--ignore-frames` and a
    /// measure of texts, the length of each whole text. `None` if documents have no scores.
    pub scores: Option<HashMap<u64, f64>>,
    /// The group of each document; empty without groups.
    pub groups: HashMap<u64, u64>,
}

impl DecisionColumns {
    /// Reads the columns that the options name.
    pub fn read(
        corpus: &Database,
        options: &Dedup,
        inputs: &[Input],
        interrupt: &Interrupt,
    ) -> Result<Self> {
        // The loaded corpus has the texts without their frames.
        let measured = match (options.ignore_frames, options.keep.keep()) {
            (Some(_), keep @ (Keep::Longest | Keep::Cleanest)) => Some(keep),
            _ => None,
        };
        let reads_scores = options.score.is_some() || measured.is_some();
        if !reads_scores && options.group_field().is_none() {
            return Ok(Self::default());
        }
        // The scores of all documents would take more memory than the rest of a search by
        // fingerprints, which is fast enough to run twice.
        let near = (!options.compares_texts())
            .then(|| near_duplicates(corpus, options.clustering.radius(), interrupt))
            .transpose()?;
        let wanted = options.wanted()?;
        let records = options.copy.records(inputs, &wanted, interrupt);
        let (mut scores, mut groups) = (HashMap::new(), HashMap::new());
        let mut lengths = HashMap::new();
        records.for_each("columns", |_, item| {
            let Item::Record(record) = item else {
                return Ok(());
            };
            let id = record.id.0;
            if let Some(score) = record.content.score
                && near.as_ref().is_none_or(|near| near.contains(&id))
            {
                scores.insert(id, score);
            }
            if let (Some(keep), Some(text)) = (measured, &record.content.text) {
                let length = text.chars().count() as f64;
                let sign = if keep == Keep::Longest { 1.0 } else { -1.0 };
                lengths.insert(id, sign * length);
            }
            if let Some(group) = record.content.group() {
                groups.insert(id, group);
            }
            Ok(())
        })?;
        let scores = match measured {
            Some(_) => Some(lengths),
            None => options.score.is_some().then(|| ranks(scores)),
        };
        Ok(Self { scores, groups })
    }
}

fn near_duplicates(corpus: &Database, radius: u32, interrupt: &Interrupt) -> Result<HashSet<u64>> {
    let connected = Clustering {
        radius,
        shape: Shape::Connected { most_documents: 0 },
        ..Clustering::default()
    };
    let mut near = HashSet::new();
    let flow = interrupt.clone();
    let snapshot = corpus.snapshot()?.on_progress(move |_| flow.flow());
    let outcome = snapshot.clusters(&connected, |event| {
        if let ClustersEvent::Cluster(cluster) = event {
            near.extend(cluster.members.iter().map(|member| member.id.0));
        }
        interrupt.flow()
    });
    interrupt.check()?;
    outcome?;
    Ok(near)
}
