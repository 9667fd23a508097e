//! A killed run of `simdb-cli dedup` continues from its checkpoint.

use super::{Folder, dedup};

const CHECKPOINT: &str = "out.jsonl.checkpoint";

/// Texts of pseudo-random words, every third an edit of a text before it.
fn corpus(texts: u64) -> String {
    let mut state = 7_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut all: Vec<String> = Vec::new();
    for id in 0..texts {
        let text = match id % 3 {
            2 => format!("{}!", all[draw(id) as usize]),
            _ => {
                let words = (0..9).map(|_| format!("w{:x}", draw(3000) * 7919));
                words.collect::<Vec<_>>().join(" ")
            }
        };
        all.push(text);
    }
    let line = |(id, text): (usize, &String)| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    all.iter().enumerate().map(line).collect()
}

/// The arguments of a run in small parts, with a checkpoint after each batch.
fn arguments<'a>(output: &'a str, report: &'a str) -> [&'a str; 9] {
    [
        "a.jsonl",
        "-o",
        output,
        "--report",
        report,
        "--memory",
        "64MiB",
        "--checkpoint-every",
        "0",
    ]
}

/// Starts a run, and kills it after its first checkpoint.
fn kill_after_checkpoint(folder: &Folder) {
    let mut command = folder.command("simdb-cli");
    command.arg("dedup");
    command.args(arguments("out.jsonl", "gone.jsonl"));
    let mut child = command.spawn().unwrap();
    folder.wait_for(|name| name == CHECKPOINT);
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(!folder.names().contains(&"out.jsonl".to_owned()));
}

#[test]
fn killed_run_continues_and_ends_like_a_whole_run() {
    let folder = Folder::new();
    folder.write("a.jsonl", corpus(12_000));
    dedup(&folder, &arguments("whole.jsonl", "whole_gone.jsonl")).ends(0);
    kill_after_checkpoint(&folder);
    let ran = dedup(&folder, &arguments("out.jsonl", "gone.jsonl")).ends(0);
    assert!(
        ran.stderr.contains(&format!("continues from {CHECKPOINT}")),
        "{ran:?}"
    );
    for (name, whole) in [
        ("out.jsonl", "whole.jsonl"),
        ("gone.jsonl", "whole_gone.jsonl"),
    ] {
        assert!(
            folder.read(name) == folder.read(whole),
            "{name} is not {whole}"
        );
    }
    assert!(folder.read_json("gone.jsonl").len() > 3000);
    assert!(!folder.names().contains(&CHECKPOINT.to_owned()));
}

#[test]
fn checkpoint_of_other_inputs_or_options_or_with_damage_is_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", corpus(12_000));
    kill_after_checkpoint(&folder);
    let run = |more: &[&str]| {
        let arguments = arguments("out.jsonl", "gone.jsonl");
        dedup(&folder, &[&arguments[..], more].concat())
    };
    let other = ["out.jsonl.checkpoint is the checkpoint of other inputs or options"];
    let stderr = run(&["--jaccard", "0.7"]).ends(2).stderr;
    assert!(stderr.contains(other[0]), "{stderr}");
    assert!(!stderr.contains("continues from"), "{stderr}");
    folder.write("a.jsonl", corpus(12_001));
    assert!(run(&[]).ends(2).stderr.contains(other[0]));
    folder.write("a.jsonl", corpus(12_000));
    let mut checkpoint = std::fs::read(folder.file(CHECKPOINT)).unwrap();
    checkpoint[40] ^= 1;
    folder.write(CHECKPOINT, &checkpoint);
    run(&[]).fails(&["out.jsonl.checkpoint is not a whole checkpoint; remove it"]);
    assert!(!folder.names().contains(&"out.jsonl".to_owned()));
    run(&["--radius", "3"]).fails(&["--checkpoint-every needs the comparison of texts"]);
    // A run without checkpoints leaves a file that is none, and removes the one of its output.
    let by_radius = ["a.jsonl", "-o", "out.jsonl", "--radius", "3", "--force"];
    dedup(&folder, &by_radius).ends(0);
    assert!(std::fs::read(folder.file(CHECKPOINT)).unwrap() == checkpoint);
    checkpoint[40] ^= 1;
    folder.write(CHECKPOINT, &checkpoint);
    dedup(&folder, &by_radius).ends(0);
    assert!(!folder.names().contains(&CHECKPOINT.to_owned()));
    run(&["--force"]).ends(0);
}
