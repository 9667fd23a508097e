//! A flipped bit gives an error, never a wrong answer or a panic; `check` finds the rest. What is
//! no database at all is refused with a sentence that names it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::engine::with_engine;
use common::{Model, SplitMix, builder, caught, documents, folder, journal};
use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use simdb::{Change, Database, DocId, Document, Error, Fingerprint, Retention, Timestamp};

mod common;

const PAGE_BYTES: usize = 4096;

/// A database in which every table has several chunks, closed, and what it holds.
fn damageable(path: &Path) -> Model {
    let mut documents = documents(1, 0, 3_000);
    for (place, document) in documents.iter_mut().enumerate() {
        // More unreliable documents than one chunk holds, and fingerprints that many share.
        document.reliable = place % 5 != 0;
        if place % 3 == 0 {
            document.fingerprint = Fingerprint::from_bits((0xabc << 48) + place as u64 / 900);
        }
        document.arrival = Some(Timestamp(1_700_000_000_000 + place as u64 / 7));
        document.text = (place % 60 == 1).then(|| format!("text {place} ").repeat(1 + place / 100));
    }
    let database = builder()
        .similar(true)
        .retention(Retention::default())
        .create(path)
        .unwrap();
    for batch in documents.chunks(1_000) {
        database
            .apply(batch.iter().cloned().map(Change::Insert))
            .unwrap();
    }
    database.merge().unwrap();
    let stats = database.snapshot().unwrap().stats().unwrap();
    assert!(
        stats.tables.iter().all(|table| table.chunks > 1),
        "{stats:?}"
    );
    Model {
        keeps_texts: true,
        keeps_arrivals: true,
        ..Model::default()
    }
    .with(documents)
}

/// Every kind of answer, as a program would get them: right, or the first error.
fn read_everything(database: &Database, model: &Model, seed: u64) -> Result<(), Error> {
    let snapshot = database.snapshot()?;
    assert_eq!(snapshot.len(), model.documents.len() as u64, "len");
    let mut sequence = SplitMix(seed);
    let ids: Vec<DocId> = model.documents.keys().copied().collect();
    let mut first_error = None;
    let mut note = |error: Option<Error>| first_error = first_error.take().or(error);
    let mut stored = snapshot.documents();
    let mut expected = model.documents.values();
    note(loop {
        match (stored.next(), expected.next()) {
            (Some(Err(error)), _) => break Some(error),
            (stored, expected) => {
                assert_eq!(stored.map(Result::unwrap).as_ref(), expected, "documents");
                if expected.is_none() {
                    break None;
                }
            }
        }
    });
    for _ in 0..20 {
        let id = ids[sequence.below(ids.len() as u64) as usize];
        match snapshot.get(id) {
            Ok(found) => assert_eq!(found.as_ref(), model.documents.get(&id), "get"),
            Err(error) => note(Some(error)),
        }
        match snapshot.get(DocId(id.0 + 1_000_000)) {
            Ok(found) => assert_eq!(found, None, "get"),
            Err(error) => note(Some(error)),
        }
        let query = common::planted(&mut sequence, model.documents[&id].fingerprint, 2);
        for radius in [0, 3, 5] {
            match snapshot.within(query, radius) {
                Ok(found) => assert_eq!(found, model.within(query, radius), "within"),
                Err(error) => note(Some(error)),
            }
        }
    }
    match snapshot.stats() {
        Ok(stats) => {
            assert_eq!(stats.documents, model.documents.len() as u64, "stats");
            assert_eq!(
                stats.distinct_fingerprints,
                model.distinct_fingerprints(),
                "stats"
            );
        }
        Err(error) => note(Some(error)),
    }
    first_error.map_or(Ok(()), Err)
}

// ---- bits that flip, sectors that are lost ----

const SECTOR_BYTES: usize = 512;

/// How many times a file is damaged by each test of it: `SIMDB_TEST_FLIPS`, or so many.
fn damages(usual: u64) -> u64 {
    let asked = std::env::var("SIMDB_TEST_FLIPS").ok();
    asked.map_or(usual, |count| count.parse().unwrap())
}

/// One kind of damage to a file or its journal.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip {
        byte: usize,
        bit: u64,
    },
    Zeros {
        sector: usize,
    },
    /// What another sector holds.
    Misplaced {
        sector: usize,
        from: usize,
    },
    Cut {
        length: usize,
    },
}

