//! The addresses that are about the database as a whole, and about the server.

use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use simdb_tools::reports::{Examination, StatsReport};
use simdb_tools::wire::ids_to_strings;

use crate::body::WholeBody;
use crate::error::{ApiError, json_response, response_of};
use crate::server::Server;

/// The description of the API.
const OPENAPI: &str = include_str!("openapi.json");

pub async fn healthz(State(server): State<Arc<Server>>) -> Response {
    match server.has_failed() {
        false => json_response(&json!({ "ok": true })),
        true => {
            let message = "the last commit failed, for the reason in the log; if commits still fail, start the \
                           server again";
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "writes_failed", message).into_response()
        }
    }
}

pub async fn openapi() -> Response {
    response_of(OPENAPI, "application/json")
}

pub async fn metrics(State(server): State<Arc<Server>>) -> Result<Response, ApiError> {
    let shared = Arc::clone(&server);
    let snapshot = server
        .queries
        .run(move || shared.database.snapshot())
        .await??;
    let connections = server.metrics.connections.load(Ordering::Relaxed);
    let gauges = [
        (
            "simdb_stored_documents",
            "Documents, expired ones included.",
            snapshot.stored_len() as f64,
        ),
        (
            "simdb_unmerged_changes",
            "Changes in the journal that are not in the tables yet.",
            snapshot.unmerged_changes() as f64,
        ),
        ("simdb_connections", "Open connections.", connections as f64),
    ];
    Ok(response_of(
        server.metrics.text(&gauges, snapshot.cache_misses()),
        "text/plain; version=0.0.4",
    ))
}

pub async fn settings(State(server): State<Arc<Server>>) -> Response {
    json_response(server.database.settings())
}

/// The form of a report.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReportFormat {
    #[default]
    Json,
    /// As `simdb-cli` prints it.
    Text,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportOptions {
    #[serde(default)]
    format: ReportFormat,
}

type ReportQuery = Result<Query<ReportOptions>, QueryRejection>;

fn report(
    options: ReportQuery,
    json: impl FnOnce() -> Value,
    text: impl FnOnce() -> String,
) -> Result<Response, ApiError> {
    let Query(options) = options?;
    Ok(match options.format {
        ReportFormat::Text => response_of(text() + "\n", "text/plain; charset=utf-8"),
        ReportFormat::Json => {
            let mut value = json();
            ids_to_strings(&mut value);
            json_response(&value)
        }
    })
}

pub async fn stats(
    State(server): State<Arc<Server>>,
    options: ReportQuery,
) -> Result<Response, ApiError> {
    let shared = Arc::clone(&server);
    let made = server
        .reports
        .run(move || StatsReport::of_served(&shared.database))
        .await?;
    let stats = made.map_err(of_report)?;
    report(options, || stats.json(), || stats.text())
}

pub async fn doctor(
    State(server): State<Arc<Server>>,
    options: ReportQuery,
) -> Result<Response, ApiError> {
    let shared = Arc::clone(&server);
    let examination = server.reports.run(move || examine(&shared)).await??;
    report(options, || examination.json(), || examination.text())
}

/// Examines the database. Merges the journal before, which is not examined. If that fails, as on a
/// full disk, the examination names the number of changes that are not merged.
pub fn examine(server: &Server) -> Result<Examination, ApiError> {
    if !server.is_read_only && !server.database.settings().frozen {
        let _merged = server.database.merge();
    }
    Examination::new(&server.database.snapshot()?).map_err(of_report)
}

/// The error of a report, which is an error of the library.
fn of_report(error: anyhow::Error) -> ApiError {
    match error.downcast::<simdb::Error>() {
        Ok(error) => error.into(),
        Err(error) => ApiError::internal(format!("{error:#}")),
    }
}

/// The longest name of a backup: file systems allow 255 bytes.
const MAX_NAME_BYTES: usize = 255;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BackupRequest {
    /// The name of a new file in the folder of backups.
    name: String,
}

pub async fn backup(State(server): State<Arc<Server>>, body: Body) -> Result<Response, ApiError> {
    let body = WholeBody::read(body, server.limits.body_bytes, &server.bodies).await?;
    let BackupRequest { name } = body.json()?;
    let Some(folder) = &server.backups else {
        let message = "the server was started without --backups FOLDER";
        return Err(ApiError::forbidden("no_backups", message));
    };
    let mut parts = Path::new(&name).components();
    let is_plain = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    );
    let is_odd = |c: char| c.is_control() || "/\\".contains(c);
    if !is_plain || name.contains(is_odd) || name.len() > MAX_NAME_BYTES {
        let message = format!(
            "name is the name of a file, without a folder and control characters, of at most \
             {MAX_NAME_BYTES} bytes"
        );
        return Err(ApiError::bad_request(message));
    }
    let path = folder.join(&name);
    let shared = Arc::clone(&server);
    server
        .reports
        .run(move || shared.database.backup(path))
        .await??;
    Ok(json_response(&json!({ "name": name })))
}
