//! `GET /v1/documents`: stored documents, one by its key or id or pages of all.

use std::sync::Arc;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use simdb::{DocId, Document, Snapshot};
use simdb_tools::formats::id_of_digits;
use simdb_tools::wire::{WireDocument, WireId};

use crate::api::name::NameQuery;
use crate::error::{ApiError, json_response};
use crate::server::Server;

/// The documents of a page, unless the request says otherwise, and at most.
const PAGE_DOCUMENTS: usize = 100;
const MAX_PAGE_DOCUMENTS: usize = 1000;

/// A page ends with the document whose text exceeds this, so that an answer fits into memory.
const PAGE_TEXT_BYTES: usize = 8 << 20;

pub async fn get(
    State(server): State<Arc<Server>>,
    name: Result<Path<String>, PathRejection>,
    query: Result<Query<NameQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query?;
    let named = query.document(&server, name)?;
    let (shared, asked) = (Arc::clone(&server), named.clone());
    let found = server
        .queries
        .run(move || shared.database.get(asked))
        .await??;
    let document = found.ok_or_else(|| ApiError::not_stored(named))?;
    Ok(json_response(&WireDocument::from(document)))
}

/// The order of documents by their ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    #[default]
    Ascending,
    Descending,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// The first id of the page.
    from: Option<String>,
    /// The key of the first document of the page, in place of an id.
    from_key: Option<String>,
    limit: Option<usize>,
    #[serde(default)]
    order: Order,
}

#[derive(Serialize)]
struct Page {
    documents: Vec<WireDocument>,
    /// The id from which the next page starts; `None` after the last page.
    next: Option<WireId>,
}

pub async fn list(
    State(server): State<Arc<Server>>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query?;
    let from = query
        .from
        .as_deref()
        .map(id_of_digits)
        .transpose()
        .map_err(ApiError::bad_request)?;
    let limit = query.limit.unwrap_or(PAGE_DOCUMENTS);
    if !(1..=MAX_PAGE_DOCUMENTS).contains(&limit) {
        let message = format!("limit is {limit}; it is from 1 to {MAX_PAGE_DOCUMENTS}");
        return Err(ApiError::bad_request(message));
    }
    if from.is_some() && query.from_key.is_some() {
        return Err(ApiError::bad_request("give from or from_key"));
    }
    let shared = Arc::clone(&server);
    let page = move || {
        let snapshot = shared.database.snapshot()?;
        let from = match query.from_key {
            Some(key) => Some(
                snapshot
                    .id(&key)?
                    .ok_or_else(|| ApiError::not_stored(key))?,
            ),
            None => from,
        };
        Ok::<_, ApiError>(page_of(&snapshot, from, query.order, limit)?)
    };
    let (documents, next) = server.queries.run(page).await??;
    let documents = documents.into_iter().map(WireDocument::from).collect();
    Ok(json_response(&Page {
        documents,
        next: next.map(WireId),
    }))
}

/// The documents of a page, and the id from which the next page starts.
pub fn page_of(
    snapshot: &Snapshot,
    from: Option<DocId>,
    order: Order,
    limit: usize,
) -> simdb::Result<(Vec<Document>, Option<DocId>)> {
    match order {
        Order::Ascending => {
            let documents = snapshot.documents_from(from.unwrap_or(DocId(0)));
            first_page(documents, limit)
        }
        Order::Descending => {
            let ids = last_ids(snapshot, from.unwrap_or(DocId(u64::MAX)), limit + 1)?;
            // Expired or removed meanwhile, a document is `None`; the snapshot excludes that.
            let documents = ids.into_iter().rev();
            let documents = documents.filter_map(|id| snapshot.get(id).transpose());
            first_page(documents, limit)
        }
    }
}

fn first_page(
    mut documents: impl Iterator<Item = simdb::Result<Document>>,
    limit: usize,
) -> simdb::Result<(Vec<Document>, Option<DocId>)> {
    let (mut page, mut text_bytes) = (Vec::new(), 0);
    while page.len() < limit && text_bytes <= PAGE_TEXT_BYTES {
        let Some(document) = documents.next().transpose()? else {
            return Ok((page, None));
        };
        text_bytes += document.text.as_ref().map_or(0, String::len);
        page.push(document);
    }
    let next = documents.next().transpose()?;
    Ok((page, next.map(|document| document.id)))
}

/// The most documents that are read to find the range of a page.
const MAX_PROBED: usize = 4096;

/// The ids of at least the last `count` documents up to `from`, ascending.
///
/// The database reads ids in ascending order only. The range below `from` is doubled until it has
/// enough documents, and halved if it has far more: ids may be consecutive, or hashes.
fn last_ids(snapshot: &Snapshot, from: DocId, count: usize) -> simdb::Result<Vec<DocId>> {
    let Some(last) = snapshot.last_id()? else {
        return Ok(Vec::new());
    };
    let last = last.0.min(from.0);
    // Too few documents are within `short` ids, and too many to read within `long` ids.
    let (mut short, mut long) = (0, None);
    let mut span = count as u64;
    loop {
        let first = last.saturating_sub(span);
        let ids = ids_between(snapshot, first, last)?;
        if ids.len() > MAX_PROBED {
            long = Some(span);
        } else if ids.len() < count && first > 0 {
            short = span;
        } else {
            return Ok(ids);
        }
        span = match long {
            None => span.saturating_mul(4),
            // No span lies between: the documents of the longer one are read after all.
            Some(long) if long - short <= 1 => return Ok(ids),
            Some(long) => short + (long - short) / 2,
        };
    }
}

/// The ids from `first` to `last`, at most one more than [`MAX_PROBED`].
fn ids_between(snapshot: &Snapshot, first: u64, last: u64) -> simdb::Result<Vec<DocId>> {
    let mut ids = Vec::new();
    for document in snapshot.documents_from(DocId(first)).take(MAX_PROBED + 1) {
        let id = document?.id;
        if id.0 > last {
            break;
        }
        ids.push(id);
    }
    Ok(ids)
}
