//! `POST /v1/query` and `/v1/similar`: the documents near a text, a fingerprint or a document.

use std::ops::ControlFlow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use simdb::similarity::Likeness;
use simdb::{
    Decision, DocId, DocRef, Document, Fingerprint, Match, Similar, Snapshot, TextFingerprint,
};
use simdb_tools::wire::WireId;

use crate::api::name::key_of;
use crate::api::since::time_before;
use crate::body::WholeBody;
use crate::error::{ApiError, json_response};
use crate::server::Server;
use crate::wire::match_value;

/// The radius of a query, unless the request says otherwise.
const RADIUS: u32 = 3;

/// The matches of a query, unless the request says otherwise, and at most.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 10_000;

/// The most queries of a request, and the most matches that they may ask for.
const MAX_QUERIES: usize = 1000;
const MAX_ALL_MATCHES: usize = 1_000_000;

/// The query: one of the fields is given.
#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object such as {\"text\": \"...\"}"
)]
pub struct Sought {
    text: Option<String>,
    fingerprint: Option<Fingerprint>,
    id: Option<WireId>,
    key: Option<String>,
}

/// A request with one query, or with `queries`, which share the options.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StrictRequest {
    text: Option<String>,
    fingerprint: Option<Fingerprint>,
    id: Option<WireId>,
    key: Option<String>,
    queries: Option<Vec<Sought>>,
    /// Only documents of these scopes.
    scopes: Option<Vec<String>>,
    /// Only documents that arrived in these seconds, back from the latest arrival or the clock.
    since_seconds: Option<f64>,
    radius: Option<u32>,
    /// The nearest documents at any distance, this many.
    nearest: Option<usize>,
    limit: Option<usize>,
    /// Answers have the texts of the matches.
    #[serde(default)]
    texts: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SimilarRequest {
    text: Option<String>,
    id: Option<WireId>,
    key: Option<String>,
    queries: Option<Vec<Sought>>,
    scopes: Option<Vec<String>>,
    since_seconds: Option<f64>,
    radius: Option<u32>,
    edit_similarity: Option<f64>,
    jaccard: Option<f64>,
    #[serde(default)]
    decision: Decision,
    #[serde(default)]
    narrow: bool,
    /// `false` compares the documents within the radius only.
    #[serde(default = "yes")]
    forest: bool,
    limit: Option<usize>,
    #[serde(default)]
    texts: bool,
}

fn yes() -> bool {
    true
}

/// The query of a request: a text or a document, with its fingerprint.
pub struct ResolvedQuery {
    pub text: Option<String>,
    pub made: Option<TextFingerprint>,
    /// The document of the query, which is not among its own matches.
    pub id: Option<DocId>,
    pub key: Option<String>,
}

impl ResolvedQuery {
    /// A query that is no document.
    fn unnamed(text: Option<String>, made: Option<TextFingerprint>) -> Self {
        Self {
            text,
            made,
            id: None,
            key: None,
        }
    }
}

#[derive(Serialize)]
struct Answer<M> {
    fingerprint: Option<Fingerprint>,
    reliable: Option<bool>,
    matches: Vec<M>,
    /// `true` if the limit has left out matches.
    is_cut: bool,
}

impl Sought {
    pub fn of_text(text: String) -> Self {
        let text = Some(text);
        Self {
            text,
            ..Self::default()
        }
    }

    pub fn of_document(document: DocRef) -> Self {
        match document {
            DocRef::Id(id) => Self {
                id: Some(WireId(id)),
                ..Self::default()
            },
            DocRef::Key(key) => Self {
                key: Some(key),
                ..Self::default()
            },
        }
    }

    pub fn of_fingerprint(fingerprint: Fingerprint) -> Self {
        let fingerprint = Some(fingerprint);
        Self {
            fingerprint,
            ..Self::default()
        }
    }

