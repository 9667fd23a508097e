//! What is saved of a damaged file: everything that is in it twice, nothing that was never there.

use std::ops::ControlFlow;
use std::path::Path;

use common::{
    Model, SplitMix, assert_holds, assert_sound, builder, copy_open, documents, folder, journal,
};
use simdb::{Change, DocId, Document, Error, Retention, Salvage, Timestamp};

mod common;

const PAGE_BYTES: usize = 4096;

fn go_on(_documents: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn salvage(damaged: &Path, saved: &Path) -> Result<Salvage, Error> {
    let _ = std::fs::remove_file(saved);
    builder().salvage(damaged, saved, 16 << 20, go_on)
}

/// Documents of every kind: some unreliable, some with texts, many with one fingerprint.
fn corpus(seed: u64, first: u64, count: u64) -> Vec<Document> {
    let mut corpus = documents(seed, first, count);
    for (place, document) in corpus.iter_mut().enumerate() {
        document.reliable = place % 7 != 0;
        document.arrival = Some(Timestamp(1_700_000_000_000 + place as u64));
        let is_kept = place % 3 == 1;
        document.text = is_kept.then(|| format!("the text of document {}", document.id));
    }
    corpus
}

fn keeping_all() -> simdb::Builder {
    builder().similar(true).retention(Retention::default())
}

fn model_of(documents: Vec<Document>) -> Model {
    Model {
        keeps_texts: true,
        keeps_arrivals: true,
        ..Model::default()
    }
    .with(documents)
}

/// A closed database, and what it holds.
fn database(path: &Path) -> Model {
    let corpus = corpus(1, 0, 4_000);
    let database = keeping_all().create(path).unwrap();
    for batch in corpus.chunks(1_000) {
        database
            .apply(batch.iter().cloned().map(Change::Insert))
            .unwrap();
    }
    database.close().unwrap();
    model_of(corpus)
}

fn saved_documents(saved: &Path) -> Vec<Document> {
    let mut database = builder().open(saved).unwrap();
    assert_sound(&mut database);
    let snapshot = database.snapshot().unwrap();
    snapshot.documents().map(Result::unwrap).collect()
}

#[test]
fn all_of_a_sound_file_is_saved() {
    let folder = folder();
    let (path, saved) = (
        folder.path().join("docs.simdb"),
        folder.path().join("saved"),
    );
    let model = database(&path);
    let before = std::fs::read(&path).unwrap();
    let found = salvage(&path, &saved).unwrap();
    let documents = model.documents.len() as u64;
    assert_eq!(found.documents, documents);
    let expected = (0, 0, 0, 0, Vec::<String>::new());
    assert_eq!(
        (
            found.from_one_table,
            found.from_text,
            found.without_fingerprint,
            found.without_text,
            found.damage
        ),
        expected
    );
    let mut copy = builder().open(&saved).unwrap();
    assert_holds(&copy.snapshot().unwrap(), &model);
    assert_sound(&mut copy);
    assert!(std::fs::read(&path).unwrap() == before);
    // Nothing is overwritten.
    let refused = builder()
        .salvage(&path, &saved, 16 << 20, go_on)
        .unwrap_err();
    assert!(
        matches!(refused, Error::AlreadyExists { .. }),
        "{refused:?}"
    );
    let stop = |_| ControlFlow::Break(());
    let refused = builder().salvage(&path, folder.path().join("none"), 16 << 20, stop);
    assert!(
        matches!(refused, Err(Error::Interrupted { .. })),
        "{refused:?}"
    );
    assert!(!folder.path().join("none").exists());
}

#[test]
fn one_lost_page_loses_nothing_that_is_in_another_and_invents_nothing() {
    let folder = folder();
    let (path, saved) = (
        folder.path().join("docs.simdb"),
        folder.path().join("saved"),
    );
    let model = database(&path);
    let sound = std::fs::read(&path).unwrap();
    let pages = sound.len() / PAGE_BYTES;
    let (mut tried, mut whole, mut texts_lost) = (0, 0, 0);
    for page in (0..pages).step_by(3) {
        let mut damaged = sound.clone();
        damaged[page * PAGE_BYTES..(page + 1) * PAGE_BYTES].fill(0);
        std::fs::write(&path, &damaged).unwrap();
        let found = match salvage(&path, &saved) {
            Ok(found) => found,
            // The one page that says which recipe it was.
            Err(Error::Corrupt { what, .. }) if what.contains("recipe") => {
                let named = builder().recipe(simdb::Recipe::ngram()).similar(true);
                let named = named.retention(Retention::default());
                named.salvage(&path, &saved, 16 << 20, go_on).unwrap()
            }
            Err(error) => panic!("page {page}: {error:?}"),
        };
        let stored = saved_documents(&saved);
        assert_eq!(stored.len() as u64, found.documents, "page {page}");
        let (mut unreliable_lost, mut made_again) = (0, 0);
        let mut stored = stored.iter().peekable();
        for expected in model.documents.values() {
            let Some(stored) = stored.next_if(|stored| stored.id == expected.id) else {
                // Its fingerprint is in one table only.
                assert!(
                    !expected.reliable && expected.text.is_none(),
                    "page {page}: {expected:?}"
                );
                unreliable_lost += 1;
                continue;
            };
            assert_eq!(stored.arrival, expected.arrival, "page {page}");
            if stored.fingerprint != expected.fingerprint {
                // In one table only, and not made of the text as it could be.
                assert!(
                    !expected.reliable && !stored.reliable,
                    "page {page}: {stored:?}"
                );
                made_again += 1;
            } else if stored.reliable != expected.reliable {
                // Nothing says of a page that it is missing where no table leads to it.
                assert!(found.damage[0].contains("cannot be opened"), "{found:?}");
            }
            assert!(stored.text == expected.text || stored.text.is_none());
            texts_lost += u64::from(stored.text != expected.text);
        }
        assert!(stored.next().is_none(), "page {page}: {:?}", stored.next());
        assert_eq!(found.from_text, made_again, "page {page}: {found:?}");
        assert_eq!(
            found.without_fingerprint, unreliable_lost,
            "page {page}: {found:?}"
        );
        whole += u64::from(unreliable_lost == 0);
        tried += 1;
    }
    assert!(tried > 100 && whole * 10 > tried * 8, "{whole} of {tried}");
    assert!(texts_lost > 0);
}

#[test]
fn what_a_journal_holds_is_saved_up_to_where_it_is_damaged() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut model = database(&path);
    let open = builder().open(&path).unwrap();
    let more = corpus(9, 1 << 40, 300);
    let mut models = vec![model.clone()];
    for batch in more.chunks(100) {
        let mut changes: Vec<Change> = batch.iter().cloned().map(Change::Insert).collect();
        let id = batch[0].id.0 % 1_000;
        changes.push(Change::Remove(DocId(id)));
        // The text stays, where the change does not say otherwise.
        let outcomes = model.apply_all(changes.clone());
        assert_eq!(open.apply(changes).unwrap(), outcomes);
        models.push(model.clone());
    }
    let (copy, saved) = (
        folder.path().join("copy.simdb"),
        folder.path().join("saved"),
    );
    copy_open(&path, &copy);
    drop(open);
    let found = salvage(&copy, &saved).unwrap();
    assert_eq!(found.damage, Vec::<String>::new());
    assert_holds(&builder().open(&saved).unwrap().snapshot().unwrap(), &model);

    let journal = [journal(&copy, 1), journal(&copy, 2)];
    let journal = journal.iter().find(|journal| journal.exists()).unwrap();
    let sound = std::fs::read(journal).unwrap();
    let used = sound.iter().rposition(|byte| *byte != 0).unwrap();
    let mut sequence = SplitMix(3);
    let mut kept = [0; 4];
    for _ in 0..30 {
        let mut damaged = sound.clone();
        damaged[64 + sequence.below(used as u64 - 64) as usize] ^= 1;
        std::fs::write(journal, &damaged).unwrap();
        let found = salvage(&copy, &saved).unwrap();
        let stored = saved_documents(&saved);
        let is_it = |model: &Model| stored.iter().eq(model.documents.values());
        let commits = models.iter().position(is_it).expect("whole commits");
        assert_eq!(found.damage.is_empty(), commits == 3, "{found:?}");
        kept[commits] += 1;
    }
    assert!(kept[..3].iter().sum::<u32>() > 10, "{kept:?}");
    std::fs::remove_file(journal).unwrap();
    let found = salvage(&copy, &saved).unwrap();
    assert!(found.damage[0].contains("is missing"), "{found:?}");
    let stored = saved_documents(&saved);
    assert!(stored.iter().eq(models[0].documents.values()));
}

#[test]
fn what_is_no_database_gives_an_error_or_nothing() {
    let folder = folder();
    let saved = folder.path().join("saved");
    let refused = salvage(&folder.path().join("missing"), &saved).unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused:?}");
    let mut sequence = SplitMix(5);
    let random: Vec<u8> = (0..100_000).map(|_| sequence.next() as u8).collect();
    for bytes in [Vec::new(), vec![0; 50_000], random] {
        let path = folder.path().join("other");
        std::fs::write(&path, bytes).unwrap();
        let refused = salvage(&path, &saved).unwrap_err();
        assert!(refused.to_string().contains("name the recipe"), "{refused}");
        assert!(!saved.exists());
    }
    let path = folder.path().join("docs.simdb");
    let held = builder().create(&path).unwrap();
    let refused = salvage(&path, &saved).unwrap_err();
    assert!(matches!(refused, Error::Locked { .. }), "{refused:?}");
    drop(held);
}
