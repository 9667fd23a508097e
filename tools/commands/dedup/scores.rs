//! The numbers by which documents are kept, of those that have a near-duplicate.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use simdb::{Clustering, ClustersEvent, Database, Shape};

use super::options::Dedup;
use crate::console::interrupt::Interrupt;
use crate::corpus::inputs::Input;
use crate::formats::score::ranks;
use crate::formats::{Item, reader};

/// Reads the inputs for the ranks of the scores of documents that are near another. To find out
/// first which these are takes a while, but all scores of a large corpus would take more memory
/// than anything else.
pub fn of(
    corpus: &Database,
    options: &Dedup,
    inputs: &[Input],
    interrupt: &Interrupt,
) -> Result<HashMap<u64, f64>> {
    let near = near_another(corpus, options.clustering.radius(), interrupt)?;
    let mut wanted = options.wanted()?;
    let sizes = inputs.iter().map(|input| input.source.size_bytes());
    let bar = options.progress.bytes(sizes.sum());
    bar.set_prefix("scores");
    let bytes_read = Arc::<AtomicU64>::default();
    let mut scores = HashMap::with_capacity(near.len());
    for input in inputs {
        let mut records = reader(input.format, &input.source, &wanted, &bytes_read)?;
        while let Some(item) = records.next()? {
            interrupt.check()?;
            bar.set_position(bytes_read.load(Ordering::Relaxed));
            let Item::Record(record) = item else {
                continue;
            };
            // Of several records with one id the first counts.
            if let Some(score) = record.content.score
                && near.contains(&record.id.0)
            {
                scores.entry(record.id.0).or_insert(score);
            }
        }
        wanted.counted = records.next_ids().or(wanted.counted);
    }
    bar.finish_and_clear();
    Ok(ranks(scores))
}

/// The documents that are within the radius of another.
fn near_another(corpus: &Database, radius: u32, interrupt: &Interrupt) -> Result<HashSet<u64>> {
    let connected = Clustering {
        radius,
        shape: Shape::Connected { most_documents: 0 },
        ..Clustering::default()
    };
    let mut near = HashSet::new();
    corpus.snapshot()?.clusters(&connected, |event| {
        if let ClustersEvent::Cluster(cluster) = event {
            near.extend(cluster.members.iter().map(|member| member.id.0));
        }
        interrupt.flow()
    })?;
    interrupt.check()?;
    Ok(near)
}
