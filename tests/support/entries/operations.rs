//! A database equals a plain map after any sequence of changes, crashes and reopens.

use simdb::{Change, Database, DocId, Document, Fingerprint, Retention, Timestamp, Within};

use super::ask::{builder, path};
use super::edits::{Edit, edits};
use super::memory::MemoryDisk;
use crate::{Model, assert_holds, assert_sound, document, keyed, with_key};

/// Number of ids: few, so that most changes meet an earlier document. The last one stands for the
/// largest id.
const IDS: u8 = 24;
/// Centres of fingerprints, each a few bits from one.
const CENTRES: [u64; 4] = [0, u64::MAX, 0x0123_4567_89ab_cdef, 0x0123_4567_89ab_0000];
/// Positions of flipped bits: few, in every block, so that flips coincide.
const FLIPS: [u32; 8] = [0, 1, 15, 16, 33, 47, 62, 63];
const RADII: [u32; 5] = [0, 1, 3, 7, 64];
/// The scopes of documents, beside the empty one.
const SCOPES: [&str; 3] = ["zh", "en", "范围"];
/// The copies of a document that are stored.
const NEWEST: u16 = 2;

/// A database, its model, and changes that are not submitted yet.
struct Trial {
    disk: MemoryDisk,
    database: Option<Database>,
    model: Model,
    batch: Vec<Change>,
    has_keys: bool,
    has_scopes: bool,
}

/// The first byte selects the settings of the database, the rest the operations.
pub fn run(input: &[u8]) {
    let Some((mode, input)) = input.split_first() else {
        return;
    };
    let disk = MemoryDisk::default();
    let is_set = |bit: u8| mode & bit != 0;
    let (texts, similar, arrivals) = (is_set(1), is_set(2), is_set(4));
    let (has_scopes, copies) = (is_set(8), is_set(32));
    let has_keys = has_scopes || is_set(16);
    let mut creating = builder(&disk).keep_texts(texts).similar(similar);
    creating = creating.keys(has_keys).fields(has_keys).scopes(has_scopes);
    if arrivals {
        creating = creating.retention(Retention::default());
    }
    if copies {
        creating = creating.copies(NEWEST);
    }
    let database = creating.create(path()).unwrap();
    let mut trial = Trial {
        disk,
        database: Some(database),
        model: Model {
            keeps_texts: texts || similar,
            keeps_arrivals: arrivals,
            keeps_fields: has_keys,
            newest_copies: if copies { usize::from(NEWEST) } else { 0 },
            ..Model::default()
        },
        batch: Vec::new(),
        has_keys,
        has_scopes,
    };
    if has_scopes {
        // A scope has its number from its first document on. Changes of one batch are prepared in
        // any order.
        let first = (0..).zip(SCOPES).map(|(number, scope)| {
            let document = keyed(document(1_000 + number, number)).with_scope(scope);
            let arrival = Some(Timestamp(1));
            Change::Insert(Document {
                arrival,
                ..document
            })
        });
        trial.batch = first.collect();
        trial.hand_over();
    }
    edits(input).for_each(|edit| trial.step(edit));
    trial.hand_over();
    trial.reopen();
    trial.compare(0);
    assert_sound(trial.database.as_mut().unwrap());
}

impl Trial {
    fn step(&mut self, edit: Edit) {
        match edit.kind % 16 {
            0..=3 => self.push(Change::Insert(self.document_of(edit))),
            4..=6 => self.push(Change::Upsert(self.document_of(edit))),
            7..=8 => {
                let mut document = self.document_of(edit);
                // The model does not compare the wordings of unreliable documents.
                document.text = document.text.filter(|_| document.reliable);
                let radius = u32::from(edit.value[3] % 6);
                self.push(Change::InsertUnique { document, radius });
            }
            9 => self.push(Change::Remove(id_of(edit.which))),
            10 => self.hand_over(),
            11 => self.transaction(edit.value[0].is_multiple_of(4)),
            12 => {
                self.hand_over();
                self.open().merge().unwrap();
            }
            13 => self.reopen(),
            14 => self.crash(),
            _ => {
                self.hand_over();
                self.compare(edit.word());
            }
        }
    }

    /// Adds a change to the batch; in a database with keys, of the key that stands for the id.
    fn push(&mut self, change: Change) {
        self.batch.push(match self.has_keys {
            true => with_key(change),
            false => change,
        });
    }

