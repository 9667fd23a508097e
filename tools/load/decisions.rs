//! [`Decisions`]: decides in order which documents of a load are kept, by their texts.
//!
//! A text is compared with the texts kept so far, which are in an index in memory, and with the database.
//! The outcomes are those of `insert_unless_similar` for one document after the other.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use anyhow::Result;
use rayon::prelude::*;
use simdb::containment::Verdict;
use simdb::{
    Database, DocId, Document, Fingerprint, OnExtended, Outcome, PreparedText, Similar,
    SimilarIndex, SimilarRule, SimilarText, Snapshot,
};

/// Documents that are compared on all cores before they are decided one by one.
pub const DECIDED_TOGETHER: usize = 1 << 10;

/// The documents that were stored before.
pub struct Stored<'d> {
    pub database: &'d Database,
    /// The state that is compared with: the load holds the write lock.
    pub snapshot: Snapshot,
}

/// The documents kept so far, and an index of their texts.
pub struct Decisions<'d> {
    rule: SimilarRule,
    stored: Option<Stored<'d>>,
    /// The texts kept so far, except for those of the documents that are decided together now.
    index: SimilarIndex,
    /// By the position of the text; `None` for a document that a later one has replaced.
    kept: Vec<Option<Document>>,
    positions: HashMap<DocId, u32>,
    /// The stored documents that are replaced.
    replaced: HashSet<DocId>,
    text_bytes: usize,
}

/// Documents to store.
pub struct KeptDocuments {
    /// Stored documents to remove first.
    pub replaced: Vec<DocId>,
    pub documents: Vec<Option<Document>>,
}

/// A document with the answers for its text.
struct Compared {
    document: Document,
    text: PreparedText,
    /// The stored fingerprint of its id.
    stored: Option<Fingerprint>,
    /// The first document of the answer of the database and of the index.
    first: Option<Found>,
}

/// A document of an answer, and its position among the kept documents; `None` for a stored document.
struct Found {
    similar: Similar,
    position: Option<u32>,
}

impl Found {
    fn first_of(found: impl IntoIterator<Item = Self>) -> Option<Self> {
        found
            .into_iter()
            .min_by(|one, other| one.similar.order(&other.similar))
    }

    fn is_extended(&self) -> bool {
        self.similar.verdict() == Some(Verdict::BInA)
    }
}

impl<'d> Decisions<'d> {
    /// Decisions about documents that are added to the stored ones.
    pub fn new(rule: SimilarRule, stored: Option<Stored<'d>>) -> Result<Self> {
        Ok(Self {
            rule,
            stored,
            index: SimilarIndex::new(rule.likeness, rule.decision)?,
            kept: Vec::new(),
            positions: HashMap::new(),
            replaced: HashSet::new(),
            text_bytes: 0,
        })
    }

    /// Decides documents in order, each as of those before it. Each has a text.
    pub fn decide(&mut self, documents: Vec<Document>) -> Result<Vec<Outcome>> {
        let compare = |document| self.compare(document);
        let compared: Vec<Compared> = documents
            .into_par_iter()
            .map(compare)
            .collect::<Result<_>>()?;
        // The texts of these documents that are kept, at the positions after those of the index.
        let mut recent = SimilarIndex::new(self.rule.likeness, self.rule.decision)?;
        let mut texts = Vec::new();
        let mut outcomes = Vec::with_capacity(compared.len());
        for compared in compared {
            let outcome = self.decide_one(&compared, &recent)?;
            if outcome.is_inserted() {
                self.keep(compared.document);
                recent.push(compared.text.clone());
                texts.push(compared.text);
            }
            outcomes.push(outcome);
        }
        for text in texts {
            self.index.push(text);
        }
        Ok(outcomes)
    }

    /// Bytes of the kept documents and of the index.
    pub fn len_bytes(&self) -> usize {
        let documents = self.kept.capacity() * size_of::<Option<Document>>();
        let positions = self.positions.capacity() * size_of::<(DocId, u32)>();
        self.index.len_bytes() + self.text_bytes + documents + positions
    }

    /// Frees the index, and returns the documents to store.
    pub fn into_documents(self) -> KeptDocuments {
        KeptDocuments {
            replaced: self.replaced.into_iter().collect(),
            documents: self.kept,
        }
    }

    fn keep(&mut self, document: Document) {
        self.text_bytes += document.text.as_ref().map_or(0, String::len);
        self.positions.insert(document.id, self.kept.len() as u32);
        self.kept.push(Some(document));
    }

    /// Compares a document with the stored ones and with those of the index.
    fn compare(&self, document: Document) -> Result<Compared> {
        let text = PreparedText::new(document.text.as_deref().unwrap_or_default());
        let stored = match &self.stored {
            Some(stored) => stored.snapshot.get(document.id)?,
            None => None,
        };
        let found = self.in_database(&document)?;
        let first = Found::first_of(
            found
                .into_iter()
                .chain(self.first_in_index(&document, &text)),
        );
        Ok(Compared {
            stored: stored.map(|stored| stored.fingerprint),
            document,
            text,
            first,
        })
    }

