//! `simdb-cli dedup|clusters|pairs --contained-up-to`.

use serde_json::json;

use super::{dedup, folder_with};
use crate::common::Folder;

const POST: &str = "The ferry from Oban to Colonsay was cancelled on Friday because the linkspan at Scalasaig \
    is being repaired by divers from Glasgow.";

/// A post, a longer one that quotes it, and one that names another island.
fn posts() -> Folder {
    let quoting = format!(
        "Ailsa wrote this morning: {POST} Does anybody know if the bakery van came over on Thursday instead? \
         We have had no fresh rolls since the weekend, and my sister arrives tomorrow with all her children."
    );
    let other = POST
        .replace("Colonsay", "Coll")
        .replace("Scalasaig", "Arinagour");
    let line = |id: u32, text: &str| json!({"id": id, "text": text}).to_string();
    let lines = [line(1, POST), line(2, &quoting), line(3, &other)].join("\n");
    folder_with("posts.jsonl", &lines)
}

#[test]
fn quoted_post_is_left_out_and_the_report_is_proved() {
    let folder = posts();
    let arguments = ["posts.jsonl", "-o", "o.jsonl", "--report", "gone.jsonl"];
    let summary = dedup(&folder, &[&arguments[..], &["--json"]].concat())
        .ends(0)
        .one_json();
    assert_eq!(summary["removed"], 0);
    let up_to = ["--contained-up-to", "10", "--force", "--json"];
    let summary = dedup(&folder, &[&arguments[..], &up_to].concat())
        .ends(0)
        .one_json();
    assert_eq!(summary["removed"], 1);
    let line = folder.read_json("gone.jsonl").remove(0);
    assert_eq!((&line["id"], &line["keeper"]), (&json!(1), &json!(2)));
    assert_eq!(
        (&line["verdict"], &line["missing"]),
        (&json!("a_in_b"), &json!([]))
    );
    folder
        .cli(&["check-report", "gone.jsonl", "posts.jsonl"])
        .ends(0);
    // The longer post has more than twice the words.
    let up_to = ["--contained-up-to", "2", "--force", "--json"];
    let summary = dedup(&folder, &[&arguments[..], &up_to].concat())
        .ends(0)
        .one_json();
    assert_eq!(summary["removed"], 0);
}

#[test]
fn clusters_and_pairs_of_a_database_have_quoted_posts() {
    let folder = posts();
    folder
        .load(&["posts.simdb", "posts.jsonl", "--keep-texts"])
        .ends(0);
    let similar = ["posts.simdb", "--similar", "--contained-up-to", "10"];
    let pairs = folder
        .cli(&[&["pairs"], &similar[..]].concat())
        .ends(0)
        .json();
    assert_eq!((&pairs[0]["a"], &pairs[0]["b"]), (&json!(1), &json!(2)));
    assert_eq!(pairs[0]["verdict"], "a_in_b");
    assert!(pairs[0]["edit_similarity"].as_f64().unwrap() < 0.65);
    let clusters = folder
        .cli(&[&["clusters"], &similar[..]].concat())
        .ends(0)
        .json();
    assert_eq!((clusters.len(), &clusters[0]["keeper"]), (1, &json!(2)));
}

#[test]
fn ratio_needs_a_comparison_of_what_all_texts_say() {
    let folder = posts();
    folder
        .load(&["posts.simdb", "posts.jsonl", "--keep-texts"])
        .ends(0);
    let up_to = ["--contained-up-to", "10"];
    for (command, said) in [
        (
            &["dedup", "posts.jsonl", "-o", "o.jsonl", "--radius", "3"][..],
            "--similar",
        ),
        (
            &["dedup", "posts.jsonl", "-o", "o.jsonl", "--decide", "alike"],
            "--decide contained",
        ),
        (&["clusters", "posts.simdb"], "--similar"),
        (&["pairs", "posts.simdb"], "--similar"),
    ] {
        folder
            .cli(&[command, &up_to].concat())
            .fails(&["--contained-up-to", said]);
    }
    for ratio in ["0.5", "NaN", "inf", "ten"] {
        let ratio = [
            "pairs",
            "posts.simdb",
            "--similar",
            "--contained-up-to",
            ratio,
        ];
        folder.cli(&ratio).fails(&["a number from 1 on"]);
    }
}