    fn document_of(&self, edit: Edit) -> Document {
        let document = document_of(edit);
        if !self.has_scopes {
            return document;
        }
        let scope = SCOPES.get(usize::from(edit.value[1]) % 4);
        Document {
            scope: scope.map(|scope| (*scope).to_owned()),
            within: match edit.value[3] / 6 % 3 {
                0 => Within::Scope,
                1 => Within::All,
                _ => Within::Scopes(vec![String::new(), "en".to_owned()]),
            },
            ..document
        }
    }

    fn open(&self) -> &Database {
        self.database.as_ref().unwrap()
    }

    fn hand_over(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let expected = self.model.apply_all(batch.clone());
        assert_eq!(self.open().apply(batch).unwrap(), expected);
    }

    /// Applies the pending changes in a transaction, which is dropped or committed.
    fn transaction(&mut self, is_dropped: bool) {
        let batch = std::mem::take(&mut self.batch);
        let before = self.model.clone();
        let expected = self.model.apply_all(batch.clone());
        let mut transaction = self.database.as_ref().unwrap().begin().unwrap();
        assert_eq!(transaction.apply(batch).unwrap(), expected);
        if is_dropped {
            drop(transaction);
            self.model = before;
        } else {
            transaction.commit().unwrap();
        }
    }

    fn reopen(&mut self) {
        drop(self.database.take());
        self.database = Some(builder(&self.disk).open(path()).unwrap());
    }

    /// Continues with the files that a killed process would leave.
    fn crash(&mut self) {
        let left = MemoryDisk::with(self.disk.contents());
        self.disk = left;
        let killed = self.database.take();
        let reading = builder(&self.disk).open_read_only(path()).unwrap();
        assert_holds(&reading.snapshot().unwrap(), &self.model);
        drop(reading);
        self.database = Some(builder(&self.disk).open(path()).unwrap());
        drop(killed);
    }

    fn compare(&self, flips: u32) {
        let snapshot = self.open().snapshot().unwrap();
        assert_holds(&snapshot, &self.model);
        for centre in CENTRES {
            let query = Fingerprint::from_bits(centre ^ u64::from(flips & 0x8001_0001));
            for radius in RADII {
                let expected = self.model.within(query, radius);
                assert_eq!(snapshot.within(query, radius).unwrap(), expected);
            }
            let expected = self.model.nearest(query, 3);
            assert_eq!(snapshot.nearest(query, 3).unwrap(), expected);
        }
        if self.model.newest_copies > 0 {
            let expected = self.model.most_copied(None);
            assert_eq!(snapshot.most_copied(100, None).unwrap(), expected);
        }
        if self.has_scopes {
            let scopes = ["", "zh"].map(str::to_owned);
            let query = Fingerprint::from_bits(CENTRES[flips as usize % CENTRES.len()]);
            let expected = self.model.within_scopes(Some(&scopes), query, 7);
            let found = snapshot.in_scopes(&scopes).unwrap().within(query, 7);
            assert_eq!(found.unwrap(), expected);
        }
        let stats = snapshot.stats().unwrap();
        assert_eq!(stats.documents, self.model.documents.len() as u64);
        assert_eq!(
            stats.distinct_fingerprints,
            self.model.distinct_fingerprints()
        );
    }
}

fn id_of(which: usize) -> DocId {
    let id = which as u64 % u64::from(IDS);
    DocId(if id + 1 == u64::from(IDS) {
        u64::MAX
    } else {
        id
    })
}

fn document_of(edit: Edit) -> Document {
    let flips = FLIPS.iter().enumerate();
    let flips = flips.filter(|(place, _)| edit.value[0] >> place & 1 != 0);
    let centre = CENTRES[edit.at % CENTRES.len()];
    let text = match edit.value[2] % 4 {
        0 => None,
        1 => Some(String::new()),
        words => {
            Some(format!("短文 {} of a few words ", edit.value[2] / 4).repeat(usize::from(words)))
        }
    };
    Document {
        reliable: !(edit.at / 4).is_multiple_of(8),
        arrival: Some(Timestamp(u64::from(edit.value[1] % 9))),
        text,
        ..document(
            id_of(edit.which).0,
            flips.fold(centre, |bits, (_, flip)| bits ^ 1 << flip),
        )
    }
}
