//! Databases of formats 5 and 6 that an earlier version wrote open and answer. The fixtures in
//! `tests/data` were written once, by the version that introduced the format, and are never
//! rewritten. A database with keys, fields or copies has format 6, any other format 5.
//! `format-6-copies` has copies.
//!
//! Each fixture is a compressed database with a listing of its documents: `closed` was closed,
//! `crashed` has some documents in its journal only.

use std::path::{Path, PathBuf};

use simdb::copies::SightingKind;
use simdb::{
    Builder, Change, DocId, Document, Fingerprint, Outcome, Retention, Snapshot, Timestamp,
};
use test_support::{
    Model, assert_holds, assert_sound, builder, copy_open, documents, folder, journal, with_key,
};

/// A file of the fixtures of a format.
fn fixture(format: u32, name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fixtures.join(format!("format-{format}")).join(name)
}

/// One line per document: id, fingerprint, reliability, arrival, text; with a key also key and
/// fields.
fn listing(documents: impl Iterator<Item = Document>) -> String {
    documents
        .map(|document| {
            let with_key = |key| format!("\t{key}\t{}", document.fields.unwrap_or_default());
            format!(
                "{}\t{}\t{}\t{}\t{}{}\n",
                document.id,
                document.fingerprint,
                document.reliable,
                document.arrival.unwrap().0,
                document.text.unwrap_or_default(),
                document.key.map_or(String::new(), with_key),
            )
        })
        .collect()
}

fn listed(format: u32, name: &str) -> Model {
    let lines = std::fs::read_to_string(fixture(format, name)).unwrap();
    let documents = lines.lines().map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, fingerprint, reliable, arrival, text, ref more @ ..] = fields[..] else {
            panic!("{line}");
        };
        let id = DocId(id.parse().unwrap());
        Document {
            reliable: reliable.parse().unwrap(),
            arrival: Some(Timestamp(arrival.parse().unwrap())),
            text: (!text.is_empty()).then(|| text.to_owned()),
            key: more.first().map(|key| (*key).to_owned()),
            fields: more
                .get(1)
                .filter(|fields| !fields.is_empty())
                .map(|fields| (*fields).to_owned()),
            ..Document::new(id, fingerprint.parse::<Fingerprint>().unwrap())
        }
    });
    let documents: Vec<Document> = documents.collect();
    Model {
        keeps_texts: true,
        keeps_arrivals: true,
        keeps_fields: true,
        ..Model::default()
    }
    .with(documents)
}

