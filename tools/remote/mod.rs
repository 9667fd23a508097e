//! [`Remote`]: a database that `simdb-cli serve` serves, in place of a file.

#[cfg(unix)]
mod unix;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use simdb::similarity::Likeness;
use simdb::{
    DocId, DocRef, Document, Fingerprint, Match, Outcome, Settings, Similar, TextFingerprint,
};
use ureq::Agent;
use ureq::config::Config;

use crate::console::note;
use crate::options::DuplicateRule;
use crate::wire::{WireDocument, ids_to_numbers, with_numbers_as_ids};

/// The variable of the environment with the token. As an argument, other users would see it.
const TOKEN_VARIABLE: &str = "SIMDB_TOKEN";

/// The longest time until a server answers: reports of large databases take minutes.
const ANSWER_TIME: Duration = Duration::from_secs(600);
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// The longest answer, of a page of documents with long texts.
const MAX_ANSWER_BYTES: u64 = 1 << 30;

/// The most matches that a server gives for a query, and the most queries and changes of a request.
pub const MAX_MATCHES: usize = 10_000;
pub const MAX_QUERIES: usize = 100;
const MAX_CHANGES: usize = 10_000;

/// The documents of a page, and the most documents with copies that a server gives.
const PAGE_DOCUMENTS: usize = 1000;
pub const MAX_TOP: usize = 1000;

/// A served database.
pub struct Remote {
    agent: Agent,
    /// The address as it was given, without a token.
    name: String,
    base: String,
    token: Option<String>,
}

/// The error of a search for a document that is not stored, or that the search leaves out.
#[derive(Debug)]
pub struct NotStored;

impl std::fmt::Display for NotStored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the document of the query is not stored")
    }
}

impl std::error::Error for NotStored {}

/// An outcome of an insert.
pub struct RemoteOutcome {
    pub fingerprint: Fingerprint,
    pub outcome: Outcome,
    /// The key of the stored document that the outcome names.
    pub key: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    documents: Vec<WireDocument>,
    next: Option<String>,
}

/// An answer that is no refusal.
pub struct Reply {
    status: u16,
    body: String,
}

/// The answer to one query.
pub struct RemoteMatches<M> {
    pub made: Option<TextFingerprint>,
    pub matches: Vec<M>,
    /// `true` if the server has left out matches.
    pub is_cut: bool,
}

impl Remote {
    /// The server at an address, `http://...` or `unix:...`; `None` for a path.
    pub fn of(path: &Path) -> Result<Option<Self>> {
        let Some(address) = path.to_str() else {
            return Ok(None);
        };
        if let Some(socket) = address.strip_prefix("unix:") {
            return Self::at_socket(socket, address).map(Some);
        }
        if address.starts_with("https://") {
            bail!("{address}: TLS is for a proxy; ask the server itself with http:// or unix:");
        }
        if !address.starts_with("http://") {
            return Ok(None);
        }
        // The link that the server has printed has the token.
        let (base, query) = address.split_once('?').unwrap_or((address, ""));
        let token = query
            .split('&')
            .find_map(|field| field.strip_prefix("token="));
        let token = token
            .map(percent_decoded)
            .or_else(|| std::env::var(TOKEN_VARIABLE).ok());
        let base = base.trim_end_matches('/').to_owned();
        let agent = Agent::new_with_config(config());
        Ok(Some(Self {
            agent,
            name: base.clone(),
            base,
            token,
        }))
    }

    #[cfg(unix)]
    fn at_socket(socket: &str, name: &str) -> Result<Self> {
        use ureq::unversioned::resolver::DefaultResolver;

        let connector = unix::UnixConnector(socket.into());
        Ok(Self {
            agent: Agent::with_parts(config(), connector, DefaultResolver::default()),
            name: name.to_owned(),
            // An address that needs no look-up. The connector ignores it.
            base: "http://127.0.0.1".to_owned(),
            token: std::env::var(TOKEN_VARIABLE).ok(),
        })
    }

