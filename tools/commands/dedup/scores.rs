//! The scores of `--score`, which decide the near-duplicate to keep.

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

/// Reads the scores of all documents with a near-duplicate, and returns their ranks. The extra
/// search for these documents saves memory: the scores of all documents would take more than the
/// rest of the command.
pub fn score_ranks(
    corpus: &Database,
    options: &Dedup,
    inputs: &[Input],
    interrupt: &Interrupt,
) -> Result<HashMap<u64, f64>> {
    let near = near_duplicates(corpus, options.clustering.radius, interrupt)?;
    let mut wanted = options.wanted()?;
    let bar = options.input_bar(inputs, "scores");
    let bytes_read = Arc::<AtomicU64>::default();
    let mut scores = HashMap::with_capacity(near.len());
    for input in inputs {
        let mut records = reader(input.format, &input.source, &wanted, &bytes_read)?;
        while let Some(item) = records.next()? {
            interrupt.check()?;
            bar.set_position(bytes_read.load(Ordering::Relaxed));
            // The first record with an id counts, as in the load.
            if let Item::Record(record) = item
                && let Some(score) = record.content.score
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