impl Damage {
    /// Some damage: mostly a flipped bit, in a page chosen first, so that few pages of a kind get
    /// as much of it as many.
    fn random(sequence: &mut SplitMix, length: usize) -> Self {
        let sectors = (length / SECTOR_BYTES) as u64;
        let mut sector = || sequence.below(sectors) as usize;
        let (one, other) = (sector(), sector());
        match sequence.below(20) {
            0 => Self::Zeros { sector: one },
            1 => Self::Misplaced {
                sector: one,
                from: other,
            },
            2 => Self::Cut {
                length: sequence.below(length as u64) as usize,
            },
            // The headers are small, and everything hangs on them.
            3..=5 => Self::Flip {
                byte: sequence.below(3 * PAGE_BYTES as u64).min(length as u64 - 1) as usize,
                bit: sequence.below(8),
            },
            _ => Self::Flip {
                byte: sequence.below(length as u64) as usize,
                bit: sequence.below(8),
            },
        }
    }

    fn apply(self, bytes: &mut Vec<u8>) {
        let range = |sector: usize| sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
        match self {
            Self::Flip { byte, bit } => bytes[byte] ^= 1 << bit,
            Self::Zeros { sector } => bytes[range(sector)].fill(0),
            Self::Misplaced { sector, from } => {
                bytes.copy_within(range(from), sector * SECTOR_BYTES);
            }
            Self::Cut { length } => bytes.truncate(length),
        }
    }
}

/// What a damaged file does to those who use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// All answers are right.
    Right,
    /// Some answer is an error that tells of damage, the others are right.
    Refused,
}

/// The effect on those who read; in words, if it is none of the good ones.
fn effect(path: &Path, model: &Model, seed: u64) -> Result<Effect, String> {
    let read = caught(|| {
        let database = builder().open_read_only(path)?;
        read_everything(&database, model, seed)
    });
    match read? {
        Ok(()) => Ok(Effect::Right),
        Err(error) if tells_of_damage(&error) => Ok(Effect::Refused),
        Err(error) => Err(format!("{error:?}")),
    }
}

fn tells_of_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::Corrupt { .. }
            | Error::NotADatabase { .. }
            | Error::FormatVersion { .. }
            | Error::JournalMissing { .. }
    )
}

/// Whether opening for writing or `check` tells of damage.
fn is_found_by_check(path: &Path) -> Result<bool, String> {
    caught(|| match builder().open(path) {
        Ok(mut database) => match database.check(|_, _| {}) {
            Ok(damage) => !damage.is_empty(),
            Err(error) => tells_of_damage(&error),
        },
        Err(error) => tells_of_damage(&error),
    })
}

/// Damages a file in many ways, one after the other, and asserts that each gives right answers or
/// an error, and that what gives errors to those who read is found by `check`.
fn assert_damage_is_noticed(path: &Path, damaged: &Path, model: &Model, seed: u64, count: u64) {
    let files: Vec<PathBuf> = [path.to_path_buf(), journal(path, 1), journal(path, 2)]
        .into_iter()
        .filter(|file| file.exists())
        .collect();
    let sound: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    let place = files.iter().position(|file| file == damaged).unwrap();
    // A journal is zeros behind what is in use, and what is cut off there is not missed.
    let used = sound[place].iter().rposition(|byte| *byte != 0).unwrap();
    let used = (used + 1).next_multiple_of(SECTOR_BYTES);
    let restore = || {
        for (file, bytes) in files.iter().zip(&sound) {
            std::fs::write(file, bytes).unwrap();
        }
    };
    let mut sequence = SplitMix(seed);
    let mut effects: BTreeMap<Effect, u64> = BTreeMap::new();
    for number in 0..count {
        let damage = Damage::random(&mut sequence, used);
        let mut bytes = sound[place].clone();
        damage.apply(&mut bytes);
        restore();
        std::fs::write(damaged, &bytes).unwrap();
        let told = || format!("{} {damage:?} (seed {seed})", damaged.display());
        let effect =
            effect(path, model, number).unwrap_or_else(|what| panic!("{}: {what}", told()));
        *effects.entry(effect).or_default() += 1;
        // Reading has changed nothing.
        assert!(std::fs::read(damaged).unwrap() == bytes, "{}", told());
        let found = is_found_by_check(path).unwrap_or_else(|what| panic!("{}: {what}", told()));
        assert!(found || effect == Effect::Right, "{}: {effect:?}", told());
    }
    restore();
    // Many pages of a file hold what is no longer in use.
    assert!(effects[&Effect::Refused] > count / 40, "{effects:?}");
}