    fn decide_one(&mut self, compared: &Compared, recent: &SimilarIndex) -> Result<Outcome> {
        let Compared {
            document,
            text,
            stored,
            first,
        } = compared;
        let id = document.id;
        let of_load = self.positions.get(&id).map(|at| &self.kept[*at as usize]);
        let of_load = of_load.and_then(|kept| kept.as_ref().map(|kept| kept.fingerprint));
        let stored = stored.filter(|_| !self.replaced.contains(&id));
        if let Some(stored) = of_load.or(stored) {
            return Ok(Outcome::Exists { stored });
        }
        let mut found = self.matches(recent, self.index.len(), document, text);
        match first {
            Some(first) if self.is_kept(first) => found.push(Found {
                similar: first.similar.clone(),
                position: first.position,
            }),
            // The first of the answer was replaced by a document that was decided meanwhile.
            Some(_) => found.extend(self.found_before(document, text)?),
            None => {}
        }
        let Some(first) = Found::first_of(found) else {
            let reliable = document.reliable;
            return Ok(Outcome::Inserted { reliable });
        };
        Ok(match self.rule.on_extended {
            _ if !first.is_extended() => Outcome::Similar(first.similar),
            OnExtended::KeepBoth => Outcome::Extends(first.similar),
            OnExtended::Replace => {
                let mut extended = self.found_before(document, text)?;
                extended.extend(self.matches(recent, self.index.len(), document, text));
                extended.sort_by(|one, other| one.similar.order(&other.similar));
                Outcome::Supersedes(self.replace(extended))
            }
        })
    }

    /// Removes documents.
    fn replace(&mut self, extended: Vec<Found>) -> Vec<Similar> {
        for found in &extended {
            let id = found.similar.id;
            match found.position {
                Some(position) => {
                    self.kept[position as usize] = None;
                    self.positions.remove(&id);
                }
                None => drop(self.replaced.insert(id)),
            }
        }
        extended.into_iter().map(|found| found.similar).collect()
    }

    fn is_kept(&self, found: &Found) -> bool {
        match found.position {
            Some(position) => self.kept[position as usize].is_some(),
            None => !self.replaced.contains(&found.similar.id),
        }
    }

    /// The answers of the database and of the index.
    fn found_before(&self, document: &Document, text: &PreparedText) -> Result<Vec<Found>> {
        let mut found = self.in_database(document)?;
        found.extend(self.matches(&self.index, 0, document, text));
        Ok(found)
    }

    /// The answer of the database, without the documents that are replaced.
    fn in_database(&self, document: &Document) -> Result<Vec<Found>> {
        let Some(Stored { database, snapshot }) = &self.stored else {
            return Ok(Vec::new());
        };
        let query = database
            .text_query(document.text.as_deref().unwrap_or_default())?
            .with_fingerprint(document.text_fingerprint())
            .likeness(self.rule.likeness)
            .decision(self.rule.decision);
        let found = snapshot.similar(&query)?.into_iter().map(|similar| Found {
            similar,
            position: None,
        });
        Ok(found.filter(|found| self.is_kept(found)).collect())
    }

    /// The first document of the answer of the index.
    fn first_in_index(&self, document: &Document, text: &PreparedText) -> Option<Found> {
        let mut first = None;
        for_each_match(&self.index, text, |similar| {
            let found = self.found(similar, 0, document);
            first = Found::first_of(first.take().into_iter().chain(found));
        });
        first
    }

    /// All kept documents of an index that are like a document. `offset` is the position of the first
    /// text of the index.
    fn matches(
        &self,
        index: &SimilarIndex,
        offset: usize,
        document: &Document,
        text: &PreparedText,
    ) -> Vec<Found> {
        let mut matches = Vec::new();
        for_each_match(index, text, |similar| {
            matches.extend(self.found(similar, offset, document));
        });
        matches
    }

    /// `None` if the document was replaced.
    fn found(&self, similar: SimilarText, offset: usize, document: &Document) -> Option<Found> {
        let position = offset + similar.position as usize;
        let kept = self.kept[position].as_ref()?;
        Some(Found {
            similar: Similar {
                id: kept.id,
                fingerprint: kept.fingerprint,
                distance: Some(document.fingerprint.distance(kept.fingerprint)),
                resemblance: similar.resemblance,
                containment: similar.containment,
            },
            position: Some(position as u32),
        })
    }
}

fn for_each_match(index: &SimilarIndex, text: &PreparedText, mut visit: impl FnMut(SimilarText)) {
    let end: ControlFlow<()> = index.visit(text, 0..u32::MAX, |similar| {
        visit(similar);
        ControlFlow::Continue(())
    });
    debug_assert!(end.is_continue());
}

