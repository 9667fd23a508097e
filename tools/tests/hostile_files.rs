//! Hostile input to the tools: untrusted files, huge numbers, links and special files as paths.

use std::io::Write;

use crate::common::{Folder, Ran, TEXTS, raw_pairs};
#[cfg(unix)]
use crate::common::{PATIENCE, in_thread};
use serde_json::{Value, json};

const TEXT: &str = "the quick brown fox jumps over the lazy dog near the river bank this morning";

fn with_texts() -> Folder {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    folder
}

/// The reasons for rejected lines, by line.
fn reasons(folder: &Folder, name: &str) -> Vec<(u64, String)> {
    let rejects = folder.read_json(name);
    let reason = |reject: &Value| {
        let text = reject["reason"].as_str().expect("a reason");
        (reject["line"].as_u64().expect("a line"), text.to_owned())
    };
    rejects.iter().map(reason).collect()
}

#[test]
fn invalid_lines_are_reported_and_rest_loaded() {
    let folder = Folder::new();
    let nested = format!("{{\"id\":1,\"x\":{}", "[".repeat(100_000));
    let many: String = (0..100_000).map(|n| format!("\"x{n}\":{n},")).collect();
    let many = format!("{{{many}\"id\":7,\"text\":\"{TEXT}\"}}");
    let bad: [(&[u8], &str); 12] = [
        (b"{\"id\":1e400,\"text\":\"a\"}", "malformed JSON"),
        (b"{\"id\":-1,\"text\":\"a\"}", "-1 is not an id"),
        (
            b"{\"id\":18446744073709551616,\"text\":\"a\"}",
            "is not an id",
        ),
        (b"{\"id\":1.5,\"text\":\"a\"}", "1.5 is not an id"),
        (
            b"{\"id\":\"18446744073709551616\",\"text\":\"a\"}",
            "is not an id",
        ),
        (
            b"{\"id\":1,\"id\":2,\"text\":\"a\"}",
            "\"id\" is there twice",
        ),
        (
            b"{\"id\":1,\"text\":\"a\",\"text\":\"b\"}",
            "\"text\" is there twice",
        ),
        (b"{\"id\":1,\"text\":\"a\0\"}", "NUL bytes"),
        (b"\0\0\0\0", "NUL bytes"),
        (b"{\"id\":1,\"text\":\"\xff\"}", "invalid UTF-8"),
        (nested.as_bytes(), "malformed JSON"),
        (b"{\"id\":1,\"text\":[\"a\"]}", "is an array"),
    ];
    let mut lines = "\u{feff}".as_bytes().to_vec();
    for (line, _) in bad {
        lines.extend_from_slice(line);
        lines.push(b'\n');
    }
    lines.extend(many.as_bytes());
    lines.extend(b"\n{\"id\":8,\"text\":\"a NUL \\u0000 is a character like others\"}\n");
    folder.write("bad.jsonl", lines);
    let arguments = ["a.simdb", "bad.jsonl", "--keep-texts", "--json"];
    folder.load(&arguments).fails(&["bad.jsonl:1: malformed"]);
    let skip = ["--on-error", "skip", "--rejects", "r.jsonl"];
    let summary = folder.load(&[&arguments[..], &skip].concat()).ends(0);
    assert_eq!(summary.one_json()["inserted"], 2);
    let reasons = reasons(&folder, "r.jsonl");
    assert_eq!(reasons.len(), bad.len());
    for (place, ((line, reason), (_, said))) in reasons.iter().zip(bad).enumerate() {
        assert_eq!(*line, place as u64 + 1);
        assert!(reason.contains(said) && reason.len() < 300, "{reason}");
    }
    let stored = folder.cli(&["get", "a.simdb", "8", "--json"]).ends(0);
    assert_eq!(
        stored.one_json()["text"],
        "a NUL \0 is a character like others"
    );
}

