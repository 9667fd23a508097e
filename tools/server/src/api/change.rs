//! `POST /v1/documents`: inserts, replacements and removals, each answered when it is durable.
//!
//! A JSON object or array is one request, whose changes are one commit. The lines of NDJSON are a
//! stream: lines that have arrived together are submitted together, and answered while further
//! lines arrive.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;
use simdb::copies::Copies;
use simdb::similarity::Likeness;
use simdb::{
    Change, Decision, DocId, DocRef, Document, Fingerprint, OnExists, OnExtended, Outcome,
    SimilarRule, Within,
};
use simdb_tools::formats::json_reason::reason_of;
use simdb_tools::formats::jsonl::JsonParts;
use simdb_tools::formats::named_document;
use simdb_tools::wire::WireId;
use tokio::sync::mpsc;

use crate::api::lines::{Line, LineGroups};
use crate::api::name::NameQuery;
use crate::api::query::check_text;
use crate::body::{StreamedBody, WholeBody};
use crate::error::{ApiError, RefusalKind, json_response, response_of};
use crate::server::Server;
use crate::together::submit_together;
use crate::wire::{ChangeAnswer, WireOutcome};
use crate::writer::Committed;

/// The most documents of an array.
const MAX_DOCUMENTS: usize = 10_000;

/// From this many documents on, fingerprints are made on all cores.
const MIN_PARALLEL: usize = 8;

/// A body of at most 512 bytes is prepared on a thread of the runtime, in a database without a
/// forest. Its fingerprint takes some tens of microseconds, and waking a thread of the pool for it
/// takes longer.
const INLINE_BYTES: usize = 512;

/// The most groups of a stream that are submitted and not answered.
const MAX_GROUPS: usize = 4;

/// The media types of NDJSON.
const NDJSON: [&str; 3] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
];

/// The change that is made of a document, by the names of [`Change`](simdb::Change).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Insert,
    Upsert,
    InsertUnique,
    InsertUnlessSimilar,
    Remove,
}

/// The options of a request, in its address.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeOptions {
    #[serde(default)]
    mode: Mode,
    radius: Option<u32>,
    #[serde(default)]
    decision: Decision,
    #[serde(default)]
    on_extended: OnExtended,
    edit_similarity: Option<f64>,
    jaccard: Option<f64>,
    #[serde(default)]
    on_exists: OnExists,
    #[serde(default)]
    within: WithinOption,
}

/// The documents with which a new document is compared, in a database with scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WithinOption {
    #[default]
    Scope,
    All,
}

/// The radius of `insert_unique`, unless the request says otherwise.
const RADIUS: u32 = 3;

impl ChangeOptions {
    /// Refuses options that the mode does not use.
    fn check(&self) -> Result<(), ApiError> {
        let refused = |option: &str, mode: &str| {
            Err(ApiError::bad_request(format!(
                "{option} goes with mode={mode} only"
            )))
        };
        if self.radius.is_some() && self.mode != Mode::InsertUnique {
            return refused("radius", "insert_unique");
        }
        let has_rule = self.decision != Decision::default()
            || self.on_extended != OnExtended::default()
            || self.edit_similarity.is_some()
            || self.jaccard.is_some();
        if has_rule && self.mode != Mode::InsertUnlessSimilar {
            return refused(
                "decision, on_extended, edit_similarity or jaccard",
                "insert_unless_similar",
            );
        }
        let is_unique = matches!(self.mode, Mode::InsertUnique | Mode::InsertUnlessSimilar);
        if self.within != WithinOption::default() && !is_unique {
            return refused("within", "insert_unique or insert_unless_similar");
        }
        if self.on_exists != OnExists::default() && !is_unique && self.mode != Mode::Insert {
            return refused(
                "on_exists",
                "insert, insert_unique or insert_unless_similar",
            );
        }
        Ok(())
    }

    fn change(&self, document: Document) -> Change {
        let document = match self.within {
            WithinOption::Scope => document.replacing(self.on_exists),
            WithinOption::All => document
                .replacing(self.on_exists)
                .compared_within(Within::All),
        };
        let usual = Likeness::default();
        match self.mode {
            Mode::Insert => Change::Insert(document),
            Mode::Upsert => Change::Upsert(document),
            Mode::InsertUnique => {
                let radius = self.radius.unwrap_or(RADIUS);
                Change::InsertUnique { document, radius }
            }
            Mode::InsertUnlessSimilar => Change::InsertUnlessSimilar {
                document,
                rule: SimilarRule {
                    decision: self.decision,
                    likeness: Likeness {
                        edit_similarity: self.edit_similarity.unwrap_or(usual.edit_similarity),
                        jaccard: self.jaccard.unwrap_or(usual.jaccard),
                    },
                    on_extended: self.on_extended,
                },
            },
            Mode::Remove => Change::remove(document.doc_ref()),
        }
    }
}

