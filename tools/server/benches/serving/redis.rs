//! Redis: a set for each block of the fingerprints, and a script that compares and inserts.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bench_support::keys::key;

/// Answers the id and the distance of the nearest document of the four sets, or inserts.
///
/// A member is the id and both halves of the fingerprint. Numbers of Lua have 53 bits, which is
/// enough for the ids.
const SCRIPT: &str = r#"
local ones = {}
for byte = 0, 255 do
  local count, rest = 0, byte
  while rest > 0 do count = count + rest % 2; rest = (rest - rest % 2) / 2 end
  ones[byte] = count
end
local function count(word)
  return ones[bit.band(word, 255)] + ones[bit.band(bit.rshift(word, 8), 255)]
    + ones[bit.band(bit.rshift(word, 16), 255)] + ones[bit.band(bit.rshift(word, 24), 255)]
end
local high, low, least, nearest = tonumber(ARGV[2]), tonumber(ARGV[3]), 4, nil
for _, name in ipairs(KEYS) do
  for _, member in ipairs(redis.call('SMEMBERS', name)) do
    local id, other_high, other_low = struct.unpack('>I8I4I4', member)
    local distance = count(bit.bxor(high, other_high)) + count(bit.bxor(low, other_low))
    if distance < least or distance == least and nearest and id < nearest then
      least, nearest = distance, id
    end
  end
end
if nearest then return {nearest, least} end
local member = struct.pack('>I8I4I4', tonumber(ARGV[1]), high, low)
for _, name in ipairs(KEYS) do redis.call('SADD', name, member) end
return nil
"#;

/// A server whose log is synced at each write, killed at the end.
pub struct Redis {
    child: Child,
    socket: PathBuf,
    script: String,
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Redis {
    /// Starts a server with the documents from 0 on; `None` if it is not installed.
    pub fn start(folder: &Path, documents: u64) -> Option<Self> {
        let socket = folder.join("redis.sock");
        let child = Command::new("redis-server")
            .args([
                "--port",
                "0",
                "--save",
                "",
                "--appendfsync",
                "always",
                "--unixsocket",
            ])
            .arg(&socket)
            .arg("--dir")
            .arg(folder)
            .stdout(Stdio::null())
            .spawn();
        let mut redis = Self {
            child: child.ok()?,
            socket,
            script: String::new(),
        };
        while UnixStream::connect(&redis.socket).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut client = redis.connect();
        for from in (0..documents).step_by(10_000) {
            let ids = from..documents.min(from + 10_000);
            let mut commands = Vec::new();
            for id in ids.clone() {
                let bits = key(id);
                let member = [id.to_be_bytes(), bits.to_be_bytes()].concat();
                for name in names(bits) {
                    commands.extend(command(&[b"SADD", name.as_bytes(), &member]));
                }
            }
            client.stream.write_all(&commands).expect("commands");
            (0..4 * (ids.end - ids.start))
                .for_each(|_| assert_eq!(client.reply(), RedisReply::Number(1)));
        }
        // The log begins with the documents so far.
        client.ask(&[b"CONFIG", b"SET", b"appendonly", b"yes"]);
        loop {
            let RedisReply::Text(state) = client.ask(&[b"INFO", b"persistence"]) else {
                panic!("no state");
            };
            if state.contains("aof_enabled:1") && state.contains("aof_rewrite_in_progress:0") {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let RedisReply::Text(script) = client.ask(&[b"SCRIPT", b"LOAD", SCRIPT.as_bytes()]) else {
            panic!("the script is refused");
        };
        redis.script = script;
        Some(redis)
    }

    pub fn connect(&self) -> RedisClient {
        let stream = UnixStream::connect(&self.socket).expect("a connection");
        RedisClient {
            reader: BufReader::new(stream.try_clone().expect("a connection")),
            stream,
            script: self.script.clone(),
        }
    }
}

/// The names of the sets of a fingerprint.
fn names(bits: u64) -> [String; 4] {
    [0, 1, 2, 3].map(|block| format!("{block}:{:04x}", bits >> (16 * block) & 0xffff))
}

fn command(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        bytes.extend(format!("${}\r\n", part.len()).bytes());
        bytes.extend(*part);
        bytes.extend(b"\r\n");
    }
    bytes
}

#[derive(Debug, PartialEq)]
enum RedisReply {
    Nil,
    Number(u64),
    Text(String),
    List(Vec<RedisReply>),
}

pub struct RedisClient {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
    script: String,
}

impl RedisClient {
    /// Inserts a document, and returns the id and distance of the document that it duplicates.
    pub fn insert(&mut self, id: u64, bits: u64) -> Option<(u64, u32)> {
        let names = names(bits);
        let [id, high, low] = [id, bits >> 32, bits & 0xffff_ffff].map(|number| number.to_string());
        let mut parts: Vec<&[u8]> = vec![b"EVALSHA"];
        let script = self.script.clone();
        parts.extend([script.as_bytes(), b"4"]);
        parts.extend(names.iter().map(|name| name.as_bytes()));
        parts.extend([id.as_bytes(), high.as_bytes(), low.as_bytes()]);
        match self.ask(&parts) {
            RedisReply::Nil => None,
            RedisReply::List(found) => match found[..] {
                [RedisReply::Number(id), RedisReply::Number(distance)] => {
                    Some((id, distance as u32))
                }
                _ => panic!("{found:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    fn ask(&mut self, parts: &[&[u8]]) -> RedisReply {
        self.stream.write_all(&command(parts)).expect("a command");
        self.reply()
    }

    fn reply(&mut self) -> RedisReply {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("a reply");
        let (kind, value) = line.trim_end().split_at(1);
        let number = || value.parse::<i64>().expect("a number");
        match kind {
            "+" => RedisReply::Text(value.to_owned()),
            ":" => RedisReply::Number(number() as u64),
            "$" if number() < 0 => RedisReply::Nil,
            "*" if number() < 0 => RedisReply::Nil,
            "$" => {
                let mut bytes = vec![0; number() as usize + 2];
                self.reader.read_exact(&mut bytes).expect("a reply");
                bytes.truncate(bytes.len() - 2);
                RedisReply::Text(String::from_utf8_lossy(&bytes).into_owned())
            }
            "*" => RedisReply::List((0..number()).map(|_| self.reply()).collect()),
            _ => panic!("{line}"),
        }
    }
}
