//! Runs of the tools, each in a temporary folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longest time that a test waits for an event.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A temporary folder in which the tools run.
pub struct Folder(TempDir);

/// The output and exit code of a tool.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub stdout_bytes: Vec<u8>,
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.file(name), content).expect("a file is written");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).expect("a file is read")
    }

    /// The lines of a file of JSON Lines.
    pub fn read_json(&self, name: &str) -> Vec<Value> {
        json_lines(&self.read(name))
    }

    /// The names of all files in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.path())
            .expect("a folder is listed")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    pub fn load(&self, arguments: &[&str]) -> Ran {
        self.load_from(arguments, b"")
    }

    pub fn load_from(&self, arguments: &[&str], stdin: &[u8]) -> Ran {
        self.run(env!("CARGO_BIN_EXE_simdb-load"), arguments, stdin)
    }

    pub fn cli(&self, arguments: &[&str]) -> Ran {
        self.cli_from(arguments, b"")
    }

    pub fn cli_from(&self, arguments: &[&str], stdin: &[u8]) -> Ran {
        self.run(env!("CARGO_BIN_EXE_simdb-cli"), arguments, stdin)
    }

    /// Waits until the folder has a file with a matching name. Panics after [`PATIENCE`].
    #[track_caller]
    pub fn wait_for(&self, is_it: impl Fn(&str) -> bool) {
        let started = Instant::now();
        while !self.names().iter().any(|name| is_it(name)) {
            assert!(started.elapsed() < PATIENCE, "{:?}", self.names());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A command that the caller starts.
    pub fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(match tool {
            "simdb-load" => env!("CARGO_BIN_EXE_simdb-load"),
            _ => env!("CARGO_BIN_EXE_simdb-cli"),
        });
        command.current_dir(self.path());
        command
    }

    fn run(&self, tool: &str, arguments: &[&str], stdin: &[u8]) -> Ran {
        let mut child = Command::new(tool)
            .current_dir(self.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        let mut pipe = child.stdin.take().expect("a pipe to the tool");
        let output = std::thread::scope(|scope| {
            // A tool that fails early does not read all of its input.
            scope.spawn(move || pipe.write_all(stdin));
            child.wait_with_output().expect("the tool ends")
        });
        output.into()
    }
}

/// Runs a job that may block for ever in a thread of its own, such as opening a pipe without a
/// reader, so that the test can time out.
#[cfg(unix)]
pub fn in_thread<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (send, receive) = channel();
    std::thread::spawn(move || send.send(job()));
    receive
}

/// Sends a signal to a tool and waits until it ends. Panics after [`PATIENCE`].
#[cfg(unix)]
#[track_caller]
pub fn stop(mut child: Child, signal: &str) -> Ran {
    let pid = child.id().to_string();
    let kill = Command::new("kill").args([signal, &pid]).status();
    assert!(kill.expect("kill").success());
    let started = Instant::now();
    while child.try_wait().expect("a state").is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().expect("killed");
            panic!("{signal} does not stop it");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("the tool ends").into()
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("an exit code"),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            stdout_bytes: output.stdout,
        }
    }
}

impl Ran {
    /// Asserts the exit code.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Asserts exit code 2, an error with all of these parts, and an empty standard output.
    #[track_caller]
    pub fn fails(self, said: &[&str]) -> Self {
        let ran = self.ends(2);
        assert!(ran.stderr.starts_with("error: "), "{ran:#?}");
        for part in said {
            assert!(ran.stderr.contains(part), "{part:?} is not said: {ran:#?}");
        }
        assert_eq!(ran.stdout, "");
        ran
    }

    /// Standard output as JSON lines.
    pub fn json(&self) -> Vec<Value> {
        json_lines(&self.stdout)
    }

    /// Standard output as a single JSON line.
    #[track_caller]
    pub fn one_json(&self) -> Value {
        let mut lines = self.json();
        assert_eq!(lines.len(), 1, "{self:#?}");
        lines.remove(0)
    }
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// Raw pairs in the format of `simdb-load`.
pub fn raw_pairs(pairs: &[(u64, u64)]) -> Vec<u8> {
    pairs
        .iter()
        .flat_map(|(id, bits)| [id.to_le_bytes(), bits.to_le_bytes()])
        .flatten()
        .collect()
}

/// Four texts: 1 and 2 differ in formatting only, 3 and 4 are unrelated.
pub const TEXTS: &str = r#"{"id":1,"text":"The quick brown fox jumps over the lazy dog near the river bank this morning."}
{"id":2,"text":"the quick  brown fox jumps over the lazy dog, near the river bank this morning"}
{"id":3,"text":"生活就像一盒巧克力,你永远不知道下一颗是什么味道。明天又是新的一天。"}
{"id":4,"text":"A database of fingerprints finds in microseconds what a scan would find in seconds."}
"#;