pub async fn change(
    State(server): State<Arc<Server>>,
    options: Result<Query<ChangeOptions>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let Query(options) = options?;
    options.check()?;
    refuse_unchangeable(&server)?;
    let media_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media_type = media_type
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim();
    if NDJSON
        .iter()
        .any(|ndjson| ndjson.eq_ignore_ascii_case(media_type))
    {
        return Ok(change_lines(server, options, body));
    }
    let body = WholeBody::read(body, server.limits.body_bytes, &server.bodies).await?;
    let is_light = body.bytes.len() <= INLINE_BYTES && !server.database.settings().similar;
    let (group, is_one) = match is_light {
        true => {
            let (parts, changes, is_one) = prepare_body(&server, &options, &body)?;
            let submit = |changes| Ok(submit_together(&server, changes));
            let committed = submit_some(changes, submit)?;
            (SubmittedGroup { parts, committed }, is_one)
        }
        false => {
            let shared = Arc::clone(&server);
            let prepare = move || {
                let (parts, changes, is_one) = prepare_body(&shared, &options, &body)?;
                let committed = submit_some(changes, |changes| shared.submit(changes))?;
                Ok::<_, ApiError>((SubmittedGroup { parts, committed }, is_one))
            };
            server.writes.run(prepare).await??
        }
    };
    let answers = group.answers(&server).await?;
    if !is_one {
        return Ok(json_response(&answers));
    }
    match answers.into_iter().next() {
        Some(ChangeAnswer {
            outcome: WireOutcome::Rejected { error },
            ..
        }) => {
            let mut response = error.into_response();
            // The refusal is counted, as each refusal of a list is.
            response.extensions_mut().remove::<RefusalKind>();
            Ok(response)
        }
        Some(answer) => Ok(json_response(&answer)),
        None => Err(ApiError::internal("a change has no outcome")),
    }
}

pub async fn remove(
    State(server): State<Arc<Server>>,
    name: Result<Path<String>, PathRejection>,
    query: Result<Query<NameQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query?;
    let named = query.document(&server, name)?;
    refuse_unchangeable(&server)?;
    let committed = submit_together(&server, vec![Change::remove(named.clone())]);
    let outcome = committed.outcomes().await?.into_iter().next();
    let outcome = outcome.ok_or_else(|| ApiError::internal("a change has no outcome"))?;
    let status = match outcome {
        Outcome::Missing => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    };
    let (id, key) = id_and_key(Some(named));
    let answer = ChangeAnswer {
        line: None,
        id,
        key,
        fingerprint: None,
        reliable: None,
        outcome: WireOutcome::new(outcome, None, None),
    };
    Ok((status, json_response(&answer)).into_response())
}

fn id_and_key(named: Option<DocRef>) -> (Option<WireId>, Option<String>) {
    match named {
        Some(DocRef::Id(id)) => (Some(WireId(id)), None),
        Some(DocRef::Key(key)) => (None, Some(key)),
        None => (None, None),
    }
}

/// Refuses changes of a database that takes none, before a body is read.
fn refuse_unchangeable(server: &Server) -> Result<(), ApiError> {
    if server.is_read_only {
        let message = "the server was started with --read-only";
        return Err(ApiError::forbidden("read_only", message));
    }
    if server.database.settings().frozen {
        return Err(ApiError::forbidden(
            "frozen",
            "the database is frozen: it cannot be changed",
        ));
    }
    Ok(())
}

/// Changes that are submitted together.
struct SubmittedGroup {
    parts: Vec<PreparedLine>,
    committed: Option<Committed>,
}

/// A document of a request, or the reason why it is none.
struct PreparedLine {
    /// The number of the line in a stream.
    line: Option<u64>,
    named: Option<DocRef>,
    made: Result<Option<(Fingerprint, bool)>, ApiError>,
}

impl SubmittedGroup {
    /// The answers, when the changes are durable.
    async fn answers(self, server: &Arc<Server>) -> Result<Vec<ChangeAnswer>, ApiError> {
        let outcomes = match self.committed {
            Some(committed) => committed.outcomes().await?,
            None => Vec::new(),
        };
        let keys = keys_of(server, &outcomes).await?;
        let mut outcomes = outcomes.into_iter();
        let answer = |part: PreparedLine| {
            let (made, outcome) = match part.made {
                Err(error) => {
                    server.metrics.refused(error.kind);
                    (None, WireOutcome::Rejected { error })
                }
                Ok(made) => {
                    let outcome = outcomes.next();
                    let outcome =
                        outcome.ok_or_else(|| ApiError::internal("a change has no outcome"))?;
                    let key = outcome.decided_by().and_then(|id| keys.get(&id).cloned());
                    let fingerprint = made.map(|(fingerprint, _)| fingerprint);
                    (made, WireOutcome::new(outcome, fingerprint, key))
                }
            };
            let (id, key) = id_and_key(part.named);
            Ok(ChangeAnswer {
                line: part.line,
                id,
                key,
                fingerprint: made.map(|(fingerprint, _)| fingerprint),
                reliable: made.map(|(_, reliable)| reliable),
                outcome,
            })
        };
        self.parts.into_iter().map(answer).collect()
    }
}

