//! `GET /v1/top`: the documents with the most copies.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use simdb::{Document, Snapshot};
use simdb_tools::wire::WireDocument;

use crate::api::since::time_before;
use crate::error::{ApiError, json_response};
use crate::server::Server;

/// The documents of an answer, unless the request says otherwise, and at most.
const DOCUMENTS: usize = 10;
const MAX_DOCUMENTS: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopQuery {
    limit: Option<usize>,
    /// Only documents with a copy in these seconds, back from the latest arrival or the clock.
    since_seconds: Option<f64>,
}

#[derive(Serialize)]
struct TopAnswer {
    documents: Vec<WireDocument>,
}

pub async fn top(
    State(server): State<Arc<Server>>,
    query: Result<Query<TopQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query?;
    let limit = query.limit.unwrap_or(DOCUMENTS);
    if !(1..=MAX_DOCUMENTS).contains(&limit) {
        let message = format!("limit is {limit}; it is from 1 to {MAX_DOCUMENTS}");
        return Err(ApiError::bad_request(message));
    }
    if server.database.settings().copies.is_none() {
        return Err(ApiError::bad_request(
            "this database records no copies; create one with --copies",
        ));
    }
    let shared = Arc::clone(&server);
    let most = move || most_copied(&shared.database.snapshot()?, limit, query.since_seconds);
    let documents = server.queries.run(most).await??;
    let documents = documents.into_iter().map(WireDocument::from).collect();
    Ok(json_response(&TopAnswer { documents }))
}

/// The documents with the most copies, with their copies.
pub fn most_copied(
    snapshot: &Snapshot,
    limit: usize,
    since_seconds: Option<f64>,
) -> Result<Vec<Document>, ApiError> {
    let since = since_seconds.map(|seconds| time_before(snapshot, seconds));
    let mut documents = Vec::new();
    for (id, _) in snapshot.most_copied(limit, since.transpose()?)? {
        documents.extend(snapshot.get(id)?);
    }
    Ok(documents)
}
