//! Similar texts in the tools: `query --similar`, `query --verify` and `--unique similar`.

use std::collections::BTreeSet;

use crate::common::Folder;
use serde_json::{Value, json};

const FERRY: &str = "The ferry to the islands was cancelled this morning due to heavy fog.";
/// The news of `FERRY` in other words, far more than three bits away.
const FERRIES: &str = "Ferries, to an island, was canceled this morning due to heavy fogs";
/// The thresholds decide: the documents of a group differ in words.
const ALIKE: [&str; 4] = ["--unique", "similar", "--decide", "alike"];
const CAT: &str = "Three grey cats sat on the warm stove and would not be moved by anyone.";

/// A JSON line with a text.
fn line(id: u64, text: &str) -> String {
    format!("{}\n", json!({"id": id, "text": text}))
}

/// A folder with `a.simdb`, created with `option`, and FERRY and CAT as 1 and 2.
fn folder(option: &str) -> Folder {
    let folder = Folder::new();
    folder.write("a.jsonl", line(1, FERRY) + &line(2, CAT));
    folder.load(&["a.simdb", "a.jsonl", option]).ends(0);
    folder
}

fn ids(answer: &Value) -> Vec<u64> {
    let matches = answer["matches"].as_array().expect("matches");
    let id = |found: &Value| found["id"].as_u64().expect("an id");
    matches.iter().map(id).collect()
}

// ---- query ----

#[test]
fn similar_finds_edited_text_beyond_radius() {
    let folder = folder("--similar");
    let query = ["query", "a.simdb", "--text", FERRIES, "--json"];
    folder.cli(&query).ends(1);
    let found = folder.cli(&[&query[..], &["--similar"]].concat()).ends(0);
    assert_eq!(found.stderr, "");
    let narrow = [&query[..], &["--similar", "--narrow"]].concat();
    assert_eq!(folder.cli(&narrow).ends(0).stdout, found.stdout);
    let found = found.one_json();
    assert_eq!(found["query"], 0);
    assert_eq!(found["reliable"], true);
    let fingerprint = folder.cli(&["hash", FERRIES, "--json"]).ends(0).one_json();
    assert_eq!(found["fingerprint"], fingerprint["fingerprint"]);
    assert_eq!(ids(&found), [1]);
    let found = &found["matches"][0];
    let stored = folder.cli(&["get", "a.simdb", "1", "--json"]).one_json();
    assert_eq!(found["fingerprint"], stored["fingerprint"]);
    assert_eq!(found["text"], FERRY);
    assert_eq!(found["same_wording"], false);
    assert!(found["distance"].as_u64() > Some(3));
    assert!(found["edit_similarity"].as_f64() > Some(0.65));
    assert!(found["jaccard"].as_f64() < Some(0.55));

    let shown = folder
        .cli(&["query", "a.simdb", "--text", FERRIES, "--similar"])
        .ends(0);
    let cells: Vec<&str> = shown.stdout.split_whitespace().collect();
    assert_eq!(cells[0], found["distance"].to_string());
    assert_eq!(cells[1], "1");
    assert_eq!(cells[2], cells[3], "the score is the edit similarity");
    assert!(cells[2] > "0.64" && cells[4] < "0.55");
    assert_eq!(cells[5], "same");
    assert_eq!(cells[6], "The");
    assert_eq!(found["containment"], "same");
    assert_eq!(found["missing_in_b"], json!([]));
    assert_eq!(found["missing_in_a"], json!([]));

    let nothing = [
        "query",
        "a.simdb",
        "--text",
        "Nothing like it is stored.",
        "--similar",
    ];
    let ran = folder.cli(&[&nothing[..], &["--json"]].concat()).ends(1);
    assert_eq!(ran.one_json()["matches"], json!([]));
    assert_eq!(folder.cli(&nothing).ends(1).stdout, "");
}

#[test]
fn similarity_options_decide_and_limit_truncates() {
    let folder = folder("--similar");
    folder.write("b.jsonl", line(3, &FERRY.to_uppercase()));
    folder.load(&["a.simdb", "b.jsonl"]).ends(0);
    let query = |more: &[&str]| {
        let query = ["query", "a.simdb", "--text", FERRIES, "--json", "--similar"];
        let ran = folder.cli(&[&query[..], more].concat());
        ids(&ran.one_json())
    };
    assert_eq!(query(&[]), [1, 3]);
    assert_eq!(query(&["--limit", "1"]), [1]);
    assert!(query(&["--edit-similarity", "0.95"]).is_empty());
    let low = ["--edit-similarity", "0.95", "--jaccard", "0.1"];
    assert_eq!(query(&low), [1, 3]);
}

