//! `simdb-cli dedup --with-copies`, and the counts of a corpus that is deduplicated dump by dump.

use super::{FOX, Folder, Value, dedup, json};
use crate::common::TEXTS;

const FERRY: &str = "The ferry to the islands was cancelled because of heavy fog on Monday.";
const CATS: &str = "Three cats sat on the mat and would not be moved by anyone at all.";

/// A text, and the hour of its arrival.
type Page = (&'static str, u64);

/// Three copies of one text, one copy of another, and a text without a copy.
const PAGES: [Page; 7] = [
    (FERRY, 9),
    (FOX, 12),
    (FERRY, 11),
    (CATS, 3),
    (FERRY, 7),
    (FOX, 5),
    (FERRY, 10),
];

fn time(hour: u64) -> String {
    format!("2024-05-31T{hour:02}:00:00.000Z")
}

fn lines(prefix: &str, pages: &[Page]) -> String {
    let pages = (1..).zip(pages);
    let line = |(number, (text, hour)): (u64, &Page)| {
        let (key, time) = (format!("{prefix}/{number}"), time(*hour));
        json!({"id": number, "url": key, "text": text, "time": time}).to_string() + "\n"
    };
    pages.map(line).collect()
}

/// The number and the times of the copies of each kept page of [`PAGES`].
fn expected() -> Value {
    json!([
        [1, 3, time(7), time(11)],
        [2, 1, time(5), time(5)],
        [4, 0, null, null]
    ])
}

const COUNT: [&str; 3] = ["--with-copies", "--time", "time"];

#[test]
fn copies_are_fields_of_json_lines() {
    let folder = Folder::new();
    folder.write("a.jsonl", lines("a", &PAGES));
    dedup(
        &folder,
        &[&["a.jsonl", "-o", "b.jsonl"], &COUNT[..]].concat(),
    )
    .ends(0);
    let kept = folder.read_json("b.jsonl");
    let names = ["id", "copies", "first_seen", "last_seen"];
    let kept: Vec<Value> = kept
        .iter()
        .map(|record| names.iter().map(|name| record[name].clone()).collect())
        .collect();
    assert_eq!(Value::from(kept), expected());
    // Without times the number alone, under the given name.
    let count = ["a.jsonl", "-o", "c.jsonl", "--with-copies=n,from,to"];
    dedup(&folder, &count).ends(0);
    let kept = folder.read_json("c.jsonl");
    assert_eq!(kept[0]["n"], 3);
    assert!(kept[0].get("from").is_none(), "{}", kept[0]);
    // All records, marked.
    let mark = [&["a.jsonl", "-o", "d.jsonl", "--mark"], &COUNT[..]].concat();
    dedup(&folder, &mark).ends(0);
    let marked = folder.read_json("d.jsonl");
    assert_eq!(marked.len(), PAGES.len());
    assert_eq!(
        (&marked[0]["copies"], &marked[0]["keeper"]),
        (&json!(3), &Value::Null)
    );
    assert_eq!(
        (&marked[2]["copies"], &marked[2]["keeper"]),
        (&Value::Null, &json!(1))
    );
}

#[test]
fn copies_are_columns_of_tables() {
    let folder = Folder::new();
    let rows = (1..).zip(PAGES);
    let rows = rows.map(|(id, (text, hour))| format!("{id},\"{text}\",{}\n", time(hour)));
    let rows: String = rows.collect();
    folder.write("a.csv", format!("id,text,time\n{rows}"));
    dedup(&folder, &[&["a.csv", "-o", "b.csv"], &COUNT[..]].concat()).ends(0);
    let (seven, nine, eleven) = (time(7), time(9), time(11));
    let csv = folder.read("b.csv");
    let csv: Vec<&str> = csv.lines().collect();
    assert_eq!(csv[0], "id,text,time,copies,first_seen,last_seen");
    assert_eq!(csv[1], format!("1,\"{FERRY}\",{nine},3,{seven},{eleven}"));
    assert_eq!(csv[3], format!("4,\"{CATS}\",{},0,,", time(3)));
    // A table without rows, a bad record that is kept.
    folder.write("empty.csv", "id,text,time\n");
    dedup(
        &folder,
        &[&["empty.csv", "-o", "e.csv"], &COUNT[..]].concat(),
    )
    .ends(0);
    assert_eq!(
        folder.read("e.csv"),
        "id,text,time,copies,first_seen,last_seen\n"
    );
    folder.write(
        "bad.csv",
        format!("id,text,time\nx,{CATS},{seven}\n1,{FOX},{nine}\n"),
    );
    let kept = ["bad.csv", "-o", "f.csv", "--on-error", "keep"];
    dedup(&folder, &[&kept, &COUNT[..]].concat()).ends(0);
    assert_eq!(
        folder.read("f.csv"),
        format!(
            "id,text,time,copies,first_seen,last_seen\nx,{CATS},{seven},,,\n1,{FOX},{nine},0,,\n"
        )
    );
}

/// The copies of the documents of a database, without the newest, by key or id.
fn stored_copies(folder: &Folder, database: &str, name: &str) -> Vec<Value> {
    let documents = folder.cli(&["export", database]).ends(0).json();
    let copies = documents.iter().map(|document| {
        let copies = &document["copies"];
        json!([
            document[name],
            copies["count"],
            copies["first_seen"],
            copies["last_seen"]
        ])
    });
    copies.collect()
}

const COPIES: [&str; 4] = [
    "--copies",
    "4",
    "--copies-from",
    "copies,first_seen,last_seen",
];

#[test]
fn copies_of_every_format_are_loaded() {
    let folder = Folder::new();
    folder.write("a.jsonl", lines("a", &PAGES));
    let rows = (1..).zip(PAGES);
    let rows = rows.map(|(id, (text, hour))| format!("{id}\t{text}\t{}\n", time(hour)));
    folder.write(
        "a.tsv",
        format!("id\ttext\ttime\n{}", rows.collect::<String>()),
    );
    // 1 and 2 are near-duplicates, 7 and 8 are equal, 5 has no text.
    let parquet = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/data/parquet/snappy.parquet"
    );
    folder.write("a.parquet", std::fs::read(parquet).unwrap());
    let of_parquet = json!([
        [1, 1, "2024-05-31T12:00:01.000Z", "2024-05-31T12:00:01.000Z"],
        [3, null, null, null],
        [4, null, null, null],
        [6, null, null, null],
        [7, 1, "2024-05-31T12:00:07.000Z", "2024-05-31T12:00:07.000Z"]
    ]);
    let mut of_text = expected();
    of_text[2][1] = Value::Null;
    for (name, field, expected) in [
        ("jsonl", "time", &of_text),
        ("tsv", "time", &of_text),
        ("parquet", "posted", &of_parquet),
    ] {
        let (input, output, database) = (
            format!("a.{name}"),
            format!("b.{name}"),
            format!("{name}.simdb"),
        );
        let common = ["--time", field, "--on-error", "skip"];
        let run = [&input[..], "-o", &output, "--with-copies"];
        dedup(&folder, &[&run, &common[..]].concat()).ends(0);
        let load = [&database[..], &output, "--arrivals"];
        folder.load(&[&load, &COPIES[..], &common].concat()).ends(0);
        let copies = stored_copies(&folder, &database, "id");
        assert_eq!(Value::from(copies), *expected, "{name}");
        folder.cli(&["check", &database]).ends(0);
        let again = format!("x.{name}");
        let again = [&output[..], "-o", &again, "--with-copies"];
        dedup(&folder, &[&again, &common[..]].concat()).fails(&["\"copies\"", "--with-copies="]);
    }
}

