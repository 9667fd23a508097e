//! Listeners and connections: their number, and the time that each may take.

use std::fs;
use std::future::Future;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use axum::response::Response;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Sleep, sleep, timeout};

use crate::metrics::Metrics;
use crate::options::ListenAddress;
use crate::routes::Service;
use crate::stop::stopped;

/// The longest time for the head of a request, and for a connection without one.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// The longest time in which a client reads nothing of its answer.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// The longest time, and the most bytes, for which a refused client may go on to send its body.
const LINGER_TIME: Duration = Duration::from_secs(5);
const LINGER_BYTES: usize = 256 << 20;

/// The longest head of a request.
const HEAD_BYTES: usize = 64 << 10;

/// The time in which a refused client may read the refusal, and the number of such clients.
const REFUSAL_TIME: Duration = Duration::from_millis(500);
const MAX_REFUSALS: usize = 64;

/// The answer to a connection beyond the limit.
const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: application/json\r\nContent-Length: 78\r\n\r\n\
    {\"error\":{\"kind\":\"busy\",\"message\":\"the server has no room for a connection\"}}\n";

/// A bound address.
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

/// The file of a socket, removed at the end.
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The file may be gone already.
        let _ = fs::remove_file(&self.0);
    }
}

impl Listener {
    pub async fn bind(address: &ListenAddress) -> Result<Self> {
        match address {
            ListenAddress::Tcp(address) => {
                let bound = TcpListener::bind(address).await;
                Ok(Self::Tcp(
                    bound.with_context(|| format!("cannot listen at {address}"))?,
                ))
            }
            ListenAddress::Unix(path) => {
                remove_stale(path)?;
                let listener = bind_private(path)
                    .with_context(|| format!("cannot listen at unix:{}", path.display()))?;
                let file = SocketFile(path.clone());
                Ok(Self::Unix(listener, file))
            }
        }
    }

    /// The bound address: the port is chosen by the system if port 0 was asked for.
    pub fn address(&self) -> Result<ListenAddress> {
        Ok(match self {
            Self::Tcp(listener) => ListenAddress::Tcp(listener.local_addr()?),
            Self::Unix(_, file) => ListenAddress::Unix(file.0.clone()),
        })
    }
}

/// Binds a socket that only this user can open. It gets its name when it has its mode: no other
/// user connects before.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let private = tempfile::Builder::new()
        .prefix(".simdb-")
        .tempdir_in(folder)?;
    let bound = private.path().join("s");
    let listener = UnixListener::bind(&bound)?;
    fs::set_permissions(&bound, fs::Permissions::from_mode(0o600))?;
    fs::rename(&bound, path)?;
    Ok(listener)
}

/// Removes the socket of a server that has ended without doing so. A file of another kind, or a
/// socket that a server answers, is an error.
fn remove_stale(path: &Path) -> Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !metadata.file_type().is_socket() {
        bail!(
            "{} exists, and is no socket; choose another path",
            path.display()
        );
    }
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        bail!("another server listens at unix:{}", path.display());
    }
    fs::remove_file(path)
        .with_context(|| format!("cannot remove the old socket {}", path.display()))
}

/// Answers connections until `stop` is set, and then those that are open, for `drain_time`.
pub async fn serve(
    listener: Listener,
    service: Service,
    metrics: Arc<Metrics>,
    most: u32,
    mut stop: watch::Receiver<bool>,
    drain_time: Duration,
) {
    let connections = Connections {
        service,
        open: Arc::new(Semaphore::new(most as usize)),
        refused: Arc::new(Semaphore::new(MAX_REFUSALS)),
        stop: stop.clone(),
        metrics,
    };
    loop {
        let accepted = async {
            match &listener {
                Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                    // Small answers are sent at once.
                    let _ = stream.set_nodelay(true);
                    connections.start(stream);
                }),
                Listener::Unix(listener, _) => listener
                    .accept()
                    .await
                    .map(|(stream, _)| connections.start(stream)),
            }
        };
        tokio::select! {
            accepted = accepted => if let Err(error) = accepted {
                // Too many open files, for example, which passes.
                log::warn!("cannot accept a connection: {error}");
                sleep(Duration::from_millis(50)).await;
            },
            () = stopped(&mut stop) => break,
        }
    }
    // No new connections; the file of a socket is removed.
    drop(listener);
    let all = connections.open.acquire_many(most);
    if timeout(drain_time, all).await.is_err() {
        log::warn!(
            "connections are still open after {} s, and are closed",
            drain_time.as_secs()
        );
    }
}

