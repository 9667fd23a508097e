//! `simdb-cli doctor`: output, exit codes, and its numbers compared with a plain count.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Folder, Ran, TEXTS, raw_pairs};
use serde_json::{Value, json};
use simdb::{Change, Database, DocId, Document, Fingerprint};

/// The number at a position of a seeded sequence (splitmix64).
fn fingerprint_at(place: u64) -> u64 {
    let mut z = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A folder with a database `a.simdb` of documents 0, 1, 2, … with these fingerprints.
fn with_fingerprints(fingerprints: impl Iterator<Item = u64>) -> Folder {
    let folder = Folder::new();
    let pairs: Vec<_> = (0..).zip(fingerprints).collect();
    folder.write("a.raw", raw_pairs(&pairs));
    folder.load(&["a.simdb", "a.raw"]).ends(0);
    folder
}

fn doctor(folder: &Folder, code: i32) -> Value {
    folder
        .cli(&["doctor", "a.simdb", "--json"])
        .ends(code)
        .one_json()
}

fn kinds(line: &Value) -> Vec<&str> {
    let findings = line["findings"].as_array().expect("findings");
    let kinds: Vec<&str> = findings
        .iter()
        .map(|finding| finding["finding"].as_str().expect("a kind"))
        .collect();
    assert_eq!(line["ok"], json!(kinds.is_empty()));
    kinds
}

/// Asserts the exit code, and that the finding is reported with advice.
#[track_caller]
fn assert_finding(folder: &Folder, finding: &str, parts: &[&str]) -> Ran {
    let ran = folder.cli(&["doctor", "a.simdb"]).ends(1);
    let start = format!("attention  {finding}: ");
    let place = ran.stdout.lines().position(|line| line.starts_with(&start));
    let place = place.unwrap_or_else(|| panic!("{finding} is not said: {ran:#?}"));
    let said: Vec<&str> = ran.stdout.lines().skip(place).take(2).collect();
    for part in parts {
        assert!(said[0].contains(part), "{part:?} is not said: {said:#?}");
    }
    assert!(said[1].trim().len() > 20, "{said:#?}");
    ran
}

#[test]
fn empty_database_is_sound() {
    let folder = Folder::new();
    Database::create(folder.file("a.simdb")).unwrap();
    let line = doctor(&folder, 0);
    assert!(kinds(&line).is_empty());
    assert_eq!(line["documents"], json!(0));
    assert_eq!(line["ones"], json!(null));
    for block in line["blocks"].as_array().unwrap() {
        assert_eq!(
            block["histogram"],
            json!([
                {"from": 0, "to": 0, "keys": 65_536, "keys_if_random": 65_536.0},
                {"from": 1, "to": null, "keys": 0, "keys_if_random": 0.0},
            ])
        );
        assert_eq!(block["dispersion"], json!(null));
        assert_eq!(block["hottest"], json!([]));
    }
    assert_eq!(line["queries"][0]["candidates"], json!(0.0));
    let text = folder.cli(&["doctor", "a.simdb"]).ends(0).stdout;
    assert!(text.contains("sound"), "{text}");
    assert!(!text.contains("NaN"), "{text}");
}

#[test]
fn random_fingerprints_have_no_finding() {
    const COUNT: u64 = 200_000;
    let folder = with_fingerprints((0..COUNT).map(fingerprint_at));
    let line = doctor(&folder, 0);
    assert!(kinds(&line).is_empty());
    for block in line["blocks"].as_array().unwrap() {
        let dispersion = block["dispersion"].as_f64().unwrap();
        assert!((dispersion - 1.0).abs() < 0.03, "{dispersion}");
        for bin in block["histogram"].as_array().unwrap() {
            let found = bin["keys"].as_f64().unwrap();
            let expected = bin["keys_if_random"].as_f64().unwrap();
            // Five standard deviations.
            assert!(
                (found - expected).abs() < 5.0 * expected.sqrt() + 2.0,
                "{block}"
            );
        }
    }
    // The query's own fingerprint is one candidate; the others grow in proportion.
    for (query, growth) in [(0, 1.0), (1, 2.0), (2, 10.0)] {
        let query = &line["queries"][query];
        let random = 4.0 * (1.0 + (COUNT - 1) as f64 / 65_536.0 * growth);
        assert_eq!(query["growth"], json!(growth));
        assert!((query["candidates_if_random"].as_f64().unwrap() - random).abs() < 1e-6);
        let found = query["candidates"].as_f64().unwrap();
        assert!((found / random - 1.0).abs() < 0.02, "{found} of {random}");
        assert_eq!(query["look_ups"], json!(4.0));
    }
    assert_eq!(line["duplicates"]["groups"], json!(0));
}

/// Every number equals a plain count over the same documents.
#[test]
fn numbers_equal_plain_count() {
    let folder = Folder::new();
    let path = folder.file("a.simdb");
    // Few values in each block, so that keys and fingerprints repeat.
    let fingerprint = |id: u64| {
        let few = |place, most| fingerprint_at(id * 8 + place) % most;
        few(0, 7) << 60 | few(1, 2) << 48 | few(2, 3) << 32 | few(3, 5) << 20 | few(4, 4)
    };
    const COUNT: u64 = 3_000;
    let database = Database::create(&path).unwrap();
    let document = |id| Document::new(DocId(id), Fingerprint::from_bits(fingerprint(id)));
    let inserts = (0..COUNT).map(|id| {
        let mut document = document(id);
        document.reliable = id % 10 != 3;
        Change::Insert(document)
    });
    database.apply(inserts.collect::<Vec<_>>()).unwrap();
    drop(database);
    let snapshot = Database::open(&path).unwrap().snapshot().unwrap();
    let diagnosis = snapshot.diagnose().unwrap();

    let ids: Vec<u64> = (0..COUNT).filter(|id| id % 10 != 3).collect();
    let distinct: BTreeSet<u64> = ids.iter().map(|id| fingerprint(*id)).collect();
    assert_eq!(diagnosis.documents, ids.len() as u64);
    assert_eq!(diagnosis.unreliable, COUNT - ids.len() as u64);
    assert_eq!(diagnosis.unmerged_changes, 0);
    assert_eq!(diagnosis.distinct_fingerprints, distinct.len() as u64);
    for (bit, ones) in diagnosis.ones().into_iter().enumerate() {
        let expected = distinct.iter().filter(|bits| *bits >> bit & 1 == 1).count();
        assert_eq!(ones, expected as u64, "bit {bit}");
    }

    // Each block: hottest keys, samples, counts of keys, and candidates of a query for a stored
    // document.
    let mut candidates = 0.0;
    for (block, found) in diagnosis.blocks.iter().enumerate() {
        let key = |bits: u64| (bits >> (48 - 16 * block)) as u16;
        let mut keys: BTreeMap<u16, (u64, Vec<u64>)> = BTreeMap::new();
        for bits in &distinct {
            keys.entry(key(*bits)).or_default().0 += 1;
        }
        for id in &ids {
            keys.entry(key(fingerprint(*id))).or_default().1.push(*id);
        }
        let mut hottest: Vec<_> = keys.iter().collect();
        hottest.sort_by_key(|(key, (fingerprints, ids))| {
            std::cmp::Reverse((*fingerprints, ids.len(), std::cmp::Reverse(**key)))
        });
        assert_eq!(found.hottest.len(), hottest.len().min(5));
        for (hot, (key, (fingerprints, ids))) in found.hottest.iter().zip(hottest) {
            assert_eq!((hot.key, hot.distinct_fingerprints), (*key, *fingerprints));
            assert_eq!(hot.documents, ids.len() as u64);
            assert_eq!(hot.samples.len() as u64, fingerprints.min(&3).to_owned());
            assert!(hot.samples.iter().all(|id| ids.contains(&id.0)));
            let distinct: BTreeSet<_> = hot.samples.iter().map(|id| fingerprint(id.0)).collect();
            assert_eq!(distinct.len(), hot.samples.len());
        }
        assert_eq!(found.keys.len(), 65_536);
        for (key, count) in (0..=u16::MAX).zip(&found.keys) {
            let expected = keys.get(&key).map_or((0, 0), |(fingerprints, ids)| {
                (*fingerprints, ids.len() as u64)
            });
            assert_eq!((count.distinct_fingerprints, count.documents), expected);
        }
        candidates += keys
            .values()
            .map(|(fingerprints, of)| (fingerprints * of.len() as u64) as f64 / ids.len() as f64)
            .sum::<f64>();
    }

    // Groups of copies.
    let mut groups: BTreeMap<u64, Vec<DocId>> = BTreeMap::new();
    for id in &ids {
        groups.entry(fingerprint(*id)).or_default().push(DocId(*id));
    }
    groups.retain(|_, ids| ids.len() > 1);
    assert_eq!(diagnosis.duplicates.groups, groups.len() as u64);
    let shared: usize = groups.values().map(Vec::len).sum();
    assert_eq!(diagnosis.duplicates.documents, shared as u64);
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
    for (found, (bits, ids)) in diagnosis.duplicates.largest.iter().zip(&groups) {
        assert_eq!(
            (found.fingerprint.bits(), found.documents),
            (*bits, ids.len() as u64)
        );
        assert_eq!(found.samples, ids[..ids.len().min(3)]);
    }
    assert_eq!(diagnosis.duplicates.largest.len(), groups.len().min(5));

    drop(snapshot);
    let reported = &doctor(&folder, 1)["queries"][0]["candidates"];
    assert!((reported.as_f64().unwrap() / candidates - 1.0).abs() < 1e-9);
}

#[test]
fn constant_bit_is_reported() {
    let folder = with_fingerprints((0..5_000).map(|place| fingerprint_at(place) & !(1 << 37)));
    let line = doctor(&folder, 1);
    assert_eq!(kinds(&line), ["dead-bits"]);
    assert_eq!(line["ones"][37], json!(0.0));
    assert_finding(
        &folder,
        "dead-bits",
        &["bit 37 (block 1, ones 0.00)", "5,000 fingerprints"],
    );
}

#[test]
fn constant_bits_of_few_fingerprints_are_not_reported() {
    let folder = with_fingerprints((0..20).map(|place| fingerprint_at(place) & 0xffff_ffff));
    assert!(kinds(&doctor(&folder, 0)).is_empty());
}

#[test]
fn biased_bit_is_reported_and_slight_bias_is_not() {
    // Ones in nine of ten fingerprints, and in six of ten.
    let biased = |place: u64| {
        let (mostly, slightly) = (
            fingerprint_at(place + (1 << 40)) % 10 >= 1,
            fingerprint_at(place + (1 << 41)) % 10 > 3,
        );
        fingerprint_at(place) & !(1 << 60 | 1 << 3)
            | u64::from(mostly) << 60
            | u64::from(slightly) << 3
    };
    let folder = with_fingerprints((0..5_000).map(biased));
    assert_eq!(kinds(&doctor(&folder, 1)), ["biased-bits"]);
    assert_finding(&folder, "biased-bits", &["bit 60 (block 0, ones 0.90)"]);
}

#[test]
fn hot_prefix_is_reported_with_its_cost() {
    // Every third fingerprint has the same prefix.
    let hot = |place: u64| match place % 3 {
        0 => fingerprint_at(place) & (u64::MAX >> 16) | 0xcafe << 48,
        _ => fingerprint_at(place),
    };
    let folder = with_fingerprints((0..150_000).map(hot));
    let line = doctor(&folder, 1);
    assert_eq!(kinds(&line), ["hot-keys"]);
    let hottest = &line["blocks"][0]["hottest"][0];
    assert_eq!(hottest["key"], json!("cafe"));
    let fingerprints = hottest["distinct_fingerprints"].as_u64().unwrap();
    assert!((50_000..50_010).contains(&fingerprints), "{fingerprints}");
    assert_eq!(hottest["documents"], json!(fingerprints));
    assert_eq!(hottest["samples"].as_array().unwrap().len(), 3);
    for sample in hottest["samples"].as_array().unwrap() {
        let id = sample["id"].as_u64().unwrap();
        assert_eq!(hot(id) >> 48, 0xcafe);
    }
    // A third of the queries meet a third of all fingerprints, and read the 17 parts of a hot
    // bucket where other queries read one bucket.
    let query = &line["queries"][0];
    let expected =
        50_000.0 / 3.0 + 4.0 + 3.0 * 150_000.0 / 65_536.0 + 100_000.0 / 65_536.0 * 2.0 / 3.0;
    let found = query["candidates"].as_f64().unwrap();
    assert!(
        (found / expected - 1.0).abs() < 0.01,
        "{found} of {expected}"
    );
    let look_ups = query["look_ups"].as_f64().unwrap();
    assert!(
        (look_ups - (3.0 + 2.0 / 3.0 + 17.0 / 3.0)).abs() < 0.01,
        "{look_ups}"
    );
    assert!(line["blocks"][0]["dispersion"].as_f64().unwrap() > 1_000.0);
    assert_finding(&folder, "hot-keys", &["cafe in block 0 (50,00"]);
}

#[test]
fn fingerprints_of_few_bits_are_reported_as_slow() {
    // Numbers of 20 bits: all blocks but the last are nearly constant.
    let folder = with_fingerprints((0..100_000).map(|place| fingerprint_at(place) >> 44));
    let line = doctor(&folder, 1);
    assert_eq!(kinds(&line)[..2], ["dead-bits", "slow-queries"]);
    assert_finding(
        &folder,
        "slow-queries",
        &["candidates on average", "times as many"],
    );
}

#[test]
fn million_copies_are_one_group_and_one_candidate() {
    const COPIES: u64 = 1_000_000;
    let copied = fingerprint_at(7);
    let each = |place: u64| {
        if place < COPIES {
            copied
        } else {
            fingerprint_at(place)
        }
    };
    let folder = with_fingerprints((0..COPIES + 20_000).map(each));
    let line = doctor(&folder, 1);
    assert_eq!(kinds(&line), ["copies"]);
    assert_eq!(line["distinct_fingerprints"], json!(20_001));
    assert_eq!(
        line["duplicates"],
        json!({
            "groups": 1,
            "documents": COPIES,
            "largest": [{
                "fingerprint": format!("{copied:016x}"),
                "documents": COPIES,
                "samples": [{"id": 0}, {"id": 1}, {"id": 2}],
            }],
        })
    );
    // A fingerprint is compared once, however many documents have it.
    let candidates = line["queries"][0]["candidates"].as_f64().unwrap();
    assert!(candidates < 10.0, "{candidates}");
    let copied = format!("{copied:016x}");
    assert_finding(&folder, "copies", &["1,000,000 documents (98.0%)", &copied]);
}

#[test]
fn many_unreliable_documents_are_reported() {
    let folder = Folder::new();
    let short = (0..150).map(|id| format!("{{\"id\":{id},\"text\":\"ok\"}}\n"));
    let long = TEXTS.replace("\"id\":", "\"id\":100");
    folder.write("a.jsonl", short.collect::<String>() + &long);
    folder.load(&["a.simdb", "a.jsonl"]).ends(0);
    let line = doctor(&folder, 1);
    assert_eq!(kinds(&line), ["unreliable"]);
    assert_eq!(
        (&line["documents"], &line["unreliable"]),
        (&json!(154), &json!(150))
    );
    assert_finding(&folder, "unreliable", &["150 documents (97.4%)"]);
}

#[test]
fn samples_show_beginning_of_stored_texts() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    let line = doctor(&folder, 0);
    // Documents 1 and 2 differ in formatting only.
    let group = &line["duplicates"]["largest"][0];
    assert_eq!(group["documents"], json!(2));
    assert_eq!(group["samples"][0]["id"], json!(1));
    let text = group["samples"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("The quick brown fox jumps over"), "{text}");
    assert!(text.chars().count() <= 60, "{text}");
    assert!(line["blocks"][3]["hottest"][0]["samples"][0]["text"].is_string());
    let shown = folder.cli(&["doctor", "a.simdb"]).ends(0).stdout;
    assert!(shown.contains("1 2: The quick brown"), "{shown}");

    folder.load(&["b.simdb", "a.jsonl"]).ends(0);
    let line = folder
        .cli(&["doctor", "b.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(
        line["duplicates"]["largest"][0]["samples"][0],
        json!({"id": 1})
    );
}

#[test]
fn unflushed_changes_are_counted_and_not_sampled() {
    let folder = Folder::new();
    let path = folder.file("a.simdb");
    let database = Database::create(&path).unwrap();
    let document =
        |id: u64| Document::new(DocId(id), Fingerprint::from_bits(fingerprint_at(id / 2)));
    let inserts: Vec<Change> = (0..100).map(|id| Change::Insert(document(id))).collect();
    database.apply(inserts).unwrap();
    drop(database);
    let database = Database::open(&path).unwrap();
    let copy = Document::new(1_000, Fingerprint::from_bits(fingerprint_at(0)));
    database
        .apply([Change::Remove(DocId(0)), Change::Insert(copy)])
        .unwrap();
    let diagnosis = database.snapshot().unwrap().diagnose().unwrap();
    assert_eq!((diagnosis.documents, diagnosis.unmerged_changes), (100, 2));
    let groups = diagnosis.duplicates.largest;
    let samples: Vec<DocId> = groups
        .iter()
        .flat_map(|group| group.samples.clone())
        .collect();
    assert!(
        !samples.contains(&DocId(0)) && samples.len() >= 9,
        "{samples:?}"
    );
    drop(database);
    let merged = Database::open(&path)
        .unwrap()
        .snapshot()
        .unwrap()
        .diagnose()
        .unwrap();
    assert_eq!((merged.documents, merged.unmerged_changes), (100, 0));
}

/// Copies an open database with its journals, as a crash would leave it.
fn crashed(folder: &Folder, from: &str, to: &str) {
    for end in ["", ".journal-1", ".journal-2"] {
        let file = folder.file(&format!("{from}{end}"));
        if file.exists() {
            std::fs::copy(file, folder.file(&format!("{to}{end}"))).unwrap();
        }
    }
}

#[test]
fn unflushed_journal_is_reported_until_check() {
    let folder = Folder::new();
    let document = |id: u64| Document::new(DocId(id), Fingerprint::from_bits(fingerprint_at(id)));
    let inserts = |ids: std::ops::Range<u64>| ids.map(|id| Change::Insert(document(id)));
    let database = Database::create(folder.file("open.simdb")).unwrap();
    database.apply(inserts(0..100)).unwrap();
    drop(database);
    let database = Database::open(folder.file("open.simdb")).unwrap();
    database.apply(inserts(100..1_100)).unwrap();
    crashed(&folder, "open.simdb", "a.simdb");
    drop(database);

    let stats = || {
        folder
            .cli(&["stats", "a.simdb", "--json"])
            .ends(0)
            .one_json()
    };
    let per_document = |line: &Value, documents: f64| {
        let packed = line["packed_bytes"].as_f64().unwrap();
        let reported = line["bytes_per_document"].as_f64().unwrap();
        assert!((reported - packed / documents).abs() < 1e-6, "{line}");
    };
    let line = stats();
    let counts = [&line["documents"], &line["unmerged_changes"]];
    assert_eq!(counts, [1_100, 1_000]);
    per_document(&line, 100.0);
    let shown = folder.cli(&["stats", "a.simdb"]).ends(0).stdout;
    let said = "not in the tables      1,000 changes, left by a crash";
    assert!(shown.contains(said), "{shown}");
    let reported = folder.cli(&["doctor", "a.simdb"]).stderr;
    let said = "a journal that a crash left holds 1,000 changes, not looked at; `simdb-cli check` \
                brings them into the tables, then ask again";
    assert!(reported.contains(said), "{reported}");

    folder.cli(&["check", "a.simdb"]).ends(0);
    let line = stats();
    let counts = [&line["documents"], &line["unmerged_changes"]];
    assert_eq!(counts, [1_100, 0]);
    per_document(&line, 1_100.0);
    let shown = folder.cli(&["stats", "a.simdb"]).ends(0).stdout;
    assert!(!shown.contains("not in the tables"), "{shown}");
    assert_eq!(folder.cli(&["doctor", "a.simdb"]).stderr, "");
}

/// A limit on file sizes stands in for a full disk.
#[cfg(unix)]
#[test]
fn check_after_a_crash_takes_no_disk_space() {
    let folder = Folder::new();
    let document = |id: u64| Document::new(DocId(id), Fingerprint::from_bits(fingerprint_at(id)));
    let database = Database::create(folder.file("open.simdb")).unwrap();
    database
        .apply((0..100).map(|id| Change::Insert(document(id))))
        .unwrap();
    crashed(&folder, "open.simdb", "a.simdb");
    drop(database);
    let ran = std::process::Command::new("sh")
        .current_dir(folder.path())
        .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""])
        .args([env!("CARGO_BIN_EXE_simdb-cli"), "check", "a.simdb"])
        .output()
        .expect("the check runs");
    let ran = Ran::from(ran).ends(0);
    assert!(ran.stdout.contains("sound  100 documents"), "{ran:?}");
}
