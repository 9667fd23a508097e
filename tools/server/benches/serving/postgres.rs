//! PostgreSQL: a table with an index for each block, and a function that compares and inserts.

use std::fs;
use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bench_support::keys::key;

/// Near fingerprints share a block, so the locks of the blocks, in their order, make the comparison
/// and the insert one step.
const FUNCTION: &str = "
CREATE FUNCTION insert_unique(new_id bigint, new_fp bigint, k0 int, k1 int, k2 int, k3 int) RETURNS text AS $$
DECLARE found record;
BEGIN
  PERFORM pg_advisory_xact_lock(0, k0), pg_advisory_xact_lock(1, k1),
          pg_advisory_xact_lock(2, k2), pg_advisory_xact_lock(3, k3);
  SELECT id, bit_count((fp # new_fp)::bit(64)) AS distance INTO found
    FROM (SELECT id, fp FROM documents WHERE b0 = k0 UNION SELECT id, fp FROM documents WHERE b1 = k1
          UNION SELECT id, fp FROM documents WHERE b2 = k2 UNION SELECT id, fp FROM documents WHERE b3 = k3) near
    WHERE bit_count((fp # new_fp)::bit(64)) <= 3 ORDER BY distance, id LIMIT 1;
  IF found.id IS NOT NULL THEN RETURN found.id || ' ' || found.distance; END IF;
  INSERT INTO documents VALUES (new_id, new_fp, k0, k1, k2, k3);
  RETURN '';
END $$ LANGUAGE plpgsql";

/// The time for a server to start.
const START_TIME: Duration = Duration::from_secs(30);

/// A server with its default settings, and 200 connections. Killed at the end.
pub struct Postgres {
    child: Child,
    folder: PathBuf,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // It may have ended. `runuser` passes no signal on.
        let stopped = Self::program(Path::new("pkill"))
            .args(["-INT", "-f"])
            .stderr(Stdio::null())
            .arg(&self.folder)
            .status();
        let _ = (stopped, self.child.wait(), fs::remove_dir_all(&self.folder));
    }
}

impl Postgres {
    /// Starts a server with the documents from 0 on; `None` if it is not installed.
    pub fn start(documents: u64) -> Option<Self> {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
        let programs = versions
            .filter_map(|version| Some(version.ok()?.path().join("bin")))
            .max()?;
        // The folder belongs to the user of the server, which is never root.
        let made = Self::program(Path::new("mktemp"))
            .args(["-d", "-p", "/tmp"])
            .output()
            .ok()?;
        let folder = PathBuf::from(String::from_utf8_lossy(&made.stdout).trim());
        let data = folder.join("data");
        let mut init = Self::program(&programs.join("initdb"));
        init.args(["-A", "trust", "-U", "postgres", "-D"])
            .arg(&data)
            .stdout(Stdio::null());
        assert!(init.status().ok()?.success(), "initdb failed");
        let mut server = Self::program(&programs.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(&folder);
        server
            .args(["-c", "listen_addresses=", "-c", "max_connections=200"])
            .stderr(Stdio::null());
        let child = server.spawn().ok()?;
        let postgres = Self { child, folder };
        let started = Instant::now();
        let mut client = loop {
            if let Some(client) = postgres.try_connect() {
                break client;
            }
            assert!(started.elapsed() < START_TIME, "postgres does not start");
            std::thread::sleep(Duration::from_millis(50));
        };
        client.ask("CREATE TABLE documents (id bigint PRIMARY KEY, fp bigint, b0 int, b1 int, b2 int, b3 int)");
        let file = std::env::temp_dir().join(format!("documents-{}.txt", std::process::id()));
        let rows = (0..documents).map(|id| {
            let [b0, b1, b2, b3] = blocks(key(id));
            format!("{id}\t{}\t{b0}\t{b1}\t{b2}\t{b3}\n", key(id).cast_signed())
        });
        fs::write(&file, rows.collect::<String>()).expect("a file of documents");
        client.ask(&format!("COPY documents FROM '{}'", file.display()));
        fs::remove_file(&file).expect("a file");
        for block in 0..4 {
            client.ask(&format!("CREATE INDEX ON documents (b{block})"));
        }
        client.ask("VACUUM ANALYZE documents");
        client.ask("CHECKPOINT");
        client.ask(FUNCTION);
        Some(postgres)
    }

    /// A program that runs as the user `postgres`.
    fn program(path: &Path) -> Command {
        let mut command = Command::new("runuser");
        command
            .args(["-u", "postgres", "--"])
            .arg(path)
            .current_dir("/");
        command
    }

    pub fn connect(&self) -> PostgresClient {
        self.try_connect().expect("a connection")
    }

    fn try_connect(&self) -> Option<PostgresClient> {
        let stream = UnixStream::connect(self.folder.join(".s.PGSQL.5432")).ok()?;
        let mut client = PostgresClient {
            reader: BufReader::new(stream.try_clone().ok()?),
            stream,
        };
        let parameters = b"user\0postgres\0database\0postgres\0\0";
        let length = 8 + parameters.len() as u32;
        let version = 3_u32 << 16;
        let start = [
            &length.to_be_bytes()[..],
            &version.to_be_bytes(),
            parameters,
        ]
        .concat();
        client.stream.write_all(&start).ok()?;
        client.answer().ok().map(|_| client)
    }
}

fn blocks(bits: u64) -> [u16; 4] {
    [0, 1, 2, 3].map(|block| (bits >> (16 * block)) as u16)
}

pub struct PostgresClient {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
}

impl PostgresClient {
    /// Inserts a document, and returns the id and distance of the document that it duplicates.
    pub fn insert(&mut self, id: u64, bits: u64) -> Option<(u64, u32)> {
        let [b0, b1, b2, b3] = blocks(bits);
        let bits = bits.cast_signed();
        let answer = self.ask(&format!(
            "SELECT insert_unique({id}, {bits}, {b0}, {b1}, {b2}, {b3})"
        ));
        let (id, distance) = answer.split_once(' ')?;
        Some((
            id.parse().expect("an id"),
            distance.parse().expect("a distance"),
        ))
    }

    fn ask(&mut self, query: &str) -> String {
        let length = 5 + query.len() as u32;
        let message = [b"Q", &length.to_be_bytes()[..], query.as_bytes(), b"\0"].concat();
        self.stream.write_all(&message).expect("a query");
        self.answer().expect("an answer")
    }

    /// The last value of an answer.
    fn answer(&mut self) -> std::io::Result<String> {
        let mut value = String::new();
        loop {
            let mut head = [0; 5];
            self.reader.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; length as usize - 4];
            self.reader.read_exact(&mut body)?;
            match head[0] {
                // A row: the number of values, then the length and the bytes of each.
                b'D' => value = String::from_utf8_lossy(&body[6..]).into_owned(),
                b'E' => {
                    return Err(std::io::Error::other(
                        String::from_utf8_lossy(&body).into_owned(),
                    ));
                }
                b'Z' => return Ok(value),
                _ => {}
            }
        }
    }
}