#[test]
fn verify_drops_candidate_with_unlike_text() {
    let folder = Folder::new();
    // A given fingerprint equal to the fingerprint of FERRY, with another text.
    let fingerprint = folder.cli(&["hash", FERRY, "--json"]).one_json()["fingerprint"].clone();
    let wrong = json!({"id": 2, "text": CAT, "f": fingerprint});
    let right = json!({"id": 1, "text": FERRY, "f": fingerprint});
    folder.write("a.jsonl", format!("{right}\n{wrong}\n"));
    for option in ["--similar", "--keep-texts"] {
        let database = &format!("a{option}.simdb");
        let fields = ["--fingerprint", "f", "--text", "text"];
        folder
            .load(&[&[database, "a.jsonl", option], &fields[..]].concat())
            .ends(0);
        let query = ["query", database, "--text", FERRY, "--json"];
        assert_eq!(ids(&folder.cli(&query).one_json()), [1, 2]);
        let ran = folder.cli(&[&query[..], &["--verify"]].concat()).ends(0);
        assert_eq!(ran.stderr, "");
        let found = ran.one_json();
        assert_eq!(ids(&found), [1]);
        assert_eq!(found["matches"][0]["same_wording"], true);
        assert_eq!(found["matches"][0]["edit_similarity"], 1.0);
        // The same for a document with a given fingerprint.
        let query = ["query", database, "--id", "2", "--json", "--verify"];
        folder.cli(&query).ends(1);
        // Also with a forest, `--verify` compares only texts within the radius.
        let query = ["query", database, "--text", FERRIES, "--json", "--verify"];
        folder.cli(&query).ends(1);
        let far = folder.cli(&[&query[..], &["--radius", "40"]].concat());
        assert_eq!(ids(&far.ends(0).one_json()), [1]);
    }
}

#[test]
fn document_is_not_similar_to_itself() {
    let folder = folder("--similar");
    folder.write("b.jsonl", line(3, FERRIES) + &line(4, FERRY));
    folder.load(&["a.simdb", "b.jsonl"]).ends(0);
    let query = |id, more: &[&str]| {
        let query = ["query", "a.simdb", "--id", id, "--similar", "--json"];
        folder.cli(&[&query[..], more].concat())
    };
    assert_eq!(ids(&query("1", &[]).ends(0).one_json()), [4, 3]);
    assert_eq!(ids(&query("1", &["--limit", "1"]).one_json()), [4]);
    assert!(ids(&query("2", &[]).ends(1).one_json()).is_empty());
    let missing = query("9", &[]).ends(1);
    assert!(missing.stderr.contains("9 is not stored"), "{missing:?}");
}

#[test]
fn query_lines_are_answered_in_order() {
    let folder = folder("--similar");
    let mut lines = String::new();
    let mut expected = Vec::new();
    for i in 0..2_500 {
        let (text, id) = [
            (FERRIES, Some(1)),
            (CAT, Some(2)),
            ("Something else.", None),
        ][i % 3];
        lines.push_str(&format!("{}\n", json!({"text": format!("{text} {i}")})));
        expected.push(id);
    }
    folder.write("q.jsonl", &lines);
    // The numbers make the texts say something of their own.
    let query = [
        "query",
        "a.simdb",
        "--file",
        "q.jsonl",
        "--similar",
        "--decide",
        "alike",
    ];
    let answers = folder
        .cli(&[&query[..], &["--json"]].concat())
        .ends(0)
        .json();
    assert_eq!(answers.len(), expected.len());
    for (number, (answer, expected)) in answers.iter().zip(expected).enumerate() {
        assert_eq!(answer["query"], number);
        assert_eq!(ids(answer).first().copied(), expected, "{number}");
    }
    let shown = folder.cli(&query).ends(0).stdout;
    let second = shown.lines().nth(1).expect("a line");
    assert_eq!(second.split_whitespace().next(), Some("1"));
    // The output of `get` is a query by its text.
    let stored = folder.cli(&["get", "a.simdb", "2", "--json"]).stdout;
    let query = ["query", "a.simdb", "--file", "-", "--similar", "--json"];
    let found = folder.cli_from(&query, stored.as_bytes()).ends(0);
    assert_eq!(ids(&found.one_json()), [2]);
}

