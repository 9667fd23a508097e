//! [`SubsetOptions`]: the documents of a database that a search finds.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use simdb::{Snapshot, Timestamp};

use crate::console::{note, parse_duration};

/// The scopes of the documents that a search finds.
#[derive(Clone, Debug, Args)]
pub struct ScopeOptions {
    /// Find only documents of this scope, in a database with scopes; can be repeated
    ///
    /// The empty name is the scope of the documents without one. A note on standard error names a
    /// scope that no document of the file has.
    #[arg(long, value_name = "NAME")]
    within_scope: Vec<String>,
}

/// The documents of a database that a search finds.
#[derive(Clone, Debug, Args)]
pub struct SubsetOptions {
    #[command(flatten)]
    scopes: ScopeOptions,

    /// Find only documents that arrived in this time: `90m`, `6h`, `1h 30m`
    ///
    /// Counts back from the latest arrival, or from the present if the database uses the clock. The
    /// database needs times of arrival.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    since: Option<Duration>,
}

impl ScopeOptions {
    /// Returns `true` if the search is limited to scopes.
    pub fn is_given(&self) -> bool {
        !self.within_scope.is_empty()
    }

    /// The snapshot with its searches limited. Notes each scope that no document has.
    pub fn of(&self, snapshot: Snapshot) -> Result<Snapshot> {
        for scope in &self.within_scope {
            if !snapshot.has_scope(scope)? {
                note(format_args!("no document has the scope {scope:?}"));
            }
        }
        match self.is_given() {
            true => Ok(snapshot.in_scopes(&self.within_scope)?),
            false => Ok(snapshot),
        }
    }
}

impl SubsetOptions {
    /// Adds these options to a request to a server.
    pub fn add_to(&self, request: &mut Value) {
        if self.scopes.is_given() {
            request["scopes"] = json!(self.scopes.within_scope);
        }
        if let Some(since) = self.since {
            request["since_seconds"] = since.as_secs_f64().into();
        }
    }

    /// The snapshot with its searches limited.
    pub fn of(&self, snapshot: Snapshot) -> Result<Snapshot> {
        let snapshot = self.scopes.of(snapshot)?;
        match self.since {
            Some(age) => Ok(snapshot.since(time_before(&snapshot, age))?),
            None => Ok(snapshot),
        }
    }
}

/// The time that lies before the present of a database.
pub fn time_before(snapshot: &Snapshot, age: Duration) -> Timestamp {
    let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    let now = snapshot.now().unwrap_or_else(Timestamp::now);
    Timestamp(now.0.saturating_sub(age_ms))
}
