//! Databases of format 5 that an earlier version wrote open and answer. The fixtures in
//! `tests/data` were written once, by the version that introduced the format, and are never
//! rewritten.
//!
//! Each fixture is a compressed database with a listing of its documents: `closed` was closed,
//! `crashed` has some documents in its journal only.

use std::path::{Path, PathBuf};

use simdb::{Builder, Change, DocId, Document, Fingerprint, Retention, Timestamp};
use test_support::{
    Model, assert_holds, assert_sound, builder, copy_open, documents, folder, journal,
};

/// Folder of the fixtures of the current format.
const FIXTURES: &str = "tests/data/format-5";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(FIXTURES)
        .join(name)
}

/// One line per document: id, fingerprint, reliability, arrival, text.
fn listing(documents: impl Iterator<Item = Document>) -> String {
    documents
        .map(|document| {
            format!(
                "{}\t{}\t{}\t{}\t{}\n",
                document.id,
                document.fingerprint,
                document.reliable,
                document.arrival.unwrap().0,
                document.text.unwrap_or_default(),
            )
        })
        .collect()
}

fn listed(name: &str) -> Model {
    let lines = std::fs::read_to_string(fixture(name)).unwrap();
    let documents = lines.lines().map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, fingerprint, reliable, arrival, text] = fields[..] else {
            panic!("{line}");
        };
        Document {
            id: DocId(id.parse().unwrap()),
            fingerprint: fingerprint.parse::<Fingerprint>().unwrap(),
            reliable: reliable.parse().unwrap(),
            arrival: Some(Timestamp(arrival.parse().unwrap())),
            text: (!text.is_empty()).then(|| text.to_owned()),
        }
    });
    let documents: Vec<Document> = documents.collect();
    Model {
        keeps_texts: true,
        keeps_arrivals: true,
        ..Model::default()
    }
    .with(documents)
}

fn unpack(name: &str, path: &Path) {
    let packed = std::fs::read(fixture(name)).unwrap();
    std::fs::write(path, zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
}

fn assert_matches_listing(path: &Path, model: &Model) {
    let reading = builder().open_read_only(path).unwrap();
    assert_holds(&reading.snapshot().unwrap(), model);
    drop(reading);
    let mut database = builder().open(path).unwrap();
    assert!(database.settings().similar && database.settings().keep_texts);
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
    let inserts: Vec<Document> = inserts.collect();
    let changes = inserts.iter().cloned().map(Change::Insert);
    database.apply(changes).unwrap();
    database.close().unwrap();
    let database = builder().open(path).unwrap();
    assert_holds(&database.snapshot().unwrap(), &model.clone().with(inserts));
}

#[test]
fn closed_fixture_has_its_listed_documents() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    unpack("closed.simdb.zst", &path);
    assert_matches_listing(&path, &listed("closed.tsv"));
}

#[test]
fn crashed_fixture_is_recovered_from_its_journal() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    unpack("crashed.simdb.zst", &path);
    for number in [1, 2] {
        let packed = format!("crashed.journal-{number}.zst");
        unpack(&packed, &journal(&path, number));
    }
    assert_matches_listing(&path, &listed("crashed.tsv"));
}

fn written_by() -> Builder {
    builder().similar(true).retention(Retention::default())
}

#[test]
#[ignore = "writes the files anew: only when the format changes, into another folder"]
fn write_fixtures() {
    let target = fixture("");
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
    let put = |first: u64, count: u64| {
        let documents = documents(first, first, count).into_iter().map(document);
        database.apply(documents.map(Change::Insert)).unwrap();
    };
    put(0, 700);
    let removals = (0..700).step_by(13).map(|id| Change::Remove(DocId(id)));
    database.apply(removals).unwrap();
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
    database
        .apply((0..100).step_by(7).map(|id| Change::Remove(DocId(id))))
        .unwrap();
    // `crashed`: the later changes are in the journal only.
    copy_open(&path, &copy);
    write("crashed.simdb.zst", std::fs::read(&copy).unwrap());
    for number in [1, 2] {
        let journal = std::fs::read(journal(&copy, number)).unwrap();
        write(&format!("crashed.journal-{number}.zst"), journal);
    }
    list("crashed.tsv");
}