fn unpack(format: u32, name: &str, path: &Path) {
    let packed = std::fs::read(fixture(format, name)).unwrap();
    std::fs::write(path, zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
}

fn assert_matches_listing(path: &Path, model: &Model) {
    let reading = builder().open_read_only(path).unwrap();
    assert_holds(&reading.snapshot().unwrap(), model);
    drop(reading);
    let mut database = builder().open(path).unwrap();
    assert!(database.settings().similar && database.settings().keep_texts);
    let keys = database.settings().keys;
    let snapshot = database.snapshot().unwrap();
    assert_holds(&snapshot, model);
    for document in model.documents.values() {
        let query = document.fingerprint;
        for radius in [0, 3, 10] {
            let found = snapshot.within(query, radius).unwrap();
            assert_eq!(found, model.within(query, radius), "{query}");
        }
        let Some(text) = &document.text else { continue };
        let query = database.text_query(text).unwrap();
        let similar = snapshot.similar(&query).unwrap();
        assert!(
            similar.iter().any(|found| found.id == document.id),
            "{text:?} is not like itself"
        );
    }
    drop(snapshot);
    assert_sound(&mut database);
    // The file also accepts writes.
    let more = documents(77, 1 << 50, 20);
    let inserts = more.iter().cloned().map(|document| Document {
        arrival: Some(Timestamp(1_750_000_000_000)),
        ..document
    });
    let inserts = inserts.map(Change::Insert);
    let changes = inserts.map(|change| if keys { with_key(change) } else { change });
    let changes: Vec<Change> = changes.collect();
    let mut model = model.clone();
    model.apply_all(changes.clone());
    database.apply(changes).unwrap();
    database.close().unwrap();
    let database = builder().open(path).unwrap();
    assert_holds(&database.snapshot().unwrap(), &model);
}

#[test]
fn closed_fixture_has_its_listed_documents() {
    for format in [5, 6] {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        unpack(format, "closed.simdb.zst", &path);
        assert_matches_listing(&path, &listed(format, "closed.tsv"));
    }
}

#[test]
fn crashed_fixture_is_recovered_from_its_journal() {
    for format in [5, 6] {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        unpack(format, "crashed.simdb.zst", &path);
        for number in [1, 2] {
            let packed = format!("crashed.journal-{number}.zst");
            unpack(format, &packed, &journal(&path, number));
        }
        assert_matches_listing(&path, &listed(format, "crashed.tsv"));
    }
}

/// The newest format, whose fixtures are written next.
const NEWEST: u32 = 6;

fn written_by() -> Builder {
    let builder = builder().similar(true).retention(Retention::default());
    builder.keys(true).fields(true)
}

#[test]
#[ignore = "writes the files anew: only when the format changes, into another folder"]
fn write_fixtures() {
    let target = fixture(NEWEST, "");
    std::fs::create_dir_all(&target).unwrap();
    assert!(
        !target.join("closed.tsv").exists(),
        "files are never written again"
    );
    let folder = folder();
    let (path, copy) = (
        folder.path().join("docs.simdb"),
        folder.path().join("copy.simdb"),
    );
    let database = written_by().create(&path).unwrap();
    let texts = [
        "The quick brown fox jumps over the lazy dog near the river bank.",
        "Die Sitzung wurde auf morgen früh um neun Uhr verschoben.",
        "今天天气很好，我们一起去公园散步吧。",
        "Совет директоров утвердил новый бюджет на следующий год.",
    ];
    let document = |document: Document| {
        let number = document.id.0;
        let text = texts[number as usize % texts.len()];
        let text = number.is_multiple_of(3).then(|| format!("{text} {number}"));
        let made = text
            .as_ref()
            .map(|text| database.fingerprint(text).unwrap());
        Document {
            fingerprint: made.map_or(document.fingerprint, |made| made.fingerprint),
            reliable: made.map_or(!number.is_multiple_of(11), |made| made.reliable),
            arrival: Some(Timestamp(1_700_000_000_000 + number)),
            text,
            ..document
        }
    };
    let apply = |changes: Vec<Change>| {
        database.apply(changes.into_iter().map(with_key)).unwrap();
    };
    let put = |first: u64, count: u64| {
        let documents = documents(first, first, count).into_iter().map(document);
        apply(documents.map(Change::Insert).collect());
    };
    put(0, 700);
    let removals = (0..700).step_by(13).map(|id| Change::Remove(DocId(id)));
    apply(removals.collect());
    database.merge().unwrap();
    let write = |name: &str, bytes: Vec<u8>| {
        let packed = zstd::encode_all(bytes.as_slice(), 19).unwrap();
        std::fs::write(target.join(name), packed).unwrap();
    };
    let list = |name: &str| {
        let snapshot = database.snapshot().unwrap();
        let documents = snapshot.documents().map(Result::unwrap);
        std::fs::write(target.join(name), listing(documents)).unwrap();
    };
    // `closed`: a backup, so nothing is left in a journal.
    let backup = folder.path().join("closed.simdb");
    database.backup(&backup).unwrap();
    write("closed.simdb.zst", std::fs::read(&backup).unwrap());
    list("closed.tsv");
    put(1_000, 60);
    apply(
        (0..100)
            .step_by(7)
            .map(|id| Change::Remove(DocId(id)))
            .collect(),
    );
    // `crashed`: the later changes are in the journal only.
    copy_open(&path, &copy);
    write("crashed.simdb.zst", std::fs::read(&copy).unwrap());
    for number in [1, 2] {
        let journal = std::fs::read(journal(&copy, number)).unwrap();
        write(&format!("crashed.journal-{number}.zst"), journal);
    }
    list("crashed.tsv");
}

/// One line per document with copies: key, count, first and last time, and document, time and kind
/// of each sighting.
fn copies_listing(snapshot: &Snapshot) -> String {
    let line = |document: Document| {
        let copies = document.copies?;
        let newest = copies.newest.iter().map(|one| {
            let kind = match one.kind {
                SightingKind::Duplicate { distance } => distance.to_string(),
                kind => format!("{kind:?}"),
            };
            format!("\t{}\t{}\t{kind}", one.document, one.seen.0)
        });
        Some(format!(
            "{}\t{}\t{}\t{}{}\n",
            document.key.unwrap(),
            copies.count,
            copies.first_seen.0,
            copies.last_seen.0,
            newest.collect::<String>()
        ))
    };
    snapshot
        .documents()
        .filter_map(|document| line(document.unwrap()))
        .collect()
}

fn copies_fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/format-6-copies")
        .join(name)
}

