//! Inserts over many connections by one thread, which waits for all of them at once, as load
//! generators do. A thread for each connection took half as much time as the server: the system
//! wakes it for each answer.
//!
//! Two requests of a connection differ in id and fingerprint only, so the digits of both are
//! written over the digits of the last request. Answers are compared byte by byte, and the answers
//! of duplicates are parsed.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::{Events, Interest, Poll, Token};
use serde_json::Value;

use crate::{Arrivals, RADIUS};

/// A stream of a connection.
pub trait Stream: Read + Write + Source {}

impl<S: Read + Write + Source> Stream for S {}

/// An answer has less than 2 KiB.
const ANSWER_BYTES: usize = 2 << 10;

/// A connection that has sent a request.
struct Connection<S> {
    stream: S,
    request: Vec<u8>,
    /// The places of the digits of id and fingerprint in the request.
    id_at: usize,
    bits_at: usize,
    answer: Box<[u8; ANSWER_BYTES]>,
    answered: usize,
    sent: Instant,
    inserted: Insert,
}

/// The id and fingerprint of an insert, and the document that it duplicates.
type Insert = (u64, u64, Option<u64>);

impl<S: Stream> Connection<S> {
    fn new(stream: S) -> Self {
        let head = format!(
            "POST /v1/documents?mode=insert_unique&radius={RADIUS} HTTP/1.1\r\nHost: localhost\r\n\
             Content-Length: 64\r\n\r\n"
        );
        let (id, bits) = ("0".repeat(19), "0".repeat(16));
        let body = format!("{{\"id\":\"{id}\",\"fingerprint\":\"{bits}\"}}");
        let id_at = head.len() + "{\"id\":\"".len();
        let head = head.replace("64", &body.len().to_string());
        Self {
            stream,
            bits_at: id_at + id.len() + "\",\"fingerprint\":\"".len(),
            id_at,
            request: (head + &body).into_bytes(),
            answer: Box::new([0; ANSWER_BYTES]),
            answered: 0,
            sent: Instant::now(),
            inserted: (0, 0, None),
        }
    }

    fn send(&mut self, insert: Insert) {
        let (mut id, bits, _) = insert;
        for place in (self.id_at..self.id_at + 19).rev() {
            self.request[place] = b'0' + (id % 10) as u8;
            id /= 10;
        }
        for (index, place) in (self.bits_at..self.bits_at + 16).enumerate() {
            let digit = bits >> (60 - 4 * index) & 15;
            self.request[place] = b"0123456789abcdef"[digit as usize];
        }
        (self.inserted, self.answered) = (insert, 0);
        self.sent = Instant::now();
        // The buffer of the socket is empty: the request before is answered.
        self.stream.write_all(&self.request).expect("a request");
    }

    /// Reads what has arrived; `true` if it is a whole answer.
    fn receive(&mut self) -> bool {
        loop {
            let read = self.stream.read(&mut self.answer[self.answered..]);
            match read {
                Ok(0) => panic!("the server has closed a connection"),
                Ok(bytes) => self.answered += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) => panic!("{error}"),
            }
            if self.body().is_some() {
                return true;
            }
        }
    }

    /// The body of a whole answer.
    fn body(&self) -> Option<&str> {
        let text = std::str::from_utf8(&self.answer[..self.answered]).expect("UTF-8");
        let (head, body) = text.split_once("\r\n\r\n")?;
        let (_, len) = head.split_once("content-length: ").expect("a length");
        let len: Option<usize> = len.split("\r\n").next().and_then(|len| len.parse().ok());
        (body.len() == len.expect("a length")).then_some(body)
    }

    /// Checks the answer, and returns how long it took.
    fn check(&self) -> Duration {
        let taken = self.sent.elapsed();
        let body = self.body().expect("an answer");
        let (id, bits, original) = self.inserted;
        let named = format!("{{\"id\":\"{id}\",\"fingerprint\":\"{bits:016x}\",\"reliable\":true,");
        let rest = body
            .strip_prefix(&named)
            .unwrap_or_else(|| panic!("{body}"));
        match original {
            None => assert_eq!(rest, "\"outcome\":\"inserted\"}"),
            Some(original) => {
                let answer: Value = serde_json::from_str(body).expect("JSON");
                let found = &answer["match"];
                assert_eq!(answer["outcome"], "duplicate", "{body}");
                assert_eq!(found["id"], original.to_string(), "{body}");
                assert_eq!(found["distance"], RADIUS, "{body}");
            }
        }
        taken
    }
}

/// Makes inserts over all streams, and returns how long each took.
pub fn insert_all<S: Stream>(
    streams: Vec<S>,
    inserts: u64,
    arrivals: &Arrivals,
    side: usize,
) -> Vec<Duration> {
    let mut poll = Poll::new().expect("a selector");
    let mut connections: Vec<_> = streams.into_iter().map(Connection::new).collect();
    for (index, connection) in connections.iter_mut().enumerate() {
        let stream = &mut connection.stream;
        poll.registry()
            .register(stream, Token(index), Interest::READABLE)
            .expect("a stream");
    }
    let mut events = Events::with_capacity(connections.len());
    let mut unsent = inserts;
    for connection in connections.iter_mut().take(inserts as usize) {
        unsent -= 1;
        connection.send(arrivals.next(side));
    }
    let mut taken = Vec::with_capacity(inserts as usize);
    while taken.len() < inserts as usize {
        poll.poll(&mut events, None).expect("events");
        for event in &events {
            let connection = &mut connections[event.token().0];
            if !connection.receive() {
                continue;
            }
            taken.push(connection.check());
            if unsent > 0 {
                unsent -= 1;
                connection.send(arrivals.next(side));
            }
        }
    }
    taken
}