/// The most memory that a process has used, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

/// Answers of more bytes than the memory that the process uses: few long ones, then many short
/// ones.
#[cfg(target_os = "linux")]
#[test]
fn answers_larger_than_memory_are_printed() {
    use std::io::{BufRead, BufReader, Read};

    let folder = Folder::new();
    for (name, documents, queries) in [("long", 20, 110), ("many", 3, 700)] {
        // Control characters, which take six bytes each in JSON.
        let text = |id: u64| format!("{FERRY}{}", "\u{1}".repeat(50_000 + id as usize));
        let lines: String = (0..documents).map(|id| line(id, &text(id))).collect();
        folder.write("a.jsonl", lines);
        folder.load(&[name, "a.jsonl", "--similar"]).ends(0);
        folder.write("q.jsonl", line(0, FERRY).repeat(queries));
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_simdb-cli"))
            .args(["query", name, "--file", "q.jsonl", "--similar", "--json"])
            .env("RAYON_NUM_THREADS", "2")
            .current_dir(folder.path())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("a process");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let (mut last, mut peak, mut len) = (Vec::new(), 0, 0);
        for answer in answers.split(b'\n') {
            last = answer.expect("a line");
            len += last.len() as u64;
            peak = peak.max(peak_memory(child.id()).unwrap_or(0));
        }
        let mut errors = String::new();
        let mut from = child.stderr.take().expect("a pipe");
        from.read_to_string(&mut errors).expect("text");
        assert_eq!(errors, "");
        assert!(child.wait().expect("an end").success());
        assert!(
            (1..400_000_000).contains(&peak) && len > 600_000_000,
            "{peak} of {len}"
        );
        let last: Value = serde_json::from_slice(&last).expect("JSON");
        assert_eq!(last["query"], queries - 1);
        assert_eq!(ids(&last), Vec::from_iter(0..documents));
        for (id, found) in (0..).zip(last["matches"].as_array().expect("matches")) {
            assert!(found["text"] == text(id), "{id}");
        }
        let one = ["query", name, "--text", FERRY, "--similar"];
        let found = folder.cli(&[&one[..], &["--json"]].concat()).ends(0);
        assert_eq!(found.one_json()["matches"], last["matches"]);
        let rows = folder.cli(&one).ends(0).stdout;
        assert_eq!(rows.lines().count() as u64, documents);
        assert!(rows.len() < 10_000);
    }
}

#[test]
fn invalid_similar_query_is_refused() {
    let with_forest = folder("--similar");
    let fingerprint = "00000000000000ff";
    with_forest.write(
        "q.jsonl",
        line(1, FERRY) + &json!({"fingerprint": fingerprint}).to_string(),
    );
    with_forest.write("q.raw", [0; 8]);
    for option in ["--similar", "--verify"] {
        let query = ["query", "a.simdb", option];
        let fails = |more: &[&str], said: &[&str]| {
            with_forest.cli(&[&query[..], more].concat()).fails(said);
        };
        fails(&["--fingerprint", fingerprint], &["--fingerprint", option]);
        fails(&["--text", FERRY, "--nearest", "3"], &["--nearest", option]);
        fails(&["--file", "q.raw"], &["raw", "only texts"]);
        fails(&["--text", FERRY, "--jaccard", "1.5"], &["from 0 to 1"]);
        let ran = with_forest
            .cli(&[&query[..], &["--file", "q.jsonl", "--json"]].concat())
            .ends(2);
        assert!(
            ran.stderr.contains("q.jsonl:2: there is no field \"text\""),
            "{ran:?}"
        );

        let without_texts = folder("--arrivals");
        let ran = without_texts.cli(&["query", "a.simdb", "--text", FERRY, option]);
        let ran = ran.fails(&[option, "a.simdb", "keeps none", "new database with --"]);
        // No advice that only a program can follow.
        assert!(!ran.stderr.contains("with the query"), "{ran:?}");
    }
    let query = ["query", "a.simdb", "--text", FERRY, "--jaccard", "0.5"];
    with_forest.cli(&query).fails(&["--similar", "--verify"]);
    let query = ["query", "a.simdb", "--text", FERRY, "--narrow"];
    with_forest.cli(&query).fails(&["--similar"]);
    for other in [&["--verify"][..], &["--nearest", "3"]] {
        with_forest
            .cli(&[&query[..], other].concat())
            .fails(&["--narrow", other[0]]);
    }
    let query_by_fingerprint = ["query", "a.simdb", "--fingerprint", fingerprint, "--narrow"];
    with_forest
        .cli(&query_by_fingerprint)
        .fails(&["--narrow", "--fingerprint"]);
    let query = [&query[..], &["--similar", "--decide", "alike"]].concat();
    with_forest
        .cli(&query)
        .fails(&["--narrow", "--decide alike"]);
    let query = ["query", "a.simdb", "--text", FERRY, "--similar", "--verify"];
    with_forest.cli(&query).fails(&["--similar", "--verify"]);
}

