//! `simdb-cli salvage`, and `simdb-cli check` of the same file.

use crate::common::Folder;

const PAGE_BYTES: usize = 4096;

#[test]
fn salvage_lists_lost_documents() {
    let folder = Folder::new();
    let path = folder.file("docs.simdb");
    let lines: String = (0..4_000)
        .map(|id| {
            format!(
                "{{\"id\":{id},\"text\":\"document {id} says {}\"}}\n",
                id * 7_919
            )
        })
        .collect();
    folder.write("docs.jsonl", lines);
    let loaded = folder.load(&["docs.simdb", "docs.jsonl", "--keep-texts", "--json"]);
    assert_eq!(loaded.code, 0, "{loaded:?}");
    let ran = folder.cli(&["salvage", "docs.simdb", "copy.simdb", "--json"]);
    assert_eq!(
        (ran.code, ran.json()[0]["documents"].as_u64()),
        (0, Some(4_000))
    );
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 4 / PAGE_BYTES * PAGE_BYTES;
    bytes[middle..middle + 3 * PAGE_BYTES].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let ran = folder.cli(&["salvage", "docs.simdb", "saved.simdb"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("damaged  "), "{ran:?}");
    let again = ["salvage", "docs.simdb", "saved.simdb", "--force"];
    folder
        .cli(&again[..3])
        .fails(&["saved.simdb already exists"]);
    assert_eq!(folder.cli(&again).ends(1).stdout, ran.stdout);
    let checked = folder.cli(&["check", "saved.simdb"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    let checked = folder.cli(&["check", "docs.simdb", "--json"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    let damage = checked.json()[0]["damage"].as_array().unwrap().len();
    assert!(damage > 0, "{checked:?}");
}

#[test]
fn non_database_is_refused() {
    let folder = Folder::new();
    folder.write(
        "text.simdb",
        "this is a text, not a database\n".repeat(2_000),
    );
    for recipe in [&[][..], &["--recipe", "ngram"]] {
        let salvage = ["salvage", "text.simdb", "saved.simdb"];
        let ran = folder.cli(&[&salvage[..], recipe].concat());
        let ran = ran.fails(&[
            "nothing in text.simdb was written by simdb",
            "check the name",
        ]);
        assert!(!ran.stderr.contains("salvage"), "{ran:?}");
    }
    assert_eq!(folder.names(), ["text.simdb"]);
}

#[test]
fn damage_that_no_document_needs_is_reported() {
    let folder = Folder::new();
    let lines: String = (0..20_000_u64)
        .map(|id| {
            format!(
                "{{\"id\":{id},\"fp\":\"{:016x}\"}}\n",
                id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            )
        })
        .collect();
    folder.write("docs.jsonl", lines);
    folder
        .load(&["docs.simdb", "docs.jsonl", "--fingerprint", "fp"])
        .ends(0);
    let whole = std::fs::read(folder.file("docs.simdb")).unwrap();
    let pages = whole.len() / PAGE_BYTES;
    let mut unneeded = 0;
    for page in (1..pages).step_by(7) {
        let mut bytes = whole.clone();
        bytes[page * PAGE_BYTES + 100..page * PAGE_BYTES + 200].fill(0xff);
        folder.write("docs.simdb", &bytes);
        let salvaged = folder.cli(&["salvage", "docs.simdb", "saved.simdb", "--force", "--json"]);
        let checked = folder.cli(&["check", "docs.simdb"]);
        // A salvage without the header fails.
        let is_damaged = salvaged.code != 0;
        assert_eq!(
            is_damaged,
            checked.code == 1,
            "page {page}: {salvaged:?} {checked:?}"
        );
        if salvaged.code == 1 {
            unneeded += u64::from(salvaged.one_json()["documents"] == 20_000);
        }
    }
    assert!(unneeded > 10, "{unneeded} of {pages}");
}
