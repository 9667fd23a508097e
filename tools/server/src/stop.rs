//! The end of the server.

use tokio::sync::watch;

/// Waits until the server is to end.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error is the end of the server too.
    drop(stop.wait_for(|stop| *stop).await);
}
