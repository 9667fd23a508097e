//! [`PairWriter`]: the results of `simdb-cli pairs`.

use std::collections::HashMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;
use simdb::{DocId, Fingerprint, Pair};

use crate::commands::results::ResultSink;

/// The counts, with the field names of JSON.
#[derive(Default, Serialize)]
pub struct PairCounts {
    pub documents: u64,
    pub radius: u32,
    /// Fingerprints with several documents.
    pub groups: u64,
    /// Documents in groups.
    pub copies: u64,
    /// Pairs of different fingerprints; with `--expand`, pairs of documents.
    pub pairs: u64,
    pub seconds: f64,
}

/// A pair of documents, in the order of its sort key.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct PairLine {
    a: u64,
    b: u64,
    distance: u32,
}

/// A fingerprint with several documents.
type CopyGroup = (Fingerprint, Box<[DocId]>);

/// Writes groups of copies and pairs: each as a line of JSON, or as rows of a table.
pub struct PairWriter<'l, 'w> {
    pub sink: &'l mut ResultSink<'w>,
    counts: PairCounts,
    /// The groups so far, if pairs are expanded.
    expanded: Option<HashMap<Fingerprint, Box<[DocId]>>>,
    /// The results so far, if they are sorted before they are written.
    unsorted: Option<(Vec<CopyGroup>, Vec<PairLine>)>,
}

impl<'l, 'w> PairWriter<'l, 'w> {
    pub fn new(sink: &'l mut ResultSink<'w>, expand: bool, sorted: bool) -> Self {
        Self {
            sink,
            counts: PairCounts::default(),
            expanded: expand.then(HashMap::new),
            unsorted: sorted.then(Default::default),
        }
    }

    /// Adds the documents of one fingerprint.
    pub fn push_copies(&mut self, fingerprint: Fingerprint, documents: &[DocId]) -> Result<()> {
        self.counts.groups += 1;
        self.counts.copies += documents.len() as u64;
        if let Some(groups) = &mut self.expanded {
            groups.insert(fingerprint, documents.into());
            for (index, a) in documents.iter().enumerate() {
                for b in &documents[index + 1..] {
                    self.push_ids(a.0, b.0, 0)?;
                }
            }
        } else if let Some((groups, _)) = &mut self.unsorted {
            groups.push((fingerprint, documents.into()));
        } else {
            self.write_copies(fingerprint, documents)?;
        }
        Ok(())
    }

    /// Adds a pair of different fingerprints. The groups of both fingerprints must have been added.
    pub fn push_pair(&mut self, pair: &Pair) -> Result<()> {
        let Some(groups) = &self.expanded else {
            return self.push_ids(pair.a.0, pair.b.0, pair.distance);
        };
        let documents = |fingerprint, single: DocId| match groups.get(fingerprint) {
            Some(documents) => documents.to_vec(),
            None => vec![single],
        };
        let [a, b] = &pair.fingerprints;
        let (of_a, of_b) = (documents(a, pair.a), documents(b, pair.b));
        for a in &of_a {
            for b in &of_b {
                self.push_ids(a.0.min(b.0), a.0.max(b.0), pair.distance)?;
            }
        }
        Ok(())
    }

    /// Writes the results that are to be sorted.
    pub fn finish(mut self) -> Result<PairCounts> {
        let (mut groups, mut pairs) = self.unsorted.take().unwrap_or_default();
        groups.sort_unstable_by_key(|(_, documents)| documents.first().copied());
        for (fingerprint, documents) in groups {
            self.write_copies(fingerprint, &documents)?;
        }
        pairs.sort_unstable();
        for pair in pairs {
            self.write_pair(&pair)?;
        }
        Ok(self.counts)
    }

    fn push_ids(&mut self, a: u64, b: u64, distance: u32) -> Result<()> {
        // One event of the library may expand to billions of pairs.
        self.sink.check_interrupt()?;
        self.counts.pairs += 1;
        let pair = PairLine { a, b, distance };
        match &mut self.unsorted {
            Some((_, pairs)) => pairs.push(pair),
            None => self.write_pair(&pair)?,
        }
        Ok(())
    }

    fn write_copies(&mut self, fingerprint: Fingerprint, documents: &[DocId]) -> Result<()> {
        let ids = documents.iter().map(|id| id.0);
        if !self.sink.is_table {
            let (fingerprint, ids) = (fingerprint.to_string(), ids.collect::<Vec<_>>());
            return self
                .sink
                .json(&json!({"fingerprint": fingerprint, "documents": ids}));
        }
        let a = documents.first().map_or(0, |first| first.0);
        ids.skip(1)
            .try_for_each(|b| self.write_pair(&PairLine { a, b, distance: 0 }))
    }

    fn write_pair(&mut self, pair: &PairLine) -> Result<()> {
        if self.sink.is_table {
            self.sink.row(&[pair.a, pair.b, pair.distance.into()])
        } else {
            self.sink.json(pair)
        }
    }
}
