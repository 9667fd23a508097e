//! A server in a temporary folder, and a client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::schema::check_answer;

/// The longest time that a test waits for an event.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. It is killed at the end of a test.
pub struct Served {
    child: Child,
    folder: TempDir,
    pub address: String,
    pub token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answered {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body of an answer that must have this status.
    #[track_caller]
    pub fn with(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// The kind of a refusal.
    #[track_caller]
    pub fn kind(&self) -> String {
        self.json()["error"]["kind"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

pub fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_simdb-serve"))
}

impl Served {
    /// The metrics after the first group of changes, which is counted after its answers.
    pub fn metrics_of_groups(&self) -> String {
        let metrics = std::iter::repeat_with(|| self.get("/metrics").body).take(200);
        let mut metrics = metrics.inspect(|_| std::thread::sleep(Duration::from_millis(10)));
        let found = metrics.find(|text| metric(text, "simdb_commit_changes_count") > 0.0);
        found.expect("a group is counted")
    }

    /// A server of a new database, with further options.
    pub fn new(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = ["--listen", "127.0.0.1:0", "--create"];
        Self::start(folder, &[&address[..], options].concat())
    }

    /// A server of `a.simdb` in a folder.
    pub fn start(folder: TempDir, options: &[&str]) -> Self {
        let mut child = program()
            .arg("a.simdb")
            .args(options)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let line = lines.next().and_then(Result::ok).unwrap_or_else(|| {
            let mut text = String::new();
            let mut stderr: ChildStderr = child.stderr.take().expect("a pipe");
            stderr.read_to_string(&mut text).expect("a text");
            panic!("the server has not started: {text}")
        });
        let (_, link) = line.split_once(" is served at ").expect("an address");
        let (address, mut token) = match link.strip_prefix("http://") {
            Some(rest) => {
                let (address, rest) = rest.split_once('/').expect("a link");
                (
                    address.to_owned(),
                    rest.strip_prefix("?token=").map(str::to_owned),
                )
            }
            None => (link.to_owned(), None),
        };
        if address.starts_with("unix:")
            && !options.contains(&"--no-token")
            && !options.contains(&"--token-file")
        {
            let line = lines.next().and_then(Result::ok).expect("a token");
            token = line.strip_prefix("token ").map(str::to_owned);
        }
        Self {
            child,
            folder,
            address,
            token,
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a time limit");
        stream
    }

    /// Posts a body to a server that may be killed meanwhile; `None` without a whole answer.
    pub fn try_post(&self, path: &str, body: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let (address, len) = (&self.address, body.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Length: {len}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).ok()?;
        serde_json::from_str(&read_answer(stream).body).ok()
    }

    /// The resident memory of the server.
    pub fn memory_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next());
        1024 * kib.and_then(|kib| kib.parse::<u64>().ok()).expect("a size")
    }

    /// Sends a request with the token, and checks the answer against `openapi.json`.
    #[track_caller]
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answered {
        let answered = self.send_plainly(method, path, headers, body);
        check_answer(method, path, &answered);
        answered
    }

    pub fn send_plainly(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answered {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let has = |name: &str| {
            headers
                .iter()
                .any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        if !has("host") {
            head += &format!("Host: {}\r\n", self.address);
        }
        if let (false, Some(token)) = (has("authorization"), &self.token) {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        let mut stream = self.connect();
        // A server that refuses a request does not read all of its body.
        let _ = stream.write_all(&[head.as_bytes(), body].concat());
        read_answer(stream)
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answered {
        self.send("GET", path, &[], b"")
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answered {
        self.send("POST", path, &[], body.to_string().as_bytes())
    }

    #[track_caller]
    pub fn delete(&self, path: &str) -> Answered {
        self.send("DELETE", path, &[], b"")
    }

    /// The answers to lines of NDJSON.
    #[track_caller]
    pub fn post_lines(&self, path: &str, lines: &str) -> Vec<Value> {
        let ndjson = [("Content-Type", "application/x-ndjson")];
        let answered = self.send("POST", path, &ndjson, lines.as_bytes());
        assert_eq!(answered.status, 200, "{answered:?}");
        let parse = |line| serde_json::from_str(line).expect("a line of JSON");
        answered.body.lines().map(parse).collect()
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits for the end of the server, and returns its folder and messages.
    pub fn wait(mut self) -> (ExitStatus, String, TempDir) {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                break status;
            }
            assert!(started.elapsed() < PATIENCE, "the server has not ended");
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut text).expect("messages");
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().expect("a folder"));
        (status, text, folder)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A key as a part of an address.
pub fn encoded(key: &str) -> String {
    let encode = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    key.bytes().map(encode).collect()
}

/// Reads an answer up to the end of the connection.
pub fn read_answer(stream: impl Read) -> Answered {
    let mut bytes = Vec::new();
    // A server that closes with unread bytes resets the connection, behind its answer.
    let _ = BufReader::new(stream).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked {
        dechunked(body)
    } else {
        body.to_owned()
    };
    Answered {
        status,
        head: head.to_owned(),
        body,
    }
}

fn dechunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((len, rest)) = body.split_once("\r\n") {
        let len = usize::from_str_radix(len, 16).expect("the length of a chunk");
        if len == 0 {
            break;
        }
        text += &rest[..len];
        body = &rest[len + 2..];
    }
    text
}

/// The value of a metric without labels, or with labels as they are written.
pub fn metric(text: &str, name: &str) -> f64 {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value
        .unwrap_or_else(|| panic!("{name}: {text}"))
        .parse()
        .expect("a number")
}
