//! [`ApiError`]: a refused request, as JSON.

use std::error::Error as _;
use std::iter::successors;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use simdb::Error;
use simdb_tools::console::error_text;

/// A refused request. `kind` is a word for programs, and a label of the metric of refusals.
#[derive(Clone, Debug, Serialize)]
pub struct ApiError {
    #[serde(skip)]
    pub status: StatusCode,
    pub kind: &'static str,
    pub message: String,
}

/// The kind of a refusal, beside the answer that has it.
#[derive(Clone, Copy)]
pub struct RefusalKind(pub &'static str);

/// The seconds after which a refused client may try again.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Words of serde about a query, and the words of messages in their place.
const QUERY_WORDS: [[&str; 2]; 5] = [
    ["Failed to deserialize query string: ", ""],
    [
        "invalid digit found in string",
        "an integer from 0 on is expected",
    ],
    [
        "number too large to fit in target type",
        "the number is too large",
    ],
    ["invalid float literal", "a number is expected"],
    ["unknown variant ", "unknown value "],
];

impl From<QueryRejection> for ApiError {
    fn from(error: QueryRejection) -> Self {
        Self::bad_query("the address", &error.body_text())
    }
}

impl ApiError {
    pub fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            status,
            kind,
            message,
        }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// A refused query of an address, or a refused form.
    pub fn bad_query(what: &str, reason: &str) -> Self {
        let reason = QUERY_WORDS
            .into_iter()
            .fold(reason.to_owned(), |text, [own, plain]| {
                text.replacen(own, plain, 1)
            });
        Self::bad_request(format!("{what}: {reason}"))
    }

    pub fn bad_document(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_document", message)
    }

    pub fn forbidden(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, kind, message)
    }

    pub fn not_stored(document: impl Into<simdb::DocRef>) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_stored",
            format!("document {} is not stored", document.into()),
        )
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    /// The refusal of work that the server has no room for.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let (status, kind) = status_of(&error);
        let causes = successors(error.source(), |cause| std::error::Error::source(*cause));
        let text = causes.fold(error_text(&error), |text, cause| format!("{text}: {cause}"));
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            log::error!("{text}");
        }
        Self::new(status, kind, text)
    }
}

fn status_of(error: &Error) -> (StatusCode, &'static str) {
    match error {
        Error::QueueFull { .. } | Error::TimedOut { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "busy")
        }
        Error::Closed { .. } => (StatusCode::SERVICE_UNAVAILABLE, "closing"),
        Error::ReadOnly { .. } => (StatusCode::FORBIDDEN, "read_only"),
        Error::Frozen { .. } => (StatusCode::FORBIDDEN, "frozen"),
        Error::AlreadyExists { .. } => (StatusCode::CONFLICT, "already_exists"),
        Error::TextTooLong { .. } | Error::FieldsTooLong { .. } => {
            (StatusCode::PAYLOAD_TOO_LARGE, "too_large")
        }
        Error::UnknownKey { .. } => (StatusCode::NOT_FOUND, "not_stored"),
        Error::InvalidRadius { .. }
        | Error::InvalidLikeness { .. }
        | Error::InvalidWeight { .. }
        | Error::ZeroLimit
        | Error::KeepsNoTexts { .. }
        | Error::NoTexts { .. }
        | Error::TextMissing { .. }
        | Error::ArrivalAhead { .. }
        | Error::NoArrivals { .. }
        | Error::InvalidDocId { .. }
        | Error::InvalidKey { .. }
        | Error::KeyMissing { .. }
        | Error::KeepsNoKeys { .. }
        | Error::KeepsNoCopies { .. }
        | Error::InvalidCopies { .. }
        | Error::InvalidScope { .. }
        | Error::KeepsNoScopes { .. }
        | Error::TooManyScopes { .. }
        | Error::InvalidFingerprint { .. }
        | Error::InvalidTimestamp { .. }
        | Error::TooManyNear { .. }
        | Error::TooManyTexts { .. } => (StatusCode::BAD_REQUEST, "bad_request"),
        Error::CommitUnknown { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "commit_unknown"),
        Error::WritesFailed { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "writes_failed"),
        Error::Corrupt { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "corrupt"),
        Error::Storage { .. } | Error::Io { .. } | Error::NotAllWritten { .. } => {
            (StatusCode::INTERNAL_SERVER_ERROR, "storage")
        }
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json_response(&json!({ "error": &self }));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(RefusalKind(self.kind));
        response
    }
}

/// An answer of a media type.
pub fn response_of(body: impl Into<Body>, media_type: &'static str) -> Response {
    let body: Body = body.into();
    ([(CONTENT_TYPE, media_type)], body).into_response()
}

/// An answer of JSON.
pub fn json_response(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => response_of(bytes, "application/json"),
        Err(error) => {
            ApiError::internal(format!("cannot write the answer: {error}")).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn message_has_the_cause_of_the_error() {
        let error = ApiError::from(Error::Storage {
            action: "write",
            path: "news.simdb".into(),
            source: Box::new(io::Error::from(io::ErrorKind::StorageFull)),
        });
        assert_eq!(error.kind, "storage");
        assert_eq!(
            error.message,
            "cannot write news.simdb; fix the cause; if the error persists, reopen the database: no storage space"
        );
    }
}