    #[cfg(not(unix))]
    fn at_socket(_: &str, name: &str) -> Result<Self> {
        bail!("{name}: sockets need Unix")
    }

    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Reply> {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let text = body.map_or(String::new(), Value::to_string);
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let failed = || format!("cannot ask the server at {}", self.name);
        let request = request.body(text).with_context(failed)?;
        let mut response = self.agent.run(request).with_context(failed)?;
        let status = response.status().as_u16();
        let body = response
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER_BYTES)
            .read_to_string();
        let reply = Reply {
            status,
            body: body.with_context(failed)?,
        };
        match status {
            200 => Ok(reply),
            // A missing document is an answer.
            404 if reply.kind().is_none_or(|kind| kind == "not_stored") => Ok(reply),
            _ => Err(self.refusal(&reply)),
        }
    }

    fn refusal(&self, reply: &Reply) -> anyhow::Error {
        let parsed: Option<Value> = serde_json::from_str(&reply.body).ok();
        let message = parsed
            .as_ref()
            .and_then(|body| body["error"]["message"].as_str());
        let Some(message) = message else {
            return anyhow!(
                "{} has answered with status {}: it is no simdb-serve",
                self.name,
                reply.status
            );
        };
        match reply.kind().as_deref() {
            Some("unauthorized") => anyhow!(
                "{}: {message}; give the link that the server has printed, or set {TOKEN_VARIABLE}",
                self.name
            ),
            _ => anyhow!("{}: {message}", self.name),
        }
    }

    pub fn settings(&self) -> Result<Settings> {
        self.request("GET", "/v1/settings", None)?.parse()
    }

    /// The stored document with an id or a key.
    pub fn get(&self, document: &DocRef) -> Result<Option<Document>> {
        let path = match document {
            // The address would be the address of all documents.
            DocRef::Key(key) if key.is_empty() => return Ok(None),
            DocRef::Id(id) => format!("/v1/documents/{id}?by=id"),
            DocRef::Key(key) => format!("/v1/documents/{}?by=key", percent_encoded(key)),
        };
        let reply = self.request("GET", &path, None)?;
        let document = (reply.status == 200).then(|| reply.parse_plainly::<WireDocument>());
        Ok(document.transpose()?.map(Document::from))
    }

    /// The documents with the most copies, in the last seconds if they are given.
    pub fn top(&self, limit: usize, since: Option<Duration>) -> Result<Vec<Document>> {
        let mut path = format!("/v1/top?limit={limit}");
        if let Some(since) = since {
            path += &format!("&since_seconds={}", since.as_secs_f64());
        }
        let page: Page = self.request("GET", &path, None)?.parse_plainly()?;
        Ok(page.documents.into_iter().map(Document::from).collect())
    }

    /// All documents in the order of their ids, page by page: each page as of its own commit.
    pub fn documents(&self) -> impl Iterator<Item = Result<Document>> + '_ {
        let (mut page, mut next) = (Vec::new().into_iter(), Some("0".to_owned()));
        let mut has_failed = false;
        std::iter::from_fn(move || {
            loop {
                if let Some(document) = page.next() {
                    return Some(Ok(Document::from(document)));
                }
                let from = next.take().filter(|_| !has_failed)?;
                let path = format!("/v1/documents?from={from}&limit={PAGE_DOCUMENTS}");
                let read = self
                    .request("GET", &path, None)
                    .and_then(|reply| reply.parse_plainly::<Page>());
                match read {
                    Ok(read) => {
                        next = read.next;
                        page = read.documents.into_iter();
                    }
                    Err(error) => {
                        has_failed = true;
                        return Some(Err(error));
                    }
                }
            }
        })
    }

    /// A report as one line of JSON, with numbers as ids. Its text is not read and written again,
    /// which may round a number.
    pub fn report_json(&self, name: &str) -> Result<String> {
        let reply = self.request("GET", &format!("/v1/{name}"), None)?;
        Ok(with_numbers_as_ids(&reply.body))
    }

    /// A report as the server would print it.
    pub fn report_text(&self, name: &str) -> Result<String> {
        let reply = self.request("GET", &format!("/v1/{name}?format=text"), None)?;
        Ok(reply.body.trim_end().to_owned())
    }

    /// The answers to queries within a radius, or for the nearest documents.
    pub fn query(&self, queries: &[Value], options: &Value) -> Result<Vec<RemoteMatches<Match>>> {
        self.search("/v1/query", queries, options)
    }

    pub fn similar(
        &self,
        queries: &[Value],
        options: &Value,
    ) -> Result<Vec<RemoteMatches<Similar>>> {
        self.search("/v1/similar", queries, options)
    }

    fn search<M: DeserializeOwned>(
        &self,
        path: &str,
        queries: &[Value],
        options: &Value,
    ) -> Result<Vec<RemoteMatches<M>>> {
        let mut body = options.clone();
        body["queries"] = queries.into();
        let reply = self.request("POST", path, Some(&body))?;
        if reply.status == 404 {
            return Err(NotStored.into());
        }
        let mut reply: Value = reply.parse()?;
        let answers = reply["answers"]
            .as_array_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        let answer = |mut answer: Value| {
            let reliable = answer["reliable"].as_bool();
            let fingerprint: Option<Fingerprint> =
                serde_json::from_value(answer["fingerprint"].take())?;
            let made = fingerprint.zip(reliable);
            Ok(RemoteMatches {
                made: made.map(|(fingerprint, reliable)| TextFingerprint {
                    fingerprint,
                    reliable,
                }),
                matches: serde_json::from_value(answer["matches"].take())?,
                is_cut: answer["is_cut"].as_bool().unwrap_or(false),
            })
        };
        answers.into_iter().map(answer).collect()
    }

    /// Stores a document as a rule says.
    pub fn insert(
        &self,
        document: &Value,
        rule: Option<DuplicateRule>,
        is_upsert: bool,
    ) -> Result<RemoteOutcome> {
        let options = match rule {
            Some(DuplicateRule::Within(radius)) => format!("insert_unique&radius={radius}"),
            Some(DuplicateRule::Similar(rule)) => {
                let Likeness {
                    edit_similarity,
                    jaccard,
                } = rule.likeness;
                let decision = wire_name(rule.decision)?;
                let on_extended = wire_name(rule.on_extended)?;
                format!(
                    "insert_unless_similar&decision={decision}&on_extended={on_extended}\
                     &edit_similarity={edit_similarity}&jaccard={jaccard}"
                )
            }
            None if is_upsert => "upsert".to_owned(),
            None => "insert".to_owned(),
        };
        // The server takes it for no scope, and a file does not.
        if document["scope"] == "" {
            let scope = String::new();
            return Err(simdb::Error::InvalidScope { scope }.into());
        }
        let path = format!("/v1/documents?mode={options}");
        let mut answer: Value = self.request("POST", &path, Some(document))?.parse()?;
        let fingerprint = serde_json::from_value(answer["fingerprint"].take());
        Ok(RemoteOutcome {
            fingerprint: fingerprint.context("the answer has no fingerprint")?,
            key: answer["match"]["key"].as_str().map(str::to_owned),
            outcome: outcome_of(answer)?,
        })
    }

    /// Removes documents, some thousands in a commit, and returns the fingerprints that they had.
    pub fn remove(
        &self,
        documents: impl Iterator<Item = DocRef>,
    ) -> Result<Vec<Option<Fingerprint>>> {
        let documents: Vec<Value> = documents.map(|document| named(&document)).collect();
        let mut removed = Vec::new();
        for documents in documents.chunks(MAX_CHANGES) {
            let answers: Vec<Value> = self
                .request("POST", "/v1/documents?mode=remove", Some(&documents.into()))
                .and_then(|reply| reply.parse())
                .map_err(|error| match removed.len() {
                    0 => error,
                    first => error.context(format!("the first {first} documents are removed")),
                })?;
            for answer in answers {
                // A name that no document can have is refused by itself.
                if answer["outcome"] == "rejected" {
                    note(answer["error"]["message"].as_str().unwrap_or_default());
                    removed.push(None);
                    continue;
                }
                removed.push(match outcome_of(answer)? {
                    Outcome::Removed { stored } => Some(stored),
                    _ => None,
                });
            }
        }
        Ok(removed)
    }
}

