//! `--strip-html`: texts of HTML are read without their tags, in each format.

use serde_json::json;

use crate::common::Folder;

const PLAIN: &str =
    "The ferry to the islands was cancelled on Sunday, said the harbour master & his crew.";

const HTML: &str = "<article><script>track('x')</script><p>The <a href='/f'>ferry</a> to the islands was cancelled \
                    on Sunday,\nsaid the harbour master &amp; his crew.</p></article>";

#[test]
fn text_is_stored_and_compared_without_tags_in_each_format() {
    let folder = Folder::new();
    let line = HTML.replace('\n', " ");
    folder.write("a.jsonl", format!("{}\n", json!({"id": 1, "text": HTML})));
    folder.write("a.csv", format!("id,text\n1,\"{HTML}\"\n"));
    folder.write("a.tsv", format!("id\ttext\n1\t{line}\n"));
    folder.write("a.txt", format!("{line}\n"));
    for input in ["a.jsonl", "a.csv", "a.tsv", "a.txt"] {
        let arguments = ["h.simdb", input, "--keep-texts", "--strip-html"];
        folder.load(&arguments).ends(0);
        let shown = folder.cli(&["get", "h.simdb", "1", "--json"]).ends(0);
        assert_eq!(shown.one_json()["text"], PLAIN, "{input}");
        let query = [
            "query", "h.simdb", "--text", PLAIN, "--radius", "0", "--json",
        ];
        assert_eq!(folder.cli(&query).ends(0).json().len(), 1, "{input}");
        std::fs::remove_file(folder.file("h.simdb")).expect("a database");
    }
}

#[test]
fn copy_of_a_corpus_has_its_records_whole_and_its_report_is_proved() {
    let folder = Folder::new();
    let records = [
        json!({"id": 1, "text": HTML}),
        json!({"id": 2, "text": PLAIN}),
        json!({"id": 3, "text": "<p>Another <em>text</em> about the weather in Oslo.</p>"}),
    ];
    folder.write(
        "a.jsonl",
        records.clone().map(|record| format!("{record}\n")).concat(),
    );
    let arguments = ["dedup", "a.jsonl", "-o", "b.jsonl", "--report", "c.jsonl"];
    folder
        .cli(&[&arguments[..], &["--strip-html"]].concat())
        .ends(0);
    assert_eq!(
        folder.read_json("b.jsonl"),
        [records[0].clone(), records[2].clone()]
    );
    assert_eq!(folder.read_json("c.jsonl")[0]["verdict"], "same");
    let check = ["check-report", "c.jsonl", "a.jsonl"];
    folder
        .cli(&[&check[..], &["--strip-html"]].concat())
        .ends(0);
    // Without the option the texts are others than the report is about.
    folder.cli(&check).ends(1);
    folder.cli(&[&arguments[..], &["--force"]].concat()).ends(0);
    assert_eq!(folder.read_json("b.jsonl").len(), 3);
    // The rest of a text would lose its tags.
    let cut = ["cut", "a.jsonl", "-o", "d.jsonl", "--lines", "--strip-html"];
    folder
        .cli(&cut)
        .fails(&["--strip-html would write it without its tags"]);
}
