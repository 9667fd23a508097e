//! The parts that tests share; README.md has a drawing. This file has the seeded sequence, small
//! corpora and assertions.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use simdb::{
    Builder, Change, Database, DocId, Document, Fingerprint, Outcome, Retention, Snapshot,
};

pub mod changes;
pub mod children;
pub mod disk;
pub mod engine;
pub mod entries;
pub mod gate;
pub mod hostile;
mod model;
pub mod small_disk;
pub mod timing;
pub mod trial;
pub mod vectors;

pub use model::{Model, Refusal};

/// The generator splitmix64. The field is the seed.
pub struct SplitMix(pub u64);

impl SplitMix {
    #[expect(
        clippy::should_implement_trait,
        reason = "a sequence without end needs no Option"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A random number with exactly `count` bits set.
    pub fn bits(&mut self, count: u32) -> u64 {
        let mut bits = 0_u64;
        while bits.count_ones() < count {
            bits |= 1 << (self.next() % 64);
        }
        bits
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Words for random texts.
pub const WORDS: [&str; 64] = [
    "river", "stone", "window", "market", "yellow", "seven", "captain", "harbour", "letter",
    "bread", "winter", "silver", "garden", "thunder", "paper", "bridge", "copper", "morning",
    "engine", "valley", "candle", "doctor", "island", "orange", "ticket", "forest", "hammer",
    "summer", "lantern", "village", "pepper", "station", "violin", "shadow", "button", "carpet",
    "desert", "feather", "glacier", "helmet", "insect", "jungle", "kettle", "ladder", "mirror",
    "needle", "oyster", "pillow", "quarry", "ribbon", "saddle", "temple", "uncle", "velvet",
    "walnut", "zipper", "anchor", "basket", "cotton", "dragon", "ember", "falcon", "guitar",
    "hazel",
];

/// A builder with a small cache.
pub fn builder() -> Builder {
    Database::builder().cache_bytes(16 << 20)
}

/// A folder that is removed when the test ends.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A retention of this length, by the latest arrival.
pub const fn window(length: Duration) -> Retention {
    Retention {
        window: Some(length),
        sliding: false,
        by_clock: false,
        max_ahead: Some(Retention::DEFAULT_MAX_AHEAD),
    }
}

/// The names in a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The path of journal 1 or 2 of a database.
pub fn journal(database: &Path, number: u32) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(format!(".journal-{number}"));
    path.into()
}

/// Copies an open database and its journals, as a crash would leave them. No thread may write or
/// flush meanwhile.
pub fn copy_open(database: &Path, copy: &Path) {
    std::fs::copy(database, copy).unwrap();
    for number in [1, 2] {
        let from = journal(database, number);
        if from.exists() {
            std::fs::copy(from, journal(copy, number)).unwrap();
        }
    }
}

/// A reliable document without a text.
pub fn document(id: u64, fingerprint: u64) -> Document {
    Document::new(DocId(id), Fingerprint::from_bits(fingerprint))
}

/// The outcome of an insert of a reliable document.
pub const INSERTED: Outcome = Outcome::Inserted { reliable: true };

/// Inserts a document, and asserts that it is stored.
pub fn insert(database: &Database, document: Document) {
    let outcome = database.insert(document).unwrap();
    assert!(outcome.is_inserted(), "{outcome}");
}

/// Inserts a text, and asserts that it is stored.
pub fn insert_text(database: &Database, id: u64, text: &str) {
    insert(database, database.document(id, text).unwrap());
}

/// `count` documents with seeded fingerprints, ids from `first_id` on.
pub fn documents(seed: u64, first_id: u64, count: u64) -> Vec<Document> {
    let mut sequence = SplitMix(seed);
    (first_id..first_id + count)
        .map(|id| document(id, sequence.next()))
        .collect()
}

/// The fingerprint with `distance` seeded bits flipped.
pub fn planted(sequence: &mut SplitMix, fingerprint: Fingerprint, distance: u32) -> Fingerprint {
    let mut flips = 0_u64;
    while flips.count_ones() < distance {
        flips |= 1 << sequence.below(64);
    }
    Fingerprint::from_bits(fingerprint.bits() ^ flips)
}

/// The key that stands for an id: keys of different lengths, some of them digits.
pub fn key_of(id: DocId) -> String {
    match id.0 % 4 {
        0 => id.to_string(),
        1 => format!(
            "https://example.org/{}/{}",
            "é".repeat(id.0 as usize % 99),
            id
        ),
        2 => format!("https://example.org/{id}"),
        _ => format!("{:>1$}", id.0, 1024),
    }
}

/// The document with a key in place of its id, and sometimes with fields.
pub fn keyed(document: Document) -> Document {
    let number = document.id.0;
    Document {
        // Ignored.
        id: DocId(number % 7),
        key: Some(key_of(document.id)),
        fields: number
            .is_multiple_of(2)
            .then(|| format!("{{\"n\":{number}}}")),
        ..document
    }
}

/// The change of the document with the key that stands for the id.
pub fn with_key(change: Change) -> Change {
    match change {
        Change::Insert(document) => Change::Insert(keyed(document)),
        Change::InsertUnique { document, radius } => Change::InsertUnique {
            document: keyed(document),
            radius,
        },
        Change::InsertUnlessSimilar { document, rule } => Change::InsertUnlessSimilar {
            document: keyed(document),
            rule,
        },
        Change::Upsert(document) => Change::Upsert(keyed(document)),
        // Some documents are removed by id.
        Change::Remove(id) if id.0.is_multiple_of(5) => Change::Remove(id),
        Change::Remove(id) => Change::RemoveKey(key_of(id)),
        change => change,
    }
}

/// Asserts that a snapshot holds exactly the documents of the model.
pub fn assert_holds(snapshot: &Snapshot, model: &Model) {
    let stored: Vec<Document> = snapshot.documents().map(Result::unwrap).collect();
    assert_eq!(snapshot.len().unwrap(), model.documents.len() as u64);
    assert_eq!(stored.len(), model.documents.len());
    for (stored, expected) in stored.iter().zip(model.documents.values()) {
        assert_eq!(stored, expected);
    }
}

/// Asserts that `check` finds no damage.
pub fn assert_sound(database: &mut Database) {
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
}

thread_local! {
    /// The place and message of a panic in [`caught`]; `None` outside of it.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a closure. If it panics, returns the place (package, file, line) and the message.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let noted = PANIC.with_borrow_mut(|noted| {
                if let (Some(noted), Some(location)) = (noted, panic.location()) {
                    // Paths of other packages are shortened to the package folder.
                    let file = location.file();
                    let file = file.find("/redb-").map_or(file, |place| &file[place + 1..]);
                    let message = match panic.payload().downcast_ref::<String>() {
                        Some(message) => message.as_str(),
                        None => panic
                            .payload()
                            .downcast_ref::<&str>()
                            .copied()
                            .unwrap_or_default(),
                    };
                    *noted = format!("{file}:{}: {message}", location.line());
                    return true;
                }
                false
            });
            if !noted {
                usual(panic);
            }
        }));
    });
    PANIC.set(Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(run));
    let place = PANIC.take().unwrap_or_default();
    result.map_err(|_| place)
}