impl Reply {
    /// The kind of a refusal.
    fn kind(&self) -> Option<String> {
        let body: Value = serde_json::from_str(&self.body).ok()?;
        body["error"]["kind"].as_str().map(str::to_owned)
    }

    /// The body as JSON, with numbers as ids, as the library has them.
    fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        let read = serde_json::from_str(&self.body).and_then(|mut value: Value| {
            ids_to_numbers(&mut value);
            serde_json::from_value(value)
        });
        read.context(UNEXPECTED)
    }

    /// The body as JSON.
    fn parse_plainly<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.body).context(UNEXPECTED)
    }
}

const UNEXPECTED: &str = "the answer of the server is not as expected; are both of one version?";

fn config() -> Config {
    // A refusal is read as an answer. A proxy of the environment is not asked for a server of this
    // machine.
    Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_connect(Some(CONNECT_TIME))
        .timeout_recv_response(Some(ANSWER_TIME))
        .allow_non_standard_methods(true)
        .build()
}

/// The name of a value in requests.
pub fn wire_name(value: impl Serialize) -> Result<String> {
    match serde_json::to_value(value)? {
        Value::String(name) => Ok(name),
        other => bail!("{other} is no name"),
    }
}

/// The outcome of a change, from its answer.
fn outcome_of(mut answer: Value) -> Result<Outcome> {
    let mut field = |name: &str| answer[name].take();
    let outcome = field("outcome");
    let stored = field("stored");
    let stored = || serde_json::from_value(stored.clone());
    let similar = |value| serde_json::from_value::<Similar>(value);
    Ok(match outcome.as_str().unwrap_or_default() {
        "inserted" => Outcome::Inserted {
            reliable: field("reliable").as_bool().unwrap_or(true),
        },
        "exists" => Outcome::Exists { stored: stored()? },
        "duplicate" => Outcome::Duplicate(serde_json::from_value(field("match"))?),
        "similar" => Outcome::Similar(similar(field("match"))?),
        "extends" => Outcome::Extends(similar(field("match"))?),
        "supersedes" => Outcome::Supersedes(serde_json::from_value(field("matches"))?),
        "seen" => Outcome::Seen,
        "expired" => Outcome::Expired {
            cutoff: serde_json::from_value(field("cutoff"))?,
        },
        "replaced" => Outcome::Replaced { stored: stored()? },
        "removed" => Outcome::Removed { stored: stored()? },
        "missing" => Outcome::Missing,
        "rejected" => bail!("{}", field("error")["message"].as_str().unwrap_or_default()),
        other => bail!("the server has answered {other:?}; are both of one version?"),
    })
}

