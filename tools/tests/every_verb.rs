//! Properties of every verb of `simdb-cli`, taken from its help so that none is forgotten.

use crate::common::{Folder, TEXTS};

/// The verbs listed in a help text.
fn listed(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs = lines.take_while(|line| !line.is_empty());
    verbs
        // Continued lines are indented further.
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split(' ').next())
        .filter(|verb| *verb != "help")
        .collect()
}

#[test]
fn help_of_every_verb_has_an_example() {
    let folder = Folder::new();
    let help_with_example = |verb: &[&str]| {
        let help = folder.cli(&[verb, &["--help"]].concat()).ends(0).stdout;
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_default();
        let example = [&["simdb-cli"], verb, &[""]].concat().join(" ");
        let is_one = |line: &str| format!("{line} ").contains(&example);
        assert!(examples.lines().any(is_one), "{verb:?}: {help}");
        help
    };
    let all = help_with_example(&[]);
    let verbs = listed(&all);
    assert!(verbs.len() > 20, "{all}");
    for verb in &verbs {
        help_with_example(&[verb]);
    }
}

/// Verbs without a database. `serve` and `report` run another program, with tests of its own.
const WITHOUT_DATABASE: [&str; 8] = [
    "check-report",
    "cut",
    "frames",
    "hash",
    "recipe",
    "serve",
    "report",
    "completions",
];

#[test]
fn non_database_is_an_error_for_every_verb() {
    let folder = Folder::new();
    folder.write("text.simdb", "this is a text, not a database");
    folder.write("a.jsonl", TEXTS);
    folder.write("clusters.csv", "doc_id,keeper\n2,1\n");
    let help = folder.cli(&["--help"]).ends(0).stdout;
    for database in ["text.simdb", "missing.simdb"] {
        let against = ["dedup", "a.jsonl", "-o", "b.jsonl", "--against", database];
        let with_add = [&against[..], &["--add"]].concat();
        let all = [
            &["stats", database][..],
            &["get", database, "1"],
            &["query", database, "--text", "a"],
            &["pairs", database],
            &["clusters", database],
            &against,
            &with_add,
            &["compare", "--database", database, "1", "2"],
            &["insert", database, "1", "--text", "a"],
            &["remove", database, "1"],
            &["remove", database, "--clusters", "clusters.csv"],
            &["prune", database, "--older-than", "2d"],
            &["prune", database, "--older-than", "2d", "--dry-run"],
            &["prune", database, "--reset-clock"],
            &["watch", database],
            &["top", database],
            &["check", database],
            &["doctor", database],
            &["salvage", database, "saved.simdb"],
            &["salvage", database, "saved.simdb", "--recipe", "ngram"],
            &["backup", database, "copy.simdb"],
            &["vacuum", database],
            &["export", database],
        ];
        for verb in listed(&help) {
            let is_tried = all.iter().any(|arguments| arguments[0] == verb);
            let takes_none = WITHOUT_DATABASE.contains(&verb);
            assert!(is_tried != takes_none, "{verb}");
        }
        for arguments in all {
            folder.cli(arguments).fails(&[database]);
        }
    }
    assert_eq!(folder.names(), ["a.jsonl", "clusters.csv", "text.simdb"]);
}

#[test]
fn invalid_id_error_describes_ids() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl"]).ends(0);
    let beyond = "18446744073709551616";
    for id in ["abc", beyond, "1.5"] {
        for arguments in [
            &["get", "a.simdb", id][..],
            &["insert", "a.simdb", id, "--text", "a"],
            &["remove", "a.simdb", id],
            &["query", "a.simdb", "--id", id],
            &["watch", "a.simdb", "--assign-ids", "--first-id", id],
            &["dedup", "a.jsonl", "-o", "b.jsonl", "--first-id", id],
        ] {
            let expected = "is not an id: an integer from 0 to 18446744073709551615 is expected";
            folder.cli(arguments).fails(&[id, expected]);
        }
    }
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb"]);
}
