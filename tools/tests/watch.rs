//! `simdb-cli watch` and `prune`: a stream that is deduplicated as it comes, and grows old.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::common::{Folder, PATIENCE, Ran, TEXTS, stop};
use serde_json::{Value, json};

/// A line for `--fingerprint fp --time t`.
fn line(id: u64, bits: u64, minutes: u64) -> String {
    format!(
        "{{\"id\":{id},\"fp\":\"{bits:016x}\",\"t\":{}}}\n",
        minutes * 60
    )
}

/// Fingerprints that lie far apart.
fn spread(id: u64) -> u64 {
    id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What an answer says: line, id, verdict.
fn verdict(answer: &Value) -> (u64, Option<u64>, &str) {
    let line = answer["line"].as_u64().expect("a line");
    (
        line,
        answer["id"].as_u64(),
        answer["verdict"].as_str().expect("a verdict"),
    )
}

/// The ids of the documents that are stored.
fn stored(folder: &Folder) -> Vec<u64> {
    let documents = folder.cli(&["export", "a.simdb"]).ends(0).json();
    let id = |document: &Value| document["id"].as_u64().expect("an id");
    documents.iter().map(id).collect()
}

/// A tool that runs, and what goes in and comes out.
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

/// Answers as they come, so that a test need not wait for ever.
fn answers(output: Lines<BufReader<ChildStdout>>) -> Receiver<Value> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in output {
            let line = line.expect("a line");
            // A tool that was killed may have left a part of one.
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
fn every_line_has_its_verdict_in_order() {
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
fn many_lines_are_decided_as_if_one_by_one() {
    let folder = Folder::new();
    // Each of the second half differs in one bit from one of the first.
    const HALF: u64 = 15_000;
    let input: String = (0..2 * HALF)
        .map(|id| line(id, spread(id % HALF + 1) ^ (id / HALF), 0))
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
fn a_lone_line_is_answered_at_once() {
    let folder = Folder::new();
    let Running {
        mut child,
        mut input,
        output,
    } = start(&folder, &["--create", "--fingerprint", "fp"]);
    let answers = answers(output);
    for id in 1..4 {
        input
            .write_all(line(id, spread(id), 0).as_bytes())
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
fn a_signal_ends_it_with_everything_on_its_way_answered() {
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new();
        let mut running = start(&folder, &["--create", "--fingerprint", "fp"]);
        for id in 0..1000 {
            let line = line(id, spread(id), 0);
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

/// Waits until no more bytes go in, because all pipes are full; not for ever.
#[cfg(unix)]
fn wait_until_it_stands(fed: &AtomicUsize) {
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

/// Nobody reads its answers, but might still.
#[cfg(unix)]
#[test]
fn a_second_signal_ends_it_at_once() {
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
            let line = line(*id, spread(*id), 0);
            bytes_fed.fetch_add(line.len(), Ordering::Relaxed);
            input.write_all(line.as_bytes()).is_err()
        })
    });
    output.next().expect("a line").expect("UTF-8");
    wait_until_it_stands(&fed);
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
fn what_was_answered_is_stored_after_a_kill() {
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
        // Until it is killed.
        (0..).find(|id| {
            input
                .write_all(line(*id, spread(*id), 0).as_bytes())
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
    // Only a writer can mend the file, and go on with it.
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
fn a_line_that_is_no_document_is_rejected_and_the_others_go_on() {
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
fn one_bad_line_is_enough_where_that_is_asked_for() {
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
    // A repetition is harmless, another fingerprint is not; what was on its way is answered.
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
fn ids_that_are_given_are_never_taken() {
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
    // The id that the duplicate did not need is left out.
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
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let folder = Folder::new();
    let Running {
        mut child,
        mut input,
        mut output,
    } = start(&folder, &["--create", "--fingerprint", "fp"]);
    let feeder = std::thread::spawn(move || {
        (0..).find(|id| {
            input
                .write_all(line(*id, spread(*id), 0).as_bytes())
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
fn a_database_is_created_only_if_that_is_asked_for_and_only_as_asked_for() {
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
        (&["--retention", "3d"][..], "created without --retention 3d"),
        (&["--keep-texts"], "created without --keep-texts"),
        (&["--similar"], "created without --similar"),
        (&["--recipe", "jieba"], "ask for that recipe"),
        (&["--fingerprint", "fp", "--text", "text"], "--keep-texts"),
    ] {
        watch(arguments).fails(&[said]);
    }
}

#[test]
fn a_frozen_database_says_so_before_anything_comes() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl", "--frozen"]).ends(0);
    folder.cli(&["watch", "a.simdb"]).fails(&["frozen"]);
}

#[test]
fn what_is_old_never_matches_and_goes_by_itself() {
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
    let same = spread(7);
    let input = [
        line(1, same, 0),
        line(2, same, 60),
        line(3, same, 61),
        line(4, same ^ 1, 90),
        line(5, same, 300),
        // Its id was that of one that is gone.
        line(1, spread(8), 301),
    ];
    let create = ["--create", "--retention", "1h"];
    assert_eq!(
        watch(&create, &input.concat()),
        ["new", "duplicate", "new", "duplicate", "new", "new"]
    );
    assert_eq!(stored(&folder), [1, 5]);
    let many: String = (1000..1200).map(|id| line(id, spread(id), 310)).collect();
    watch(&[], &many);
    assert_eq!(stored(&folder).len(), 202);
    let later: String = (2000..2100).map(|id| line(id, spread(id), 600)).collect();
    watch(&[], &later);
    let left = stored(&folder);
    assert_eq!(left, (2000..2100).collect::<Vec<_>>());
    // They are gone from the file as well.
    let stats = folder
        .cli(&["stats", "a.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(stats["documents"], 100);
    folder.cli(&["check", "a.simdb"]).ends(0);
}

#[test]
fn what_arrived_long_ago_is_pruned() {
    let folder = Folder::new();
    let input: String = (0..100).map(|id| line(id, spread(id), 60 * id)).collect();
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
    // Counted back from the latest, which arrived in hour 99; what arrived in hour 51 stays.
    let hour_51 = "1970-01-03T03:00:00.000Z";
    let said =
        |older: u64, removed: u64| json!({"before": hour_51, "older": older, "removed": removed});
    assert_eq!(prune(&["--older-than", "2d", "--dry-run"]), said(51, 0));
    assert_eq!(stored(&folder).len(), 100);
    assert_eq!(prune(&["--older-than", "2d"]), said(51, 51));
    assert_eq!(stored(&folder), (51..100).collect::<Vec<_>>());
    assert_eq!(prune(&["--older-than", "2d"]), said(0, 0));
    assert_eq!(prune(&["--older-than", "100000d"])["removed"], 0);
    // A moment in all its forms.
    assert_eq!(prune(&["--before", hour_51])["older"], 0);
    let hour_60 = (60 * 3600).to_string();
    assert_eq!(prune(&["--before", &hour_60])["removed"], 9);
    let human = ["prune", "a.simdb", "--before", "1970-01-03T13:00:00Z"];
    let ran = folder.cli(&human).ends(0);
    assert_eq!(
        ran.stdout,
        "removed  1 document  before 1970-01-03T13:00:00.000Z\n"
    );
    folder.cli(&["check", "a.simdb"]).ends(0);
}

#[test]
fn what_is_expired_is_not_counted_as_old() {
    let folder = Folder::new();
    let watch = ["watch", "a.simdb", "--create", "--retention", "1h"];
    let watch = [&watch[..], &["--fingerprint", "fp", "--time", "t"]].concat();
    let input: String = (0..1000).map(|id| line(id, spread(id), 0)).collect();
    folder.cli_from(&watch, input.as_bytes()).ends(0);
    // Too few for all that is expired to go at once.
    let input = [line(5000, spread(5000), 100), line(5001, spread(5001), 150)];
    folder.cli_from(&watch, input.concat().as_bytes()).ends(0);
    let prune = ["prune", "a.simdb", "--older-than", "30m", "--json"];
    let counted = folder.cli(&[&prune[..], &["--dry-run"]].concat());
    assert_eq!(counted.ends(0).one_json()["older"], 1);
    assert_eq!(folder.cli(&prune).ends(0).one_json()["removed"], 1);
    assert_eq!(stored(&folder), [5001]);
}

#[test]
fn a_database_without_times_is_not_pruned() {
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