    /// The query, made ready by the snapshot that answers it.
    pub fn resolve(self, server: &Server, snapshot: &Snapshot) -> Result<ResolvedQuery, ApiError> {
        let document = match (self.id, self.key) {
            (Some(WireId(id)), None) => Some(DocRef::Id(id)),
            (None, Some(key)) => Some(DocRef::Key(key)),
            (None, None) => None,
            _ => return Err(ApiError::bad_request("a query has an id or a key")),
        };
        match (self.text, self.fingerprint, document) {
            (Some(text), None, None) => {
                check_text(server, &text)?;
                let takes_texts = server.database.settings().recipe.takes_texts();
                let made = takes_texts
                    .then(|| server.database.fingerprint(&text))
                    .transpose()?;
                Ok(ResolvedQuery::unnamed(Some(text), made))
            }
            (None, Some(fingerprint), None) => {
                Ok(ResolvedQuery::unnamed(None, Some(fingerprint.into())))
            }
            (None, None, Some(named)) => {
                let document = snapshot
                    .get(named.clone())?
                    .ok_or_else(|| ApiError::not_stored(named))?;
                let made = Some(document.text_fingerprint());
                Ok(ResolvedQuery {
                    text: document.text,
                    made,
                    id: Some(document.id),
                    key: document.key,
                })
            }
            _ => Err(ApiError::bad_request(
                "a query has one of text, fingerprint, id and key",
            )),
        }
    }
}

/// Refuses a text that would take too much memory.
pub fn check_text(server: &Server, text: &str) -> Result<(), ApiError> {
    let most = server.limits.text_bytes;
    match text.len() > most {
        true => Err(ApiError::too_large(format!(
            "the text has more than {most} bytes, the limit of --max-text"
        ))),
        false => Ok(()),
    }
}

/// The queries of a request; `true` if the request has one, without `queries`.
fn queries(one: Sought, many: Option<Vec<Sought>>) -> Result<(Vec<Sought>, bool), ApiError> {
    let has_one =
        one.text.is_some() || one.fingerprint.is_some() || one.id.is_some() || one.key.is_some();
    match many {
        None => Ok((vec![one], true)),
        Some(_) if has_one => Err(ApiError::bad_request("give one query, or queries")),
        Some(many) if many.len() > MAX_QUERIES => Err(ApiError::too_large(format!(
            "a request has at most {MAX_QUERIES} queries"
        ))),
        Some(many) => Ok((many, false)),
    }
}

/// Refuses a radius that the library refuses, even if no query comes to use it.
fn check_radius(radius: Option<u32>) -> Result<(), ApiError> {
    match radius {
        Some(radius) if radius > Fingerprint::BITS => Err(ApiError::bad_request(format!(
            "the radius is {radius}; it is from 0 to 64"
        ))),
        _ => Ok(()),
    }
}

fn checked_limit(limit: Option<usize>, queries: usize) -> Result<usize, ApiError> {
    let limit = limit.unwrap_or(LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        let message = format!("the limit is {limit}; it is from 1 to {MAX_LIMIT}");
        return Err(ApiError::bad_request(message));
    }
    if limit * queries > MAX_ALL_MATCHES {
        let message =
            format!("{queries} queries of {limit} matches are more than {MAX_ALL_MATCHES}");
        return Err(ApiError::bad_request(message));
    }
    Ok(limit)
}

pub async fn query(State(server): State<Arc<Server>>, body: Body) -> Result<Response, ApiError> {
    let body = WholeBody::read(body, server.limits.body_bytes, &server.bodies).await?;
    let shared = Arc::clone(&server);
    server
        .queries
        .run(move || answer_strict(&shared, body.json()?))
        .await?
}

