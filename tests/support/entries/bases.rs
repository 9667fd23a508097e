//! The sound databases that fuzz inputs edit. They are stored as files, because an input depends on
//! their layout, which another version of the library may change.

use std::path::Path;
use std::sync::OnceLock;

use simdb::{Change, Document, Retention, Timestamp};

use super::ask::{builder, path};
use super::memory::MemoryDisk;
use crate::{SplitMix, document, journal, keyed};

/// A closed or crashed database, with its journals.
pub struct Base {
    pub file: Vec<u8>,
    /// The content of each journal, with its number.
    pub journals: Vec<(u32, Vec<u8>)>,
}

/// Each database with its journal, compressed: without and with keys, fields, copies and scopes,
/// closed and crashed.
const PACKED: [(&[u8], Option<&[u8]>); 4] = [
    (include_bytes!("../../data/fuzz/closed.simdb.zst"), None),
    (
        include_bytes!("../../data/fuzz/crashed.simdb.zst"),
        Some(include_bytes!("../../data/fuzz/crashed.journal.zst")),
    ),
    (
        include_bytes!("../../data/fuzz/keys-closed.simdb.zst"),
        None,
    ),
    (
        include_bytes!("../../data/fuzz/keys-crashed.simdb.zst"),
        Some(include_bytes!("../../data/fuzz/keys-crashed.journal.zst")),
    ),
];

impl Base {
    pub fn shared(has_keys: bool, crashed: bool) -> &'static Self {
        static BASES: [OnceLock<Base>; 4] = [const { OnceLock::new() }; 4];
        let place = 2 * usize::from(has_keys) + usize::from(crashed);
        BASES[place].get_or_init(|| {
            let unpack = |packed| zstd::decode_all(packed).unwrap();
            let (file, journal) = PACKED[place];
            Self {
                file: unpack(file),
                journals: journal
                    .map(|packed| (1, unpack(packed)))
                    .into_iter()
                    .collect(),
            }
        })
    }

    /// A disk with this file in place of the database.
    pub fn disk_with(&self, file: Vec<u8>) -> MemoryDisk {
        let path = path();
        let journals = self.journals.iter();
        let journals = journals.map(|(number, bytes)| (journal(&path, *number), bytes.clone()));
        MemoryDisk::with([(path.clone(), file)].into_iter().chain(journals))
    }
}

/// Writes new databases, compressed, into a folder. Inputs for the old ones become meaningless.
pub fn write(folder: &Path, has_keys: bool) {
    let disk = MemoryDisk::default();
    let path = path();
    let mut creating = builder(&disk).similar(true).retention(Retention::default());
    if has_keys {
        creating = creating.scopes(true).fields(true).copies(3);
    }
    let database = creating.create(&path).unwrap();
    let named = |document: Document| match has_keys {
        true => in_scope(keyed(document)),
        false => document,
    };
    let insert = |document: Document| match document.id.0 % 3 {
        // Some are refused as copies.
        0 if has_keys => Change::InsertUnique {
            document: named(document),
            radius: 2,
        },
        _ => Change::Insert(named(document)),
    };
    for batch in documents(1, 0, 600).chunks(150) {
        let inserts = batch.iter().cloned().map(insert);
        database.apply(inserts).unwrap();
        database.merge().unwrap();
    }
    database.close().unwrap();
    let pack = |name: &str, content: &[u8]| {
        let packed = zstd::encode_all(content, 19).unwrap();
        let prefix = if has_keys { "keys-" } else { "" };
        std::fs::write(folder.join(format!("{prefix}{name}")), packed).unwrap();
    };
    pack("closed.simdb.zst", &disk.contents()[&path]);

    let database = builder(&disk).open(&path).unwrap();
    for batch in documents(2, 580, 40).chunks(10) {
        let upserts = batch.iter().cloned().map(|document| match has_keys {
            true if document.id.0 % 3 == 0 => insert(document),
            _ => Change::Upsert(named(document)),
        });
        let removal = Change::remove(named(batch[0].clone()).doc_ref());
        database.apply(upserts.chain([removal])).unwrap();
    }
    let crashed = disk.contents();
    let journals = [1, 2].map(|number| crashed.get(&journal(&path, number)));
    let [Some(content), None] = journals else {
        panic!("the journal has another name");
    };
    pack("crashed.simdb.zst", &crashed[&path]);
    pack("crashed.journal.zst", content);
}

/// The document in a scope that its fingerprint chooses.
fn in_scope(document: Document) -> Document {
    match document.fingerprint.bits() >> 40 & 3 {
        0 => document,
        number => document.with_scope(format!("scope {number}")),
    }
}

/// Documents of every kind that differ in few bits, so that they compress well.
fn documents(seed: u64, first_id: u64, count: u64) -> Vec<Document> {
    let mut sequence = SplitMix(seed);
    let ids = first_id..first_id + count;
    let documents = ids.map(|id| Document {
        reliable: id % 5 != 0,
        arrival: Some(Timestamp(1_700_000_000_000 + id / 3)),
        text: (id % 25 == 1).then(|| format!("the text of document {id}, and of no other one")),
        ..document(id, sequence.below(1 << 9) << 40)
    });
    documents.collect()
}
