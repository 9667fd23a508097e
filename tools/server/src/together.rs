//! The small requests of many connections, submitted to the database at once.
//!
//! Requests arrive in waves: a commit answers many connections, and each of them sends its next
//! request. A request that is submitted by itself starts a commit of its own, while the rest of the
//! wave is still being read: six of seven commits had one change, and each takes a sync. So the
//! first request of a wave waits until the runtime has no further request at hand.

use std::sync::Arc;

use simdb::Change;
use tokio::task::yield_now;

use crate::error::ApiError;
use crate::server::Server;
use crate::wave::WaitingRequest;
use crate::writer::Committed;

/// The most requests of a wave, and the most turns of the runtime for which the first request
/// waits.
const MAX_REQUESTS: usize = 1024;
const MAX_TURNS: usize = 64;

/// Submits the changes of a small request together with the requests that arrive with it.
pub fn submit_together(server: &Arc<Server>, changes: Vec<Change>) -> Committed {
    let (committed, is_first) = server.waves.push(changes);
    if is_first {
        // A task of its own, because a request ends when its client is gone.
        tokio::spawn(submit_wave(Arc::clone(server)));
    }
    committed
}

async fn submit_wave(server: Arc<Server>) {
    let mut gathered = 0;
    for _ in 0..MAX_TURNS {
        // Other tasks run first, and arrived requests become tasks.
        yield_now().await;
        let count = server.waves.len();
        if count == gathered || count >= MAX_REQUESTS {
            break;
        }
        gathered = count;
    }
    answer(&server, server.waves.take()).await;
}

/// Submits requests as one, and answers each of them.
async fn answer(server: &Server, requests: Vec<WaitingRequest>) {
    let changes = requests.iter().flat_map(|request| &request.changes);
    let submitted = server.submit(changes.cloned().collect());
    let outcomes = match submitted {
        Ok(committed) => committed.outcomes().await,
        Err(error) => Err(error),
    };
    match outcomes {
        Ok(outcomes) => {
            let mut outcomes = outcomes.into_iter();
            for WaitingRequest { changes, reply } in requests {
                let own = outcomes.by_ref().take(changes.len()).collect();
                // Fails if the request is gone. Its changes are made nevertheless.
                let _ = reply.send(Ok(own));
            }
        }
        Err(error) if requests.len() == 1 || concerns_all(&error) => {
            for request in requests {
                let _ = request.reply.send(Err(error.clone()));
            }
        }
        // Nothing is changed. A change of one request is the reason, and the others are made.
        Err(_) => {
            let submitted = requests.into_iter().map(|request| {
                let committed = server.submit(request.changes);
                (committed, request.reply)
            });
            for (committed, reply) in submitted.collect::<Vec<_>>() {
                let outcomes = match committed {
                    Ok(committed) => committed.outcomes().await,
                    Err(error) => Err(error),
                };
                let _ = reply.send(outcomes);
            }
        }
    }
}

/// Returns `true` if an error does not depend on the changes, or if changes may have been made.
fn concerns_all(error: &ApiError) -> bool {
    let kinds = [
        "busy",
        "closing",
        "commit_unknown",
        "writes_failed",
        "read_only",
        "frozen",
    ];
    kinds.contains(&error.kind)
}
