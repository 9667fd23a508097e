//! The rows in which a [`FrameLearner`] is stored.
//!
//! A row has the lines, sentences and groups whose keys begin with the number of the row, so few
//! new texts change few rows. Numbers are little-endian; entries ascend by their first number.
//!
//! | part | entries, behind their number, a `u32` |
//! |---|---|
//! | younger lines of one body | key `u64`, body `u32` |
//! | older lines of one body | key `u64`, body `u32` |
//! | lines of several bodies | key `u64`, group `u64`, documents `u32`, documents with the line as head `u32`, 1 for a frame or else 0 `u8`, number of bodies `u8`, bodies `u32` each, length of the text `u16`, text |
//! | groups | group `u64`, texts `u64`, texts of the next selection `u64` |

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::FrameLearner;
use super::counter::{Counted, Group, MAX_BODIES, group_key};
pub(crate) use super::row::ROWS;
use super::row::row_of;

/// More texts than that are damage.
const MAX_TEXTS: u64 = 1 << 60;

impl FrameLearner {
    /// The rows that have changed since the last call.
    pub(crate) fn take_changed_rows(&mut self) -> Vec<(u8, Vec<u8>)> {
        let changed = std::mem::replace(&mut self.counter.changed, [false; ROWS]);
        self.rows(|row| changed[row])
    }

    /// All rows.
    pub(crate) fn all_rows(&self) -> Vec<(u8, Vec<u8>)> {
        self.rows(|_| true)
    }

    /// Returns `true` if a row has changed since [`take_changed_rows`](Self::take_changed_rows).
    pub(crate) fn has_changed_rows(&self) -> bool {
        self.counter.changed.contains(&true)
    }

    /// Counts all rows as changed, after a failed write.
    pub(crate) fn set_changed(&mut self) {
        self.counter.changed = [true; ROWS];
    }

    fn rows(&self, is_asked: impl Fn(usize) -> bool) -> Vec<(u8, Vec<u8>)> {
        let counter = &self.counter;
        let is_key_asked = |key: u64| is_asked(row_of(key));
        let by_row = |once| by_row(once, is_key_asked);
        let [mut young, mut old] = counter.once.each_ref().map(by_row);
        let mut counted: [Vec<(u64, u64, &Counted)>; ROWS] = [const { Vec::new() }; ROWS];
        let mut groups: [Vec<(u64, &Group)>; ROWS] = [const { Vec::new() }; ROWS];
        for (group, own) in &counter.groups {
            groups[row_of(group_key(*group))].push((*group, own));
            for (key, each) in own.counted.iter().filter(|(key, _)| is_key_asked(**key)) {
                counted[row_of(*key)].push((*key, *group, each));
            }
        }
        let asked = (0..ROWS).filter(|row| is_asked(*row));
        let row = |row: usize| {
            let mut bytes = Vec::new();
            for once in [&mut young[row], &mut old[row]] {
                once.sort_unstable();
                put_len(&mut bytes, once.len());
                for (key, body) in once {
                    bytes.extend(key.to_le_bytes());
                    bytes.extend(body.to_le_bytes());
                }
            }
            let counted = &mut counted[row];
            counted.sort_unstable_by_key(|(key, ..)| *key);
            put_len(&mut bytes, counted.len());
            for (key, group, each) in counted {
                put_counted(&mut bytes, *key, *group, each);
            }
            let groups = &mut groups[row];
            groups.sort_unstable_by_key(|(group, _)| *group);
            put_len(&mut bytes, groups.len());
            for (group, own) in groups {
                for word in [*group, own.texts, own.next] {
                    bytes.extend(word.to_le_bytes());
                }
            }
            (row as u8, bytes)
        };
        asked.map(row).collect()
    }

    /// Adds a stored row to an empty learner. Returns `None` for a row that was not made by
    /// [`all_rows`](Self::all_rows).
    pub(crate) fn add_row(&mut self, row: u8, bytes: &[u8]) -> Option<()> {
        let row = usize::from(row);
        let bytes = &mut { bytes };
        for half in 0..2 {
            for _ in 0..u32::from_le_bytes(take(bytes)?) {
                let (key, body) = (word(bytes)?, u32::from_le_bytes(take(bytes)?));
                let is_new = self.counter.once[half].insert(key, body).is_none();
                (row_of(key) == row && is_new).then_some(())?;
            }
        }
        for _ in 0..u32::from_le_bytes(take(bytes)?) {
            let (key, group, counted) = take_counted(bytes)?;
            let own = self.counter.groups.entry(group).or_default();
            let is_new = own.counted.insert(key, counted).is_none();
            (row_of(key) == row && is_new).then_some(())?;
            self.counter.counted += 1;
        }
        for _ in 0..u32::from_le_bytes(take(bytes)?) {
            let (group, texts, next) = (word(bytes)?, word(bytes)?, word(bytes)?);
            let is_sound = texts <= MAX_TEXTS && next <= MAX_TEXTS;
            (row_of(group_key(group)) == row && is_sound).then_some(())?;
            let own = self.counter.groups.entry(group).or_default();
            (own.texts, own.next) = (texts, next);
        }
        bytes.is_empty().then_some(())
    }

    /// Completes a learner of stored rows.
    pub(crate) fn of_rows(mut self) -> Self {
        self.frames = Arc::new(self.counted());
        self
    }
}