#[test]
fn fixtures_with_copies_have_their_listed_copies() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let unpack = |name: &str, path: &Path| {
        let packed = std::fs::read(copies_fixture(name)).unwrap();
        std::fs::write(path, zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
    };
    for name in ["closed", "crashed"] {
        unpack(&format!("{name}.simdb.zst"), &path);
        if name == "crashed" {
            unpack("crashed.journal-1.zst", &journal(&path, 1));
        }
        let listed = std::fs::read_to_string(copies_fixture(&format!("{name}.tsv"))).unwrap();
        let mut database = builder().open(&path).unwrap();
        assert_eq!(copies_listing(&database.snapshot().unwrap()), listed);
        assert_sound(&mut database);
        // A refused key is known.
        let again = Document::new("copy 2 of 1", Fingerprint::from_bits(9));
        let again = again.with_arrival(1_700_000_000_000 + 2_000);
        let seen = database.insert_unique(again, 0).unwrap();
        assert_eq!(seen, Outcome::Seen);
    }
}

#[test]
#[ignore = "writes the files anew: only when the format changes, into another folder"]
fn write_fixtures_with_copies() {
    let target = copies_fixture("");
    std::fs::create_dir_all(&target).unwrap();
    assert!(
        !target.join("closed.tsv").exists(),
        "files are never written again"
    );
    let folder = folder();
    let (path, copy) = (
        folder.path().join("docs.simdb"),
        folder.path().join("copy.simdb"),
    );
    let two_days = test_support::window(std::time::Duration::from_secs(48 * 60 * 60));
    let database = builder().similar(true).keys(true).retention(two_days);
    let database = database.copies(3).create(&path).unwrap();
    let texts = [
        "The quick brown fox jumps over the lazy dog near the river bank.",
        "今天天气很好，我们一起去公园散步吧。",
    ];
    let insert = |number: u64, key: String, is_similar: bool| {
        let text = texts[number as usize % texts.len()];
        let document = database.document(key, &format!("{text} {number}")).unwrap();
        let document = document.with_arrival(1_700_000_000_000 + number * 1_000);
        let outcome = match is_similar {
            true => database.insert_unless_similar(document, simdb::SimilarRule::default()),
            false => database.insert_unique(document, 3),
        };
        outcome.unwrap()
    };
    let copies_of = |number: u64, copies: std::ops::Range<u64>| {
        for copy in copies {
            let key = format!("copy {copy} of {number}");
            let refused = insert(number, key, copy % 2 == 0);
            assert!(!refused.is_inserted(), "{refused}");
        }
    };
    for number in 0..40 {
        let _ = insert(number, format!("https://example.org/{number}"), true);
        copies_of(number, 0..number % 6);
    }
    copies_of(1, 1..3);
    let write = |name: &str, bytes: Vec<u8>| {
        let packed = zstd::encode_all(bytes.as_slice(), 19).unwrap();
        std::fs::write(target.join(name), packed).unwrap();
    };
    let list = |name: &str| {
        let listing = copies_listing(&database.snapshot().unwrap());
        std::fs::write(target.join(name), listing).unwrap();
    };
    let backup = folder.path().join("closed.simdb");
    database.backup(&backup).unwrap();
    write("closed.simdb.zst", std::fs::read(&backup).unwrap());
    list("closed.tsv");
    copies_of(3, 10..13);
    copy_open(&path, &copy);
    write("crashed.simdb.zst", std::fs::read(&copy).unwrap());
    write(
        "crashed.journal-1.zst",
        std::fs::read(journal(&copy, 1)).unwrap(),
    );
    list("crashed.tsv");
}