#[test]
fn database_without_forest_finds_near_texts_with_warning() {
    let folder = folder("--keep-texts");
    let query = |text| folder.cli(&["query", "a.simdb", "--text", text, "--similar", "--json"]);
    let near = FERRY.replace("heavy fog", "heavy fogs");
    let found = query(&near).ends(0);
    assert!(found.stderr.contains("without --similar"), "{found:?}");
    assert_eq!(ids(&found.one_json()), [1]);
    let short = query("fog").ends(1);
    assert!(short.stderr.contains("too little content"), "{short:?}");
}

#[test]
fn uninformative_text_finds_equal_texts() {
    let folder = folder("--similar");
    folder.write("b.jsonl", line(3, "13800138000") + &line(4, "13800138001"));
    folder.load(&["a.simdb", "b.jsonl"]).ends(0);
    let query = [
        "query",
        "a.simdb",
        "--text",
        "13800138000!",
        "--similar",
        "--json",
    ];
    let found = folder.cli(&query).ends(0).one_json();
    assert_eq!(ids(&found), [3]);
    assert_eq!(found["matches"][0]["same_wording"], true);
}

// ---- groups of near-duplicates ----

/// Texts in groups: all texts of a group are similar, and texts of two groups are not.
struct Groups {
    /// The group of each line, by id from 0.
    of: Vec<u64>,
    lines: Vec<String>,
    count: u64,
}

/// Groups of four in a seeded order.
fn groups(count: u64, seed: u64) -> Groups {
    let mut state = seed;
    let mut below = |bound: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(99);
        (state >> 33) % bound
    };
    let mut texts: Vec<(u64, String)> = Vec::new();
    for group in 0..count {
        // Random words: no two groups share more than a few shingles.
        let mut letter = |_| char::from(b'a' + below(26) as u8);
        let word = |_| (0..6).map(&mut letter).collect();
        let words: Vec<String> = (0..12).map(word).collect();
        for member in 0..4 {
            // Each text differs from the first in one word.
            let mut words = words.clone();
            words[3 * member] = format!("edit{member}");
            texts.push((group, words.join(" ")));
        }
    }
    for place in (1..texts.len()).rev() {
        texts.swap(place, below(place as u64 + 1) as usize);
    }
    let of = texts.iter().map(|(group, _)| *group).collect();
    let lines = (0..).zip(&texts).map(|(id, (_, text))| line(id, text));
    Groups {
        of,
        lines: lines.collect(),
        count,
    }
}

impl Groups {
    /// Asserts that the first line of each group is kept, and no other.
    fn assert_kept(&self, folder: &Folder) {
        let mut seen = BTreeSet::new();
        let firsts = (0..)
            .zip(&self.of)
            .filter(|(_, group)| seen.insert(**group));
        let expected: Vec<u64> = firsts.map(|(id, _)| id).collect();
        let stored = folder.cli(&["export", "a.simdb"]).ends(0).json();
        let id = |document: &Value| document["id"].as_u64().expect("an id");
        assert_eq!(stored.iter().map(id).collect::<Vec<_>>(), expected);
    }