#[test]
fn corpus_keeps_its_counts_dump_by_dump() {
    let folder = Folder::new();
    let dumps: [&[Page]; 3] = [
        &PAGES,
        // Nothing but copies.
        &[(FERRY, 13), (FERRY, 14)],
        // A new text with a copy, and copies of old texts.
        &[
            (
                "Something about a lighthouse and its keeper in the far north.",
                15,
            ),
            (FOX, 2),
        ],
    ];
    let add = |number: usize, dump: &[Page]| {
        folder.write("dump.jsonl", lines(&format!("dump{number}"), dump));
        let run = ["dump.jsonl", "-o", "kept.jsonl", "--no-id", "--force"];
        dedup(&folder, &[&run, &COUNT[..]].concat()).ends(0);
        let load = [
            "all.simdb",
            "kept.jsonl",
            "--unique",
            "similar",
            "--key",
            "url",
        ];
        let arrive = ["--time", "time", "--arrivals"];
        folder.load(&[&load[..], &COPIES, &arrive].concat()).ends(0);
    };
    for (number, dump) in dumps.iter().enumerate() {
        add(number, dump);
    }
    let expected = json!([
        ["dump0/1", 5, time(7), time(14)],
        ["dump0/2", 2, time(2), time(5)],
        ["dump0/4", null, null, null],
        ["dump2/1", null, null, null]
    ]);
    let copies = || Value::from(stored_copies(&folder, "all.simdb", "key"));
    assert_eq!(copies(), expected);
    // A dump that is added again counts nothing.
    for (number, dump) in dumps.iter().enumerate() {
        add(number, dump);
    }
    assert_eq!(copies(), expected);
    folder.cli(&["check", "all.simdb"]).ends(0);
    // The same counts as of a load of the dumps themselves.
    for (number, dump) in dumps.iter().enumerate() {
        folder.write("dump.jsonl", lines(&format!("dump{number}"), dump));
        let load = [
            "whole.simdb",
            "dump.jsonl",
            "--unique",
            "similar",
            "--key",
            "url",
        ];
        let keep = ["--copies", "4", "--time", "time", "--arrivals"];
        folder.load(&[&load[..], &keep].concat()).ends(0);
    }
    let counts = |database| {
        let copies = stored_copies(&folder, database, "key");
        let counts = copies
            .into_iter()
            .map(|copies| json!([copies[0], copies[1]]));
        counts.collect::<Vec<_>>()
    };
    assert_eq!(counts("whole.simdb"), counts("all.simdb"));
}

