//! The bodies of requests and streamed answers, bounded in bytes and time.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::Frame;
use serde::de::DeserializeOwned;
use simdb_tools::formats::json_reason::reason_of;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use crate::error::ApiError;

/// The longest time between two parts of a body.
const BETWEEN_PARTS: Duration = Duration::from_secs(20);

/// The longest time for a whole body, except for a stream.
const WHOLE_BODY: Duration = Duration::from_secs(120);

/// The unit in which [`BodyBudget`] counts, 1 KiB: a semaphore counts up to 2^32.
const UNIT_BYTES: usize = 1 << 10;

/// The bytes that all bodies together may take.
#[derive(Clone)]
pub struct BodyBudget(Arc<Semaphore>);

impl BodyBudget {
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.div_ceil(UNIT_BYTES))))
    }

    /// Makes room for `bytes` in all, which is given back when the permit is dropped.
    pub fn grow(
        &self,
        room: &mut Option<OwnedSemaphorePermit>,
        bytes: usize,
    ) -> Result<(), ApiError> {
        let held = room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let units = bytes.div_ceil(UNIT_BYTES).saturating_sub(held);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.0).try_acquire_many_owned(units);
        let taken = taken.map_err(|_| {
            ApiError::busy("the bodies of all requests take too much memory; try again")
        })?;
        match room {
            Some(room) => room.merge(taken),
            None => *room = Some(taken),
        }
        Ok(())
    }
}

/// A whole body. Its bytes count against the budget until it is dropped.
pub struct WholeBody {
    pub bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

impl WholeBody {
    pub async fn read(body: Body, max_bytes: usize, budget: &BodyBudget) -> Result<Self, ApiError> {
        let too_large = || ApiError::too_large(format!("the body has more than {max_bytes} bytes"));
        // The length that the client has announced, refused before a byte is read.
        let announced = body.size_hint().lower();
        if announced > max_bytes as u64 {
            return Err(too_large());
        }
        let read = async {
            let mut parts = BodyParts(body);
            let (mut bytes, mut room) = (Vec::new(), None);
            while let Some(part) = parts.next().await? {
                if bytes.len() + part.len() > max_bytes {
                    return Err(too_large());
                }
                budget.grow(&mut room, bytes.len() + part.len())?;
                bytes.extend_from_slice(&part);
            }
            Ok(Self { bytes, _room: room })
        };
        timeout(WHOLE_BODY, read).await.map_err(|_| too_slow())?
    }

    /// The body as a form of HTML.
    pub fn form<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        serde_urlencoded::from_bytes(&self.bytes)
            .map_err(|error| ApiError::bad_query("the form", &error.to_string()))
    }

    /// The body as a JSON object.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let bad = |reason: &str| ApiError::bad_request(format!("the body: {reason}"));
        let first = self.bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        // A list would be taken for the fields in their order.
        if first != Some(&b'{') {
            return Err(bad("a JSON object is expected"));
        }
        let mut json = serde_json::Deserializer::from_slice(&self.bytes);
        let body = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let reason = reason_of(error.inner());
            match error.path().iter().next() {
                Some(_) => bad(&format!("field \"{}\": {reason}", error.path())),
                None => bad(&reason),
            }
        })?;
        json.end().map_err(|error| bad(&reason_of(&error)))?;
        Ok(body)
    }
}

fn too_slow() -> ApiError {
    let message = "the body did not arrive in time";
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message)
}

/// The parts of a body.
pub struct BodyParts(pub Body);

impl BodyParts {
    /// The next bytes, within [`BETWEEN_PARTS`]; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        timeout(BETWEEN_PARTS, self.next_patiently())
            .await
            .map_err(|_| too_slow())?
    }

    /// The next bytes, however long they take.
    pub async fn next_patiently(&mut self) -> Result<Option<Bytes>, ApiError> {
        loop {
            match self.0.frame().await {
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(ApiError::bad_request(format!(
                        "the body broke off: {error}"
                    )));
                }
                // Other frames are trailers.
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }
}

/// The body of an answer that is made while it is sent.
pub struct StreamedBody(pub mpsc::Receiver<Vec<u8>>);

impl HttpBody for StreamedBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0
            .poll_recv(context)
            .map(|part| part.map(|part| Ok(Frame::data(part.into()))))
    }
}
