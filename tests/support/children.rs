//! Processes that tests start and kill: this program again, to run one of its ignored tests.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CHILD_PATH: &str = "SIMDB_TEST_CHILD_PATH";
const CHILD_TASK: &str = "SIMDB_TEST_CHILD_TASK";
/// In front of what a child reports, since the test harness writes to the same pipe.
const REPORT: &str = "report ";

/// Starts this program again to run a test that is marked as ignored.
pub fn spawn(function: &str, path: &Path, task: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            function,
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD_PATH, path)
        .env(CHILD_TASK, task.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Where the child works and what it is to do; nothing if it was not started by [`spawn`].
pub fn child_task() -> Option<(PathBuf, u64)> {
    let path = std::env::var_os(CHILD_PATH)?;
    Some((
        path.into(),
        std::env::var(CHILD_TASK).unwrap().parse().unwrap(),
    ))
}

pub fn report(number: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{REPORT}{number}").unwrap();
    out.flush().unwrap();
}

/// The numbers a child reports, to the end of its pipe.
pub fn reports(child: &mut Child) -> impl Iterator<Item = u64> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| {
        let (_, number) = line.split_once(REPORT)?;
        number.parse().ok()
    })
}

/// How many processes a killing test kills: `default`, or what `SIMDB_TEST_KILLS` says.
pub fn kills(default: u64) -> u64 {
    std::env::var("SIMDB_TEST_KILLS").map_or(default, |kills| kills.parse().unwrap())
}

/// The same, in parts of `usual` kills, each for a database of its own, with a seed for each part.
pub fn lives(usual: u64) -> impl Iterator<Item = (u64, u64)> {
    let all = kills(usual);
    (0..all.div_ceil(usual)).map(move |life| (life, usual.min(all - life * usual)))
}
