//! The steps of a [`World`], with their expected outcomes.

use std::ops::ControlFlow;

use simdb::bulk::BulkReport;
use simdb::copies::{Copies, Sighting, SightingKind};
use simdb::{Change, DocId, Document, Error, Fingerprint, Outcome, Result, Ticket, Timestamp};

use super::changes::SCOPES;
use super::expected::Prediction;
use super::pool::ALIKE;
use super::step::Step;
use super::world::{Known, World};

/// The least memory of a bulk load, in bytes.
const LOAD_BYTES: u64 = 16 << 20;

impl World {
    /// Takes a step. After an error the possible contents are known.
    pub fn take(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Create => return self.create(),
            Step::BulkCreate => return self.bulk_create(),
            // First find out the outcome of an unknown commit.
            _ if !self.is_open() => self.verify()?,
            _ => {}
        }
        self.name_scopes()?;
        match step {
            Step::Create | Step::BulkCreate | Step::Open => Ok(()),
            Step::Insert => self.insert(),
            Step::InsertUnique => self.insert_unique(),
            Step::Upsert => self.upsert(),
            Step::Remove => self.remove(),
            Step::Batch => self.batch(),
            Step::Submit => self.submit_batches(),
            Step::Transaction => self.transaction(true),
            Step::DroppedTransaction => self.transaction(false),
            Step::BulkLoad => self.bulk_load(),
            Step::Prune => self.prune(),
            Step::Merge => self.database().merge(),
            Step::Close => self.close(),
            Step::Check => self.check(),
            Step::Vacuum => self.vacuum(),
            Step::Backup => self.backup(),
            Step::Snapshot => self.hold_snapshot(),
        }
    }

    fn create(&mut self) -> Result<()> {
        self.exists = Known::Perhaps;
        self.database = Some(self.builder().create(&self.path)?);
        self.exists = Known::Yes;
        Ok(())
    }

    fn bulk_create(&mut self) -> Result<()> {
        let documents = self.documents_to_load();
        let mut tried = self.expected.clone();
        let prediction = predict_load(&mut tried, &documents);
        self.exists = Known::Perhaps;
        // An existing file is complete, so its contents are known.
        self.expected = tried;
        let mut load = self.builder().bulk_create(&self.path, LOAD_BYTES)?;
        for document in documents {
            load.push(document)?;
        }
        let report = load.finish(|_| ControlFlow::Continue(()))?;
        assert_eq!(report, prediction);
        self.exists = Known::Yes;
        if self.sequence.below(4) == 0 {
            let (path, expected) = (self.path.clone(), self.expected.clone());
            self.verify_backup_after_cut(&path, &expected);
        }
        Ok(())
    }

    /// Inserts a document in each scope, so that the scopes have their numbers in this order.
    fn name_scopes(&mut self) -> Result<()> {
        if !self.settings.scopes || self.expected.model.scopes.len() == SCOPES.len() {
            return Ok(());
        }
        let first = self.first_of_scopes();
        self.apply(first.into_iter().map(Change::Insert).collect())
    }

    fn first_of_scopes(&mut self) -> Vec<Document> {
        let time = self.changes.advance_time(&mut self.sequence).arrival;
        let document = |(number, scope): (usize, &str)| {
            let fingerprint = Fingerprint::from_bits(self.sequence.next());
            Document {
                arrival: time,
                ..Document::new(format!("first of scope {number}"), fingerprint).with_scope(scope)
            }
        };
        SCOPES.into_iter().enumerate().map(document).collect()
    }

    fn documents_to_load(&mut self) -> Vec<Document> {
        let time = self.changes.advance_time(&mut self.sequence).arrival;
        let count = match self.is_large {
            true => self.sequence.below(3_000),
            false => self.sequence.below(60),
        };
        let is_in_order = self.sequence.below(2) == 0;
        // With a retention, an expired id may be stored or not: use new ids.
        let first = match self.settings.retention {
            Some(_) => 1 << 32 | self.sequence.next() >> 33 << 33,
            None => 0,
        };
        let copied = self.sequence.below(40);
        let mut load = match self.settings.scopes && self.expected.model.scopes.is_empty() {
            true => self.first_of_scopes(),
            false => Vec::new(),
        };
        load.extend((0..count).map(|number| {
            let place = match is_in_order {
                true => number,
                false => number ^ 5,
            };
            let id = first + place * (1 + count % 3);
            let mut document = self.changes.document_of(id, &mut self.sequence);
            document.arrival = document.arrival.and(time);
            if self.settings.copies > 0 && number == copied {
                // As from an export.
                document.copies = Some(self.copies_seen(time));
            }
            document
        }));
        load
    }

    /// The copies of a document, with one sighting.
    fn copies_seen(&mut self, time: Option<Timestamp>) -> Copies {
        let seen = time.unwrap_or(Timestamp(1));
        Copies {
            count: 7,
            first_seen: Timestamp(seen.0 / 2),
            last_seen: seen,
            newest: vec![Sighting {
                document: self.changes.document(&mut self.sequence).doc_ref(),
                seen,
                kind: SightingKind::Same,
            }],
        }
    }

    /// Applies changes together, in one of several ways.
    fn apply(&mut self, changes: Vec<Change>) -> Result<()> {
        let mut tried = self.expected.clone();
        let prediction = tried.apply_all(&changes);
        self.changed += changes.len() as u64;
        let outcomes = self.database().apply(changes);
        let outcomes = self.conclude(tried, outcomes)?;
        assert_predicted(&prediction, &outcomes);
        Ok(())
    }

    /// With a retention, advances the time first.
    fn advance_time(&mut self) -> Result<()> {
        match self.settings.retention {
            Some(_) => {
                let document = self.changes.advance_time(&mut self.sequence);
                self.apply(vec![Change::Upsert(document)])
            }
            None => Ok(()),
        }
    }

    fn insert(&mut self) -> Result<()> {
        self.advance_time()?;
        let document = self.changes.document(&mut self.sequence);
        let mut tried = self.expected.clone();
        let prediction = tried.apply(&Change::Insert(document.clone()));
        self.changed += 1;
        let inserted = self.database().insert(document);
        let outcome = self.conclude(tried, inserted)?;
        assert_predicted(&[prediction], &[outcome]);
        Ok(())
    }

    fn insert_unique(&mut self) -> Result<()> {
        self.advance_time()?;
        let document = self.changes.document(&mut self.sequence);
        let radius = self.sequence.below(6) as u32;
        let by_text = document.text.is_some() && self.settings.similar;
        let change = match by_text {
            true => Change::InsertUnlessSimilar {
                document: document.clone(),
                rule: ALIKE,
            },
            false => Change::InsertUnique {
                document: document.clone(),
                radius,
            },
        };
        let mut tried = self.expected.clone();
        let prediction = tried.apply(&change);
        self.changed += 1;
        let inserted = match by_text {
            true => self.database().insert_unless_similar(document, ALIKE),
            false => self.database().insert_unique(document, radius),
        };
        let outcome = self.conclude(tried, inserted)?;
        assert_predicted(&[prediction], &[outcome]);
        Ok(())
    }

    fn upsert(&mut self) -> Result<()> {
        let document = self.changes.advance_time(&mut self.sequence);
        self.apply(vec![Change::Upsert(Document {
            arrival: self.settings.retention.and(document.arrival),
            ..document
        })])
    }

    fn remove(&mut self) -> Result<()> {
        let some = self.expected.some_id(&mut self.sequence);
        let id = some.unwrap_or(DocId(self.sequence.below(9)));
        let mut tried = self.expected.clone();
        let prediction = tried.apply(&Change::Remove(id));
        self.changed += 1;
        let removed = self.database().remove(id);
        let outcome = self.conclude(tried, removed)?;
        assert_predicted(&[prediction], &[outcome]);
        Ok(())
    }

    fn drawn_batch(&mut self) -> Vec<Change> {
        let most = match (self.is_large, self.sequence.below(4)) {
            (true, 0) => 3_000,
            (_, 1) => 100,
            _ => 12,
        };
        let expected = &self.expected;
        self.changes.batch(most, expected, &mut self.sequence)
    }

    fn batch(&mut self) -> Result<()> {
        let mut changes = self.drawn_batch();
        if self.is_large && changes.len() > 500 {
            // New documents, so that a flush has something to do.
            let first = self.sequence.next() >> 20 << 12;
            for number in 0..changes.len() as u64 {
                let mut document = self.changes.document_of(first + number, &mut self.sequence);
                document.arrival = document.arrival.map(|_| Timestamp(self.changes.clock()));
                changes.push(Change::Insert(document));
            }
        }
        self.apply(changes)
    }

    /// Submits several batches before it waits for any.
    fn submit_batches(&mut self) -> Result<()> {
        let count = 2 + self.sequence.below(3);
        let batches: Vec<_> = (0..count).map(|_| self.drawn_batch()).collect();
        let mut tickets = Vec::new();
        for batch in &batches {
            self.changed += batch.len() as u64;
            match self.database().submit(batch.clone()) {
                Ok(ticket) => tickets.push((batch, ticket)),
                Err(error) => {
                    self.wait(tickets)?;
                    return Err(error);
                }
            }
        }
        self.wait(tickets)
    }

    /// Waits for submitted batches, which are applied in order. A refused batch changes nothing;
    /// batches committed together are there wholly or not at all.
    fn wait(&mut self, tickets: Vec<(&Vec<Change>, Ticket)>) -> Result<()> {
        let (mut unknown, mut failed) = (None, Ok(()));
        for (batch, ticket) in tickets {
            match ticket.wait() {
                Ok(outcomes) => {
                    assert!(
                        unknown.is_none(),
                        "written after a commit of unknown outcome"
                    );
                    let prediction = self.expected.apply_all(batch);
                    assert_predicted(&prediction, &outcomes);
                }
                Err(error) => {
                    if matches!(error, Error::CommitUnknown { .. }) {
                        let with = unknown.get_or_insert_with(|| self.expected.clone());
                        with.apply_all(batch);
                    }
                    failed = Err(error);
                }
            }
        }
        self.possible = unknown.or(self.possible.take());
        failed
    }

    fn transaction(&mut self, is_committed: bool) -> Result<()> {
        let count = 1 + self.sequence.below(3);
        let batches: Vec<_> = (0..count).map(|_| self.drawn_batch()).collect();
        let mut tried = self.expected.clone();
        let most = self.settings.seal_after_changes.unwrap_or(usize::MAX);
        let (mut changes, mut is_large) = (0, false);
        let mut transaction = self.database.as_ref().expect("it is open").begin()?;
        for batch in batches {
            self.changed += batch.len() as u64;
            let prediction = tried.apply_all(&batch);
            changes += batch.len();
            if !is_large && changes > most {
                is_large = true;
                self.large_transactions += 1;
            }
            assert_predicted(&prediction, &transaction.apply(batch)?);
        }
        if !is_committed {
            return Ok(());
        }
        let committed = transaction.commit();
        self.conclude(tried, committed)
    }

    fn bulk_load(&mut self) -> Result<()> {
        let documents = self.documents_to_load();
        let mut tried = self.expected.clone();
        let prediction = predict_load(&mut tried, &documents);
        self.changed += documents.len() as u64;
        let mut load = (self.database.as_ref().expect("it is open")).bulk_load(LOAD_BYTES)?;
        for document in documents {
            load.push(document)?;
        }
        if self.sequence.below(8) == 0 {
            return Ok(());
        }
        let loaded = load.finish(|_| ControlFlow::Continue(()));
        let report = self.conclude(tried, loaded)?;
        assert_eq!(report, prediction);
        Ok(())
    }

    fn prune(&mut self) -> Result<()> {
        if self.settings.retention.is_none() {
            let pruned = self.database().prune(Timestamp(0));
            return match pruned {
                Err(Error::NoArrivals { .. }) => Ok(()),
                pruned => pruned.map(|count| panic!("{count} pruned")),
            };
        }
        // The documents to prune are many, or few.
        let reach = [100, 1_100][self.sequence.below(2) as usize];
        let age = self.sequence.below(reach);
        let older_than = Timestamp(self.expected.now().saturating_sub(age));
        let mut tried = self.expected.clone();
        let count = tried.prune(older_than);
        self.pruned = Some(older_than);
        let pruned = self.database().prune(older_than)?;
        assert_eq!(pruned, count);
        self.pruned = None;
        self.expected = tried;
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.verify_snapshots()?;
        self.held.clear();
        let database = self.database.take().expect("it is open");
        if self.sequence.below(4) == 0 {
            drop(database);
            return Ok(());
        }
        database.close()
    }

    fn check(&mut self) -> Result<()> {
        self.verify_snapshots()?;
        self.held.clear();
        let database = self.database.as_mut().expect("it is open");
        let damage = database.check()?;
        assert_eq!(damage, [""; 0]);
        Ok(())
    }

    fn vacuum(&mut self) -> Result<()> {
        self.close()?;
        self.builder().vacuum(&self.path).map(drop)
    }

    fn backup(&mut self) -> Result<()> {
        // A new name each time: a removed file may come back after a power cut.
        let name = format!("copy-{:016x}.simdb", self.sequence.next());
        let path = self.path.with_file_name(name);
        self.backup = Some((path.clone(), self.expected.clone()));
        self.database().backup(&path)?;
        let expected = self.expected.clone();
        self.verify_backup_after_cut(&path, &expected);
        self.verify_backup()
    }

    fn hold_snapshot(&mut self) -> Result<()> {
        self.verify_snapshots()?;
        if self.held.len() > 1 {
            self.held.remove(0);
        }
        let snapshot = self.database().snapshot()?;
        self.held.push((snapshot, self.expected.clone()));
        Ok(())
    }
}

fn predict_load(tried: &mut super::expected::Expected, documents: &[Document]) -> BulkReport {
    let mut report = BulkReport::default();
    for document in documents {
        match tried.load(document) {
            Outcome::Inserted { .. } => report.inserted += 1,
            Outcome::Exists { stored } if stored == document.fingerprint => report.present += 1,
            _ => report.conflicts += 1,
        }
    }
    report
}

fn assert_predicted(prediction: &[Prediction], outcomes: &[Outcome]) {
    assert_eq!(prediction.len(), outcomes.len());
    for (prediction, outcome) in prediction.iter().zip(outcomes) {
        assert!(
            prediction.is(outcome),
            "{outcome:?} instead of {prediction:?}"
        );
    }
}
