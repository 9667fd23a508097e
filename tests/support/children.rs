//! Processes that tests start and kill: the same test program, running one of its ignored tests.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CHILD_PATH: &str = "SIMDB_TEST_CHILD_PATH";
const CHILD_TASK: &str = "SIMDB_TEST_CHILD_TASK";
/// Prefix of a child's reports; the test harness writes to the same pipe.
const REPORT: &str = "report ";

/// Starts this program again to run an ignored test.
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

/// The folder and the task of a child; `None` if this process was not started by [`spawn`].
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

/// The numbers that a child reports, until its pipe closes.
pub fn reports(child: &mut Child) -> impl Iterator<Item = u64> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| {
        let (_, number) = line.split_once(REPORT)?;
        number.parse().ok()
    })
}

/// Number of processes that a kill test kills: `SIMDB_TEST_KILLS`, or `default`.
pub fn kills(default: u64) -> u64 {
    std::env::var("SIMDB_TEST_KILLS").map_or(default, |kills| kills.parse().unwrap())
}

/// The kills in parts of at most `usual`, each part with a seed and a database of its own.
pub fn kill_rounds(usual: u64) -> impl Iterator<Item = (u64, u64)> {
    let all = kills(usual);
    (0..all.div_ceil(usual)).map(move |life| (life, usual.min(all - life * usual)))
}
