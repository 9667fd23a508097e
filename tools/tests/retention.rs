//! Documents that arrive before the retention window, or too far ahead, and the reset of its clock.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use simdb::{Change, Database, Document, Fingerprint, Retention, Timestamp};

use crate::common::Folder;

const FIELDS: [&str; 4] = ["--fingerprint", "fp", "--time", "t"];
const HOUR: u64 = 60 * 60;
/// The year 2100, which the tests take for far ahead.
const FAR: u64 = 4_102_444_800;

/// A line with a time in seconds.
fn line(id: u64, seconds: u64) -> String {
    let fingerprint = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{{\"id\":{id},\"fp\":\"{fingerprint:016x}\",\"t\":{seconds}}}\n")
}

fn now() -> u64 {
    Timestamp::from(SystemTime::now()).0 / 1000
}

fn ids(folder: &Folder) -> Vec<u64> {
    let documents = folder.cli(&["export", "a.simdb"]).ends(0).json();
    let id = |document: &Value| document["id"].as_u64().expect("an id");
    documents.iter().map(id).collect()
}

fn input() -> String {
    let now = now();
    [
        line(1, now - HOUR),
        line(2, FAR),
        line(3, now),
        line(4, now - 3 * HOUR),
        line(5, now),
    ]
    .concat()
}

#[test]
fn document_inserted_by_hand_may_arrive_earlier() {
    let folder = Folder::new();
    let old = line(1, 1_700_000_000);
    let create = ["watch", "a.simdb", "--create", "--retention", "2h"];
    folder.cli_from(&[&create, &FIELDS[..]].concat(), old.as_bytes());
    let insert = |database, id, time| {
        let content = ["--fingerprint", "00000000000000ff"];
        folder.cli(&[&["insert", database, id, "--time", time], &content[..]].concat())
    };
    insert("a.simdb", "2", "2023-11-14T22:30:00Z").ends(0);
    assert_eq!(ids(&folder), [1, 2]);
    insert("a.simdb", "3", "2023-11-14T10:00:00Z").ends(1);
    let unread = insert("a.simdb", "3", "yesterday").ends(2);
    assert!(unread.stderr.contains("--time"), "{}", unread.stderr);
    insert("a.simdb", "3", "2023-11-15T08:00:00Z").ends(0);
    assert_eq!(ids(&folder), [3]);

    folder.cli_from(&["watch", "b.simdb", "--create"], b"");
    let refused = insert("b.simdb", "1", "2023-11-14T22:30:00Z").ends(2);
    let said = "b.simdb keeps no arrival times; leave --time out";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
}

#[test]
fn watch_reports_expired_lines_and_rejects_arrivals_far_ahead() {
    let folder = Folder::new();
    let create = ["watch", "a.simdb", "--create", "--retention", "2h"];
    let watch =
        |more: &[&str]| folder.cli_from(&[&create, &FIELDS[..], more].concat(), input().as_bytes());
    for rule in [&[][..], &["--unique", "3"]] {
        let ran = watch(rule).ends(0);
        let answers = ran.json();
        let verdicts: Vec<&str> = answers
            .iter()
            .map(|answer| answer["verdict"].as_str().expect("a verdict"))
            .collect();
        assert_eq!(verdicts, ["new", "rejected", "new", "expired", "new"]);
        let error = answers[1]["error"].as_str().expect("an error");
        assert!(
            error.contains("document 2 has the arrival time 2100-01-01T"),
            "{error}"
        );
        assert_eq!(
            (&answers[1]["line"], &answers[1]["id"]),
            (&json!(2), &json!(2))
        );
        let cutoff = answers[3]["cutoff"].as_str().expect("a time");
        assert!(cutoff.starts_with("20"), "{cutoff}");
        assert!(
            ran.stderr.contains("1 expired, 1 rejected"),
            "{}",
            ran.stderr
        );
        assert_eq!(ids(&folder), [1, 3, 5]);
        std::fs::remove_file(folder.file("a.simdb")).expect("it is removed");
    }
    let aborted = watch(&["--on-error", "abort"]).ends(2);
    let said = "error: <stdin>:2: document 2 has the arrival time 2100-";
    assert!(aborted.stderr.contains(said), "{}", aborted.stderr);
    assert_eq!(ids(&folder), [1]);
}

#[test]
fn load_warns_of_times_in_the_future() {
    for rule in [&[][..], &["--unique", "3"]] {
        let folder = Folder::new();
        let now = now();
        folder.write(
            "a.jsonl",
            [line(1, now - HOUR), line(2, now + HOUR)].concat(),
        );
        let load = ["a.simdb", "a.jsonl", "--retention", "2h"];
        let ran = folder.load(&[&load[..], &FIELDS, rule].concat()).ends(0);
        let warned =
            "warning: 1 document arrives later than the clock of this machine, the last at 20";
        assert!(ran.stderr.contains(warned), "{}", ran.stderr);
        folder.write("b.jsonl", line(3, now));
        let ran = folder
            .load(&[&["a.simdb", "b.jsonl"], &FIELDS[..], rule].concat())
            .ends(0);
        assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
        assert_eq!(ids(&folder), [1, 2, 3]);
    }
}

#[test]
fn chain_of_bad_times_does_not_move_the_window() {
    let later = |hours| now() + hours * HOUR;
    let chain = [20, 43, 66, 89].map(later);
    let lines = |ids: std::ops::Range<u64>| {
        let chain = ids.zip(chain).map(|(id, time)| line(id, time));
        chain.collect::<String>() + &line(9, now())
    };
    let folder = Folder::new();
    let watch = |input: &str| {
        let create = ["watch", "a.simdb", "--create", "--retention", "2d"];
        let answers = folder.cli_from(&[&create, &FIELDS[..]].concat(), input.as_bytes());
        let verdict = |answer: &Value| answer["verdict"].as_str().map(str::to_owned);
        let answers = answers.ends(0).json();
        answers.iter().filter_map(verdict).collect::<Vec<_>>()
    };
    let expected = ["new", "rejected", "rejected", "rejected", "new"];
    assert_eq!(watch(&lines(1..5)), expected);
    assert_eq!(ids(&folder), [1, 9]);
    // Neither do several runs.
    let again = watch(&lines(11..15).replace(":9,", ":19,"));
    assert_eq!(again, expected);
    assert_eq!(ids(&folder), [1, 9, 11, 19]);

    let stats = folder.cli(&["stats", "a.simdb", "--json"]).ends(0);
    let ahead = stats.one_json()["ahead_of_clock_seconds"].clone();
    let hours = ahead.as_f64().expect("seconds") / HOUR as f64;
    assert!((19.9..=20.0).contains(&hours), "{hours}");
    let human = folder.cli(&["stats", "a.simdb"]).ends(0).stdout;
    assert!(human.contains("ahead of the clock  "), "{human}");
    let doctor = folder.cli(&["doctor", "a.simdb"]).ends(1).stdout;
    assert!(doctor.contains("attention  clock-ahead: "), "{doctor}");
    assert!(doctor.contains("19h 59m"), "{doctor}");
}

#[test]
fn database_with_past_arrivals_is_not_ahead_of_the_clock() {
    let folder = Folder::new();
    folder.write("a.jsonl", [line(1, now() - HOUR), line(2, now())].concat());
    let load = ["a.simdb", "a.jsonl", "--retention", "2h"];
    folder.load(&[&load[..], &FIELDS].concat()).ends(0);
    let stats = folder.cli(&["stats", "a.simdb", "--json"]).ends(0);
    assert_eq!(stats.one_json()["ahead_of_clock_seconds"], Value::Null);
    folder.cli(&["doctor", "a.simdb"]).ends(0);
}

#[test]
fn stats_does_not_count_expired_documents() {
    let folder = Folder::new();
    let lines: String = (1..=1000).map(|id| line(id, now() - 3 * HOUR)).collect();
    folder.write("a.jsonl", lines);
    let load = ["a.simdb", "a.jsonl", "--retention", "2h"];
    folder.load(&[&load[..], &FIELDS].concat()).ends(0);
    // One commit removes some hundred of the documents that it expires.
    let watch = [&["watch", "a.simdb"], &FIELDS[..]].concat();
    folder
        .cli_from(&watch, line(2000, now()).as_bytes())
        .ends(0);
    let stats = folder
        .cli(&["stats", "a.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(ids(&folder), [2000]);
    assert_eq!(stats["documents"], 1);
    assert!(stats["expired"].as_u64() > Some(100), "{stats}");
    assert_eq!(stats["oldest_arrival"], stats["latest_arrival"]);
    let human = folder.cli(&["stats", "a.simdb"]).ends(0).stdout;
    assert!(
        human.contains("expired  ") && human.contains("removed by later writes"),
        "{human}"
    );
}

#[test]
fn unique_load_refuses_arrivals_with_their_line_and_never_later() {
    let later = |hours| now() + hours * HOUR;
    let duplicate = line(3, later(10)).replace("\"id\":3", "\"id\":4");
    let input = [
        line(3, later(0)),
        line(2, later(20)),
        line(1, later(23)),
        duplicate,
        // Within a day of document 1, and not of the clock.
        line(5, later(30)),
        line(6, later(10)),
    ];
    let options = "a.simdb a.jsonl --arrivals --unique 3 --json --on-error skip --rejects r.jsonl";
    for more in [&[][..], &["--frozen"]] {
        let folder = Folder::new();
        folder.write("a.jsonl", input.concat());
        let mut options: Vec<&str> = options.split(' ').collect();
        options.extend(FIELDS.iter().chain(more));
        let summary = folder.load(&options).ends(0).one_json();
        for (name, count) in [("inserted", 4), ("duplicates", 1), ("rejected", 1)] {
            assert_eq!(summary[name], count, "{name}: {summary}");
        }
        let rejects = folder.read_json("r.jsonl");
        assert_eq!(
            (&rejects[0]["line"], &rejects[0]["id"]),
            (&json!(5), &json!(5))
        );
        assert_eq!(ids(&folder), [1, 2, 3, 6]);
    }
}

#[test]
fn load_counts_expired_documents_and_rejects_arrivals_far_ahead() {
    for rule in [&[][..], &["--unique", "3"]] {
        let folder = Folder::new();
        folder.write("a.jsonl", input());
        let load = ["a.simdb", "a.jsonl", "--retention", "2h", "--json"];
        let load = |more: &[&str]| folder.load(&[&load[..], &FIELDS, rule, more].concat());
        load(&[]).fails(&[
            "a.jsonl:2: document 2 has the arrival time 2100-01-01T",
            "skip",
        ]);
        assert_eq!(folder.names(), ["a.jsonl"]);

        let skip = ["--on-error", "skip", "--rejects", "r.jsonl"];
        let summary = load(&skip).ends(0).one_json();
        for (name, count) in [
            ("read", 5),
            ("inserted", 3),
            ("expired", 1),
            ("rejected", 1),
        ] {
            assert_eq!(summary[name], count, "{name}: {summary}");
        }
        let rejects = folder.read_json("r.jsonl");
        assert_eq!(
            (&rejects[0]["line"], &rejects[0]["id"]),
            (&json!(2), &json!(2))
        );
        assert_eq!(ids(&folder), [1, 3, 5]);

        // Into the same database again.
        let summary = folder
            .load(
                &[
                    &["a.simdb", "a.jsonl", "--json", "--on-error", "skip"],
                    &FIELDS[..],
                    rule,
                ]
                .concat(),
            )
            .ends(0)
            .one_json();
        for (name, count) in [("present", 3), ("expired", 1), ("rejected", 1)] {
            assert_eq!(summary[name], count, "{name}: {summary}");
        }
    }
}

#[test]
fn prune_resets_a_clock_that_one_bad_time_has_moved() {
    let folder = Folder::new();
    let path = folder.file("a.simdb");
    let any = Retention {
        window: Some(Duration::from_secs(2 * HOUR)),
        max_ahead: None,
        ..Retention::default()
    };
    let database = Database::builder()
        .retention(any)
        .create(&path)
        .expect("it is created");
    let now_ms = now() * 1000;
    let inserts = [(1, now_ms - 1000), (2, now_ms), (3, now_ms * 1000)].map(|(id, time)| {
        Change::Insert(Document::new(id, Fingerprint::from_bits(id << 20)).with_arrival(time))
    });
    database.apply(inserts).expect("they are inserted");
    database.close().expect("it is closed");
    assert_eq!(ids(&folder), [3]);
    let insert = [
        "insert",
        "a.simdb",
        "4",
        "--fingerprint",
        "00000000000000ff",
        "--json",
    ];
    let expired = folder.cli(&insert).ends(1).one_json();
    assert_eq!(expired["outcome"], "expired");
    folder.cli(&["vacuum", "a.simdb"]).ends(0);

    let both = ["prune", "a.simdb", "--reset-clock", "--older-than", "2d"];
    folder.cli(&both).fails(&["cannot be used with"]);
    let reset = ["prune", "a.simdb", "--reset-clock"];
    let said = folder
        .cli(&[&reset[..], &["--json"]].concat())
        .ends(0)
        .one_json();
    let time = |ms| json!(Timestamp(ms).to_string());
    assert_eq!(
        said,
        json!({"clock_before": time(now_ms * 1000), "clock_after": time(now_ms), "removed": 1})
    );
    assert_eq!(ids(&folder), [1, 2]);
    assert_eq!(
        folder.cli(&insert).ends(0).one_json()["outcome"],
        "inserted"
    );
    let human = folder.cli(&reset).ends(0);
    assert!(
        human.stdout.contains("removed  0 documents"),
        "{}",
        human.stdout
    );
    folder.cli(&["check", "a.simdb"]).ends(0);
}