    /// Asserts that the reported duplicate belongs to the group of the document.
    #[track_caller]
    fn assert_duplicate(&self, id: &Value, of: &Value, said: &Value) {
        let group = |id: &Value| self.of[id.as_u64().expect("an id") as usize];
        assert_eq!(group(id), group(of));
        assert!(of.as_u64() < id.as_u64());
        let measure = |name: &str| said[name].as_f64().expect("a measure");
        assert!(
            measure("edit_similarity") >= 0.65 || measure("jaccard") >= 0.55,
            "{said}"
        );
        assert!(said["distance"].is_u64());
    }
}

#[test]
fn load_keeps_first_of_each_group_and_reports_rest() {
    let groups = groups(1_000, 1);
    for frozen in [&[][..], &["--frozen"]] {
        let folder = Folder::new();
        folder.write("a.jsonl", groups.lines.concat());
        let fixed = [&["a.simdb", "a.jsonl", "--json"], &ALIKE[..]].concat();
        let report = ["--duplicates", "d.jsonl"];
        let ran = folder.load(&[&fixed[..], &report, frozen].concat()).ends(0);
        assert_eq!(ran.stderr, "");
        let summary = ran.one_json();
        assert_eq!(summary["read"], 4 * groups.count);
        assert_eq!(summary["inserted"], groups.count);
        assert_eq!(summary["duplicates"], 3 * groups.count);
        groups.assert_kept(&folder);
        let duplicates = folder.read_json("d.jsonl");
        assert_eq!(duplicates.len() as u64, 3 * groups.count);
        for said in &duplicates {
            groups.assert_duplicate(&said["id"], &said["duplicate_of"], said);
            assert_eq!(said["file"], "a.jsonl");
            assert!(said["text"].is_string());
        }
        // A new database can find similar texts.
        let query = ["query", "a.simdb", "--id", "0", "--similar"];
        assert_eq!(folder.cli(&query).ends(1).stderr, "");
        let check = folder.cli(&["check", "a.simdb", "--json"]).ends(0);
        assert_eq!(check.one_json()["ok"], true);
    }
}

#[test]
fn second_load_compares_with_documents_of_first() {
    let groups = groups(600, 2);
    let folder = Folder::new();
    let half = groups.lines.len() / 2;
    let mut inserted = 0;
    for (name, lines) in [
        ("a.jsonl", &groups.lines[..half]),
        ("b.jsonl", &groups.lines[half..]),
    ] {
        folder.write(name, lines.concat());
        let load = [&["a.simdb", name, "--json"], &ALIKE[..]].concat();
        let summary = folder.load(&load).ends(0).one_json();
        inserted += summary["inserted"].as_u64().expect("a number");
        assert_eq!(summary["read"], half);
        // Repeating the load changes nothing.
        let again = folder.load(&load).ends(0).one_json();
        assert_eq!(again["present"], summary["inserted"]);
        assert_eq!(again["duplicates"], summary["duplicates"]);
        assert_eq!(again["inserted"], 0);
    }
    assert_eq!(inserted, groups.count);
    groups.assert_kept(&folder);
}

#[test]
fn watch_keeps_first_of_each_group() {
    let groups = groups(600, 3);
    let folder = Folder::new();
    let watch = [&["watch", "a.simdb"], &ALIKE[..]].concat();
    let half = groups.lines.len() / 2;
    let first = groups.lines[..half].concat();
    let second = groups.lines[half..].concat();
    let mut answers = folder
        .cli_from(&[&watch[..], &["--create"]].concat(), first.as_bytes())
        .ends(0)
        .json();
    answers.extend(folder.cli_from(&watch, second.as_bytes()).ends(0).json());
    assert_eq!(answers.len(), groups.lines.len());
    let mut new = 0;
    for said in &answers {
        match said["verdict"].as_str() {
            Some("new") => new += 1,
            Some("duplicate") => groups.assert_duplicate(&said["id"], &said["of"], said),
            other => panic!("{other:?}: {said}"),
        }
    }
    assert_eq!(new, groups.count);
    groups.assert_kept(&folder);
}

#[test]
fn duplicates_are_shown_with_kept_document() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        line(1, FERRY) + &line(2, FERRIES) + &line(3, &FERRY.to_uppercase()),
    );
    let load = [
        "a.simdb",
        "a.jsonl",
        "--unique",
        "similar",
        "--show-duplicates",
    ];
    let shown = folder.load(&load).ends(0).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    // The least similar comes first.
    assert!(
        lines[0].contains("bits apart, edit similarity 0."),
        "{shown}"
    );
    assert!(
        lines[1].contains("kept") && lines[1].contains("ferry"),
        "{shown}"
    );
    assert!(
        lines[2].contains("dropped") && lines[2].contains("Ferries"),
        "{shown}"
    );
    assert_eq!(
        lines[4],
        "0 bits apart, edit similarity 1.00, Jaccard index 1.00, same"
    );
    assert!(
        shown.contains("covered by a document that is kept"),
        "{shown}"
    );
}

