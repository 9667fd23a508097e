//! Lines of standard input, read ahead by a thread of its own for as long as there is room.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Error, Result};

use crate::formats::input::{LineReader, Source};

/// What may be on its way at a time, between the input and its answer.
const MOST_LINES: usize = 8192;
const MOST_BYTES: usize = 16 << 20;

/// A line that is not blank.
pub(super) struct Line {
    /// Its number, from 1.
    pub(super) number: u64,
    /// It, or why it cannot be had.
    pub(super) bytes: Result<Vec<u8>, String>,
}

/// What happens while lines are awaited.
pub(super) enum Event {
    /// A line has come.
    Line(Line),
    /// There are no more.
    End,
    /// They cannot be read on.
    Failed(Error),
    /// Whoever waits should look whether the tool is to stop.
    Woken,
}

/// Bounds all that is on its way. So nothing between the reader and the answers needs a bound of
/// its own, and nobody there ever waits for room.
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
    /// Takes room for a line, when there is some. A single line always finds it.
    fn take(&self, bytes: usize) {
        let mut taken = self.taken();
        while taken.lines > 0 && (taken.lines >= MOST_LINES || taken.bytes + bytes > MOST_BYTES) {
            let woken = self.has_room.wait(taken);
            taken = woken.unwrap_or_else(PoisonError::into_inner);
        }
        taken.lines += 1;
        taken.bytes += bytes;
    }

    /// Gives back the room of lines that are answered.
    pub(super) fn give_back(&self, lines: usize, bytes: usize) {
        let mut taken = self.taken();
        taken.lines -= lines;
        taken.bytes -= bytes;
        self.has_room.notify_one();
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// How many bytes of room it takes.
    pub(super) fn len_bytes(&self) -> usize {
        self.bytes.as_ref().map_or(0, Vec::len)
    }
}

/// Starts reading. The thread is not joined: one that waits for standard input must not keep the
/// tool from ending.
pub(super) fn start(room: Arc<Room>, events: Sender<Event>, max_line_bytes: usize) -> Result<()> {
    let read = move || {
        let last = match read_all(&room, &events, max_line_bytes) {
            Ok(()) => Event::End,
            Err(error) => Event::Failed(error),
        };
        // Nobody may be listening any more; then there is nobody to tell.
        let _ = events.send(last);
    };
    thread::Builder::new()
        .name("reader".to_owned())
        .spawn(read)
        .context("cannot start a thread")
        .map(drop)
}

/// Sends every line. Ends early when nobody listens.
fn read_all(room: &Room, events: &Sender<Event>, max_line_bytes: usize) -> Result<()> {
    let mut lines = LineReader::new(Source::stdin().open(&Arc::default())?, max_line_bytes)?;
    while let Some((number, line)) = lines.next_not_blank()? {
        let bytes = line.map(<[u8]>::to_vec);
        let line = Line { number, bytes };
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
        room.take(10 * MOST_BYTES);
        let taker = Arc::clone(&room);
        let waiting = thread::spawn(move || taker.take(1));
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        room.give_back(1, 10 * MOST_BYTES);
        waiting.join().unwrap();
        let taken = room.taken();
        assert_eq!((taken.lines, taken.bytes), (1, 1));
    }
}
