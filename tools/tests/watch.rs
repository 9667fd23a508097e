//! `simdb-cli watch` and `prune`: deduplication of a stream, and expiry.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::common::{Folder, PATIENCE, Ran, TEXTS, stop};
use serde_json::{Value, json};

/// The first second of 2024.
const YEAR: u64 = 1_704_067_200;

/// A line for `--fingerprint fp --time t`, some minutes after the start of 2024.
fn line(id: u64, bits: u64, minutes: u64) -> String {
    let time = YEAR + minutes * 60;
    format!("{{\"id\":{id},\"fp\":\"{bits:016x}\",\"t\":{time}}}\n")
}

/// A fingerprint far from the fingerprints of other ids.
fn distinct_fingerprint(id: u64) -> u64 {
    id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The line, id and verdict of an answer.
fn verdict(answer: &Value) -> (u64, Option<u64>, &str) {
    let line = answer["line"].as_u64().expect("a line");
    (
        line,
        answer["id"].as_u64(),
        answer["verdict"].as_str().expect("a verdict"),
    )
}

/// The ids of the stored documents.
fn stored(folder: &Folder) -> Vec<u64> {
    let documents = folder.cli(&["export", "a.simdb"]).ends(0).json();
    let id = |document: &Value| document["id"].as_u64().expect("an id");
    documents.iter().map(id).collect()
}

/// A running tool with its input and its answers.
struct Running {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

fn start(folder: &Folder, arguments: &[&str]) -> Running {
    let mut child = folder
        .command("simdb-cli")
        .args(["watch", "a.simdb"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let input = child.stdin.take().expect("a pipe");
    let output = child.stdout.take().expect("a pipe");
    Running {
        child,
        input,
        output: BufReader::new(output).lines(),
    }
}

/// The answers as they arrive, read in a thread, so that the test can time out.
fn answers(output: Lines<BufReader<ChildStdout>>) -> Receiver<Value> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in output {
            let line = line.expect("a line");
            // A killed tool may leave a partial line.
            let Ok(answer) = serde_json::from_str(&line) else {
                break;
            };
            if send.send(answer).is_err() {
                break;
            }
        }
    });
    receive
}

#[test]
fn every_line_gets_its_verdict_in_order() {
    let folder = Folder::new();
    let input = [
        TEXTS,
        "\n",
        "{\"id\":9,\"text\":\"a\"}\n",
        "{\"id\":10,\"text\":\"a\"}\n",
        "{\"id\":1,\"text\":\"Another text under an id that is taken, and not a short one.\"}\n",
        "{\"id\":3,\"text\":\"生活就像一盒巧克力,你永远不知道下一颗是什么味道。明天又是新的一天。\"}\n",
    ]
    .concat();
    let arguments = [
        "watch",
        "a.simdb",
        "--create",
        "--keep-texts",
        "--unique",
        "3",
    ];
    let ran = folder.cli_from(&arguments, input.as_bytes()).ends(0);
    let answers = ran.json();
    let verdicts: Vec<_> = answers.iter().map(verdict).collect();
    assert_eq!(
        verdicts,
        [
            (1, Some(1), "new"),
            (2, Some(2), "duplicate"),
            (3, Some(3), "new"),
            (4, Some(4), "new"),
            (6, Some(9), "new"),
            (7, Some(10), "new"),
            (8, Some(1), "exists"),
            (9, Some(3), "exists"),
        ]
    );
    let first = answers[0]["fingerprint"].clone();
    let duplicate = json!({"line": 2, "id": 2, "fingerprint": first, "reliable": true,
        "verdict": "duplicate", "of": 1, "distance": 0});
    assert_eq!(answers[1], duplicate);
    assert_eq!(answers[4]["reliable"], false);
    assert_eq!(
        (&answers[6]["stored"], &answers[6]["repeated"]),
        (&first, &json!(false))
    );
    assert_eq!(answers[7]["repeated"], true);
    assert!(
        ran.stderr.contains("5 new, 1 duplicate, 2 there already"),
        "{}",
        ran.stderr
    );
    assert_eq!(stored(&folder), [1, 3, 4, 9, 10]);
    let text = folder.cli(&["get", "a.simdb", "1"]).ends(0).stdout;
    assert!(text.contains("The quick brown fox"), "{text}");
}

#[test]
fn without_a_radius_every_line_is_new() {
    let folder = Folder::new();
    let ran = folder.cli_from(&["watch", "a.simdb", "--create"], TEXTS.as_bytes());
    let answers = ran.ends(0).json();
    assert!(answers.iter().all(|answer| answer["verdict"] == "new"));
    assert_eq!(stored(&folder), [1, 2, 3, 4]);
}

#[test]
fn many_lines_are_decided_like_single_lines() {
    let folder = Folder::new();
    // Each fingerprint of the second half differs in one bit from one of the first half.
    const HALF: u64 = 15_000;
    let input: String = (0..2 * HALF)
        .map(|id| line(id, distinct_fingerprint(id % HALF + 1) ^ (id / HALF), 0))
        .collect();
    let arguments = ["watch", "a.simdb", "--create", "--fingerprint", "fp"];
    let arguments = [&arguments[..], &["--unique", "1"]].concat();
    let answers = folder.cli_from(&arguments, input.as_bytes()).ends(0).json();
    assert_eq!(answers.len() as u64, 2 * HALF);
    for (id, answer) in (0..).zip(&answers) {
        assert_eq!(answer["line"], id + 1);
        if id < HALF {
            assert_eq!(answer["verdict"], "new");
        } else {
            let said = (&answer["of"], &answer["distance"]);
            assert_eq!(said, (&json!(id - HALF), &json!(1)));
        }
    }
}

#[test]
fn single_line_is_answered_at_once() {
    let folder = Folder::new();
    let Running {
        mut child,
        mut input,
        output,
    } = start(&folder, &["--create", "--fingerprint", "fp"]);
    let answers = answers(output);
    for id in 1..4 {
        input
            .write_all(line(id, distinct_fingerprint(id), 0).as_bytes())
            .expect("written");
        let answer = answers.recv_timeout(PATIENCE).expect("an answer");
        assert_eq!(verdict(&answer), (id, Some(id), "new"));
    }
    drop(input);
    assert!(child.wait().expect("the tool ends").success());
    assert_eq!(stored(&folder), [1, 2, 3]);
}

/// The process gets the signal while it waits for input.
#[cfg(unix)]
#[test]
fn signal_ends_watch_after_pending_answers() {
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new();
        let mut running = start(&folder, &["--create", "--fingerprint", "fp"]);
        for id in 0..1000 {
            let line = line(id, distinct_fingerprint(id), 0);
            running.input.write_all(line.as_bytes()).expect("written");
        }
        let answers = answers(running.output);
        let first = answers.recv_timeout(PATIENCE).expect("an answer");
        let ran = stop(running.child, signal).ends(0);
        assert!(ran.stderr.contains(" new, 0 duplicates"), "{ran:?}");
        let ids: Vec<_> = std::iter::once(first)
            .chain(answers)
            .filter_map(|answer| answer["id"].as_u64())
            .collect();
        assert_eq!(stored(&folder), ids);
        drop(running.input);
    }
}