#[test]
fn insert_refuses_similar_text_and_names_document() {
    let folder = folder("--similar");
    let insert = ["insert", "a.simdb", "5", "--unique", "similar", "--text"];
    let said = folder
        .cli(&[&insert[..], &[FERRIES, "--json"]].concat())
        .ends(1);
    let said = said.one_json();
    assert_eq!(said["outcome"], "duplicate");
    assert_eq!(said["duplicate_of"], 1);
    assert!(said["edit_similarity"].as_f64() > Some(0.65));
    assert!(said["jaccard"].is_f64() && said["distance"].is_u64());
    let said = folder
        .cli(&[&insert[..], &[FERRIES]].concat())
        .ends(1)
        .stdout;
    assert!(
        said.contains("of 1 at distance") && said.contains("edit similarity 0."),
        "{said}"
    );
    let strict = ["--edit-similarity", "0.95"];
    let said = folder
        .cli(&[&insert[..], &[FERRIES], &strict].concat())
        .ends(0)
        .stdout;
    assert!(said.starts_with("inserted  5"), "{said}");
    folder
        .cli(&[&insert[..], &[CAT, "--replace"]].concat())
        .fails(&["--replace"]);
}

#[test]
fn unique_similar_without_texts_is_refused_early() {
    let without_texts = folder("--arrivals");
    without_texts.write("a.raw", []);
    without_texts.write("b.jsonl", line(3, FERRIES));
    let said = ["--unique similar", "keeps none"];
    let unique = ["--unique", "similar"];
    let load = |more: &[&str]| without_texts.load(&[&["a.simdb"], more, &unique].concat());
    load(&["b.jsonl"]).fails(&said);
    load(&["a.raw"]).fails(&["raw", "a.raw"]);
    load(&["b.jsonl", "--fingerprint", "f"]).fails(&["--text"]);
    let cli = |more: &[&str]| without_texts.cli(&[more, &unique].concat());
    cli(&["watch", "a.simdb"]).fails(&said);
    cli(&["watch", "a.simdb", "--fingerprint", "f"]).fails(&["--text"]);
    cli(&["insert", "a.simdb", "3", "--text", FERRIES]).fails(&said);
    let fingerprint = ["--fingerprint", "00000000000000ff"];
    cli(&[&["insert", "a.simdb", "3"], &fingerprint[..]].concat()).fails(&["--text"]);
    without_texts
        .load(&["a.simdb", "b.jsonl", "--unique", "3", "--jaccard", "0.5"])
        .fails(&["--unique similar"]);
    for bad in ["65", "alike", ""] {
        let ran = without_texts.load(&["a.simdb", "b.jsonl", "--unique", bad]);
        ran.fails(&["a radius from 0 to 64, or `similar`"]);
    }
    assert_eq!(without_texts.cli(&["export", "a.simdb"]).json().len(), 2);
}

