//! `simdb-cli dedup --within` and `--across`.

use serde_json::json;

use super::{FOX, dedup, folder_with};
use crate::common::Folder;

/// Copies of one text for the tenants a, a, b, and an edited copy for c, in this order.
fn tenants() -> Folder {
    let line = |id: u64, tenant: &str, text: &str| {
        let line = json!({"id": id, "tenant": tenant, "text": text});
        format!("{line}\n")
    };
    let edited = FOX.replace("the lazy dog", "a lazy dog");
    let lines = [
        line(1, "a", FOX),
        line(2, "a", FOX),
        line(3, "b", FOX),
        line(4, "c", &edited),
    ];
    folder_with("a.jsonl", &lines.concat())
}

fn kept(folder: &Folder, options: &[&str]) -> Vec<u64> {
    let arguments = [&["a.jsonl", "-o", "o.jsonl", "--force"], options].concat();
    dedup(folder, &arguments).ends(0);
    let kept = folder.read_json("o.jsonl");
    kept.iter()
        .map(|line| line["id"].as_u64().unwrap())
        .collect()
}

#[test]
fn equal_texts_of_two_tenants_both_stay() {
    let folder = tenants();
    assert_eq!(kept(&folder, &[]), [1]);
    assert_eq!(kept(&folder, &["--within", "tenant"]), [1, 3, 4]);
    let marked = ["a.jsonl", "-o", "m.jsonl", "--mark", "--within", "tenant"];
    dedup(&folder, &marked).ends(0);
    assert_eq!(folder.read_json("m.jsonl")[1]["keeper"], 1);
}

#[test]
fn across_removes_copies_of_other_groups_only() {
    let folder = tenants();
    // Both copies of tenant a stay, and stand for the copies of the others.
    assert_eq!(kept(&folder, &["--across", "tenant"]), [1, 2]);
    let summary = dedup(
        &folder,
        &["a.jsonl", "-o", "s.jsonl", "--across", "tenant", "--json"],
    );
    let summary = summary.ends(0).one_json();
    assert_eq!(
        [&summary["removed"], &summary["clusters"]],
        [&json!(2), &json!(1)]
    );
}

#[test]
fn bad_column_of_groups_is_an_error() {
    let folder = tenants();
    for (options, said) in [
        (&["--within", "nobody"][..], "there is no field \"nobody\""),
        (&["--across", "text"], "must name a field of their own"),
        (
            &["--within", "tenant", "--across", "tenant"],
            "cannot be used with",
        ),
        (
            &["--within", "tenant", "--radius", "3"],
            "need the comparison of texts",
        ),
    ] {
        let arguments = [&["a.jsonl", "-o", "o.jsonl"], options].concat();
        dedup(&folder, &arguments).fails(&[said]);
    }
    folder.write(
        "b.jsonl",
        "{\"id\":1,\"tenant\":null,\"text\":\"a\"}\n{\"id\":2,\"tenant\":[1],\"text\":\"a\"}\n",
    );
    let within = ["b.jsonl", "-o", "p.jsonl", "--within", "tenant"];
    dedup(&folder, &within).fails(&["b.jsonl:1", "\"tenant\"", "it is null"]);
    let ran = dedup(&folder, &[&within[..], &["--on-error", "skip"]].concat()).ends(2);
    assert!(
        ran.stderr.contains("all 2 records are bad"),
        "{}",
        ran.stderr
    );
    folder.write("c.txt", "one\n");
    dedup(&folder, &["c.txt", "-o", "d.txt", "--within", "tenant"])
        .fails(&["plain lines have no field"]);
    folder.write("e.csv", "id,text\n1,a\n");
    dedup(&folder, &["e.csv", "-o", "f.csv", "--within", "day"])
        .fails(&["there is no column \"day\"", "--within or --across"]);
}