#[test]
fn damage_to_a_closed_file_gives_an_error_or_the_right_answer() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let model = damageable(&path);
    assert_damage_is_noticed(&path, &path, &model, 11, damages(300));
}

/// A file and its journal as a crash leaves them, and what they hold: something in the tables, and
/// more in the journal.
fn left_by_a_crash(folder: &Path) -> (PathBuf, Model) {
    let path = folder.join("docs.simdb");
    let mut model = damageable(&path);
    let database = builder().open(&path).unwrap();
    let more = documents(7, 1 << 30, 500);
    for batch in more.chunks(100) {
        let inserts = batch.iter().cloned().map(|document| Document {
            arrival: Some(Timestamp(1_700_000_000_000)),
            ..document
        });
        let inserts: Vec<Document> = inserts.collect();
        model = model.with(inserts.clone());
        database
            .apply(inserts.into_iter().map(Change::Insert))
            .unwrap();
    }
    let copy = folder.join("copy.simdb");
    common::copy_open(&path, &copy);
    (copy, model)
}

#[test]
fn damage_to_a_file_that_a_crash_left_gives_an_error_or_the_right_answer() {
    let folder = folder();
    let (path, model) = left_by_a_crash(folder.path());
    assert_damage_is_noticed(&path, &path, &model, 12, damages(150));
}

#[test]
fn damage_to_a_journal_that_a_crash_left_gives_an_error_or_the_right_answer() {
    let folder = folder();
    let (path, model) = left_by_a_crash(folder.path());
    let journals = [journal(&path, 1), journal(&path, 2)];
    let journal = journals.iter().find(|file| file.exists()).unwrap();
    assert_damage_is_noticed(&path, journal, &model, 13, damages(150));
}

// ---- files that are no database ----

/// Asserts that every way to open refuses the file, and returns the error of one.
fn refused(path: &Path) -> Error {
    let writing = builder().open(path).unwrap_err();
    let reading = builder().open_read_only(path).unwrap_err();
    let vacuum = Database::vacuum(path).unwrap_err();
    for other in [&reading, &vacuum] {
        assert_eq!(
            std::mem::discriminant(other),
            std::mem::discriminant(&writing),
            "{other:?}"
        );
    }
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(writing.to_string().contains(name), "{writing}");
    writing
}

#[test]
fn what_is_no_database_is_refused_by_name_and_left_as_it_is() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    damageable(&path);
    let header = std::fs::read(&path).unwrap()[..10].to_vec();
    let mut sequence = SplitMix(6);
    let random: Vec<u8> = (0..50_000).map(|_| sequence.next() as u8).collect();
    let contents = [
        ("empty", Vec::new()),
        ("text", b"id,text\n1,no database at all\n".repeat(1_000)),
        ("one-byte", vec![b's']),
        ("random", random),
        ("zeros", vec![0; 1 << 20]),
        ("truncated", header),
    ];
    for (name, content) in contents {
        let path = folder.path().join(name);
        std::fs::write(&path, &content).unwrap();
        let refused = refused(&path);
        assert!(
            matches!(&refused, Error::NotADatabase { path: named, .. } if *named == path),
            "{refused:?}"
        );
        assert!(
            refused.to_string().contains("is not a simdb database"),
            "{refused}"
        );
        assert!(
            std::fs::read(&path).unwrap() == content,
            "{name} was changed"
        );
    }
    let refused_folder = refused(folder.path());
    assert!(
        matches!(refused_folder, Error::NotADatabase { .. }),
        "{refused_folder:?}"
    );
    let refused_missing = refused(&folder.path().join("missing.simdb"));
    assert!(
        matches!(refused_missing, Error::NotFound { .. }),
        "{refused_missing:?}"
    );
    assert!(
        refused_missing.to_string().contains("there is no database"),
        "{refused_missing}"
    );
}

