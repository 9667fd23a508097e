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