fn answer_strict(server: &Server, request: StrictRequest) -> Result<Response, ApiError> {
    let StrictRequest {
        text,
        fingerprint,
        id,
        key,
        ..
    } = request;
    let (queries, is_one) = queries(
        Sought {
            text,
            fingerprint,
            id,
            key,
        },
        request.queries,
    )?;
    if request.nearest.is_some() && (request.limit.is_some() || request.radius.is_some()) {
        return Err(ApiError::bad_request(
            "nearest goes without limit and radius",
        ));
    }
    check_radius(request.radius)?;
    let limit = checked_limit(request.nearest.or(request.limit), queries.len())?;
    let (queries, snapshot) = resolve_all(
        server,
        queries,
        request.scopes.as_deref(),
        request.since_seconds,
    )?;
    let found = match request.nearest {
        Some(count) => nearest(&snapshot, &queries, count)?,
        None => within(&snapshot, &queries, request.radius.unwrap_or(RADIUS), limit)?,
    };
    let answers = queries.into_iter().zip(found).map(|(query, mut matches)| {
        matches.retain(|found| Some(found.id) != query.id);
        let is_cut = request.nearest.is_none() && matches.len() > limit;
        matches.truncate(limit);
        let value = |found: Match| {
            let mut value = match_value(&found, key_of(server, &snapshot, found.id)?);
            let text = request.texts.then(|| text_of(&snapshot, found.id));
            if let Some(text) = text.transpose()?.flatten() {
                value["text"] = text.into();
            }
            Ok(value)
        };
        let matches = matches
            .into_iter()
            .map(value)
            .collect::<Result<_, ApiError>>()?;
        Ok(answer(&query, matches, is_cut))
    });
    respond(answers.collect::<Result<Vec<_>, ApiError>>()?, is_one)
}

/// The contents of the queries of a request, and the documents that the queries find. A query may
/// name a document that it does not find.
fn resolve_all(
    server: &Server,
    queries: Vec<Sought>,
    scopes: Option<&[String]>,
    since_seconds: Option<f64>,
) -> Result<(Vec<ResolvedQuery>, Snapshot), ApiError> {
    let mut snapshot = server.database.snapshot()?;
    let queries = queries
        .into_iter()
        .map(|query| query.resolve(server, &snapshot));
    let queries = queries.collect::<Result<_, _>>()?;
    if let Some(seconds) = since_seconds {
        snapshot = snapshot.since(time_before(&snapshot, seconds)?)?;
    }
    if let Some(scopes) = scopes {
        snapshot = snapshot.in_scopes(scopes)?;
    }
    Ok((queries, snapshot))
}

fn answer<M>(query: &ResolvedQuery, matches: Vec<M>, is_cut: bool) -> Answer<M> {
    Answer {
        fingerprint: query.made.map(|made| made.fingerprint),
        reliable: query.made.map(|made| made.reliable),
        matches,
        is_cut,
    }
}

/// The answer to one query, or the list of answers.
fn respond(mut answers: Vec<Answer<impl Serialize>>, is_one: bool) -> Result<Response, ApiError> {
    match (is_one, answers.len()) {
        (false, _) => Ok(json_response(&json!({ "answers": answers }))),
        (true, 1) => Ok(json_response(&answers.remove(0))),
        (true, count) => Err(ApiError::internal(format!("one query has {count} answers"))),
    }
}

fn text_of(snapshot: &Snapshot, id: DocId) -> Result<Option<String>, ApiError> {
    Ok(snapshot
        .get(id)?
        .and_then(|document: Document| document.text))
}

/// The matches within a radius, at most two more than the limit: one may be the document of the
/// query, and one shows that the limit leaves out others.
fn within(
    snapshot: &Snapshot,
    queries: &[ResolvedQuery],
    radius: u32,
    limit: usize,
) -> Result<Vec<Vec<Match>>, ApiError> {
    let reliable = |query: &ResolvedQuery| query.made.filter(|made| made.reliable);
    if let [query] = queries {
        let made = reliable(query);
        let found = made.map(|made| snapshot.within_limit(made.fingerprint, radius, limit + 2));
        return Ok(vec![found.transpose()?.unwrap_or_default()]);
    }
    let fingerprints: Vec<Fingerprint> = queries
        .iter()
        .filter_map(reliable)
        .map(|made| made.fingerprint)
        .collect();
    let mut found = Vec::with_capacity(fingerprints.len());
    snapshot.within_batch_with(&fingerprints, radius, limit + 2, |_, matches| {
        found.push(matches);
        ControlFlow::Continue(())
    })?;
    let mut found = found.into_iter();
    let of_query = |query| match reliable(query) {
        Some(_) => found.next().unwrap_or_default(),
        None => Vec::new(),
    };
    Ok(queries.iter().map(of_query).collect())
}