fn by_row(
    once: &HashMap<u64, u32, FixedState>,
    is_asked: impl Fn(u64) -> bool,
) -> [Vec<(u64, u32)>; ROWS] {
    let mut rows = [const { Vec::new() }; ROWS];
    for (key, body) in once.iter().filter(|(key, _)| is_asked(**key)) {
        rows[row_of(*key)].push((*key, *body));
    }
    rows
}

fn put_len(bytes: &mut Vec<u8>, len: usize) {
    // At most 65,536 lines of several bodies, each of one group, and 262,144 of one body.
    bytes.extend((len as u32).to_le_bytes());
}

fn put_counted(bytes: &mut Vec<u8>, key: u64, group: u64, counted: &Counted) {
    let Counted {
        text,
        documents,
        heads,
        bodies,
        is_frame,
    } = counted;
    bytes.extend(key.to_le_bytes());
    bytes.extend(group.to_le_bytes());
    for count in [documents, heads] {
        let count = u32::try_from(*count).unwrap_or(u32::MAX);
        bytes.extend(count.to_le_bytes());
    }
    bytes.push(u8::from(*is_frame));
    // At most 64.
    bytes.push(bodies.len() as u8);
    for body in bodies {
        bytes.extend(body.to_le_bytes());
    }
    // At most 512.
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn take_counted(bytes: &mut &[u8]) -> Option<(u64, u64, Counted)> {
    let (key, group) = (word(bytes)?, word(bytes)?);
    let [documents, heads] = [take(bytes)?, take(bytes)?].map(|count| {
        let count = u32::from_le_bytes(count);
        u64::from(count)
    });
    let [is_frame, bodies] = take(bytes)?;
    let bodies = (0..bodies).map(|_| Some(u32::from_le_bytes(take(bytes)?)));
    let bodies: Vec<u32> = bodies.collect::<Option<_>>()?;
    let len = usize::from(u16::from_le_bytes(take(bytes)?));
    let text = std::str::from_utf8(bytes.split_off(..len)?).ok()?;
    let is_sound = heads <= documents
        && is_frame <= 1
        && !bodies.is_empty()
        && bodies.len() as u64 <= MAX_BODIES;
    let counted = Counted {
        text: text.to_owned(),
        documents,
        heads,
        bodies,
        is_frame: is_frame == 1,
    };
    is_sound.then_some((key, group, counted))
}

fn word(bytes: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(bytes)?))
}

fn take<const BYTES: usize>(bytes: &mut &[u8]) -> Option<[u8; BYTES]> {
    bytes.split_off(..BYTES)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::frames::TextEnds;

    /// Stories of two groups with frames, and a line that no second text has.
    fn texts(from: usize, to: usize) -> impl Iterator<Item = (u64, TextEnds)> {
        (from..to).map(|number| {
            let group = number as u64 % 2;
            let text = format!(
                "Storm {number} closed harbour {number} and road {number} north of town {number}.\n\
                 Only text {number} has this line near its end, number {number}.\n\
                 Printed for the readers of newspaper {group} in the islands.",
            );
            (group, TextEnds::new(&text))
        })
    }

    fn of_rows(rows: &[(u8, Vec<u8>)]) -> Option<FrameLearner> {
        let mut read = FrameLearner::new(3);
        for (row, bytes) in rows {
            read.add_row(*row, bytes)?;
        }
        Some(read.of_rows())
    }

    #[test]
    fn learner_that_is_stored_between_texts_learns_what_another_learns() {
        let mut whole = FrameLearner::new(3);
        let mut stored = FrameLearner::new(3);
        for at in 0..60 {
            whole.learn(texts(at, at + 1));
            stored.learn(texts(at, at + 1));
            stored = of_rows(&stored.all_rows()).expect("sound rows");
            assert!(!stored.has_changed_rows());
        }
        assert_eq!(whole.all_rows(), stored.all_rows());
        assert_eq!(whole.frames().len(), 2);
        let frames = |learner: &FrameLearner| learner.counted().iter().cloned().collect::<Vec<_>>();
        assert_eq!(frames(&whole), frames(&stored));
        assert!(frames(&whole).iter().all(|frame| frame.documents == 30));
    }

    #[test]
    fn changed_rows_over_older_rows_are_all_rows() {
        let mut learner = FrameLearner::new(3);
        learner.learn(texts(0, 30));
        let mut rows: std::collections::BTreeMap<u8, Vec<u8>> =
            learner.take_changed_rows().into_iter().collect();
        learner.learn(texts(30, 34));
        let changed = learner.take_changed_rows();
        assert!(changed.len() < 32);
        rows.extend(changed);
        rows.retain(|_, bytes| bytes.len() > 16);
        let mut all = learner.all_rows();
        all.retain(|(_, bytes)| bytes.len() > 16);
        assert_eq!(rows.into_iter().collect::<Vec<_>>(), all);
    }

    #[test]
    fn damaged_rows_are_refused_without_a_panic() {
        let mut learner = FrameLearner::new(3);
        learner.learn(texts(0, 20));
        let row = learner
            .all_rows()
            .into_iter()
            .max_by_key(|(_, bytes)| bytes.len());
        let (row, bytes) = row.expect("256 rows");
        for len in 0..bytes.len() {
            assert!(FrameLearner::new(3).add_row(row, &bytes[..len]).is_none());
        }
        assert!(
            FrameLearner::new(3)
                .add_row(row.wrapping_add(1), &bytes)
                .is_none()
        );
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x80;
            let mut read = FrameLearner::new(3);
            if read.add_row(row, &damaged).is_some() {
                read.of_rows().learn(texts(20, 40));
            }
        }
    }
}