#[test]
fn text_length_limit_is_exact() {
    let folder = Folder::new();
    let (fits, long) = ("a".repeat(1 << 10), "a".repeat((1 << 10) + 1));
    let line = |id: u64, text: &str| format!("{}\n", json!({"id": id, "text": text}));
    folder.write("a.jsonl", line(1, &fits) + &line(2, &long));
    folder.write("a.csv", format!("id,text\n1,{fits}\n2,{long}\n"));
    folder.write("a.txt", format!("{fits}\n{long}\n"));
    for name in ["a.jsonl", "a.csv", "a.txt"] {
        let database = format!("{name}.simdb");
        let skip = ["--on-error", "skip", "--rejects", "r.jsonl", "--force"];
        let arguments = [&database, name, "--max-text", "1KiB", "--json"];
        let summary = folder.load(&[&arguments[..], &skip].concat()).ends(0);
        assert_eq!(summary.one_json()["inserted"], 1, "{name}");
        let [reject] = &folder.read_json("r.jsonl")[..] else {
            panic!("one of {name} is too long");
        };
        assert_eq!(reject["id"], 2);
        let reason = reject["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("1024 bytes") || reason.contains("at most 1024"),
            "{reason}"
        );
        assert!(reason.contains("--max-text"), "{reason}");
    }
    let watched = folder
        .cli_from(
            &["watch", "w.simdb", "--create", "--max-text", "1KiB"],
            folder.read("a.jsonl").as_bytes(),
        )
        .ends(0);
    let verdicts: Vec<_> = watched
        .json()
        .iter()
        .map(|answer| answer["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["new", "rejected"]);
    for refused in ["0", "129MiB", "much"] {
        folder
            .load(&["x.simdb", "a.jsonl", "--max-text", refused])
            .ends(2);
    }
}

/// 64 MiB of one letter as a member of a compressed file.
fn member(extension: &str) -> Vec<u8> {
    let part = vec![b'a'; 1 << 20];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut zstandard = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    for _ in 0..64 {
        match extension {
            "gz" => gzip.write_all(&part).expect("compressed"),
            _ => zstandard.write_all(&part).expect("compressed"),
        }
    }
    match extension {
        "gz" => gzip.finish().expect("compressed"),
        _ => zstandard.finish().expect("compressed"),
    }
}

/// One line of a gigabyte, in a file of a few hundred kilobytes, with 700 MB of address space.
#[cfg(target_os = "linux")]
#[test]
fn decompression_bomb_is_skipped_in_little_memory() {
    let folder = Folder::new();
    let good = format!("\n{}\n", json!({"id": 1, "text": TEXT}));
    for extension in ["gz", "zst"] {
        let end = match extension {
            "gz" => {
                let mut end = flate2::write::GzEncoder::new(Vec::new(), Default::default());
                end.write_all(good.as_bytes()).expect("compressed");
                end.finish().expect("compressed")
            }
            _ => zstd::encode_all(good.as_bytes(), 1).expect("compressed"),
        };
        let mut bytes = member(extension).repeat(16);
        bytes.extend(end);
        assert!(bytes.len() < 10_000_000);
        let name = format!("bomb.jsonl.{extension}");
        folder.write(&name, bytes);
        let script = format!(
            "ulimit -v 700000; exec {} {extension}.simdb {name} --max-text 1MiB --memory 64MiB \
             --threads 1 --on-error skip --rejects r.jsonl --force --json",
            env!("CARGO_BIN_EXE_simdb-load")
        );
        let ran = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(folder.path())
            .output()
            .expect("a shell");
        let ran: Ran = ran.into();
        assert_eq!(ran.ends(0).one_json()["inserted"], 1);
        let [(1, reason)] = &reasons(&folder, "r.jsonl")[..] else {
            panic!("one line is too long");
        };
        assert!(reason.contains("the line is longer than"), "{reason}");
    }
}

#[test]
fn zstd_with_huge_window_is_refused() {
    let folder = Folder::new();
    // A Zstandard frame with a window of 2 GiB, and a raw block of one byte.
    folder.write("w.jsonl.zst", b"\x28\xb5\x2f\xfd\x00\xa8\x09\x00\x00a");
    folder.load(&["a.simdb", "w.jsonl.zst"]).fails(&[
        "cannot read w.jsonl.zst",
        "window",
        "`zstd -d --long=31`",
    ]);
    assert_eq!(folder.names(), ["w.jsonl.zst"]);
}

#[test]
fn million_columns_give_short_message() {
    let folder = Folder::new();
    let columns: String = (0..1_000_000).map(|n| format!("c{n},")).collect();
    folder.write("header.csv", format!("{columns}\u{1b}[31mend\n1\n"));
    let ran = folder.load(&["a.simdb", "header.csv"]);
    let ran = ran.fails(&[
        "there is no column \"id\"; the columns are c0, c1,",
        "…; name the right one with --id",
    ]);
    assert!(ran.stderr.len() < 1000);
    folder.write("names.csv", "a\u{1b}[31m,b\n");
    let ran = folder.load(&["a.simdb", "names.csv"]).ends(2);
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
    folder.write("record.csv", format!("id,text\n{columns}\n2,{TEXT}\n"));
    folder
        .load(&["a.simdb", "record.csv"])
        .fails(&["record.csv:2: there are 1000001 fields under 2 column names"]);
    let skip = ["a.simdb", "record.csv", "--on-error", "skip", "--json"];
    assert_eq!(folder.load(&skip).ends(0).one_json()["inserted"], 1);
}

#[test]
fn huge_numbers_mean_no_limit() {
    let folder = with_texts();
    let most = u64::MAX.to_string();
    for option in ["--limit", "--nearest"] {
        let arguments = ["query", "a.simdb", "--text", TEXT, option, &most, "--json"];
        let found = folder.cli(&arguments).ends(0).one_json();
        assert!(!found["matches"].as_array().expect("matches").is_empty());
    }
    let similar = [
        "query",
        "a.simdb",
        "--text",
        TEXT,
        "--similar",
        "--limit",
        &most,
    ];
    folder.cli(&similar).ends(0);
    // The address space may suffice or not.
    let before = folder.names();
    let loaded = folder.load(&["b.simdb", "a.jsonl", "--memory", "16EiB"]);
    match loaded.code {
        0 => {
            let stored = folder.cli(&["export", "b.simdb"]).ends(0);
            assert_eq!(stored.json().len(), 4);
        }
        _ => {
            loaded.fails(&[]);
            assert_eq!(folder.names(), before);
        }
    }
    let last = [
        "c.simdb",
        "a.jsonl",
        "--format",
        "lines",
        "--first-id",
        &most,
    ];
    folder.load(&last).fails(&["has no id"]);
    let shown = format!("--show-duplicates={most}");
    folder
        .load(&["d.simdb", "a.jsonl", "--unique", "3", &shown])
        .ends(2);
    let top = ["hash", TEXT, "--recipe", "cppjieba", "--top", "4294967295"];
    folder.cli(&top).ends(0);
}

#[test]
fn thousands_of_matches_are_printed_whole() {
    let folder = Folder::new();
    let pairs: Vec<_> = (0..3000).map(|id| (id, 7)).collect();
    folder.write("a.raw", raw_pairs(&pairs));
    folder.write(
        "q.jsonl",
        "{\"fingerprint\":\"0000000000000007\"}\n".repeat(2),
    );
    folder.load(&["a.simdb", "a.raw"]).ends(0);
    let one = ["query", "a.simdb", "--fingerprint", "0000000000000007"];
    let file = ["query", "a.simdb", "--file", "q.jsonl"];
    let found = folder
        .cli(&[&one[..], &["--json"]].concat())
        .ends(0)
        .one_json();
    let ids: Vec<_> = found["matches"]
        .as_array()
        .expect("matches")
        .iter()
        .map(|found| found["id"].as_u64().expect("an id"))
        .collect();
    assert_eq!(ids, Vec::from_iter(0..3000));
    let of_file = folder
        .cli(&[&file[..], &["--json"]].concat())
        .ends(0)
        .json();
    assert_eq!(of_file.len(), 2);
    for answer in &of_file {
        assert_eq!(answer["matches"], found["matches"]);
    }
    assert_eq!(folder.cli(&one).ends(0).stdout.lines().count(), 3000);
    assert_eq!(folder.cli(&file).ends(0).stdout.lines().count(), 6000);
}

#[test]
fn long_texts_are_truncated_in_tables() {
    let folder = Folder::new();
    let text = format!("{TEXT} {}", "\u{301}".repeat(200_000));
    folder.write("a.jsonl", json!({"id": 1, "text": text}).to_string());
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    let row = folder
        .cli(&["query", "a.simdb", "--text", TEXT])
        .ends(0)
        .stdout;
    assert!(
        row.len() < 2000 && row.contains("the quick"),
        "{}",
        row.len()
    );
}

#[test]
fn byte_order_mark_is_not_part_of_text() {
    let folder = Folder::new();
    for recipe in ["ngram", "java-string-hash"] {
        let hash = |input: &str| {
            let arguments = ["hash", "--recipe", recipe];
            folder.cli_from(&arguments, input.as_bytes()).ends(0).stdout
        };
        assert_eq!(hash(&format!("\u{feff}{TEXT}\n")), hash(TEXT));
    }
    let pair = json!({"a": TEXT, "b": TEXT});
    folder.write("pairs.jsonl", format!("\u{feff}{pair}\n"));
    let compare = ["compare", "--pairs", "pairs.jsonl", "--json"];
    folder.cli(&compare).ends(0);
}

#[test]
fn invalid_line_of_pairs_is_explained() {
    let folder = Folder::new();
    let nested = format!("{{\"text\":{}", "[".repeat(100_000));
    for (line, said) in [
        (nested.as_str(), "recursion limit"),
        ("{\"text\":\"a\",\"text\":\"b\"}", "\"text\" is there twice"),
        ("[1]", "not a JSON object"),
        ("{\"text\":1e400}", "malformed JSON"),
    ] {
        folder.write("a.jsonl", format!("\n{line}\n"));
        folder
            .cli(&["compare", "--pairs", "a.jsonl", "--json"])
            .fails(&["cannot read a.jsonl:2", said]);
    }
}

#[cfg(unix)]
#[test]
fn oversized_dictionary_is_refused() {
    let folder = Folder::new();
    for option in ["--dictionary", "--idf", "--stop-words"] {
        folder
            .cli(&["hash", TEXT, "--recipe", "jieba", option, "/dev/zero"])
            .fails(&["/dev/zero", "more than 67108864 bytes"]);
    }
}

#[cfg(unix)]
#[test]
fn output_to_pipe_or_standard_output_is_complete() {
    let folder = with_texts();
    let exported = folder.cli(&["export", "a.simdb"]).ends(0).stdout;
    for name in ["-", "/dev/stdout"] {
        let arguments = ["export", "a.simdb", "-o", name];
        assert_eq!(folder.cli(&arguments).ends(0).stdout, exported, "{name}");
    }
    folder
        .cli(&["export", "a.simdb", "-o", "/dev/null"])
        .ends(0);
    let made = std::process::Command::new("mkfifo")
        .arg(folder.file("pipe"))
        .status();
    assert!(made.expect("mkfifo").success());
    let read = || {
        let path = folder.file("pipe");
        in_thread(|| std::fs::read_to_string(path).expect("read"))
    };
    let reading = read();
    folder.cli(&["export", "a.simdb", "-o", "pipe"]).ends(0);
    assert_eq!(reading.recv_timeout(PATIENCE), Ok(exported));
    folder.write("bad.jsonl", "bad\n{\"id\":77,\"text\":\"a good text\"}\n");
    let reading = read();
    let skip = ["--on-error", "skip", "--rejects", "pipe"];
    folder
        .load(&[&["a.simdb", "bad.jsonl"][..], &skip].concat())
        .ends(0);
    let read = reading.recv_timeout(PATIENCE).expect("the pipe is closed");
    assert!(read.contains("malformed JSON"), "{read}");
    let names = ["a.jsonl", "a.simdb", "bad.jsonl", "pipe"];
    assert_eq!(folder.names(), names);
}

#[cfg(unix)]
#[test]
fn existing_file_is_replaced_only_with_force() {
    use std::os::unix::fs::symlink;
    let folder = with_texts();
    folder.write("precious", "precious");
    folder.write("bad.jsonl", "bad\n{\"id\":77,\"text\":\"a good text\"}\n");
    symlink("precious", folder.file("link")).expect("a link");
    symlink("nowhere", folder.file("dangling")).expect("a link");
    let before = folder.names();
    let rejects = ["bad.jsonl", "--on-error", "skip", "--rejects"];
    let runs = |name: &str, force: &[&str]| {
        [
            folder.load(&[&["b.simdb"], &rejects[..], &[name], force].concat()),
            folder.cli(&[&["export", "a.simdb", "-o", name], force].concat()),
        ]
    };
    for name in ["precious", "link", "dangling"] {
        for ran in runs(name, &[]) {
            ran.fails(&[name, "already exists", "--force"]);
        }
    }
    for (name, force) in [
        ("dangling", &["--force"][..]),
        ("a.simdb", &["--force"]),
        ("a.simdb", &[]),
    ] {
        for ran in runs(name, force) {
            ran.fails(&[name]);
        }
    }
    assert_eq!(folder.read("precious"), "precious");
    assert_eq!(folder.names(), before);
    for name in ["precious", "link"] {
        for ran in runs(name, &["--force"]) {
            ran.ends(0);
        }
        // Only the report of the last run.
        assert_eq!(folder.read_json("precious").len(), 4);
        assert!(folder.file("link").is_symlink());
    }
}

#[cfg(unix)]
#[test]
fn path_of_no_regular_file_is_refused() {
    use std::os::unix::fs::symlink;
    let folder = with_texts();
    folder.write("empty", "");
    std::fs::create_dir(folder.file("folder")).expect("a folder");
    symlink("nowhere", folder.file("dangling")).expect("a link");
    symlink("a.simdb", folder.file("link")).expect("a link");
    let made = std::process::Command::new("mkfifo")
        .arg(folder.file("pipe"))
        .status();
    assert!(made.expect("mkfifo").success());
    let before = folder.names();
    for name in ["empty", "folder", "dangling", "pipe", "/dev/null"] {
        for verb in [
            &["stats", name][..],
            &["query", name, "--text", TEXT],
            &["check", name],
        ] {
            let ran = folder.cli(verb).fails(&[name]);
            assert!(ran.stderr.len() < 500, "{ran:?}");
        }
        folder
            .cli(&["insert", name, "9", "--text", TEXT])
            .fails(&[name]);
        folder.cli(&["watch", name, "--create"]).ends(2);
        folder.load(&[name, "a.jsonl"]).fails(&[name]);
        folder
            .load(&[name, "a.jsonl", "--unique", "3"])
            .fails(&[name]);
    }
    assert_eq!(folder.names(), before);
    assert_eq!(folder.read("empty"), "");
    folder.cli(&["stats", "link"]).ends(0);
}

#[test]
fn invalid_line_is_quoted_in_part() {
    let folder = Folder::new();
    let article = json!(TEXT.repeat(1000)).to_string();
    folder.write("a.jsonl", format!("{article}\n"));
    let ran = folder.load(&["a.simdb", "a.jsonl"]).fails(&[
        "a.jsonl:1: ",
        "the quick",
        "expected a JSON object",
    ]);
    assert!(ran.stderr.len() < 400, "{}", ran.stderr);
    let skip = ["--on-error", "skip", "--rejects", "r.jsonl"];
    folder
        .load(&[&["a.simdb", "a.jsonl"], &skip[..]].concat())
        .ends(2);
    let reason = &reasons(&folder, "r.jsonl")[0].1;
    assert!(reason.len() < 200, "{reason}");
    folder.write("t.jsonl", TEXTS);
    let dedup = ["dedup", "t.jsonl", "-o", "o.jsonl"];
    let ran = folder
        .cli(&[&dedup[..], &["--clusters", "a.jsonl"]].concat())
        .fails(&["a.jsonl", ".csv and .parquet are read"]);
    assert!(ran.stderr.len() < 400, "{}", ran.stderr);
}

#[test]
fn impossible_file_names_are_refused_early() {
    let folder = with_texts();
    folder.write("bad.jsonl", "bad\n{\"id\":77,\"text\":\"a good text\"}\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", folder.file("link")).expect("a link");
    let before = folder.names();
    // A rejected line would be reported as soon as work begins.
    for unique in [&[][..], &["--unique", "3"]] {
        for name in ["new/", "new/."] {
            folder
                .load(&[&[name, "bad.jsonl"], unique].concat())
                .fails(&["cannot create new/", "the name of a folder"]);
        }
        #[cfg(unix)]
        folder
            .load(&[&["link", "bad.jsonl"], unique].concat())
            .fails(&["cannot create link", "symbolic link"]);
    }
    let skip = ["b.simdb", "bad.jsonl", "--on-error", "skip"];
    folder
        .load(&[&skip[..], &["--rejects", "r/"]].concat())
        .fails(&["cannot write r/", "the name of a folder"]);
    for name in ["kept/", "kept/."] {
        folder
            .cli(&["dedup", "bad.jsonl", "-o", name])
            .fails(&["cannot write kept/", "the name of a folder"]);
        folder
            .cli(&["export", "a.simdb", "-o", name])
            .fails(&["cannot write kept/", "the name of a folder"]);
    }
    assert_eq!(folder.names(), before);
}

#[cfg(unix)]
#[test]
fn longest_file_names_are_accepted() {
    let folder = with_texts();
    folder.write("bad.jsonl", "bad\n{\"id\":77,\"text\":\"a good text\"}\n");
    for len in [240, 241, 243, 244, 255] {
        let name = |end: &str| format!("{}{end}", "n".repeat(len - end.len()));
        let (exported, kept, rejects) = (name("e.jsonl"), name("k.jsonl"), name("r.jsonl"));
        folder.cli(&["export", "a.simdb", "-o", &exported]).ends(0);
        folder.cli(&["dedup", "a.jsonl", "-o", &kept]).ends(0);
        let database = format!("{len}.simdb");
        let skip = [&database, "bad.jsonl", "--on-error", "skip"];
        folder
            .load(&[&skip[..], &["--rejects", &rejects]].concat())
            .ends(0);
        let arrays = ["export", "a.simdb", "--format", "npy", "-o"];
        folder.cli(&[&arrays[..], &[&name("a")]].concat()).ends(0);
        for made in [exported, kept, rejects] {
            assert!(!folder.read(&made).is_empty(), "{len}");
        }
    }
    assert!(!folder.names().iter().any(|name| name.ends_with(".new")));
}