struct Connections {
    service: Service,
    open: Arc<Semaphore>,
    refused: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
    metrics: Arc<Metrics>,
}

/// A number that is one less after a drop.
struct CountedConnection(Arc<Metrics>);

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connections {
    /// Answers a connection in a task of its own, or refuses it.
    fn start<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, stream: S) {
        let Ok(place) = Arc::clone(&self.open).try_acquire_owned() else {
            self.metrics
                .refused_connections
                .fetch_add(1, Ordering::Relaxed);
            // Beyond this number, a connection is closed without a word.
            if let Ok(place) = Arc::clone(&self.refused).try_acquire_owned() {
                let lingers = Arc::new(AtomicBool::new(true));
                let stream = TimedStream::new(stream, lingers, Arc::clone(&self.metrics));
                tokio::spawn(async move {
                    // A failure means that the client is gone.
                    let _ = timeout(REFUSAL_TIME, refuse(stream)).await;
                    drop(place);
                });
            }
            return;
        };
        self.metrics.connections.fetch_add(1, Ordering::Relaxed);
        let counted = CountedConnection(Arc::clone(&self.metrics));
        let (service, mut stop) = (self.service.clone(), self.stop.clone());
        let lingers = Arc::new(AtomicBool::new(false));
        let stream = TimedStream::new(stream, Arc::clone(&lingers), Arc::clone(&self.metrics));
        tokio::spawn(async move {
            let answer = service_fn(move |request: hyper::Request<Incoming>| {
                let (service, lingers) = (service.clone(), Arc::clone(&lingers));
                async move {
                    let has_body = !request.body().is_end_stream();
                    let answered = service.answer(request).await;
                    // A refusal may come before the end of the body.
                    let is_refused = |answer: &Response| !answer.status().is_success();
                    let is_refused = answered.as_ref().is_ok_and(is_refused);
                    lingers.store(has_body && is_refused, Ordering::Relaxed);
                    answered
                }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                // A client that has sent its request may close its side, and reads the answer.
                .half_close(true)
                .max_buf_size(HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), answer);
            let mut connection = pin!(connection);
            // An error is the end of the connection by the client, or by a time limit.
            tokio::select! {
                _ = connection.as_mut() => {}
                () = stopped(&mut stop) => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
            drop((place, counted));
        });
    }
}

/// Sends the refusal.
async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(mut stream: TimedStream<S>) -> io::Result<()> {
    stream.write_all(REFUSAL).await?;
    stream.shutdown().await
}

/// A stream that counts its bytes, and that fails if a write makes no progress for [`WRITE_TIME`].
struct TimedStream<S> {
    stream: S,
    /// Set while a write waits, and while the stream lingers.
    deadline: Option<Pin<Box<Sleep>>>,
    /// `true` if the client may still send when the stream is closed.
    lingers: Arc<AtomicBool>,
    lingered_bytes: usize,
    metrics: Arc<Metrics>,
}

impl<S> TimedStream<S> {
    fn new(stream: S, lingers: Arc<AtomicBool>, metrics: Arc<Metrics>) -> Self {
        Self {
            stream,
            deadline: None,
            lingers,
            lingered_bytes: 0,
            metrics,
        }
    }

    /// The result of a write, or an error if none has succeeded in time.
    fn in_time<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(WRITE_TIME)));
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

fn count(counter: &AtomicU64, bytes: usize) {
    counter.fetch_add(bytes as u64, Ordering::Relaxed);
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        count(&self.metrics.bytes_in, buffer.filled().len() - before);
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = written {
            count(&self.metrics.bytes_out, written);
        }
        self.in_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        if let Poll::Ready(Ok(written)) = written {
            count(&self.metrics.bytes_out, written);
        }
        self.in_time(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.in_time(context, flushed)
    }

    /// Ends the answer, and throws away what the client still sends: a socket that is closed with
    /// unread bytes takes the answer back.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        if !this.lingers.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let deadline = this
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(LINGER_TIME)));
        let mut bytes = [0; 8 << 10];
        while this.lingered_bytes < LINGER_BYTES && deadline.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer))?;
            match buffer.filled().len() {
                0 => break,
                read => this.lingered_bytes += read,
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_states_its_length() {
        let text = std::str::from_utf8(REFUSAL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.ends_with(&format!("Content-Length: {}", body.len())),
            "{head}"
        );
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }
}
