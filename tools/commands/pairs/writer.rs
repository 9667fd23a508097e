//! [`PairWriter`]: the results of `simdb-cli pairs`.

use std::collections::HashMap;

use anyhow::Result;
use serde::Serialize;
use simdb::{DocId, Fingerprint, Pair};

use super::Pairs;
use crate::commands::results::{ResultSink, ResultTable, SearchSettings};

/// The counts, as the line of JSON has them.
#[derive(Default, Serialize)]
pub struct PairCounts {
    /// Documents in the database.
    pub documents: u64,
    /// The largest distance of a pair.
    pub radius: u32,
    /// Fingerprints that several documents have.
    pub groups: u64,
    /// The documents that have them.
    pub copies: u64,
    /// Pairs of different fingerprints; expanded, pairs of documents.
    pub pairs: u64,
    pub seconds: f64,
}

#[derive(Serialize)]
struct CopiesLine<'g> {
    fingerprint: String,
    documents: &'g [u64],
}

#[derive(Serialize)]
struct PairLine {
    a: u64,
    b: u64,
    distance: u32,
}

/// Writes groups of copies and pairs: a line of JSON for each, or rows of a table.
pub struct PairWriter<'l, 'w> {
    sink: &'l mut ResultSink<'w>,
    table: Option<ResultTable>,
    counts: PairCounts,
    /// The documents of each fingerprint that several have, if pairs are expanded.
    expanded: Option<HashMap<Fingerprint, Box<[DocId]>>>,
    /// The results so far, if they are sorted before they are written.
    unsorted: Option<UnsortedPairs>,
}

#[derive(Default)]
struct UnsortedPairs {
    groups: Vec<(Fingerprint, Box<[DocId]>)>,
    pairs: Vec<(u64, u64, u32)>,
}

impl<'l, 'w> PairWriter<'l, 'w> {
    /// Writes the head of a table.
    pub fn new(
        options: &Pairs,
        settings: SearchSettings<'_>,
        sink: &'l mut ResultSink<'w>,
    ) -> Result<Self> {
        let columns = ["a", "b", "distance"];
        let format = options.results.format;
        let table = ResultTable::new(format, "simdb.pairs", &columns, settings, sink)?;
        Ok(Self {
            sink,
            table,
            counts: PairCounts::default(),
            expanded: options.expand.then(HashMap::new),
            unsorted: options.sorted.then(UnsortedPairs::default),
        })
    }

    /// The consumer of the results.
    pub fn sink(&self) -> &ResultSink<'w> {
        self.sink
    }

    /// Takes the documents that have one fingerprint.
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
            return Ok(());
        }
        match &mut self.unsorted {
            Some(unsorted) => {
                unsorted.groups.push((fingerprint, documents.into()));
                Ok(())
            }
            None => self.write_copies(fingerprint, documents),
        }
    }

    /// Takes a pair of different fingerprints. [`PairWriter::push_copies`] has been called with the
    /// groups of both.
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

    /// Writes the results that were to be sorted, and the end of the table.
    pub fn finish(mut self) -> Result<PairCounts> {
        if let Some(mut unsorted) = self.unsorted.take() {
            let first = |group: &(_, Box<[DocId]>)| group.1.first().copied();
            unsorted.groups.sort_unstable_by_key(first);
            for (fingerprint, documents) in unsorted.groups {
                self.write_copies(fingerprint, &documents)?;
            }
            unsorted.pairs.sort_unstable();
            for (a, b, distance) in unsorted.pairs {
                self.write_pair(a, b, distance)?;
            }
        }
        if let Some(table) = self.table {
            table.finish(self.sink)?;
        }
        Ok(self.counts)
    }

    fn push_ids(&mut self, a: u64, b: u64, distance: u32) -> Result<()> {
        // One event of the library may become billions of pairs.
        self.sink.check_interrupt()?;
        self.counts.pairs += 1;
        match &mut self.unsorted {
            Some(unsorted) => {
                unsorted.pairs.push((a, b, distance));
                Ok(())
            }
            None => self.write_pair(a, b, distance),
        }
    }

    fn write_copies(&mut self, fingerprint: Fingerprint, documents: &[DocId]) -> Result<()> {
        if self.table.is_none() {
            let ids: Vec<u64> = documents.iter().map(|id| id.0).collect();
            return self.sink.json(&CopiesLine {
                fingerprint: fingerprint.to_string(),
                documents: &ids,
            });
        }
        let Some((first, others)) = documents.split_first() else {
            return Ok(());
        };
        (others.iter()).try_for_each(|other| self.write_pair(first.0, other.0, 0))
    }

    fn write_pair(&mut self, a: u64, b: u64, distance: u32) -> Result<()> {
        match &mut self.table {
            Some(table) => table.push(&[a, b, distance.into()], self.sink),
            None => self.sink.json(&PairLine { a, b, distance }),
        }
    }
}
