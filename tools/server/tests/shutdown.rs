//! The end of the server: by SIGTERM, and by `kill -9`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use simdb::{Database, DocId, Document, Fingerprint, Outcome};

use crate::common::Served;

/// Servers that are killed, each under load; `SIMDB_TEST_KILLS` sets another number.
const KILLS: u64 = 5;

fn kills() -> u64 {
    let kills = std::env::var("SIMDB_TEST_KILLS");
    kills
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(KILLS)
}

/// A fingerprint that is far from the fingerprint of any other id.
fn bits_of(id: u64) -> u64 {
    let mixed = (id ^ id >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The documents of one kill: each client has an original, which every second request repeats.
#[derive(Default)]
struct Answered {
    stored: BTreeSet<u64>,
    /// The answered copies of an original, and the number of copies that were sent.
    copies: BTreeMap<u64, (BTreeSet<u64>, u64)>,
}

#[test]
fn killed_server_counts_each_answered_copy() {
    let mut folder = tempfile::tempdir().unwrap();
    let answered = Mutex::new(Answered::default());
    for round in 0..kills() {
        let options = [
            "--listen",
            "127.0.0.1:0",
            "--create",
            "--no-token",
            "--copies",
            "9",
        ];
        let served = Served::start(folder, &options);
        std::thread::scope(|scope| {
            for client in 0..8 {
                let (served, answered) = (&served, &answered);
                scope.spawn(move || {
                    copy_until_killed(served, (round << 8 | client) << 24, answered)
                });
            }
            let enough = (round as usize + 1) * 300;
            while answered.lock().unwrap().stored.len() < enough {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            served.signal("KILL");
        });
        folder = served.wait().2;
        let database = Database::open(folder.path().join("a.simdb")).expect("it opens");
        let answered = answered.lock().unwrap();
        for id in &answered.stored {
            assert!(
                database.contains(DocId(*id)).unwrap(),
                "document {id}, round {round}"
            );
        }
        for (original, (copies, sent)) in &answered.copies {
            let stored = database
                .get(DocId(*original))
                .unwrap()
                .expect("an original");
            let counted = stored.copies.map_or(0, |copies| copies.count);
            let range = copies.len() as u64..=*sent;
            assert!(
                range.contains(&counted),
                "{original} has {counted} copies, of {range:?}"
            );
        }
        // A refused id is known, and not counted again.
        let (original, (copies, _)) = answered.copies.iter().next_back().expect("a copy");
        let bits = Fingerprint::from_bits(bits_of(*original) ^ 1);
        let again = Document::new(*copies.iter().next_back().expect("a copy"), bits);
        assert_eq!(database.insert_unique(again, 3).unwrap(), Outcome::Seen);
        assert_eq!(database.check().unwrap(), Vec::<String>::new());
    }
}

/// Inserts new documents and copies by turns, each by a request of its own, until the server is
/// killed.
fn copy_until_killed(served: &Served, original: u64, answered: &Mutex<Answered>) {
    for number in 0.. {
        let id = original + number;
        let is_copy = number % 2 == 1;
        let bits = if is_copy {
            bits_of(original) ^ 1
        } else {
            bits_of(id)
        };
        if is_copy {
            let mut answered = answered.lock().unwrap();
            answered.copies.entry(original).or_default().1 += 1;
        }
        let body = format!("{{\"id\":{id},\"fingerprint\":\"{bits:016x}\"}}");
        let path = "/v1/documents?mode=insert_unique";
        let Some(answer) = served.try_post(path, &body) else {
            return;
        };
        let mut answered = answered.lock().unwrap();
        if is_copy {
            assert_eq!(answer["match"]["id"], original.to_string(), "{answer}");
            answered.copies.entry(original).or_default().0.insert(id);
        } else {
            assert_eq!(answer["outcome"], "inserted");
            answered.stored.insert(id);
        }
    }
}

#[test]
fn killed_server_keeps_each_answered_insert() {
    let mut folder = tempfile::tempdir().unwrap();
    let answered = Mutex::new(BTreeSet::new());
    for round in 0..kills() {
        let options = ["--listen", "127.0.0.1:0", "--create", "--no-token"];
        let served = Served::start(folder, &options);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for client in 0..4 {
                let (served, answered, is_over) = (&served, &answered, &is_over);
                scope.spawn(move || {
                    insert_until(served, round << 32 | client << 24, answered, is_over)
                });
            }
            let enough = (round as usize + 1) * 200;
            while answered.lock().unwrap().len() < enough {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            served.signal("KILL");
            is_over.store(true, Ordering::Relaxed);
        });
        let (status, _, left) = served.wait();
        assert!(!status.success());
        folder = left;
        let database = Database::open(folder.path().join("a.simdb")).expect("it opens");
        for id in &*answered.lock().unwrap() {
            assert!(
                database.contains(DocId(*id)).unwrap(),
                "document {id} was answered in round {round}"
            );
        }
    }
    let database = Database::open(folder.path().join("a.simdb")).expect("it opens");
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
}

/// Sends lines on one connection, and notes the ids that are answered.
fn insert_until(
    served: &Served,
    first: u64,
    answered: &Mutex<BTreeSet<u64>>,
    is_over: &AtomicBool,
) {
    let mut stream = served.connect();
    let mut head = format!(
        "POST /v1/documents HTTP/1.1\r\nHost: {}\r\n",
        served.address
    );
    head += "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("a request");
    let answers = BufReader::new(stream.try_clone().expect("a connection"));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for id in first.. {
                let line = format!("{{\"id\":{id},\"fingerprint\":\"{id:016x}\"}}\n");
                let sent = write!(stream, "{:x}\r\n{line}\r\n", line.len());
                if sent.is_err() || is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        for line in answers
            .lines()
            .map_while(Result::ok)
            .filter(|line| line.starts_with('{'))
        {
            // The last line may be cut off.
            let Ok(answer) = serde_json::from_str::<Value>(&line) else {
                break;
            };
            assert_eq!(answer["outcome"], "inserted");
            let id = answer["id"]
                .as_str()
                .expect("an id")
                .parse()
                .expect("an id");
            answered.lock().unwrap().insert(id);
        }
    });
}

#[test]
fn terminated_server_answers_open_streams_and_closes_the_database() {
    let served = Served::new(&["--no-token"]);
    let mut stream = served.connect();
    let mut head = format!(
        "POST /v1/documents HTTP/1.1\r\nHost: {}\r\n",
        served.address
    );
    head += "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let line = "{\"id\":1,\"text\":\"one\"}\n";
    write!(stream, "{:x}\r\n{line}\r\n", line.len()).unwrap();
    let mut answers = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(answers.any(|line| line.contains("inserted")));
    served.signal("TERM");
    // The stream ends with the reason.
    assert!(answers.any(|line| line.contains("closing")));
    let (status, text, folder) = served.wait();
    assert!(status.success(), "{text}");
    assert!(text.contains("the database is closed"), "{text}");
    // No journal is left.
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["a.simdb"]);
    assert_eq!(
        Database::open_read_only(folder.path().join("a.simdb"))
            .unwrap()
            .len()
            .unwrap(),
        1
    );
}

#[test]
fn second_process_is_told_of_the_server() {
    let served = Served::new(&["--no-token"]);
    served
        .post("/v1/documents", &json!({"id": 1, "text": "one"}))
        .with(200);
    let folder = served.path();
    let mut command = crate::common::program();
    command
        .args(["a.simdb", "--listen", "127.0.0.1:0"])
        .current_dir(folder);
    let ended = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2));
    assert!(
        text.contains("has it open") && text.contains("simdb-cli serve"),
        "{text}"
    );
}