/// The keys of the documents that outcomes name, without the documents that are removed by now.
async fn keys_of(
    server: &Arc<Server>,
    outcomes: &[Outcome],
) -> Result<HashMap<DocId, String>, ApiError> {
    let ids: Vec<DocId> = match server.database.settings().keys {
        true => outcomes.iter().filter_map(Outcome::decided_by).collect(),
        false => Vec::new(),
    };
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let shared = Arc::clone(server);
    let read = move || {
        let snapshot = shared.database.snapshot()?;
        let mut keys = HashMap::new();
        for id in ids {
            if let Some(key) = snapshot.key(id)? {
                keys.insert(id, key);
            }
        }
        Ok(keys)
    };
    server.queries.run_in_turn(read).await?
}

/// The lines and changes of a body of JSON; `true` if it is one object.
fn prepare_body(
    server: &Server,
    options: &ChangeOptions,
    body: &WholeBody,
) -> Result<(Vec<PreparedLine>, Vec<Change>, bool), ApiError> {
    let text = std::str::from_utf8(&body.bytes)
        .map_err(|_| ApiError::bad_request("the body is not UTF-8"))?;
    let is_one = !text.trim_start().starts_with('[');
    let texts: Vec<&RawValue> = match is_one {
        true => serde_json::from_str(text).map(|one| vec![one]),
        false => serde_json::from_str(text),
    }
    .map_err(|error: serde_json::Error| {
        let reason = match error.to_string().starts_with("trailing characters") {
            true => {
                "it is more than one value; send documents as a JSON array, or as lines with Content-Type: \
                 application/x-ndjson"
            }
            false => &*reason_of(&error),
        };
        ApiError::bad_request(format!("the body: {reason}"))
    })?;
    if texts.len() > MAX_DOCUMENTS {
        let message = format!("the array has more than {MAX_DOCUMENTS} documents; send NDJSON");
        return Err(ApiError::too_large(message));
    }
    let texts = texts
        .into_iter()
        .map(|text| (None, Ok(text.get())))
        .collect();
    let (parts, changes) = prepare(server, options, texts);
    Ok((parts, changes, is_one))
}

fn submit_some(
    changes: Vec<Change>,
    submit: impl FnOnce(Vec<Change>) -> Result<Committed, ApiError>,
) -> Result<Option<Committed>, ApiError> {
    match changes.is_empty() {
        true => Ok(None),
        false => submit(changes).map(Some),
    }
}

/// A numbered line of a stream or a part of an array, or the reason why it cannot be read.
type NumberedText<'t> = (Option<u64>, Result<&'t str, ApiError>);

/// The documents of texts, and the changes of those that are documents, in order.
fn prepare(
    server: &Server,
    options: &ChangeOptions,
    texts: Vec<NumberedText<'_>>,
) -> (Vec<PreparedLine>, Vec<Change>) {
    let parser = Parser { server, options };
    let parsed: Vec<(PreparedLine, Option<Change>)> = match texts.len() < MIN_PARALLEL {
        true => texts.into_iter().map(|text| parser.parse(text)).collect(),
        false => texts
            .into_par_iter()
            .map(|text| parser.parse(text))
            .collect(),
    };
    let (parts, changes): (Vec<_>, Vec<_>) = parsed.into_iter().unzip();
    (parts, changes.into_iter().flatten().collect())
}

struct Parser<'s> {
    server: &'s Server,
    options: &'s ChangeOptions,
}

