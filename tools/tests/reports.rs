//! Report files of single documents: `--rejects`, `--duplicates` and `dedup --report`.

use crate::common::{Folder, Ran, TEXTS};

/// Texts with a near-duplicate, and an invalid line.
fn folder_with_reports() -> Folder {
    let folder = Folder::new();
    folder.write("a.jsonl", format!("{TEXTS}bad\n"));
    folder
}

/// Options for a load that writes reports.
const LOAD: [&str; 5] = ["a.jsonl", "--unique", "3", "--on-error", "skip"];
const DEDUP: [&str; 4] = ["dedup", "a.jsonl", "--on-error", "skip"];

/// Runs a tool with an option that names a report file.
fn report(folder: &Folder, run: usize, option: &str, named: &[&str]) -> Ran {
    let made = &format!("{run}.made")[..];
    match option {
        "--report" => folder.cli(&[&DEDUP[..], &["-o", made, option], named].concat()),
        _ => folder.load(&[&[made], &LOAD[..], &[option], named].concat()),
    }
}

#[test]
fn report_replaces_other_file_only_with_force() {
    let folder = folder_with_reports();
    for (run, option) in [(0, "--rejects"), (10, "--duplicates"), (20, "--report")] {
        let name = option.trim_start_matches('-');
        report(&folder, run, option, &[name]).ends(0);
        let written = folder.read(name);
        assert_eq!(folder.read_json(name).len(), 1);
        folder.write(name, "precious");
        let before = folder.names();
        report(&folder, run + 1, option, &[name]).fails(&[name, "already exists", "--force"]);
        assert_eq!(
            (folder.read(name), folder.names()),
            ("precious".to_owned(), before)
        );
        report(&folder, run + 2, option, &[name, "--force"]).ends(0);
        assert_eq!(folder.read(name), written);
    }
}

#[test]
fn report_never_replaces_input_or_database() {
    let folder = folder_with_reports();
    folder.load(&["other.simdb"]).ends(0);
    let other = std::fs::read(folder.file("other.simdb")).expect("a database");
    let before = folder.names();
    for option in ["--rejects", "--duplicates", "--report"] {
        for (name, said) in [
            ("a.jsonl", "is an input"),
            ("other.simdb", "other.simdb is a database"),
        ] {
            report(&folder, 1, option, &[name, "--force"]).fails(&[option, name, said]);
        }
    }
    assert_eq!(folder.names(), before);
    assert_eq!(folder.read("a.jsonl"), format!("{TEXTS}bad\n"));
    assert_eq!(
        std::fs::read(folder.file("other.simdb")).expect("it is there"),
        other
    );
}

#[cfg(target_os = "linux")]
#[test]
fn report_on_full_disk_does_not_stop_the_run() {
    const FULL: &str = "/dev/full";
    let folder = folder_with_reports();
    folder.write(
        "first.jsonl",
        "{\"id\":9,\"text\":\"a text like no other\"}\n",
    );
    for (number, (reports, written)) in [
        (["--rejects", FULL, "--report", "b"], Some("b")),
        (["--rejects", "c", "--report", FULL], Some("c")),
        (["--rejects", FULL, "--report", FULL], None),
    ]
    .into_iter()
    .enumerate()
    {
        let (all, kept) = (format!("{number}.simdb"), format!("{number}.jsonl"));
        folder.load(&[&all, "first.jsonl", "--keep-texts"]).ends(0);
        let against = ["-o", &kept, "--against", &all, "--add"];
        let ran = folder
            .cli(&[&DEDUP[..], &against, &reports].concat())
            .ends(2);
        let said = "error: everything else is done, but /dev/full is not written";
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        let stats = folder.cli(&["stats", &all, "--json"]).ends(0).one_json();
        assert_eq!(stats["documents"], 1 + 3, "{reports:?}");
        assert_eq!(folder.read_json(&kept).len(), 3);
        if let Some(written) = written {
            assert_eq!(folder.read_json(written).len(), 1);
        }
    }
    for (new, reports, written) in [
        ("d.simdb", ["--rejects", FULL, "--duplicates", "d"], "d"),
        ("e.simdb", ["--rejects", "e", "--duplicates", FULL], "e"),
    ] {
        let ran = folder.load(&[&[new], &LOAD[..], &reports].concat()).ends(2);
        let said = "error: everything else is done, but /dev/full is not written";
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        let stats = folder.cli(&["stats", new, "--json"]).ends(0).one_json();
        assert_eq!(stats["documents"], 3, "{reports:?}");
        assert_eq!(folder.read_json(written).len(), 1);
    }
}
