//! The sound databases that fuzz inputs edit. They are stored as files, because an input depends on
//! their layout, which another version of the library may change.

use std::path::Path;
use std::sync::OnceLock;

use simdb::{Change, Document, Retention, Timestamp};

use super::ask::{builder, path};
use super::memory::MemoryDisk;
use crate::{SplitMix, document, journal};

/// A closed or crashed database, with its journals.
pub struct Base {
    pub file: Vec<u8>,
    /// The content of each journal, with its number.
    pub journals: Vec<(u32, Vec<u8>)>,
}

impl Base {
    pub fn shared(crashed: bool) -> &'static Self {
        static BASES: [OnceLock<Base>; 2] = [const { OnceLock::new() }; 2];
        BASES[usize::from(crashed)].get_or_init(|| {
            let unpack = |bytes: &[u8]| zstd::decode_all(bytes).unwrap();
            match crashed {
                false => Self {
                    file: unpack(include_bytes!("../../data/fuzz/closed.simdb.zst")),
                    journals: Vec::new(),
                },
                true => Self {
                    file: unpack(include_bytes!("../../data/fuzz/crashed.simdb.zst")),
                    journals: vec![(
                        1,
                        unpack(include_bytes!("../../data/fuzz/crashed.journal.zst")),
                    )],
                },
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
pub fn write(folder: &Path) {
    let disk = MemoryDisk::default();
    let path = path();
    let creating = builder(&disk).similar(true).retention(Retention::default());
    let database = creating.create(&path).unwrap();
    for batch in documents(1, 0, 600).chunks(150) {
        let inserts = batch.iter().cloned().map(Change::Insert);
        database.apply(inserts).unwrap();
        database.merge().unwrap();
    }
    database.close().unwrap();
    let pack = |name: &str, content: &[u8]| {
        let packed = zstd::encode_all(content, 19).unwrap();
        std::fs::write(folder.join(name), packed).unwrap();
    };
    pack("closed.simdb.zst", &disk.contents()[&path]);

    let database = builder(&disk).open(&path).unwrap();
    for batch in documents(2, 580, 40).chunks(10) {
        let upserts = batch.iter().cloned().map(Change::Upsert);
        let removal = Change::Remove(batch[0].id);
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
