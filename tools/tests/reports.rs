//! What tools write of single documents: `--rejects`, `--duplicates` and `dedup --report`.

use crate::common::{Folder, Ran, TEXTS};

/// Texts of which one is a near-duplicate, and a line that is none.
fn folder_with_reports() -> Folder {
    let folder = Folder::new();
    folder.write("a.jsonl", format!("{TEXTS}bad\n"));
    folder
}

/// What the tools are asked for that write reports.
const LOAD: [&str; 5] = ["a.jsonl", "--unique", "3", "--on-error", "skip"];
const DEDUP: [&str; 4] = ["dedup", "a.jsonl", "--on-error", "skip"];

/// Runs a tool that writes a report of that option to a file of that name.
fn report(folder: &Folder, run: usize, option: &str, name: &str) -> Ran {
    let made = &format!("{run}.made")[..];
    match option {
        "--report" => folder.cli(&[&DEDUP[..], &["-o", made, option, name]].concat()),
        _ => folder.load(&[&[made], &LOAD[..], &[option, name]].concat()),
    }
}

#[test]
fn a_report_replaces_an_earlier_one_of_its_own_and_no_other_lines_of_json() {
    let options = ["--rejects", "--duplicates", "--report"];
    let name_of = |option: &'static str| option.trim_start_matches('-');
    let folder = folder_with_reports();
    for (run, option) in options.into_iter().enumerate() {
        folder.write(name_of(option), "");
        report(&folder, run, option, name_of(option)).ends(0);
        assert_eq!(folder.read_json(name_of(option)).len(), 1);
    }
    let corpora = [
        ("texts", TEXTS.to_owned()),
        (
            "exported",
            "{\"id\":1,\"fingerprint\":\"00000000000000ff\"}\n".to_owned(),
        ),
        (
            "code",
            "{\"file\":\"a.c\",\"line\":3,\"text\":\"int a;\"}\n".to_owned(),
        ),
    ];
    for (name, corpus) in &corpora {
        folder.write(name, corpus);
    }
    let before = folder.names();
    for (run, option) in (10..).zip(options) {
        for name in corpora
            .iter()
            .map(|(name, _)| *name)
            .chain(options.map(name_of))
        {
            if name != name_of(option) {
                report(&folder, run, option, name).fails(&["cannot create", name, option]);
            }
        }
    }
    assert_eq!(folder.names(), before);
    for (name, corpus) in &corpora {
        assert_eq!(folder.read(name), *corpus);
    }
    for (run, option) in (20..).zip(options) {
        let name = name_of(option);
        let earlier = folder.read(name);
        folder.write(name, format!("{earlier}{earlier}"));
        report(&folder, run, option, name).ends(0);
        assert_eq!(folder.read(name), earlier);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_on_a_full_disk_keeps_nothing_else_from_being_done() {
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
        folder.load(&[&all, "first.jsonl"]).ends(0);
        let against = ["-o", &kept, "--against", &all, "--add"];
        folder
            .cli(&[&DEDUP[..], &against, &reports].concat())
            .fails(&["everything else is done, but /dev/full is not written"]);
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
        folder
            .load(&[&[new], &LOAD[..], &reports].concat())
            .fails(&["everything else is done, but /dev/full is not written"]);
        let stats = folder.cli(&["stats", new, "--json"]).ends(0).one_json();
        assert_eq!(stats["documents"], 3, "{reports:?}");
        assert_eq!(folder.read_json(written).len(), 1);
    }
}