/// Waits until all pipes are full and no more bytes are accepted. Panics after [`PATIENCE`].
#[cfg(unix)]
fn wait_until_pipes_are_full(fed: &AtomicUsize) {
    const PIPE_BYTES: usize = 64 << 10;
    let started = Instant::now();
    let (mut last, mut since) = (0, started);
    while last <= PIPE_BYTES || since.elapsed() < Duration::from_secs(1) {
        let now = fed.load(Ordering::Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        }
        assert!(started.elapsed() < PATIENCE, "{last} bytes, and no end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The pipe of the answers is open, but no longer read.
#[cfg(unix)]
#[test]
fn second_signal_ends_watch_at_once() {
    let folder = Folder::new();
    let Running {
        mut child,
        mut input,
        mut output,
    } = start(&folder, &["--create", "--fingerprint", "fp"]);
    let fed = Arc::new(AtomicUsize::new(0));
    let bytes_fed = Arc::clone(&fed);
    let feeder = std::thread::spawn(move || {
        (0..).find(|id| {
            let line = line(*id, distinct_fingerprint(*id), 0);
            bytes_fed.fetch_add(line.len(), Ordering::Relaxed);
            input.write_all(line.as_bytes()).is_err()
        })
    });
    output.next().expect("a line").expect("UTF-8");
    wait_until_pipes_are_full(&fed);
    let pid = child.id().to_string();
    let kill = std::process::Command::new("kill").arg(&pid).status();
    assert!(kill.expect("kill").success());
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().expect("a state").is_none());
    let ran = stop(child, "-TERM").ends(2);
    assert_eq!(ran.stderr, "");
    feeder.join().expect("the pipe is closed");
}

#[test]
fn answered_lines_survive_kill() {
    let folder = Folder::new();
    let Running {
        mut child,
        mut input,
        output,
    } = start(
        &folder,
        &["--create", "--fingerprint", "fp", "--unique", "3"],
    );
    let feeder = std::thread::spawn(move || {
        // Feed lines until the tool is killed.
        (0..).find(|id| {
            input
                .write_all(line(*id, distinct_fingerprint(*id), 0).as_bytes())
                .is_err()
        })
    });
    let answers = answers(output);
    let mut ids = Vec::new();
    let mut note = |answer: Value| {
        if answer["verdict"] == "new" {
            ids.extend(answer["id"].as_u64());
        }
    };
    for _ in 0..5000 {
        note(answers.recv_timeout(PATIENCE).expect("an answer"));
    }
    child.kill().expect("killed");
    child.wait().expect("the tool ends");
    feeder.join().expect("all is written");
    answers.into_iter().for_each(&mut note);
    // Only a writer recovers the database.
    let rest = line(u64::MAX, 0x5555, 0);
    let go_on = ["watch", "a.simdb", "--fingerprint", "fp"];
    folder.cli_from(&go_on, rest.as_bytes()).ends(0);
    let stored = stored(&folder);
    assert!(ids.len() > 1000, "{}", ids.len());
    for id in ids {
        assert!(stored.binary_search(&id).is_ok(), "{id} was answered");
    }
    folder.cli(&["check", "a.simdb"]).ends(0);
}

#[test]
fn invalid_line_is_rejected_and_rest_answered() {
    let folder = Folder::new();
    let input = "junk\n{\"id\":1,\"text\":7}\n{\"text\":\"x\"}\n[]\n{\"id\":5,\"text\":\"x\"}\n";
    let answers = folder
        .cli_from(&["watch", "a.simdb", "--create"], input.as_bytes())
        .ends(0)
        .json();
    let verdicts: Vec<_> = answers.iter().map(verdict).collect();
    assert_eq!(
        verdicts,
        [
            (1, None, "rejected"),
            (2, Some(1), "rejected"),
            (3, None, "rejected"),
            (4, None, "rejected"),
            (5, Some(5), "new"),
        ]
    );
    for (answer, said) in answers.iter().zip([
        "malformed JSON",
        "a string is expected",
        "no field \"id\"",
        "JSON object",
    ]) {
        let error = answer["error"].as_str().expect("an error");
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn bad_line_aborts_on_request() {
    let folder = Folder::new();
    let watch = |input: &str| -> Ran {
        let arguments = ["watch", "a.simdb", "--create", "--fingerprint", "fp"];
        let arguments = [&arguments[..], &["--on-error", "abort"]].concat();
        folder.cli_from(&arguments, input.as_bytes()).ends(2)
    };
    let ran = watch(&[&line(1, 1, 0), "junk\n", &line(2, 2, 0)].concat());
    let answers = ran.json();
    let verdicts: Vec<_> = answers.iter().map(verdict).collect();
    assert_eq!(verdicts, [(1, Some(1), "new"), (2, None, "rejected")]);
    assert!(ran.stderr.contains("error: <stdin>:2: "), "{}", ran.stderr);
    assert_eq!(stored(&folder), [1]);
    // A repetition is accepted, another fingerprint for the id is not; pending lines are answered.
    let ran = watch(&[line(1, 1, 0), line(1, 3, 0), line(4, 4, 0)].concat());
    assert!(
        ran.stderr.contains("error: <stdin>:2: the id 1 is taken"),
        "{}",
        ran.stderr
    );
    let answered = ran.json();
    let new: Vec<_> = answered
        .iter()
        .filter(|answer| answer["verdict"] == "new")
        .filter_map(|answer| answer["id"].as_u64())
        .collect();
    assert_eq!(stored(&folder), [&[1][..], &new].concat());
}

#[test]
fn given_ids_are_never_assigned() {
    let folder = Folder::new();
    let watch = |arguments: &[&str], lines: &[&str]| -> Vec<(Option<u64>, String)> {
        let fixed = ["watch", "a.simdb", "--assign-ids", "--unique", "0"];
        let fixed = [&fixed[..], &["--fingerprint", "fp"]].concat();
        let input = lines.join("\n");
        let ran = folder.cli_from(&[&fixed, arguments].concat(), input.as_bytes());
        let said = |answer: &Value| {
            let (_, id, verdict) = verdict(answer);
            (id, verdict.to_owned())
        };
        ran.ends(0).json().iter().map(said).collect()
    };
    let new = |id| (Some(id), "new".to_owned());
    let fp = |bits: u64| format!("{{\"fp\":\"{bits:016x}\"}}");
    let with_id = |id: u64, bits: u64| format!("{{\"id\":{id},\"fp\":\"{bits:016x}\"}}");
    let said = watch(
        &["--create", "--first-id", "100"],
        &[
            &fp(1),
            &with_id(200, 2),
            &fp(2),
            &fp(3),
            "{\"id\":null,\"fp\":\"00000000000000ff\"}",
        ],
    );
    // The id that was reserved for the duplicate stays unused.
    let duplicate = (None, "duplicate".to_owned());
    assert_eq!(said, [new(100), new(200), duplicate, new(202), new(203)]);
    assert_eq!(watch(&[], &[&fp(9)]), [new(204)]);
    assert_eq!(watch(&["--first-id", "7"], &[&fp(10)]), [new(205)]);
    assert_eq!(watch(&["--first-id", "300"], &[&fp(11)]), [new(300)]);
    assert_eq!(
        watch(&[], &[&with_id(u64::MAX, 12), &fp(13)]),
        [new(u64::MAX), (None, "rejected".to_owned())]
    );
}

#[test]
fn closed_pipe_ends_watch_quietly() {
    let folder = Folder::new();
    let Running {
        mut child,
        mut input,
        mut output,
    } = start(&folder, &["--create", "--fingerprint", "fp"]);
    let feeder = std::thread::spawn(move || {
        (0..).find(|id| {
            input
                .write_all(line(*id, distinct_fingerprint(*id), 0).as_bytes())
                .is_err()
        })
    });
    assert!(
        output
            .next()
            .expect("a line")
            .expect("UTF-8")
            .contains("\"new\"")
    );
    drop(output);
    let status = child.wait().expect("the tool ends");
    let mut stderr = String::new();
    let mut pipe = child.stderr.take().expect("a pipe");
    pipe.read_to_string(&mut stderr).expect("UTF-8");
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(!stderr.contains("error"), "{stderr}");
    feeder.join().expect("the pipe is closed");
    assert_eq!(stored(&folder)[0], 0);
}

#[test]
fn database_is_created_only_on_request_with_given_options() {
    let folder = Folder::new();
    let watch = |arguments: &[&str]| folder.cli(&[&["watch", "a.simdb"], arguments].concat());
    watch(&[]).fails(&["there is no database a.simdb", "--create"]);
    watch(&["--retention", "2d"]).fails(&["there is no database a.simdb"]);
    watch(&["--create", "--time", "t"]).fails(&["--time needs"]);
    watch(&["--create", "--sliding"]).fails(&["--sliding needs"]);
    assert!(folder.names().is_empty());
    watch(&["--create", "--retention", "2d"]).ends(0);
    watch(&["--create", "--retention", "2d"]).ends(0);
    for (arguments, said) in [
        (&["--retention", "3d"][..], "created with --retention 2d"),
        (&["--keep-texts"], "created without --keep-texts"),
        (&["--similar"], "created without --similar"),
        (&["--recipe", "jieba"], "ask for that recipe"),
        (&["--fingerprint", "fp", "--text", "text"], "--keep-texts"),
    ] {
        watch(arguments).fails(&[said]);
    }
}

#[test]
fn frozen_database_is_refused_before_reading() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl", "--frozen"]).ends(0);
    folder.cli(&["watch", "a.simdb"]).fails(&["frozen"]);
}

#[test]
fn expired_documents_never_match_and_are_removed() {
    let folder = Folder::new();
    let fields = [
        "watch",
        "a.simdb",
        "--fingerprint",
        "fp",
        "--time",
        "t",
        "--unique",
        "3",
    ];
    let watch = |more: &[&str], input: &str| -> Vec<String> {
        let ran = folder.cli_from(&[&fields, more].concat(), input.as_bytes());
        let verdict = |answer: &Value| answer["verdict"].as_str().expect("a verdict").to_owned();
        ran.ends(0).json().iter().map(verdict).collect()
    };
    let same = distinct_fingerprint(7);
    let input = [
        line(1, same, 0),
        line(2, same, 60),
        line(3, same, 61),
        line(4, same ^ 1, 90),
        line(5, same, 300),
        // Its id belonged to a removed document.
        line(1, distinct_fingerprint(8), 301),
    ];
    let create = ["--create", "--retention", "1h"];
    assert_eq!(
        watch(&create, &input.concat()),
        ["new", "duplicate", "new", "duplicate", "new", "new"]
    );
    assert_eq!(stored(&folder), [1, 5]);
    let many: String = (1000..1200)
        .map(|id| line(id, distinct_fingerprint(id), 310))
        .collect();
    watch(&[], &many);
    assert_eq!(stored(&folder).len(), 202);
    let later: String = (2000..2100)
        .map(|id| line(id, distinct_fingerprint(id), 600))
        .collect();
    watch(&[], &later);
    let left = stored(&folder);
    assert_eq!(left, (2000..2100).collect::<Vec<_>>());
    // The expired documents are removed from the file as well.
    let stats = folder
        .cli(&["stats", "a.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(stats["documents"], 100);
    folder.cli(&["check", "a.simdb"]).ends(0);
}

#[test]
fn old_documents_are_pruned() {
    let folder = Folder::new();
    let input: String = (0..100)
        .map(|id| line(id, distinct_fingerprint(id), 60 * id))
        .collect();
    let create = [
        "--create",
        "--arrivals",
        "--fingerprint",
        "fp",
        "--time",
        "t",
    ];
    let watch = [&["watch", "a.simdb"], &create[..]].concat();
    folder.cli_from(&watch, b"").ends(0);
    let prune = |arguments: &[&str]| {
        let fixed = ["prune", "a.simdb", "--json"];
        folder.cli(&[&fixed, arguments].concat()).ends(0).one_json()
    };
    let nothing = json!({"before": null, "older": 0, "removed": 0});
    assert_eq!(prune(&["--older-than", "2d"]), nothing);
    folder.cli_from(&watch, input.as_bytes()).ends(0);
    // Counted from the latest arrival, hour 99; a document of hour 51 stays.
    let hour_51 = "2024-01-03T03:00:00.000Z";
    let said =
        |older: u64, removed: u64| json!({"before": hour_51, "older": older, "removed": removed});
    assert_eq!(prune(&["--older-than", "2d", "--dry-run"]), said(51, 0));
    assert_eq!(stored(&folder).len(), 100);
    assert_eq!(prune(&["--older-than", "2d"]), said(51, 51));
    assert_eq!(stored(&folder), (51..100).collect::<Vec<_>>());
    assert_eq!(prune(&["--older-than", "2d"]), said(0, 0));
    assert_eq!(prune(&["--older-than", "100000d"])["removed"], 0);
    // The same time in each accepted form.
    assert_eq!(prune(&["--before", hour_51])["older"], 0);
    let hour_60 = (YEAR + 60 * 3600).to_string();
    assert_eq!(prune(&["--before", &hour_60])["removed"], 9);
    let human = ["prune", "a.simdb", "--before", "2024-01-03T13:00:00Z"];
    let ran = folder.cli(&human).ends(0);
    assert_eq!(
        ran.stdout,
        "removed  1 document  before 2024-01-03T13:00:00.000Z\n"
    );
    folder.cli(&["check", "a.simdb"]).ends(0);
}

#[test]
fn expired_documents_are_not_counted_as_pruned() {
    let folder = Folder::new();
    let watch = ["watch", "a.simdb", "--create", "--retention", "1h"];
    let watch = [&watch[..], &["--fingerprint", "fp", "--time", "t"]].concat();
    let input: String = (0..1000)
        .map(|id| line(id, distinct_fingerprint(id), 0))
        .collect();
    folder.cli_from(&watch, input.as_bytes()).ends(0);
    // Too few changes to remove all expired documents.
    let input = [
        line(5000, distinct_fingerprint(5000), 100),
        line(5001, distinct_fingerprint(5001), 150),
    ];
    folder.cli_from(&watch, input.concat().as_bytes()).ends(0);
    let prune = ["prune", "a.simdb", "--older-than", "30m", "--json"];
    let counted = folder.cli(&[&prune[..], &["--dry-run"]].concat());
    assert_eq!(counted.ends(0).one_json()["older"], 1);
    assert_eq!(folder.cli(&prune).ends(0).one_json()["removed"], 1);
    assert_eq!(stored(&folder), [5001]);
}

#[test]
fn prune_without_arrivals_is_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl"]).ends(0);
    for dry_run in [&[][..], &["--dry-run"]] {
        let arguments = [&["prune", "a.simdb", "--older-than", "2d"], dry_run].concat();
        folder
            .cli(&arguments)
            .fails(&["keeps no arrival times", "--arrivals"]);
    }
}

#[cfg(unix)]
#[test]
fn database_that_is_gone_ends_watch() {
    let text = |id: u64| format!("{{\"id\":{id},\"text\":\"text number {id} of the feed\"}}\n");
    for (change, lines_after) in [
        ("delete", true),
        ("replace", true),
        ("move", true),
        ("delete", false),
    ] {
        let folder = Folder::new();
        folder.write("b.jsonl", text(77));
        folder.load(&["b.simdb", "b.jsonl"]).ends(0);
        let Running {
            child,
            mut input,
            output,
        } = start(&folder, &["--create", "--keep-texts"]);
        let answers = answers(output);
        input.write_all(text(1).as_bytes()).expect("it reads");
        assert_eq!(
            verdict(&answers.recv_timeout(PATIENCE).expect("an answer")).2,
            "new"
        );
        let path = folder.file("a.simdb");
        match change {
            "delete" => std::fs::remove_file(&path),
            "replace" => std::fs::rename(folder.file("b.simdb"), &path),
            _ => std::fs::rename(&path, folder.file("moved.simdb")),
        }
        .expect("changed");
        if lines_after {
            input.write_all(text(2).as_bytes()).expect("it reads");
        }
        drop(input);
        let ran: Ran = child.wait_with_output().expect("it ends").into();
        let mut said = vec![
            "a.simdb was deleted, moved or replaced",
            "no further change is stored",
        ];
        if lines_after {
            said.push("line 2 is not stored, nor a later line without an answer");
        }
        let ran = ran.ends(2);
        for said in said {
            assert!(ran.stderr.contains(said), "{change}: {}", ran.stderr);
        }
        assert!(answers.recv_timeout(PATIENCE).is_err());
        match change {
            "replace" => assert_eq!(stored(&folder), [77]),
            "move" => {
                let moved = folder.cli(&["export", "moved.simdb"]).ends(0).json();
                assert_eq!(moved.len(), 1);
            }
            _ => {}
        }
    }
}

#[test]
fn all_rejected_lines_end_watch_with_an_error() {
    let folder = Folder::new();
    let watch = ["watch", "a.simdb", "--create"];
    let ran = folder.cli_from(&watch, b"x\n[]\n").ends(2);
    assert!(
        ran.stderr.contains("all 2 lines were rejected"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.json().len(), 2);
    let some = format!("x\n{TEXTS}");
    let ran = folder.cli_from(&watch, some.as_bytes()).ends(0);
    assert!(
        ran.stderr
            .contains("warning: 20.0% of the lines were rejected"),
        "{}",
        ran.stderr
    );
}

#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(sent.expect("kill").success());
}

#[cfg(unix)]
#[test]
fn signals_print_counts_and_make_backups() {
    let folder = Folder::new();
    let options = [
        "--create",
        "--keep-texts",
        "--arrivals",
        "--unique",
        "3",
        "--backup",
        "copy.simdb",
        "--metrics",
        "metrics.prom",
    ];
    let Running {
        mut child,
        mut input,
        output,
    } = start(&folder, &options);
    let answers = answers(output);
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let text = "The harbour office will close early on Friday because of the storm";
    let mut send = |id: u64| {
        let line = json!({"id": id, "text": text});
        input
            .write_all(format!("{line}\n").as_bytes())
            .expect("it reads");
        answers.recv_timeout(PATIENCE).expect("an answer");
    };
    send(1);
    send(2);
    signal(&child, "USR1");
    let printed = stderr.next().expect("a line").expect("a line");
    let counts: Value = serde_json::from_str(&printed).expect("JSON");
    for (name, value) in [
        ("read", json!(2)),
        ("answered", json!(2)),
        ("new", json!(1)),
        (
            "refused",
            json!({"duplicate": 1, "exists": 0, "seen": 0, "expired": 0}),
        ),
        ("rejected", json!(0)),
        ("copies", json!(1)),
        ("documents", json!(1)),
    ] {
        assert_eq!(counts[name], value, "{printed}");
    }
    assert!(
        counts["latency_ms"]["max"].as_f64() > Some(0.0),
        "{printed}"
    );
    assert!(
        counts["latest_arrival"].as_str() > Some("2026"),
        "{printed}"
    );
    let latest = counts["latest_arrival"].clone();
    // Two backups: the second replaces the first.
    for backups in 1..=2 {
        signal(&child, "USR2");
        let started = std::time::Instant::now();
        loop {
            signal(&child, "USR1");
            let printed = stderr.next().expect("a line").expect("a line");
            let counts: Value = serde_json::from_str(&printed).expect("JSON");
            assert_eq!(counts["failed_backups"], 0, "{printed}");
            // A copy that is refused does not arrive, and the clock goes on.
            assert_eq!(counts["latest_arrival"], latest, "{printed}");
            if counts["backups"] == backups {
                break;
            }
            assert!(started.elapsed() < PATIENCE, "{printed}");
        }
        if backups == 1 {
            send(3);
        }
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
    let copy = folder.cli(&["export", "copy.simdb"]).ends(0).json();
    assert_eq!(copy.len(), 1);
    folder.cli(&["check", "copy.simdb"]).ends(0);
    let metrics = folder.read("metrics.prom");
    for line in [
        "# TYPE simdb_watch_answers_total counter",
        "simdb_watch_answers_total{verdict=\"new\"} 1",
        "simdb_watch_answers_total{verdict=\"duplicate\"} 2",
        "simdb_watch_read_total 3",
        "simdb_documents 1",
        "simdb_watch_backups_total{result=\"done\"} 2",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line}: {metrics}"
        );
    }
    assert_eq!(folder.names(), ["a.simdb", "copy.simdb", "metrics.prom"]);
}

#[test]
fn counts_and_backups_are_made_on_time() {
    let folder = Folder::new();
    let options = [
        "--create",
        "--metrics",
        "metrics.prom",
        "--stats-every",
        "1s",
        "--backup",
        "copy.simdb",
        "--backup-every",
        "1s",
    ];
    let Running {
        child,
        mut input,
        output,
    } = start(&folder, &options);
    let answers = answers(output);
    input.write_all(TEXTS.as_bytes()).expect("it reads");
    for _ in TEXTS.lines() {
        answers.recv_timeout(PATIENCE).expect("an answer");
    }
    folder.wait_for(|name| name == "copy.simdb");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    drop(input);
    let ran: Ran = child.wait_with_output().expect("it ends").into();
    let ran = ran.ends(0);
    let lines: Vec<Value> = ran
        .stderr
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    assert!(lines.len() >= 2, "{}", ran.stderr);
    assert_eq!(lines.last().expect("a line")["new"], 4);
    assert!(
        folder
            .read("metrics.prom")
            .contains("simdb_watch_read_total 4")
    );
    for (options, said) in [
        (&["--backup-every", "1h"][..], "--backup"),
        (&["--stats-every", "0s"], "at least 1s"),
        (&["--backup", "none/copy.simdb"], "no folder none"),
        (&["--metrics", "none/metrics.prom"], "no folder none"),
    ] {
        folder
            .cli(&[&["watch", "a.simdb"], options].concat())
            .fails(&[said]);
    }
    let own = ["watch", "a.simdb", "--backup", "a.simdb"];
    folder
        .cli_from(&own, TEXTS.as_bytes())
        .fails(&["--backup", "the database"]);
}