fn nearest(
    snapshot: &Snapshot,
    queries: &[ResolvedQuery],
    count: usize,
) -> Result<Vec<Vec<Match>>, ApiError> {
    let of_query = |query: &ResolvedQuery| match query.made.filter(|made| made.reliable) {
        Some(made) => {
            Ok(snapshot.nearest(made.fingerprint, count + usize::from(query.id.is_some()))?)
        }
        None => Ok(Vec::new()),
    };
    queries.iter().map(of_query).collect()
}

pub async fn similar(State(server): State<Arc<Server>>, body: Body) -> Result<Response, ApiError> {
    let body = WholeBody::read(body, server.limits.body_bytes, &server.bodies).await?;
    let shared = Arc::clone(&server);
    server
        .queries
        .run(move || answer_similar(&shared, body.json()?))
        .await?
}

fn answer_similar(server: &Server, request: SimilarRequest) -> Result<Response, ApiError> {
    let SimilarRequest { text, id, key, .. } = request;
    let (queries, is_one) = queries(
        Sought {
            text,
            fingerprint: None,
            id,
            key,
        },
        request.queries,
    )?;
    check_radius(request.radius)?;
    let limit = checked_limit(request.limit, queries.len())?;
    if request.narrow && request.decision == Decision::Alike {
        return Err(ApiError::bad_request(
            "narrow does not go with the decision alike",
        ));
    }
    let usual = Likeness::default();
    let options = SimilarOptions {
        likeness: Likeness {
            edit_similarity: request.edit_similarity.unwrap_or(usual.edit_similarity),
            jaccard: request.jaccard.unwrap_or(usual.jaccard),
        },
        decision: request.decision,
        radius: request.radius,
        is_narrow: request.narrow,
        only_within_radius: !request.forest,
    };
    let (queries, snapshot) = resolve_all(
        server,
        queries,
        request.scopes.as_deref(),
        request.since_seconds,
    )?;
    let answers = queries.into_iter().map(|query| {
        let mut matches = similar_to(server, &snapshot, &query, &options)?;
        let is_cut = matches.len() > limit;
        matches.truncate(limit);
        let value = |found: &Similar| {
            let mut value = match_value(found, key_of(server, &snapshot, found.id)?);
            if request.texts {
                value["text"] = text_of(&snapshot, found.id)?.into();
            }
            Ok(value)
        };
        let matches = matches
            .iter()
            .map(value)
            .collect::<Result<Vec<Value>, ApiError>>()?;
        Ok(answer(&query, matches, is_cut))
    });
    respond(answers.collect::<Result<Vec<_>, ApiError>>()?, is_one)
}

/// The options of a similar search.
#[derive(Clone, Copy, Default)]
pub struct SimilarOptions {
    pub likeness: Likeness,
    pub decision: Decision,
    pub radius: Option<u32>,
    pub is_narrow: bool,
    pub only_within_radius: bool,
}

/// The documents with similar texts, without the document of the query.
pub fn similar_to(
    server: &Server,
    snapshot: &Snapshot,
    query: &ResolvedQuery,
    options: &SimilarOptions,
) -> Result<Vec<Similar>, ApiError> {
    let Some(text) = &query.text else {
        return Err(ApiError::bad_request(
            "a similar search needs a text, or a document with a text",
        ));
    };
    let mut sought = server.database.text_query(text)?;
    if let Some(made) = query.made {
        sought = sought.with_fingerprint(made);
    }
    if let Some(radius) = options.radius {
        sought = sought.radius(radius);
    }
    if options.is_narrow {
        sought = sought.narrow();
    }
    if options.only_within_radius {
        sought = sought.without_forest();
    }
    sought = sought.likeness(options.likeness).decision(options.decision);
    let mut matches = snapshot.similar(&sought)?;
    matches.retain(|found| Some(found.id) != query.id);
    Ok(matches)
}
