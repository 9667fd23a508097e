//! The lines that `simdb-cli pairs` writes.

use std::collections::HashMap;

use anyhow::Result;
use serde::Serialize;
use simdb::{DocId, Fingerprint, Pair};

use crate::commands::found::parquet::FoundTable;
use crate::commands::found::{FoundFormat, Of, Sink};

/// What was found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Fingerprints that several documents have.
    pub groups: u64,
    /// These documents.
    pub copies: u64,
    /// Pairs of different fingerprints, or, expanded, of documents.
    pub pairs: u64,
}

#[derive(Serialize)]
struct GroupLine<'g> {
    fingerprint: String,
    documents: &'g [u64],
}

#[derive(Serialize)]
struct PairLine {
    a: u64,
    b: u64,
    distance: u32,
}

/// Lines on their way, gathered and sorted first where they are to be in order.
pub struct Lines<'l, 'w> {
    format: FoundFormat,
    sink: &'l mut Sink<'w>,
    found: Found,
    /// The documents of each fingerprint that several have, where pairs are to be expanded.
    expand: Option<HashMap<Fingerprint, Box<[DocId]>>>,
    /// What is to be sorted, if it is.
    gathered: Option<Gathered>,
    /// Where pairs go if they are no lines.
    table: Option<FoundTable<2>>,
}

/// What is written in the end.
#[derive(Default)]
struct Gathered {
    groups: Vec<(Fingerprint, Box<[DocId]>)>,
    pairs: Vec<(u64, u64, u32)>,
}

impl<'l, 'w> Lines<'l, 'w> {
    /// Lines that are handed to a sink, the header before the first.
    pub fn new(
        (format, of): (FoundFormat, Of<'_>),
        expand: bool,
        sorted: bool,
        sink: &'l mut Sink<'w>,
    ) -> Result<Self> {
        if format == FoundFormat::Csv {
            sink.bytes(b"a,b,distance\n")?;
        }
        Ok(Self {
            format,
            sink,
            found: Found::default(),
            expand: expand.then(HashMap::new),
            gathered: sorted.then(Gathered::default),
            table: match format {
                FoundFormat::Parquet => Some(FoundTable::new("simdb.pairs", ["a", "b"], of)?),
                _ => None,
            },
        })
    }

    /// Where they go.
    pub fn sink(&self) -> &Sink<'w> {
        self.sink
    }

    /// Documents that have the same fingerprint.
    pub fn copies(&mut self, fingerprint: Fingerprint, documents: &[DocId]) -> Result<()> {
        self.found.groups += 1;
        self.found.copies += documents.len() as u64;
        if let Some(groups) = &mut self.expand {
            groups.insert(fingerprint, documents.into());
            for (place, a) in documents.iter().enumerate() {
                for b in &documents[place + 1..] {
                    self.take_pair(a.0, b.0, 0)?;
                }
            }
            return Ok(());
        }
        match &mut self.gathered {
            Some(gathered) => {
                gathered.groups.push((fingerprint, documents.into()));
                Ok(())
            }
            None => self.write_group(fingerprint, documents),
        }
    }

    /// A pair of different fingerprints.
    pub fn pair(&mut self, pair: &Pair) -> Result<()> {
        let Some(groups) = &self.expand else {
            return self.take_pair(pair.a.0, pair.b.0, pair.distance);
        };
        let documents = |fingerprint, known: DocId| match groups.get(fingerprint) {
            Some(documents) => documents.to_vec(),
            None => vec![known],
        };
        let [a, b] = &pair.fingerprints;
        let (of_a, of_b) = (documents(a, pair.a), documents(b, pair.b));
        for a in &of_a {
            for b in &of_b {
                self.take_pair(a.0.min(b.0), a.0.max(b.0), pair.distance)?;
            }
        }
        Ok(())
    }

    /// Writes what was gathered.
    pub fn finish(mut self) -> Result<Found> {
        if let Some(gathered) = self.gathered.take() {
            self.write_gathered(gathered)?;
        }
        if let Some(table) = self.table {
            table.finish(self.sink)?;
        }
        Ok(self.found)
    }

    fn write_gathered(&mut self, gathered: Gathered) -> Result<()> {
        let Gathered {
            mut groups,
            mut pairs,
        } = gathered;
        groups.sort_unstable_by_key(|(_, documents)| documents.first().copied());
        for (fingerprint, documents) in groups {
            self.write_group(fingerprint, &documents)?;
        }
        pairs.sort_unstable();
        for (a, b, distance) in pairs {
            self.write_pair(a, b, distance)?;
        }
        Ok(())
    }

    fn take_pair(&mut self, a: u64, b: u64, distance: u32) -> Result<()> {
        // Looked at for each pair: those of one event may be billions.
        self.sink.check()?;
        self.found.pairs += 1;
        match &mut self.gathered {
            Some(gathered) => {
                gathered.pairs.push((a, b, distance));
                Ok(())
            }
            None => self.write_pair(a, b, distance),
        }
    }

    fn write_group(&mut self, fingerprint: Fingerprint, documents: &[DocId]) -> Result<()> {
        if self.format != FoundFormat::Jsonl {
            return match documents.split_first() {
                Some((first, others)) => others
                    .iter()
                    .try_for_each(|other| self.write_pair(first.0, other.0, 0)),
                None => Ok(()),
            };
        }
        let ids: Vec<u64> = documents.iter().map(|id| id.0).collect();
        self.sink.json(&GroupLine {
            fingerprint: fingerprint.to_string(),
            documents: &ids,
        })
    }

    fn write_pair(&mut self, a: u64, b: u64, distance: u32) -> Result<()> {
        match self.format {
            FoundFormat::Jsonl => self.sink.json(&PairLine { a, b, distance }),
            FoundFormat::Csv => self.sink.bytes(format!("{a},{b},{distance}\n").as_bytes()),
            FoundFormat::Parquet => match &mut self.table {
                Some(table) => table.push([a, b], distance, self.sink),
                None => Ok(()),
            },
        }
    }
}
