//! [`LineGroups`]: the lines of a stream of NDJSON, in groups of lines that have arrived.

use std::time::Duration;

use axum::body::Body;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

use crate::body::{BodyBudget, BodyParts};
use crate::error::ApiError;
use crate::server::Server;
use crate::stop::stopped;

/// The most lines and bytes of a group: a fraction of the queue of the database, so that several
/// streams share a commit.
const GROUP_LINES: usize = 512;
const GROUP_BYTES: usize = 1 << 20;

/// A stream may be silent for this long between two lines.
const BETWEEN_LINES: Duration = Duration::from_secs(600);

/// A line that is not blank.
pub struct Line {
    /// The number of the line, from 1.
    pub number: u64,
    bytes: Result<Vec<u8>, ApiError>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Line {
    /// The line, or the reason why it is no text.
    pub fn text(&self) -> Result<&str, ApiError> {
        let bytes = self.bytes.as_ref().map_err(ApiError::clone)?;
        std::str::from_utf8(bytes).map_err(|_| ApiError::bad_document("the line is not UTF-8"))
    }
}

/// The memory that a stream keeps between two lines.
const KEPT_BYTES: usize = 64 << 10;

pub struct LineGroups {
    parts: BodyParts,
    /// The start of the next line.
    rest: Vec<u8>,
    /// The room of an unfinished line in `rest`.
    room: Option<OwnedSemaphorePermit>,
    /// Bytes of `rest` that are known to have no line feed.
    searched: usize,
    /// `true` while the bytes of a line that is too long are thrown away.
    is_skipping: bool,
    is_at_end: bool,
    number: u64,
    max_line_bytes: usize,
    budget: BodyBudget,
    stop: watch::Receiver<bool>,
}

impl LineGroups {
    pub fn new(body: Body, server: &Server) -> Self {
        Self {
            parts: BodyParts(body),
            rest: Vec::new(),
            room: None,
            searched: 0,
            is_skipping: false,
            is_at_end: false,
            number: 0,
            max_line_bytes: server.limits.body_bytes,
            budget: server.bodies.clone(),
            stop: server.stop.clone(),
        }
    }

    /// The lines that have arrived, at least one; `None` at the end.
    ///
    /// # Errors
    /// The stream breaks off, is silent for too long, or the server ends.
    pub async fn next(&mut self) -> Result<Option<Vec<Line>>, ApiError> {
        let mut group = Vec::new();
        loop {
            let mut len_bytes = 0;
            while group.len() < GROUP_LINES && len_bytes < GROUP_BYTES {
                let Some(line) = self.take_line()? else {
                    break;
                };
                len_bytes += line.bytes.as_ref().map_or(0, Vec::len);
                group.push(line);
            }
            if !group.is_empty() || self.is_at_end {
                return Ok((!group.is_empty()).then_some(group));
            }
            self.read().await?;
        }
    }

    /// Reads the next part of the body.
    async fn read(&mut self) -> Result<(), ApiError> {
        let silent = || {
            let message = "the stream was silent for too long";
            ApiError::new(axum::http::StatusCode::REQUEST_TIMEOUT, "too_slow", message)
        };
        let part = tokio::select! {
            part = timeout(BETWEEN_LINES, self.parts.next_patiently()) => part.map_err(|_| silent())??,
            () = stopped(&mut self.stop) => {
                let message = "the server ends; send the lines without an answer again";
                let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
                return Err(ApiError::new(status, "closing", message));
            }
        };
        match part {
            Some(bytes) => self.rest.extend_from_slice(&bytes),
            None => self.is_at_end = true,
        }
        Ok(())
    }

    /// The next whole line that has arrived and is not blank.
    fn take_line(&mut self) -> Result<Option<Line>, ApiError> {
        loop {
            let found = self.rest[self.searched..]
                .iter()
                .position(|byte| *byte == b'\n');
            let end = match found {
                Some(offset) => self.searched + offset,
                // The last line may lack its line feed.
                None if self.is_at_end && (self.is_skipping || !self.rest.is_empty()) => {
                    self.rest.len()
                }
                None => {
                    self.searched = self.rest.len();
                    if self.rest.len() > self.max_line_bytes {
                        self.rest.clear();
                        self.rest.shrink_to(KEPT_BYTES);
                        (self.searched, self.is_skipping) = (0, true);
                        self.room = None;
                    }
                    self.budget.grow(&mut self.room, self.rest.len())?;
                    return Ok(None);
                }
            };
            let mut bytes: Vec<u8> = self.rest.drain(..(end + 1).min(self.rest.len())).collect();
            bytes.truncate(end);
            if self.rest.is_empty() {
                // The room of a long line is given back, so its memory is too.
                self.rest.shrink_to(KEPT_BYTES);
            }
            self.searched = 0;
            self.number += 1;
            let mut room = self.room.take();
            let is_too_long =
                std::mem::take(&mut self.is_skipping) || bytes.len() > self.max_line_bytes;
            if is_too_long {
                let message = format!("the line has more than {} bytes", self.max_line_bytes);
                let bytes = Err(ApiError::too_large(message));
                return Ok(Some(Line {
                    number: self.number,
                    bytes,
                    _room: None,
                }));
            }
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            self.budget.grow(&mut room, bytes.len())?;
            return Ok(Some(Line {
                number: self.number,
                bytes: Ok(bytes),
                _room: room,
            }));
        }
    }
}
