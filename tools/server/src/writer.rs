//! [`Writer`]: the thread that waits for commits.
//!
//! Requests submit their changes to the group commit of the database, and the tickets become ready
//! in the order of the groups. So one thread waits for all of them, and no request holds a thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Instant;

use anyhow::{Context, Result};
use axum::http::StatusCode;
use simdb::{Outcome, Ticket};
use tokio::sync::oneshot;

use crate::error::ApiError;
use crate::metrics::Metrics;

/// A submitted request. Their number is bounded by the queue of the database.
struct Submitted {
    ticket: Ticket,
    changes: usize,
    at: Instant,
    reply: oneshot::Sender<Result<Vec<Outcome>, ApiError>>,
}

/// The outcomes of submitted changes, when they are durable.
pub struct Committed(oneshot::Receiver<Result<Vec<Outcome>, ApiError>>);

impl Committed {
    pub fn new(outcomes: oneshot::Receiver<Result<Vec<Outcome>, ApiError>>) -> Self {
        Self(outcomes)
    }

    pub async fn outcomes(self) -> Result<Vec<Outcome>, ApiError> {
        let failed = |_| ApiError::internal("the thread that waits for commits has failed");
        self.0.await.map_err(failed)?
    }
}

pub struct Writer(Sender<Submitted>);

impl Writer {
    /// `has_failed` follows the last commit.
    pub fn start(metrics: Arc<Metrics>, has_failed: Arc<AtomicBool>) -> Result<Self> {
        let (submitted_in, submitted) = channel();
        std::thread::Builder::new()
            .name("simdb-commits".to_owned())
            .spawn(move || wait_for_all(&submitted, &metrics, &has_failed))
            .context("cannot start a thread")?;
        Ok(Self(submitted_in))
    }

    /// Waits for the ticket of changes on the thread of the writer.
    pub fn wait(&self, ticket: Ticket, changes: usize) -> Committed {
        let (reply, outcomes) = oneshot::channel();
        let at = Instant::now();
        // Fails only if the thread has panicked; then the reply is dropped, which is an error.
        let _ = self.0.send(Submitted {
            ticket,
            changes,
            at,
            reply,
        });
        Committed::new(outcomes)
    }
}

/// Returns `true` if a change was written.
fn has_changed(outcome: &Outcome) -> bool {
    outcome.is_inserted() || matches!(outcome, Outcome::Replaced { .. } | Outcome::Removed { .. })
}

fn wait_for_all(submitted: &Receiver<Submitted>, metrics: &Metrics, has_failed: &AtomicBool) {
    let mut group = 0;
    // No commit succeeds any more.
    let mut is_poisoned = false;
    loop {
        let next = match submitted.try_recv() {
            Ok(next) => next,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                metrics.committed(std::mem::take(&mut group));
                match submitted.recv() {
                    Ok(next) => next,
                    Err(_) => break,
                }
            }
        };
        // A ticket that is not ready belongs to a later commit than the tickets before it.
        if !next.ticket.is_done() {
            metrics.committed(std::mem::take(&mut group));
        }
        let outcomes = next.ticket.wait();
        if outcomes.is_ok() {
            group += next.changes;
            metrics.commit_seconds.record(next.at.elapsed());
        }
        let outcomes = outcomes.map_err(ApiError::from);
        match &outcomes {
            // Changes that change nothing are not written.
            Ok(outcomes) if !is_poisoned && outcomes.iter().any(has_changed) => {
                has_failed.store(false, Ordering::Relaxed);
            }
            Err(error) if error.status == StatusCode::INTERNAL_SERVER_ERROR => {
                is_poisoned |= matches!(error.kind, "commit_unknown" | "writes_failed");
                has_failed.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
        // Fails if the request is gone. Its changes are made nevertheless.
        let _ = next.reply.send(outcomes);
    }
}