#[test]
fn line_without_text_is_rejected_alone() {
    let folder = Folder::new();
    let bits = "00000000000000ff";
    let lines = [
        json!({"id": 1, "f": bits, "text": FERRY}),
        json!({"id": 2, "f": bits, "text": null}),
        json!({"id": 3, "f": bits, "text": FERRIES}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    folder.write("a.jsonl", &lines);
    let fields = [
        "--fingerprint",
        "f",
        "--text",
        "text",
        "--unique",
        "similar",
    ];
    let skip = ["--on-error", "skip"];

    let load = [&["a.simdb", "a.jsonl"], &fields[..]].concat();
    folder.load(&load).fails(&["a.jsonl:2", "it has no text"]);
    let summary = folder
        .load(&[&load[..], &skip, &["--json"]].concat())
        .ends(0)
        .one_json();
    assert_eq!(summary["inserted"], 1);
    assert_eq!(summary["duplicates"], 1);
    assert_eq!(summary["rejected"], 1);

    let watch = [&["watch", "b.simdb", "--create"], &fields[..], &skip].concat();
    let answers = folder.cli_from(&watch, lines.as_bytes()).ends(0).json();
    let verdicts: Vec<&Value> = answers.iter().map(|said| &said["verdict"]).collect();
    assert_eq!(verdicts, ["new", "rejected", "duplicate"]);
    assert_eq!(answers[2]["of"], 1);
}

#[test]
fn database_without_forest_drops_light_edits_with_warning() {
    let folder = folder("--keep-texts");
    let near = FERRY.replace("heavy fog", "heavy fogs");
    folder.write(
        "b.jsonl",
        line(3, &near) + &line(4, FERRIES) + &line(5, "138"),
    );
    let load = ["a.simdb", "b.jsonl", "--unique", "similar", "--json"];
    let ran = folder.load(&load).ends(0);
    assert!(ran.stderr.contains("without --similar"), "{ran:?}");
    let summary = ran.one_json();
    assert_eq!(summary["duplicates"], 1);
    assert_eq!(summary["inserted"], 2);
    let watch = ["watch", "a.simdb", "--unique", "similar"];
    let ran = folder.cli_from(&watch, line(6, &near).as_bytes()).ends(0);
    assert!(ran.stderr.contains("without --similar"), "{ran:?}");
    assert_eq!(ran.one_json()["verdict"], "duplicate");
}

/// A text that differs in a number or a negation is stored beside the other text. A longer text is
/// stored too, or replaces the shorter text.
#[test]
fn extended_document_is_kept_or_replaced() {
    let more = format!("{FERRY} No bus ran.");
    let not = FERRY.replace("was", "was not");
    let lines = line(1, FERRY) + &line(2, &not) + &line(3, &more) + &line(4, FERRIES);
    let unique = ["--unique", "similar"];
    let replace = ["--on-extended", "replace"];

    let folder = Folder::new();
    folder.write("a.jsonl", &lines);
    let load = [&["a.simdb", "a.jsonl", "--json"], &unique[..]].concat();
    let summary = folder.load(&load).ends(0).one_json();
    let counts = ["inserted", "duplicates", "replaced"].map(|name| summary[name].as_u64());
    assert_eq!(counts, [Some(3), Some(1), Some(0)]);
    let watch = [&["watch", "b.simdb", "--create"], &unique[..]].concat();
    let answers = folder.cli_from(&watch, lines.as_bytes()).ends(0).json();
    assert_eq!(answers[1]["verdict"], "new");
    assert_eq!(
        (&answers[2]["verdict"], &answers[2]["extends"]),
        (&json!("new"), &json!([1]))
    );
    assert_eq!(answers[3]["verdict"], "duplicate");
    assert_eq!(answers[3]["containment"], "same");
    assert!(answers[0]["extends"].is_null());

    let folder = Folder::new();
    folder.write("a.jsonl", &lines);
    let report = ["a.simdb", "a.jsonl", "--json", "--duplicates", "d.jsonl"];
    let summary = folder.load(&[&report, &unique[..], &replace].concat());
    let summary = summary.ends(0).one_json();
    let counts = ["inserted", "duplicates", "replaced"].map(|name| summary[name].as_u64());
    assert_eq!(counts, [Some(3), Some(1), Some(1)]);
    let dropped = folder.read_json("d.jsonl");
    assert_eq!(
        (&dropped[0]["id"], &dropped[0]["duplicate_of"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(dropped[0]["containment"], "a_in_b");
    assert_eq!(dropped[0]["missing_in_b"], json!([]));
    folder.cli(&["get", "a.simdb", "1"]).ends(1);
    let watch = [&["watch", "b.simdb", "--create"], &unique[..], &replace].concat();
    let answers = folder.cli_from(&watch, lines.as_bytes()).ends(0).json();
    assert_eq!(answers[2]["replaces"], json!([1]));
    let insert = [
        &["insert", "b.simdb", "9", "--json", "--text"][..],
        &[&more],
        &unique,
    ]
    .concat();
    let said = folder.cli(&insert).ends(1).one_json();
    assert_eq!(
        (&said["outcome"], &said["containment"]),
        (&json!("duplicate"), &json!("same"))
    );
    let alike = [&watch[..], &["--decide", "alike"]].concat();
    folder
        .cli(&alike)
        .fails(&["--on-extended", "--decide contained"]);
}
