//! Lines of standard input, read ahead by a thread of its own for as long as there is room.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use anyhow::{Context, Error, Result};
use parking_lot::{Condvar, Mutex};

use crate::formats::input::{LineReader, Source};

/// The most lines and bytes between the input and the answers.
const MAX_LINES: usize = 8192;
const MAX_BYTES: usize = 16 << 20;

/// A line that is not blank.
pub(super) struct InputLine {
    /// Its number, from 1.
    pub(super) number: u64,
    /// The line, or the reason why it is not read.
    pub(super) bytes: Result<Vec<u8>, String>,
}

/// An event that the thread that makes documents waits for.
pub(super) enum Event {
    Line(InputLine),
    /// The input has ended.
    End,
    /// The input cannot be read on.
    Failed(Error),
    /// The tool may have been told to stop.
    Woken,
}

/// Bounds the lines that are read and not answered. So the queues between the threads need no bounds
/// of their own, and only the reader waits for room.
#[derive(Default)]
pub(super) struct Room {
    taken: Mutex<Taken>,
    has_room: Condvar,
}

#[derive(Default)]
struct Taken {
    lines: usize,
    bytes: usize,
}

impl Room {
    /// Takes room for a line, as soon as there is some. There always is for a single line.
    fn take(&self, bytes: usize) {
        let mut taken = self.taken.lock();
        while taken.lines > 0 && (taken.lines >= MAX_LINES || taken.bytes + bytes > MAX_BYTES) {
            self.has_room.wait(&mut taken);
        }
        taken.lines += 1;
        taken.bytes += bytes;
    }

    /// Gives back the room of lines that are answered.
    pub(super) fn give_back(&self, lines: usize, bytes: usize) {
        let mut taken = self.taken.lock();
        taken.lines -= lines;
        taken.bytes -= bytes;
        self.has_room.notify_one();
    }
}

impl InputLine {
    /// The bytes of room that the line takes.
    pub(super) fn len_bytes(&self) -> usize {
        self.bytes.as_ref().map_or(0, Vec::len)
    }
}

/// Starts to read. The thread is not joined: one that waits for standard input must not keep the
/// tool from ending.
pub(super) fn start(room: Arc<Room>, events: Sender<Event>, max_line_bytes: usize) -> Result<()> {
    let read = move || {
        let last = match read_all(&room, &events, max_line_bytes) {
            Ok(()) => Event::End,
            Err(error) => Event::Failed(error),
        };
        // The receiver is gone if the tool is ending.
        let _ = events.send(last);
    };
    thread::Builder::new()
        .name("reader".to_owned())
        .spawn(read)
        .context("cannot start a thread")
        .map(drop)
}

/// Sends every line. Ends early if the receiver is gone.
fn read_all(room: &Room, events: &Sender<Event>, max_line_bytes: usize) -> Result<()> {
    let mut lines = LineReader::new(Source::stdin().open(&Arc::default())?, max_line_bytes)?;
    while let Some((number, line)) = lines.next_not_blank()? {
        let bytes = line.map(<[u8]>::to_vec);
        let line = InputLine { number, bytes };
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
    fn a_line_waits_for_room_and_a_giant_for_all_of_it() {
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
