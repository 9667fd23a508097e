//! Databases for the unit tests of queries.

use tempfile::TempDir;

use crate::block::{BLOCK_BITS, BLOCKS};
use crate::ids::scope::ScopeNumber;
use crate::ids::{DocId, Fingerprint};
use crate::store::Limits;
use crate::store::{DbPath, DocumentEdit, Header, Store, StoredDocument, TextEdit, View};

/// The fingerprint from which all fingerprints of a [`SpreadFixture`] are derived.
pub(super) const CENTRE: Fingerprint = Fingerprint::from_bits(0x9e37_79b9_7f4a_7c15);

/// A database of 17⁴ fingerprints: for each choice of four numbers from 0 to 16, a fingerprint that
/// differs from [`CENTRE`] in that number of bits of each of the four blocks.
pub(super) struct SpreadFixture {
    pub(super) fingerprints: Vec<Fingerprint>,
    store: Store,
    _folder: TempDir,
}

impl SpreadFixture {
    pub(super) fn new() -> Self {
        let counts_per_block = u64::from(BLOCK_BITS) + 1;
        let fingerprints: Vec<Fingerprint> = (0..counts_per_block.pow(BLOCKS as u32))
            .map(|spread| {
                let flips = (0..BLOCKS as u32).fold(0, |flips, block| {
                    flips << BLOCK_BITS
                        | scattered(spread / counts_per_block.pow(block) % counts_per_block)
                });
                Fingerprint::from_bits(CENTRE.bits() ^ flips)
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        Self {
            store: store_with_fingerprints(&folder, fingerprints.iter().copied()),
            fingerprints,
            _folder: folder,
        }
    }

    pub(super) fn view(&self) -> View {
        self.store.read().unwrap()
    }
}

pub(super) fn store_with_fingerprints(
    folder: &TempDir,
    fingerprints: impl Iterator<Item = Fingerprint>,
) -> Store {
    let store = create(folder, false);
    apply(&store, inserts(fingerprints));
    store
}

pub(super) fn store_with_texts(folder: &TempDir, documents: &[(Fingerprint, String)]) -> Store {
    let store = create(folder, true);
    let fingerprints = documents.iter().map(|(fingerprint, _)| *fingerprint);
    let mut edits = inserts(fingerprints);
    for (edit, (_, text)) in edits.iter_mut().zip(documents) {
        edit.text = TextEdit::Put(store.keyed(text.clone(), ScopeNumber::default()));
    }
    apply(&store, edits);
    store
}

fn create(folder: &TempDir, keep_texts: bool) -> Store {
    let header = Header {
        recipe: String::new(),
        keep_texts,
        text_keys: None,
        frozen: false,
        retention: None,
        keys: false,
        fields: false,
        copies: 0,
        scopes: false,
        frames: 0,
    };
    let db_path = DbPath::on_system_disk(&folder.path().join("store"));
    Store::create(&db_path, header, 64 << 20, Limits::small()).unwrap()
}

fn apply(store: &Store, edits: Vec<DocumentEdit>) {
    let mut transaction = store.begin_write().unwrap();
    transaction.apply(edits).unwrap();
    transaction.commit().unwrap();
}

pub(super) fn inserts(fingerprints: impl Iterator<Item = Fingerprint>) -> Vec<DocumentEdit> {
    (0..)
        .zip(fingerprints)
        .map(|(id, fingerprint)| DocumentEdit {
            id: DocId(id),
            before: None,
            after: Some(StoredDocument {
                fingerprint,
                reliable: true,
                arrival: None,
            }),
            text: TextEdit::Keep,
            copies: None,
        })
        .collect()
}

/// The lowest `BLOCK_BITS` bits with `bits` of them set, spread over the block.
fn scattered(bits: u64) -> u64 {
    (0..bits).fold(0, |flips, n| flips | 1 << (n * 3 % u64::from(BLOCK_BITS)))
}
