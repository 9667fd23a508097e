//! The command line of `simdb-serve`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use simdb::{Builder, Database, Error, Settings};
use simdb_tools::console::logger::Verbosity;
use simdb_tools::console::parse_size;
use simdb_tools::console::paths::refuse_special;
use simdb_tools::options::{NewDatabase, refuse_created};

/// Serves one database over HTTP: an API at /v1, and a page at /
///
/// One process owns a database file. The server owns it for many: their inserts share commits,
/// and each is answered when it is durable. /openapi.json describes the API.
///
/// Without --token-file, a token is made at the start and printed once, in the link of the page.
/// A request sends it as `Authorization: Bearer TOKEN`. SIGTERM and Ctrl-C refuse new requests,
/// answer the others and close the database; a second signal ends the server at once. After any
/// end, each answered insert is durable.
#[derive(Debug, Parser)]
#[command(
    name = "simdb-serve",
    version,
    after_help = "\
Examples:
  simdb-cli serve news.simdb
  simdb-cli serve posts.simdb --create --similar --listen unix:/run/simdb/posts.sock --no-token
  simdb-cli serve news.simdb --listen 0.0.0.0:7700 --token-file token --host simdb.example.org"
)]
pub struct Options {
    #[command(flatten)]
    pub verbosity: Verbosity,

    /// The database
    pub database: PathBuf,

    /// The address: IP:PORT, or unix:PATH for a socket that only this user can open
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700")]
    pub listen: ListenAddress,

    /// Open the database for reading only: other processes can read it too, and writes are refused
    #[arg(long, conflicts_with = "create")]
    pub read_only: bool,

    /// Read the token of all requests from the first line of this file
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Access",
        conflicts_with = "no_token"
    )]
    pub token_file: Option<PathBuf>,

    /// Read a token for queries and the page from this file
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Access",
        conflicts_with = "no_token"
    )]
    pub read_only_token_file: Option<PathBuf>,

    /// Ask for no token: for a loopback address or a socket only
    #[arg(long, help_heading = "Access")]
    pub no_token: bool,

    /// Answer requests to this host name, for example the name of a proxy; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Access")]
    pub host: Vec<String>,

    /// Let POST /v1/backup write copies of the database into this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Access")]
    pub backups: Option<PathBuf>,

    /// Collect the answers of the page for reviews in this file of JSON Lines
    ///
    /// `simdb-cli compare --pairs` reads it.
    #[arg(long, value_name = "FILE")]
    pub review: Option<PathBuf>,

    /// The longest text
    ///
    /// Computing a fingerprint takes 25 to 40 times the size of the text in memory.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "4MiB", help_heading = "Limits")]
    pub max_text: usize,

    /// The longest body of a request, except for NDJSON, whose lines have this limit; at most
    /// --max-bodies
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "32MiB", help_heading = "Limits")]
    pub max_body: usize,

    /// The most bytes of bodies in memory; requests beyond are answered with 503
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "256MiB", help_heading = "Limits")]
    pub max_bodies: usize,

    /// The most connections at a time; connections beyond are answered with 503 and closed
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1024,
        help_heading = "Limits"
    )]
    pub connections: u32,

    /// The page cache of the database [default: 1.25GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Limits")]
    pub cache: Option<usize>,

    /// Create the database if it is missing
    #[arg(long, help_heading = "New database")]
    pub create: bool,

    #[command(flatten)]
    pub new: NewDatabase,

    /// Give each document a key, a string of 1 to 1,024 bytes, in place of an id
    #[arg(long, help_heading = "New database")]
    pub keys: bool,

    /// Keep the fields of each document, a JSON object of at most 64 KiB
    #[arg(long, help_heading = "New database")]
    pub fields: bool,

    /// Put documents into scopes, such as languages or tenants; the documents then have keys
    #[arg(long, help_heading = "New database")]
    pub scopes: bool,
}

/// The clap parser of a size in memory.
fn parse_bytes(text: &str) -> Result<usize, String> {
    match usize::try_from(parse_size(text)?) {
        Ok(size @ 1..=MAX_BYTES) => Ok(size),
        _ => Err("at least 1 byte and at most 64GiB is possible".to_owned()),
    }
}

const MAX_BYTES: usize = 64 << 30;