#[cfg(test)]
mod tests {
    use simdb::{Change, Decision};
    use test_support::SplitMix;

    use super::*;

    /// Real texts, each followed by copies and edits of earlier ones: with fewer, with more and with
    /// other words. Some ids are used twice.
    fn documents(database: &Database) -> Vec<Document> {
        let corpus = include_str!("../../tests/data/quotes_and_news.jsonl");
        // The forest of a database misses some near-duplicates of very short texts that the index finds.
        let lines = corpus.lines().filter_map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = line["text"].as_str().unwrap().to_owned();
            (text.is_ascii() && text.len() > 40).then_some(text)
        });
        let mut texts: Vec<String> = Vec::new();
        let mut draws = SplitMix(21);
        for text in lines.take(120) {
            texts.push(text);
            let earlier = texts[draws.below(texts.len() as u64) as usize].clone();
            let words: Vec<&str> = earlier.split(' ').collect();
            let edited = match draws.below(5) {
                0 => earlier.to_uppercase(),
                1 => words[..words.len() - words.len() / 6].join(" "),
                2 => format!("{earlier} indeed, quoth the raven"),
                3 => earlier.replacen("the ", "a ", 1) + " 7",
                _ => continue,
            };
            texts.push(edited);
        }
        let mut documents: Vec<Document> = (0..)
            .zip(&texts)
            .map(|(number, text)| {
                // Ids descend, so the order of ids is not that of the texts.
                let id = 10_000 - number + if number % 31 == 30 { 3 } else { 0 };
                database.document(id, text).unwrap()
            })
            .collect();
        documents.push(documents[5].clone());
        documents
    }

    fn create(folder: &tempfile::TempDir, name: &str) -> Database {
        let builder = Database::builder().similar(true).keep_texts(true);
        builder.create(folder.path().join(name)).unwrap()
    }

    /// Decides documents in parts, and stores each part.
    fn decide_in_parts(
        database: &Database,
        documents: &[Document],
        rule: SimilarRule,
        part_len: usize,
    ) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for part in documents.chunks(part_len) {
            let snapshot = database.snapshot().unwrap();
            let stored = Stored { database, snapshot };
            let mut decisions = Decisions::new(rule, Some(stored)).unwrap();
            for documents in part.chunks(37) {
                outcomes.extend(decisions.decide(documents.to_vec()).unwrap());
            }
            let kept = decisions.into_documents();
            let removals = kept.replaced.into_iter().map(Change::Remove);
            let inserts = kept.documents.into_iter().flatten().map(Change::Insert);
            let stored = database.apply(removals.chain(inserts)).unwrap();
            assert!(
                stored
                    .iter()
                    .all(|outcome| !matches!(outcome, Outcome::Exists { .. }))
            );
        }
        outcomes
    }

    #[test]
    fn outcomes_equal_those_of_one_insert_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        for (number, decision, on_extended) in [
            (0, Decision::Contained, OnExtended::KeepBoth),
            (1, Decision::Contained, OnExtended::Replace),
            (2, Decision::Alike, OnExtended::KeepBoth),
        ] {
            let rule = SimilarRule {
                decision,
                on_extended,
                ..SimilarRule::default()
            };
            let model = create(&folder, &format!("model{number}.simdb"));
            let documents = documents(&model);
            let expected: Vec<Outcome> = documents
                .iter()
                .cloned()
                .map(|document| Change::InsertUnlessSimilar { document, rule })
                .map(|change| model.apply_one(change).unwrap())
                .collect();
            let is_kind = |kind: fn(&Outcome) -> bool| expected.iter().filter(|o| kind(o)).count();
            assert!(is_kind(|outcome| matches!(outcome, Outcome::Similar(_))) > 20);
            assert!(is_kind(|outcome| matches!(outcome, Outcome::Exists { .. })) > 2);
            let extended =
                is_kind(|outcome| matches!(outcome, Outcome::Extends(_) | Outcome::Supersedes(_)));
            assert_eq!(extended > 4, decision == Decision::Contained, "{extended}");
            for part_len in [usize::MAX, 100] {
                let name = format!("parts{number}-{}.simdb", part_len % 7);
                let database = create(&folder, &name);
                let outcomes = decide_in_parts(&database, &documents, rule, part_len);
                for ((document, found), expected) in documents.iter().zip(&outcomes).zip(&expected)
                {
                    assert_eq!(found, expected, "{document:?}");
                }
                assert_eq!(outcomes.len(), expected.len());
                let all = |database: &Database| -> Vec<Document> {
                    let snapshot = database.snapshot().unwrap();
                    snapshot.documents().map(Result::unwrap).collect()
                };
                assert_eq!(all(&database), all(&model));
            }
        }
    }
}
