//! The reader thread: reads lines of standard input ahead, as long as there is room.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Error, Result};
use parking_lot::{Condvar, Mutex};

use super::monitor::Monitor;
use crate::formats::input::{LineReader, Source};

/// At most 8,192 lines and 16 MiB are read and not answered.
const MAX_LINES: usize = 8192;
const MAX_BYTES: usize = 16 << 20;

pub(super) struct InputLine {
    /// The number of the line, from 1.
    pub(super) number: u64,
    /// The line, or the reason why it is too long.
    pub(super) bytes: Result<Vec<u8>, String>,
    pub(super) read_at: Instant,
}

/// An event for the thread that makes documents.
pub(super) enum Event {
    Line(InputLine),
    /// The end of the input.
    End,
    /// An error of the input.
    Failed(Error),
    /// The interrupt flag may be set.
    Woken,
}

/// A bound on the lines that are read and not answered. It also bounds the channels between the
/// threads, and only the reader waits.
#[derive(Default)]
pub(super) struct Room {
    taken: Mutex<TakenRoom>,
    has_room: Condvar,
}

#[derive(Default)]
struct TakenRoom {
    lines: usize,
    bytes: usize,
}

impl Room {
    /// Waits for room for a line, and takes it. A single line always has room.
    fn take(&self, bytes: usize) {
        let mut taken = self.taken.lock();
        while taken.lines > 0 && (taken.lines >= MAX_LINES || taken.bytes + bytes > MAX_BYTES) {
            self.has_room.wait(&mut taken);
        }
        taken.lines += 1;
        taken.bytes += bytes;
    }

    /// Gives back the room of answered lines.
    pub(super) fn give_back(&self, lines: usize, bytes: usize) {
        let mut taken = self.taken.lock();
        taken.lines -= lines;
        taken.bytes -= bytes;
        self.has_room.notify_one();
    }
}

impl InputLine {
    pub(super) fn len_bytes(&self) -> usize {
        self.bytes.as_ref().map_or(0, Vec::len)
    }
}

pub(super) fn start(
    room: Arc<Room>,
    events: Sender<Event>,
    max_line_bytes: usize,
    monitor: Arc<Monitor>,
) -> Result<()> {
    let read = move || {
        let last = match read_all(&room, &events, max_line_bytes, &monitor) {
            Ok(()) => Event::End,
            Err(error) => Event::Failed(error),
        };
        // Fails only if the tool is ending.
        let _ = events.send(last);
    };
    // The thread is not joined: it may wait for standard input for ever.
    thread::Builder::new()
        .name("reader".to_owned())
        .spawn(read)
        .context("cannot start a thread")
        .map(drop)
}

/// Sends every line, until the input ends or the receiver is dropped.
fn read_all(
    room: &Room,
    events: &Sender<Event>,
    max_line_bytes: usize,
    monitor: &Monitor,
) -> Result<()> {
    let mut lines = LineReader::new(Source::stdin().open(&Arc::default())?, max_line_bytes)?;
    while let Some((number, line)) = lines.next_not_blank()? {
        let bytes = line.map(<[u8]>::to_vec);
        let read_at = Instant::now();
        let line = InputLine {
            number,
            bytes,
            read_at,
        };
        monitor.read.fetch_add(1, Ordering::Relaxed);
        room.take(line.len_bytes());
        if events.send(Event::Line(line)).is_err() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn line_waits_for_room_after_oversized_line() {
        let room = Arc::new(Room::default());
        room.take(10 * MAX_BYTES);
        let taker = Arc::clone(&room);
        let waiting = thread::spawn(move || taker.take(1));
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        room.give_back(1, 10 * MAX_BYTES);
        waiting.join().unwrap();
        let taken = room.taken.lock();
        assert_eq!((taken.lines, taken.bytes), (1, 1));
    }
}
