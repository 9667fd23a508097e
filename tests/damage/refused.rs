//! Files that are no database, or an unsupported one, are refused with a clear error.

use std::path::Path;

use redb::TableDefinition;
use simdb::{Database, Error};

use crate::corpus::{damageable, replace_setting};
use test_support::{SplitMix, builder, folder};

/// Asserts that every way to open the file fails, and returns one of the errors.
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
fn non_database_is_refused_by_name_and_left_unchanged() {
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

#[test]
fn foreign_redb_file_is_refused() {
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

#[test]
fn other_format_version_is_refused_with_both_versions() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    damageable(&path);
    let sound = std::fs::read(&path).unwrap();
    for version in [1_u32, 4, 77, u32::MAX] {
        let mut other = sound.clone();
        other[12..16].copy_from_slice(&version.to_le_bytes());
        let crc = crc32fast::hash(&other[..16]);
        other[16..20].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&path, &other).unwrap();
        let refused = refused(&path);
        let Error::FormatVersion {
            found,
            supported: 6,
            ..
        } = refused
        else {
            panic!("{refused:?}")
        };
        assert_eq!(found, version);
        let message = format!("its format is version {version}, this simdb reads version 6");
        assert!(refused.to_string().contains(&message), "{refused}");
        let advice = if version < 6 {
            "export the documents with that version"
        } else {
            "upgrade simdb"
        };
        assert!(refused.to_string().contains(advice), "{refused}");
    }
    std::fs::write(&path, &sound).unwrap();
    assert_eq!(builder().open(&path).unwrap().len().unwrap(), 3_000);
}

#[test]
fn missing_or_invalid_settings_are_reported_as_damage() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let wrong: [(&str, Option<&[u8]>); 16] = [
        ("recipe", None),
        ("recipe", Some(&[0xff, 0xfe])),
        ("settings", None),
        ("settings", Some(&[0x80])),
        ("settings", Some(&[0, 0])),
        ("settings", Some(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0])),
        // A window and sliding times without a retention.
        ("settings", Some(&[0, 1, 0, 0, 0, 0, 0, 0, 0])),
        ("settings", Some(&[8, 0, 0, 0, 0, 0, 0, 0, 0])),
        // A forest without texts, and a forest without parameters.
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
fn other_forest_parameters_are_refused_with_both_values() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    drop(builder().similar(true).create(&path).unwrap());
    replace_setting(&path, "forest", Some(b"some other way"));
    let refused = refused(&path);
    let Error::ForestMismatch { stored, known, .. } = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(stored, "some other way");
    let message = format!("made by some other way, this simdb makes it by {known}");
    assert!(refused.to_string().contains(&message), "{refused}");
}
