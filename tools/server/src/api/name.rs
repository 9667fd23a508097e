//! [`NameQuery`]: the document that an address names, by its key or by its id.
//!
//! The database decides which of the two a name is, and not the name: in a database with keys a
//! name is a key, even if the name is digits. `?by=id` and `?by=key` say so otherwise.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use serde::Deserialize;
use simdb::{DocId, DocRef, Snapshot};
use simdb_tools::formats::named_document;

use crate::error::ApiError;
use crate::server::Server;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameQuery {
    by: Option<NamedBy>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NamedBy {
    Id,
    Key,
}

impl NameQuery {
    /// The document of a name in an address.
    pub fn document(
        &self,
        server: &Server,
        name: Result<Path<String>, PathRejection>,
    ) -> Result<DocRef, ApiError> {
        // The bytes of a name may be no UTF-8.
        let Path(name) = name.map_err(|error| ApiError::bad_request(error.body_text()))?;
        let is_key = match self.by {
            Some(by) => matches!(by, NamedBy::Key),
            None => server.database.settings().keys,
        };
        named_document(&name, is_key).map_err(ApiError::bad_request)
    }
}

/// The key of a document in a database with keys; `None` in another database.
pub fn key_of(server: &Server, snapshot: &Snapshot, id: DocId) -> Result<Option<String>, ApiError> {
    match server.database.settings().keys {
        true => Ok(snapshot.key(id)?),
        false => Ok(None),
    }
}
