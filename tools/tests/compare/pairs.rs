//! `simdb-cli compare` on files of pairs, and on nodes of a forest.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use simdb::external::{NodeText, SearchKeys};

use super::{CAT, OTHER_CAT};
use crate::common::Folder;

#[test]
fn pairs_are_judged_line_by_line() {
    let folder = Folder::new();
    let pairs = [
        json!({"a": "Dataclass for boto3 dax.", "b": "Dataclass for boto3 ecs."}),
        json!({"a": "Ferry to Calais", "b": "Ferry to Calais. It leaves at noon every day.", "gold": 1}),
        json!({"a": CAT, "b": OTHER_CAT}),
    ];
    let lines = pairs.map(|pair| format!("{pair}\n")).concat();
    folder.write("pairs.jsonl", &lines);
    let from_file = folder.cli(&["compare", "--pairs", "pairs.jsonl", "--json"]);
    let printed = from_file.ends(0).stdout;
    let printed: Vec<serde_json::Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let verdicts = ["template", "a_in_b", "same"];
    assert_eq!(printed.len(), verdicts.len());
    for (line, verdict) in printed.iter().zip(verdicts) {
        assert_eq!(line["verdict"], json!(verdict), "{line}");
        assert!(line["edit_similarity"].is_number() && line["jaccard"].is_number());
    }
    assert_eq!(printed[0]["missing_in_b"][0][0], json!("dax"));
    assert_eq!(printed[0]["missing_in_a"][0][0], json!("ecs"));
    assert_eq!(printed[1]["missing_in_b"], json!([]));
    // Other fields are copied, texts are not.
    assert_eq!(printed[1]["gold"], json!(1));
    assert_eq!(printed[1].get("a"), None);
    let alike = [0, 1, 2].map(|at| printed[at]["alike"].clone());
    assert_eq!(alike, [json!(true), json!(false), json!(true)]);
    // A search finds texts that are alike, and of which one contains the other.
    let search = ["compare", "--pairs", "pairs.jsonl", "--json", "--search"];
    let searched = folder.cli(&search).ends(0).one_json();
    assert_eq!(searched, printed[2]);

    // Without --json a table.
    let table = folder
        .cli(&["compare", "--pairs", "pairs.jsonl"])
        .ends(0)
        .stdout;
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 4, "{table}");
    assert!(rows[0].trim_start().starts_with("line  verdict"), "{table}");
    for (row, verdict) in rows[1..].iter().zip(verdicts) {
        assert_eq!(row.split_whitespace().nth(1), Some(verdict), "{table}");
    }
    assert!(rows[1].ends_with("in b: dax; in a: ecs"), "{table}");
    folder
        .cli_from(
            &["compare", "--pairs", "-", "--json"],
            b"{\"a\": \"alone\"}\n",
        )
        .fails(&[":1:", "\"b\""]);
}

/// A line of a cell, as another system makes it of an export.
fn cell_line(place: [u64; 2], document: u64, text: &str, is_entry: bool, is_query: bool) -> String {
    let keys = SearchKeys::new(text);
    let text = NodeText::from(&keys);
    let [sketch, other] =
        [text.sketch, text.other_sketch].map(|words| words.map(|word| word as i64));
    let line = json!({
        "node": place[0], "cell": place[1], "is_entry": is_entry, "is_query": is_query,
        "is_long": keys.characters >= 100, "document": document, "class": text.class, "classes": text.classes,
        "max_sketch_distance": text.max_sketch_distance, "sketch_1": sketch[0], "sketch_2": sketch[1],
        "other_1": other[0], "other_2": other[1], "wording": STANDARD.encode(text.wording),
    });
    format!("{line}\n")
}

#[test]
fn nodes_have_the_candidates_that_are_near_duplicates() {
    let folder = Folder::new();
    let [ferry, canceled, bus] = [
        "The ferry to the islands was cancelled because of fog.",
        "The ferry to the islands was canceled, because of fog!",
        "MongoDB integration component for Plone",
    ];
    // A long text, and a part of it that is short.
    let long = format!(
        "{ferry} The harbour stays closed until noon, said its board of directors this morning."
    );
    let short = &long[..long.len() - 24];
    // The sketches are near, the wordings are not.
    let other_wording = SearchKeys::new(bus).wording;
    let canceled_wording = STANDARD.encode(SearchKeys::new(canceled).wording);
    let near_bus = cell_line([6, 0], 7, canceled, true, false)
        .replace(&canceled_wording, &STANDARD.encode(other_wording));
    let lines = [
        // Both directions are one pair. A text is no candidate of itself.
        cell_line([1, 0], 8, ferry, true, true),
        cell_line([1, 0], 9, bus, true, true),
        cell_line([1, 0], 7, canceled, true, true),
        // Entries are candidates, queries are not.
        cell_line([2, 0], 8, ferry, true, false),
        cell_line([2, 0], 5, ferry, false, true),
        cell_line([2, 0], 7, canceled, false, true),
        // Cells of entries alone, and of queries alone.
        cell_line([3, 0], 8, ferry, true, false),
        cell_line([3, 0], 7, canceled, true, false),
        cell_line([3, 1], 8, ferry, false, true),
        cell_line([4, 1], 7, canceled, false, true),
        // The query of a long and a short text is not the smaller id.
        cell_line([5, 0], 3, short, true, false),
        cell_line([5, 0], 4, &long, false, true),
        near_bus,
        cell_line([6, 0], 8, ferry, false, true),
    ];
    let nodes = ["compare", "--nodes", "-", "--json"];
    let found = folder
        .cli_from(&nodes, lines.concat().as_bytes())
        .ends(0)
        .json();
    let pair = |query, document| json!({"query": query, "document": document});
    assert_eq!(
        found,
        [pair(7, 8), pair(7, 8), pair(5, 8), pair(7, 8), pair(4, 3)]
    );
    assert_eq!(folder.cli_from(&nodes, b"").ends(0).stdout, "");

    let disordered = [&lines[4][..], &lines[3]].concat();
    let classless = lines[0].replace("\"class\":", "\"class\":16,\"other\":");
    let misspelt = lines[0].replace("\"wording\":\"", "\"wording\":\"~");
    for (lines, said) in [
        (
            &disordered[..],
            "<stdin>:2: the entries of a cell must come before its other queries",
        ),
        (&misspelt, "<stdin>:1: the wording is not Base64"),
        (&classless, "is above 15"),
        ("{\"node\": 1}", "missing field"),
        ("[", "malformed JSON"),
    ] {
        folder.cli_from(&nodes, lines.as_bytes()).fails(&[said]);
    }
    folder.cli(&nodes[..3]).fails(&["--json"]);
    folder
        .cli(&[&nodes[..], &["--search"]].concat())
        .fails(&["--search"]);
}