/// The longest path that a client can connect to. The server binds a shorter path and renames it,
/// so it would not notice.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// The address of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err("the path of the socket is empty; write unix:PATH".to_owned()),
                path if path.len() > MAX_SOCKET_PATH_BYTES => Err(format!(
                    "the path of the socket has {} bytes, and the system takes at most \
                     {MAX_SOCKET_PATH_BYTES}; choose a shorter path",
                    path.len()
                )),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let of_localhost = text
            .strip_prefix("localhost:")
            .map(|port| format!("127.0.0.1:{port}"));
        let address = of_localhost.as_deref().unwrap_or(text);
        let reason = "is not an address; write IP:PORT, for example 127.0.0.1:7700, or unix:PATH";
        address
            .parse()
            .map(Self::Tcp)
            .map_err(|_| format!("{text:?} {reason}"))
    }
}

impl ListenAddress {
    /// Returns `true` for an address that other machines cannot reach.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl Options {
    /// Refuses options that contradict each other.
    pub fn check(&self) -> Result<()> {
        self.new.check()?;
        if !self.listen.is_local() {
            ensure!(
                !self.no_token,
                "--no-token is for a loopback address or a socket: other machines reach this address"
            );
            ensure!(
                self.token_file.is_some(),
                "other machines reach this address: name the file of a token with --token-file"
            );
        }
        for host in &self.host {
            ensure!(
                host.parse::<IpAddr>().is_ok() || !host.contains([':', '/']),
                "--host {host} is no plain host name; leave out the scheme and the port"
            );
        }
        if let Some(folder) = &self.backups {
            ensure!(
                folder.is_dir(),
                "--backups {}: there is no such folder; create it",
                folder.display()
            );
        }
        ensure!(
            self.connections > 0,
            "--connections is 0; at least one connection is needed"
        );
        Ok(())
    }

    /// Opens or creates the database.
    pub fn open(&self) -> Result<Database> {
        let path = &self.database;
        refuse_special(path)?;
        let builder = self.builder()?;
        if self.read_only {
            return Ok(builder.open_read_only(path)?);
        }
        match builder.open(path) {
            Ok(database) => {
                let settings = database.settings();
                self.new.refuse_other(path, settings)?;
                let missing = [
                    ("without --keys", self.keys && !settings.keys),
                    ("without --fields", self.fields && !settings.fields),
                    ("without --scopes", self.scopes && !settings.scopes),
                ];
                refuse_created(path, missing)?;
                Ok(database)
            }
            Err(Error::NotFound { .. }) if self.create => {
                let settings = Settings {
                    keys: self.keys || self.scopes,
                    fields: self.fields,
                    scopes: self.scopes,
                    ..self.new.settings_by_clock(true)?
                };
                Ok(self.builder()?.settings(&settings).create(path)?)
            }
            Err(missing @ Error::NotFound { .. }) => bail!("{missing}, as --create does"),
            Err(error) => Err(error.into()),
        }
    }

    fn builder(&self) -> Result<Builder> {
        let mut builder = self.new.recipe.builder()?.queue_bytes(self.max_bodies);
        if let Some(bytes) = self.cache {
            builder = builder.cache_bytes(bytes);
        }
        Ok(builder)
    }

    /// The token in a file of one line.
    pub fn read_token(path: &PathBuf) -> Result<String> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the token in {}", path.display()))?;
        let token = text.lines().next().unwrap_or_default().trim();
        let is_plain = token
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(&byte));
        ensure!(
            token.len() >= MIN_TOKEN_LEN && is_plain,
            "the token in {} needs at least {MIN_TOKEN_LEN} letters, digits or -_.~+/=; make one with \
             `openssl rand -hex 32`",
            path.display()
        );
        Ok(token.to_owned())
    }
}

/// A token has at least 16 characters: a shorter one can be guessed.
const MIN_TOKEN_LEN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_read_as_ip_or_socket() {
        let read = |text: &str| text.parse::<ListenAddress>();
        assert!(read("127.0.0.1:7700").unwrap().is_local());
        assert_eq!(read("localhost:1"), read("127.0.0.1:1"));
        assert!(read("[::1]:0").unwrap().is_local());
        assert!(!read("0.0.0.0:7700").unwrap().is_local());
        assert_eq!(read("unix:/a b"), Ok(ListenAddress::Unix("/a b".into())));
        for text in [
            "",
            "unix:",
            "127.0.0.1",
            "example.org:80",
            "http://127.0.0.1:7700",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