/// Table `meta`, in which settings are stored.
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

#[test]
fn redb_file_of_another_program_is_refused() {
    let folder = folder();
    let tables: [fn(&redb::WriteTransaction); 3] = [
        |_| {},
        |transaction| {
            let numbers = TableDefinition::<u64, u64>::new("numbers");
            transaction
                .open_table(numbers)
                .unwrap()
                .insert(1, 2)
                .unwrap();
        },
        |transaction| {
            let meta = TableDefinition::<u64, u64>::new("meta");
            transaction.open_table(meta).unwrap().insert(1, 2).unwrap();
        },
    ];
    for (number, write) in tables.into_iter().enumerate() {
        let path = folder.path().join(format!("other{number}.redb"));
        let database = redb::Database::create(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        write(&transaction);
        transaction.commit().unwrap();
        drop(database);
        let refused = refused(&path);
        assert!(matches!(refused, Error::NotADatabase { .. }), "{refused:?}");
    }
}

/// Puts a value in the place of one of table `meta`, with its checksum in front.
fn replace_setting(path: &Path, key: &str, payload: Option<&[u8]>) {
    with_engine(path, |database| {
        let transaction = database.begin_write().unwrap();
        {
            let mut meta = transaction.open_table(META).unwrap();
            match payload {
                Some(payload) => {
                    let sealed = [&crc32fast::hash(payload).to_le_bytes(), payload].concat();
                    meta.insert(key, sealed.as_slice()).unwrap();
                }
                None => drop(meta.remove(key).unwrap()),
            }
        }
        transaction.commit().unwrap();
    });
}

#[test]
fn database_of_another_format_is_refused_with_both_versions() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    damageable(&path);
    let sound = std::fs::read(&path).unwrap();
    for version in [1_u32, 2, 77, u32::MAX] {
        let mut other = sound.clone();
        other[12..16].copy_from_slice(&version.to_le_bytes());
        let crc = crc32fast::hash(&other[..16]);
        other[16..20].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&path, &other).unwrap();
        let refused = refused(&path);
        let Error::FormatVersion {
            found,
            supported: 4,
            ..
        } = refused
        else {
            panic!("{refused:?}")
        };
        assert_eq!(found, version);
        let told = format!("its format is version {version}, this simdb reads version 4");
        assert!(refused.to_string().contains(&told), "{refused}");
    }
    std::fs::write(&path, &sound).unwrap();
    assert_eq!(builder().open(&path).unwrap().len().unwrap(), 3_000);
}

