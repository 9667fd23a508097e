//! `serve`: the program that it runs, and the advice if that program is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::Folder;

/// `simdb-cli` in a folder of its own, where no other program is.
fn cli_in(folder: &Folder) -> Command {
    let path = folder.file("simdb-cli");
    if !path.exists() {
        let built = env!("CARGO_BIN_EXE_simdb-cli");
        // A folder on another file system takes a copy.
        fs::hard_link(built, &path)
            .or_else(|_| fs::copy(built, &path).map(drop))
            .expect("a link");
    }
    let mut command = Command::new(path);
    command
        .env("PATH", folder.path().join("bin"))
        .current_dir(folder.path());
    command
}

fn write_program(folder: &Folder, name: &str, text: &str) {
    folder.write(name, text);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.file(name), mode).expect("a program");
}

#[test]
fn missing_program_is_an_error_with_advice() {
    let folder = Folder::new();
    let ran = cli_in(&folder)
        .args(["serve", "a.simdb"])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2));
    assert!(
        text.contains("cargo build --release -p simdb-server"),
        "{text}"
    );
}

#[test]
fn program_beside_simdb_cli_gets_all_arguments_and_decides_the_exit_code() {
    let folder = Folder::new();
    let of_path = "#!/bin/sh\necho path \"$@\"\nexit 7\n";
    fs::create_dir(folder.file("bin")).expect("a folder");
    write_program(&folder, "bin/simdb-serve", of_path);
    let run = || {
        let arguments = [
            "serve", "--create", "a.simdb", "--listen", "unix:a b", "--help",
        ];
        let ran = cli_in(&folder).args(arguments).output().expect("it runs");
        (
            ran.status.code(),
            String::from_utf8_lossy(&ran.stdout).into_owned(),
        )
    };
    let arguments = "--create a.simdb --listen unix:a b --help\n";
    assert_eq!(run(), (Some(7), format!("path {arguments}")));
    let report = ["report", "a.simdb", "-o", "b.html"];
    let ran = cli_in(&folder).args(report).output().expect("it runs");
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        "path report a.simdb -o b.html\n"
    );
    write_program(
        &folder,
        "simdb-serve",
        &of_path.replace("path", "beside").replace('7', "3"),
    );
    assert_eq!(run(), (Some(3), format!("beside {arguments}")));
}

#[test]
fn dedup_sends_removals_of_each_size_of_loss_to_the_program_of_the_page() {
    let folder = Folder::new();
    let text = "The harbour office in Tallinn was closed on Monday after the storm.";
    let mut corpus = String::new();
    for id in 0..30 {
        corpus += &format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    }
    corpus += &format!(
        "{{\"id\":30,\"text\":\"{}\"}}\n",
        text.replace("harbour", "harbor")
    );
    corpus += "{\"id\":31,\"text\":\"An unrelated sentence about the weather in Oslo.\"}\n";
    folder.write("a.jsonl", &corpus);
    let dedup = |arguments: &[&str]| {
        let mut command = cli_in(&folder);
        command
            .args(["dedup", "a.jsonl", "-o", "b.jsonl"])
            .args(arguments);
        let ran = command.output().expect("it runs");
        (
            ran.status.code(),
            String::from_utf8_lossy(&ran.stderr).into_owned(),
        )
    };
    let (code, text) = dedup(&["--report-html", "c.html"]);
    assert!(
        code == Some(2) && text.contains("cargo install --path tools/server"),
        "{text}"
    );
    assert!(!folder.file("b.jsonl").exists());
    fs::create_dir(folder.file("bin")).expect("a folder");
    let program = "#!/bin/sh\n[ $1 = removals ] && /bin/cat > sample.json && echo page\nexit 0\n";
    write_program(&folder, "bin/simdb-serve", program);
    let (code, text) = dedup(&["--report-html", "a.jsonl"]);
    assert!(code == Some(2) && text.contains("--report-html"), "{text}");
    let (code, text) = dedup(&["--report-html", "c.html"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(
        fs::read_to_string(folder.file("c.html")).expect("a page"),
        "page\n"
    );
    let sample = fs::read(folder.file("sample.json")).expect("a sample");
    let sample: serde_json::Value = serde_json::from_slice(&sample).expect("JSON");
    assert_eq!(sample["removed"], 30);
    let strata = sample["strata"].as_array().expect("strata");
    let of = |index: usize| {
        let stratum: &serde_json::Value = &strata[index];
        let shown = stratum["removals"].as_array().map_or(0, Vec::len);
        (
            stratum["label"].as_str().unwrap_or_default(),
            stratum["count"].as_u64(),
            shown,
        )
    };
    assert_eq!(of(0), ("no word lost, 1 difference forgiven", Some(1), 1));
    assert_eq!(of(1), ("identical", Some(29), 20));
    let removal = &strata[0]["removals"][0];
    assert_eq!(
        (&removal["id"], &removal["keeper"]),
        (&30.into(), &0.into())
    );
    assert!(
        removal["text"]
            .as_str()
            .is_some_and(|text| text.contains("harbor office"))
    );
    assert!(
        removal["keeper_text"]
            .as_str()
            .is_some_and(|text| text.contains("harbour"))
    );
    write_program(
        &folder,
        "bin/simdb-serve",
        "#!/bin/sh\n[ $1 = --version ]\n",
    );
    let (code, text) = dedup(&["--report-html", "c.html", "--force"]);
    assert!(
        code == Some(2) && text.contains("cannot make the page"),
        "{text}"
    );
    assert_eq!(
        fs::read_to_string(folder.file("c.html")).expect("a page"),
        "page\n"
    );
}
