//! `POST /v1/compare`: two texts or documents, by bits, by measures and by words.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use simdb::containment::{Containment, Weights};
use simdb::similarity::Resemblance;
use simdb::{Fingerprint, Normaliser, Snapshot};
use simdb_tools::wire::WireId;

use crate::api::query::{ResolvedQuery, Sought};
use crate::body::WholeBody;
use crate::error::{ApiError, json_response};
use crate::server::Server;

/// The most pairs of a request.
const MAX_PAIRS: usize = 1000;

/// A request with one pair, or with `pairs`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompareRequest {
    a: Option<Sought>,
    b: Option<Sought>,
    pairs: Option<Vec<PairRequest>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object of a and b")]
struct PairRequest {
    a: Sought,
    b: Sought,
}

#[derive(Serialize)]
pub struct ComparedText {
    id: Option<WireId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    fingerprint: Option<Fingerprint>,
    reliable: Option<bool>,
}

/// The comparison of two texts. What needs a text is `None` for a document without one.
#[derive(Serialize)]
pub struct ComparisonAnswer {
    a: ComparedText,
    b: ComparedText,
    pub distance: Option<u32>,
    pub resemblance: Option<Resemblance>,
    pub containment: Option<Containment>,
}

pub async fn compare(State(server): State<Arc<Server>>, body: Body) -> Result<Response, ApiError> {
    let body = WholeBody::read(body, server.limits.body_bytes, &server.bodies).await?;
    let shared = Arc::clone(&server);
    server
        .queries
        .run(move || answer(&shared, body.json()?))
        .await?
}

fn answer(server: &Server, request: CompareRequest) -> Result<Response, ApiError> {
    let snapshot = server.database.snapshot()?;
    let compare = |PairRequest { a, b }: PairRequest| compare_sought(server, &snapshot, a, b);
    match (request.a, request.b, request.pairs) {
        (Some(a), Some(b), None) => Ok(json_response(&compare(PairRequest { a, b })?)),
        (None, None, Some(pairs)) if pairs.len() > MAX_PAIRS => Err(ApiError::too_large(format!(
            "a request has at most {MAX_PAIRS} pairs"
        ))),
        (None, None, Some(pairs)) => {
            let answers = pairs
                .into_iter()
                .map(compare)
                .collect::<Result<Vec<_>, _>>()?;
            Ok(json_response(&serde_json::json!({ "answers": answers })))
        }
        _ => Err(ApiError::bad_request("give a and b, or pairs")),
    }
}

fn compare_sought(
    server: &Server,
    snapshot: &Snapshot,
    a: Sought,
    b: Sought,
) -> Result<ComparisonAnswer, ApiError> {
    let [a, b] = [a.resolve(server, snapshot)?, b.resolve(server, snapshot)?];
    Ok(compare_resolved(&a, &b))
}

/// Compares two texts or documents.
pub fn compare_resolved(a: &ResolvedQuery, b: &ResolvedQuery) -> ComparisonAnswer {
    let side = |query: &ResolvedQuery| ComparedText {
        id: query.id.map(WireId),
        key: query.key.clone(),
        fingerprint: query.made.map(|made| made.fingerprint),
        reliable: query.made.map(|made| made.reliable),
    };
    let normaliser = Normaliser::new();
    let texts = a.text.as_deref().zip(b.text.as_deref());
    let fingerprints = a.made.zip(b.made);
    ComparisonAnswer {
        a: side(a),
        b: side(b),
        distance: fingerprints.map(|(a, b)| a.fingerprint.distance(b.fingerprint)),
        resemblance: texts.map(|(a, b)| Resemblance::new(&normaliser, a, b)),
        containment: texts.map(|(a, b)| Containment::new(&normaliser, Weights::builtin(), a, b)),
    }
}