#[test]
fn settings_that_are_missing_or_make_no_sense_are_damage() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let wrong: [(&str, Option<&[u8]>); 16] = [
        ("recipe", None),
        ("recipe", Some(&[0xff, 0xfe])),
        ("settings", None),
        ("settings", Some(&[0x80])),
        ("settings", Some(&[0, 0])),
        ("settings", Some(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0])),
        // A window and sliding times where none are kept.
        ("settings", Some(&[0, 1, 0, 0, 0, 0, 0, 0, 0])),
        ("settings", Some(&[8, 0, 0, 0, 0, 0, 0, 0, 0])),
        // Bands of texts that are not kept, and bands that nothing is said of.
        ("settings", Some(&[32, 0, 0, 0, 0, 0, 0, 0, 0])),
        ("settings", Some(&[33, 0, 0, 0, 0, 0, 0, 0, 0])),
        ("identity", None),
        ("identity", Some(&[0; 7])),
        ("journal", None),
        ("journal", Some(&[2, 0, 0, 0, 0, 0, 0, 0, 0])),
        ("counters", None),
        ("counters", Some(&[0; 40])),
    ];
    for (key, payload) in wrong {
        drop(builder().create(&path).unwrap());
        replace_setting(&path, key, payload);
        let opened = builder().open(&path).and_then(|database| database.len());
        let refused = opened.unwrap_err();
        assert!(
            matches!(refused, Error::Corrupt { .. }),
            "{key}: {refused:?}"
        );
        assert!(refused.to_string().contains("docs.simdb"), "{refused}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn database_whose_bands_were_made_otherwise_is_refused_with_both_ways() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    drop(builder().similar(true).create(&path).unwrap());
    replace_setting(&path, "bands", Some(b"some other way"));
    let refused = refused(&path);
    let Error::BandsMismatch { stored, known, .. } = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(stored, "some other way");
    let told = format!("made by some other way, this simdb makes them by {known}");
    assert!(refused.to_string().contains(&told), "{refused}");
}

/// What tables have as keys.
trait TableKey: redb::Key + for<'k> redb::Value<SelfType<'k> = Self> + 'static {}

impl TableKey for u64 {}
impl TableKey for u128 {}

/// Every row of a table.
fn rows_of<K: TableKey>(path: &Path, table: &str) -> Vec<(K, Vec<u8>)> {
    with_engine(path, |database| {
        let transaction = database.begin_read().unwrap();
        let table = TableDefinition::<K, &[u8]>::new(table);
        let table = transaction.open_table(table).unwrap();
        let rows = table.iter().unwrap().map(|row| {
            let (fence, bytes) = row.unwrap();
            (fence.value(), bytes.value().to_vec())
        });
        rows.collect()
    })
}

/// Puts these rows in the place of all that a table has.
fn replace_rows<K: TableKey>(path: &Path, table: &str, rows: &[(K, Vec<u8>)]) {
    with_engine(path, |database| {
        let transaction = database.begin_write().unwrap();
        {
            let table = TableDefinition::<K, &[u8]>::new(table);
            transaction.delete_table(table).unwrap();
            let mut table = transaction.open_table(table).unwrap();
            for (fence, bytes) in rows {
                table.insert(fence, bytes.as_slice()).unwrap();
            }
        }
        transaction.commit().unwrap();
    });
}

/// Gives one file the table of another.
fn exchange<K: TableKey>(from: &Path, to: &Path, table: &str) {
    replace_rows::<K>(to, table, &rows_of(from, table));
}

#[test]
fn tables_that_do_not_hold_the_same_are_found_by_check() {
    let folder = folder();
    let database_of = |name: &str, change: &dyn Fn(&mut Vec<Document>)| {
        let path = folder.path().join(name);
        let mut documents = documents(6, 0, 1_000);
        for document in &mut documents {
            document.reliable = document.id.0 % 5 != 0;
        }
        change(&mut documents);
        let database = builder().create(&path).unwrap();
        let inserts = documents.into_iter().map(Change::Insert);
        database.apply(inserts).unwrap();
        database.close().unwrap();
        path
    };
    let sound = database_of("sound", &|_| {});
    let another = database_of("another", &|documents| {
        documents[7].fingerprint = Fingerprint::from_bits(0x1234_5678_9abc_def0);
    });
    let doubtful = database_of("doubtful", &|documents| documents[8].reliable = false);
    let fewer = database_of("fewer", &|documents| drop(documents.remove(10)));
    let many = database_of("many", &|documents| {
        for document in documents.iter_mut().step_by(2) {
            document.fingerprint = Fingerprint::from_bits(!document.fingerprint.bits());
        }
    });
    type Exchange = fn(&Path, &Path, &str);
    let (long, short): (Exchange, Exchange) = (exchange::<u128>, exchange::<u64>);
    for (from, table, exchange, said) in [
        (&sound, "block0", long, &[][..]),
        (
            &another,
            "fingerprints",
            long,
            &[
                "lacks document 7 with 123456789abcdef0",
                "block0 holds document 7 with",
            ],
        ),
        (
            &another,
            "block0",
            long,
            &[
                "holds document 7 with 123456789abcdef0",
                "block0 lacks document 7 with",
            ],
        ),
        (
            &another,
            "block1",
            short,
            &["block1 lacks fingerprint", "block1 holds 123456789abcdef0"],
        ),
        (
            &another,
            "block2",
            short,
            &["block2 lacks fingerprint", "block2 holds 123456789abcdef0"],
        ),
        (
            &another,
            "block3",
            short,
            &["block3 lacks fingerprint", "block3 holds 123456789abcdef0"],
        ),
        (
            &doubtful,
            "unreliable",
            short,
            &["block0 holds document 8 with"],
        ),
        (&doubtful, "block0", long, &["block0 lacks document 8 with"]),
        (
            &fewer,
            "fingerprints",
            long,
            &[
                "unreliable holds document 10, table fingerprints does not",
                "hold 999",
            ],
        ),
        (&many, "block0", long, &["block0 lacks document 2 with"]),
        (&many, "block2", short, &["block2 lacks fingerprint"]),
    ] {
        let path = folder.path().join("docs.simdb");
        std::fs::copy(&sound, &path).unwrap();
        exchange(from, &path, table);
        let mut database = builder().open(&path).unwrap();
        let damage = database.check(|_, _| {}).unwrap();
        assert_eq!(damage.is_empty(), said.is_empty(), "{table}: {damage:?}");
        // However much is wrong, it is told in some sentences.
        assert!(damage.len() < 100, "{}", damage.len());
        for said in said {
            assert!(damage.concat().contains(said), "{said}: {damage:?}");
        }
    }
}

#[test]
fn bands_that_are_not_those_of_the_stored_texts_are_found_by_check() {
    let folder = folder();
    let rows_with = |name: &str, texts: &dyn Fn(u64) -> Option<String>| {
        let path = folder.path().join(name);
        let database = builder().similar(true).create(&path).unwrap();
        let mut documents = documents(5, 0, 60);
        for document in &mut documents {
            document.text = texts(document.id.0);
        }
        let inserts = documents.into_iter().map(Change::Insert);
        database.apply(inserts).unwrap();
        database.close().unwrap();
        rows_of::<u128>(&path, "bands")
    };
    let text = |id: u64| {
        Some(format!(
            "this is the text of document {id}, and of no other one"
        ))
    };
    rows_with("docs.simdb", &text);
    let without_one = rows_with("less", &|id| text(id).filter(|_| id != 7));
    let with_another = rows_with("other", &|id| match id {
        9 => Some("something else altogether that nobody has said before".to_owned()),
        id => text(id),
    });
    let none = rows_with("none", &|_| None);
    let path = folder.path().join("docs.simdb");
    let sound = rows_of::<u128>(&path, "bands");
    assert!(sound.len() > 5);
    for (rows, said) in [
        (&sound, ""),
        (&without_one, "table bands lacks document 7"),
        (&with_another, "table bands lacks document 9"),
        (&none, "it has 0 entries"),
    ] {
        replace_rows(&path, "bands", rows);
        let damage = builder().open(&path).unwrap().check(|_, _| {}).unwrap();
        assert_eq!(damage.is_empty(), said.is_empty(), "{damage:?}");
        assert!(damage.iter().all(|what| what.contains("table bands")));
        assert!(damage.concat().contains(said), "{damage:?}");
    }
    // More than the texts make: of a document that has none.
    let rows = rows_with("more", &|id| text(id).filter(|_| id != 11));
    assert_ne!(rows, sound);
    let path = folder.path().join("more");
    replace_rows(&path, "bands", &sound);
    let damage = builder().open(&path).unwrap().check(|_, _| {}).unwrap();
    assert!(
        damage.concat().contains("table bands holds document 11"),
        "{damage:?}"
    );
}

#[test]
fn counters_that_do_not_fit_the_tables_are_found_by_check() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    builder()
        .create(&path)
        .unwrap()
        .insert(DocId(1), Fingerprint::from_bits(1))
        .unwrap();
    for counter in 0..6 {
        let mut counters = [1_u64, 1, 0, 0, 1, 0];
        counters[counter] += 1;
        // A database that keeps neither texts nor arrival times counts none, and commits leave
        // no other trace: these three are not compared.
        let is_compared = counter < 3;
        let bytes: Vec<u8> = counters.into_iter().flat_map(u64::to_le_bytes).collect();
        replace_setting(&path, "counters", Some(&bytes));
        let damage = builder().open(&path).unwrap().check(|_, _| {}).unwrap();
        assert_eq!(damage.len(), usize::from(is_compared), "{damage:?}");
    }
    // One less than none, with a change that is not in the tables yet.
    let none: Vec<u8> = [0_u64; 6].into_iter().flat_map(u64::to_le_bytes).collect();
    replace_setting(&path, "counters", Some(&none));
    let database = builder().open(&path).unwrap();
    let removed = database.remove(DocId(1));
    let stats = database.snapshot().and_then(|snapshot| snapshot.stats());
    assert!(
        matches!(stats, Err(Error::Corrupt { .. })),
        "{removed:?}, {stats:?}"
    );
}