/// The id or the key of a document, as a request has it.
pub fn named(document: &DocRef) -> Value {
    match document {
        DocRef::Id(DocId(id)) => json!({ "id": id }),
        DocRef::Key(key) => json!({ "key": key }),
    }
}

/// A dot is encoded: `..` would be another address.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

/// A key as a part of an address.
fn percent_encoded(key: &str) -> String {
    utf8_percent_encode(key, ENCODED).to_string()
}

/// The characters that a part of an address stands for.
fn percent_decoded(encoded: &str) -> String {
    percent_decode_str(encoded).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_numbers_and_texts_stay() {
        let json = json!([{"id": "18446744073709551615", "x": {"id": "7"}}, {"id": null, "text": "\"id\":\"8\""}]);
        let expected =
            json!([{"id": u64::MAX, "x": {"id": 7}}, {"id": null, "text": "\"id\":\"8\""}]);
        assert_eq!(with_numbers_as_ids(&json.to_string()), expected.to_string());
        let mut value = json;
        ids_to_numbers(&mut value);
        assert_eq!(value, expected);
    }

    #[test]
    fn encoded_key_has_no_separator_of_addresses() {
        assert_eq!(
            percent_encoded("a/b?c=1&d#e% ..é"),
            "a%2Fb%3Fc%3D1%26d%23e%25%20%2E%2E%C3%A9"
        );
        for key in ["a/b?c=1&d#e% ..é", "", "%41"] {
            assert_eq!(percent_decoded(&percent_encoded(key)), key);
        }
        assert_eq!(percent_decoded("100%, a+b%"), "100%, a+b%");
    }

    #[test]
    fn only_an_address_is_a_server() {
        for (path, is_server) in [
            ("news.simdb", false),
            ("http", false),
            ("./http://x", false),
            ("http://127.0.0.1:7700/", true),
            ("unix:/run/simdb.sock", true),
        ] {
            assert_eq!(
                Remote::of(Path::new(path)).unwrap().is_some(),
                is_server,
                "{path}"
            );
        }
        let link = Remote::of(Path::new("http://127.0.0.1:7700/?token=secret"))
            .unwrap()
            .unwrap();
        assert_eq!(
            (&link.name[..], link.token.as_deref()),
            ("http://127.0.0.1:7700", Some("secret"))
        );
        let link = Remote::of(Path::new("http://127.0.0.1:7700/?token=a%2Bb+c/d="))
            .unwrap()
            .unwrap();
        assert_eq!(link.token.as_deref(), Some("a+b+c/d="));
    }
}