impl Parser<'_> {
    fn parse(&self, (line, text): NumberedText<'_>) -> (PreparedLine, Option<Change>) {
        let mut named = None;
        let made = text.and_then(|text| self.document(text, &mut named));
        let (made, change) = match made {
            Ok(document) => {
                let is_removal = self.options.mode == Mode::Remove;
                let made = (document.fingerprint, document.reliable);
                (
                    Ok((!is_removal).then_some(made)),
                    Some(self.options.change(document)),
                )
            }
            Err(error) => (Err(error), None),
        };
        (PreparedLine { line, named, made }, change)
    }

    fn document(&self, text: &str, named: &mut Option<DocRef>) -> Result<Document, ApiError> {
        let (bad, forms) = (ApiError::bad_document, &self.server.forms);
        if self.options.mode == Mode::Remove {
            let own = named.insert(forms.removed(text).map_err(bad)?);
            return Ok(Document::new(own.clone(), Fingerprint::from_bits(0)));
        }
        let mut parts = JsonParts::parse(text, forms.all()).map_err(bad)?;
        let own = named.insert(forms.name(&mut parts).map_err(bad)?);
        let (id, key) = match own.clone() {
            DocRef::Id(id) => (id, None),
            DocRef::Key(key) => (DocId::default(), Some(key)),
        };
        let fields = forms.of(&parts).map_err(bad)?;
        let database = &self.server.database;
        let mut content = fields.content(parts).map_err(bad)?;
        if let Some(text) = &content.text {
            check_text(self.server, text)?;
        }
        if let Some(copies) = &mut content.copies {
            name_copies(copies, database.settings().keys).map_err(bad)?;
        }
        let mut document = content
            .into_document(id, database.fingerprinter())
            .map_err(|error| bad(simdb_tools::console::error_text(&error)))?;
        document.key = key;
        if self.options.mode == Mode::InsertUnlessSimilar && document.text.is_none() {
            return Err(bad(
                "it has no text, which mode=insert_unless_similar compares".to_owned(),
            ));
        }
        if !database.settings().keep_texts && self.options.mode != Mode::InsertUnlessSimilar {
            document.text = None;
        }
        self.check_arrival(&document)?;
        Ok(document)
    }

    /// Refuses an arrival for which the database would refuse all changes of the request.
    fn check_arrival(&self, document: &Document) -> Result<(), ApiError> {
        let retention = self.server.database.settings().retention;
        let (Some(retention), Some(arrival)) = (retention, document.arrival) else {
            return Ok(());
        };
        let now = std::time::SystemTime::now().into();
        Ok(retention.check_arrival(document.doc_ref(), arrival, now)?)
    }
}

/// Reads the names of copies as ids in a database without keys: an id is a string in answers.
fn name_copies(copies: &mut Copies, has_keys: bool) -> Result<(), String> {
    for sighting in &mut copies.newest {
        if let DocRef::Key(name) = &sighting.document {
            let named = named_document(name, has_keys);
            sighting.document = named.map_err(|reason| format!("field \"copies\": {reason}"))?;
        }
    }
    Ok(())
}

/// Answers a stream of lines while it arrives.
fn change_lines(server: Arc<Server>, options: ChangeOptions, body: Body) -> Response {
    let (groups_in, mut groups) = mpsc::channel::<Result<SubmittedGroup, ApiError>>(MAX_GROUPS);
    let (answers_in, answers) = mpsc::channel(1);
    let reading = Arc::clone(&server);
    tokio::spawn(async move {
        let mut lines = LineGroups::new(body, &reading);
        loop {
            let group = match lines.next().await {
                Ok(None) => break,
                Ok(Some(group)) => submit_lines(&reading, options, group).await,
                Err(error) => Err(error),
            };
            let has_failed = group.is_err();
            // Fails if the client is gone.
            if groups_in.send(group).await.is_err() || has_failed {
                break;
            }
        }
    });
    tokio::spawn(async move {
        while let Some(group) = groups.recv().await {
            let answered = match group {
                Ok(group) => group.answers(&server).await,
                Err(error) => Err(error),
            };
            let (text, is_last) = match answered {
                Ok(answers) => (lines_of(&answers), false),
                Err(error) => {
                    server.metrics.refused(error.kind);
                    (lines_of(&[serde_json::json!({ "error": error })]), true)
                }
            };
            if answers_in.send(text).await.is_err() || is_last {
                break;
            }
        }
    });
    response_of(Body::new(StreamedBody(answers)), NDJSON[0])
}

async fn submit_lines(
    server: &Arc<Server>,
    options: ChangeOptions,
    lines: Vec<Line>,
) -> Result<SubmittedGroup, ApiError> {
    let shared = Arc::clone(server);
    let submit = move || {
        let texts = lines
            .iter()
            .map(|line| (Some(line.number), line.text()))
            .collect();
        let (parts, changes) = prepare(&shared, &options, texts);
        // A stream waits for room in the queue, and its client for the stream.
        let committed = submit_some(changes, |changes| shared.submit_in_turn(changes))?;
        Ok(SubmittedGroup { parts, committed })
    };
    server.writes.run_in_turn(submit).await?
}

fn lines_of(answers: &[impl serde::Serialize]) -> Vec<u8> {
    let mut text = Vec::new();
    for answer in answers {
        // Writing into memory does not fail, and the answers have no maps with odd keys.
        let _ = serde_json::to_writer(&mut text, answer);
        text.push(b'\n');
    }
    text
}
