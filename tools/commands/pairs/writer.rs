//! [`PairWriter`]: the results of `simdb-cli pairs`.

use std::collections::HashMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;
use simdb::containment::Verdict;
use simdb::join::SimilarPair;
use simdb::pairs::Pair;
use simdb::{DocId, Fingerprint};

use crate::commands::result_output::ResultSink;

/// The counts, with the field names of JSON.
#[derive(Default, Serialize)]
pub struct PairCounts {
    pub documents: u64,
    /// `None` if texts are compared.
    pub radius: Option<u32>,
    /// Fingerprints with several documents.
    pub groups: u64,
    /// Documents in groups.
    pub copies: u64,
    /// Pairs of different fingerprints; with `--expand`, pairs of documents.
    pub pairs: u64,
    pub seconds: f64,
}

/// A pair of documents.
#[derive(Serialize)]
struct PairLine {
    a: u64,
    b: u64,
    distance: u32,
    #[serde(flatten)]
    similar: Option<SimilarParts>,
    /// Read when the line is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    a_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b_key: Option<String>,
}

/// The parts of a pair of similar texts.
#[derive(Serialize)]
struct SimilarParts {
    verdict: Option<&'static str>,
    edit_similarity: Option<f64>,
    jaccard: f64,
}

/// Several documents with one fingerprint, or, if it is `None`, with one text.
type CopyGroup = (Option<Fingerprint>, Box<[DocId]>);

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
            groups.push((Some(fingerprint), documents.into()));
        } else {
            self.write_copies(Some(fingerprint), documents)?;
        }
        Ok(())
    }

    /// Adds the documents of one text.
    pub fn push_equal(&mut self, documents: &[DocId]) -> Result<()> {
        self.counts.groups += 1;
        self.counts.copies += documents.len() as u64;
        match &mut self.unsorted {
            Some((groups, _)) => groups.push((None, documents.into())),
            None => self.write_copies(None, documents)?,
        }
        Ok(())
    }

    /// Adds a pair of similar texts.
    pub fn push_similar(&mut self, pair: &SimilarPair) -> Result<()> {
        self.push(PairLine {
            a: pair.a.0,
            b: pair.b.0,
            distance: pair.distance,
            similar: Some(SimilarParts {
                verdict: pair.verdict.map(Verdict::name),
                edit_similarity: pair.resemblance.edit_similarity,
                jaccard: pair.resemblance.jaccard,
            }),
            a_key: None,
            b_key: None,
        })
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
        // A pair is of two fingerprints, and each may have thousands of documents.
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
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        for pair in pairs {
            self.write_pair(pair)?;
        }
        Ok(self.counts)
    }

    fn push_ids(&mut self, a: u64, b: u64, distance: u32) -> Result<()> {
        self.push(PairLine {
            a,
            b,
            distance,
            similar: None,
            a_key: None,
            b_key: None,
        })
    }

    fn push(&mut self, pair: PairLine) -> Result<()> {
        // One event of the library may expand to billions of pairs.
        self.sink.check_interrupt()?;
        self.counts.pairs += 1;
        match &mut self.unsorted {
            Some((_, pairs)) => pairs.push(pair),
            None => self.write_pair(pair)?,
        }
        Ok(())
    }

    fn write_copies(
        &mut self,
        fingerprint: Option<Fingerprint>,
        documents: &[DocId],
    ) -> Result<()> {
        let ids = documents.iter().map(|id| id.0);
        if !self.sink.is_table {
            let ids = ids.collect::<Vec<_>>();
            let mut line = match fingerprint.map(|fingerprint| fingerprint.to_string()) {
                Some(fingerprint) => json!({"fingerprint": fingerprint, "documents": ids}),
                None => json!({"documents": ids}),
            };
            let keys = ids.iter().map(|id| self.sink.key(*id));
            let keys: Option<Vec<String>> = keys.collect::<Result<_>>()?;
            if let Some(keys) = keys {
                line["keys"] = keys.into();
            }
            return self.sink.json(&line);
        }
        let a = documents.first().map_or(0, |first| first.0);
        ids.skip(1).try_for_each(|b| self.sink.row(&[a, b, 0]))
    }

    fn write_pair(&mut self, mut pair: PairLine) -> Result<()> {
        if self.sink.is_table {
            return self.sink.row(&[pair.a, pair.b, pair.distance.into()]);
        }
        (pair.a_key, pair.b_key) = (self.sink.key(pair.a)?, self.sink.key(pair.b)?);
        self.sink.json(&pair)
    }
}