#[test]
fn many_copies_are_counted_exactly() {
    let folder = Folder::new();
    let line = |id: u64| {
        let text = if id % 5 == 4 { FOX } else { FERRY };
        json!({"id": id, "text": text}).to_string() + "\n"
    };
    folder.write("a.jsonl", (0..20_000).map(line).collect::<String>());
    for more in [&[][..], &["--radius", "3"]] {
        let run = ["a.jsonl", "-o", "b.jsonl", "--with-copies", "--force"];
        dedup(&folder, &[&run[..], more].concat()).ends(0);
        let kept = folder.read_json("b.jsonl");
        let copies: Vec<_> = kept
            .iter()
            .map(|record| record["copies"].as_u64())
            .collect();
        assert_eq!(copies, [Some(15_999), Some(3_999)]);
    }
}

#[test]
fn names_and_formats_without_copies_are_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.write("a.txt", FOX);
    for (arguments, said) in [
        (["--with-copies=a,b", "--json"], "three different names"),
        (["--with-copies=a,b,a", "--json"], "three different names"),
        (["--with-copies=text,b,c", "--json"], "\"text\""),
        (
            ["--with-copies=n,a,b", "--mark=n,d"],
            "must name different fields",
        ),
    ] {
        let run = [&["a.jsonl", "-o", "x.jsonl"][..], &arguments].concat();
        let refused = dedup(&folder, &run).ends(2).stderr;
        assert!(refused.contains(said), "{refused}");
    }
    dedup(&folder, &["a.txt", "-o", "x.txt", "--with-copies"])
        .fails(&["plain lines have no fields for --with-copies"]);
    // Nothing is counted in a database in silence.
    let load = [
        "all.simdb",
        "a.jsonl",
        "--unique",
        "similar",
        "--copies",
        "2",
    ];
    folder.load(&load).ends(0);
    let add = [
        "a.jsonl",
        "-o",
        "x.jsonl",
        "--against",
        "all.simdb",
        "--add",
    ];
    dedup(&folder, &add).fails(&[
        "counts copies",
        "simdb-load all.simdb INPUT --unique similar",
    ]);
    folder
        .load(&[
            "b.simdb",
            "a.jsonl",
            "--copies",
            "2",
            "--copies-from",
            "a,b",
        ])
        .fails(&["--copies-from takes one field, or three"]);
    let bad = TEXTS.replace("\"id\":1", "\"n\":-1,\"id\":1");
    folder.write("bad.jsonl", bad);
    folder
        .load(&[
            "b.simdb",
            "bad.jsonl",
            "--copies",
            "2",
            "--copies-from",
            "n",
        ])
        .fails(&["-1 is no number of copies"]);
    assert_eq!(
        folder.names(),
        ["a.jsonl", "a.txt", "all.simdb", "bad.jsonl"]
    );
}
