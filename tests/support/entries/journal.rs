//! A crashed database with another journal: arbitrary bytes, or edited records with right
//! checksums. This is a second implementation of the journal format.

use super::ask::{everything, path};
use super::bases::Base;
use super::edits::{Edit, edits};
use crate as common;

const HEADER_BYTES: usize = 32;
const ALIGNMENT_BYTES: usize = 64;
const LEAST_BYTES: usize = 1 << 20;

/// The first byte selects edited records or arbitrary bytes, the first or the second journal, and
/// the least file length.
pub fn run(input: &[u8]) {
    let Some((mode, input)) = input.split_first() else {
        return;
    };
    let base = Base::shared(mode & 128 != 0, true);
    let (_, sound) = &base.journals[0];
    let mut journal = match mode & 3 {
        0 => input.to_vec(),
        // Behind a sound header.
        1 => [&sound[..ALIGNMENT_BYTES], input].concat(),
        2 => {
            let mut records = Records::decode(sound);
            edits(input).for_each(|edit| records.apply(edit));
            records.encode(sound)
        }
        // One record, all payload.
        _ => {
            let mut records = Records(vec![Record {
                changes: u32::from(mode >> 4),
                payload: input.to_vec(),
            }]);
            records.encode(sound)
        }
    };
    if mode & 4 == 0 {
        journal.resize(LEAST_BYTES.max(journal.len()), 0);
    }
    let number = 1 + u32::from(mode >> 3 & 1);
    let disk = base.disk_with(base.file.clone());
    disk.put(&common::journal(&path(), number), journal);
    everything(&disk);
}

/// The records of a journal.
struct Records(Vec<Record>);

#[derive(Clone)]
struct Record {
    /// Number of changes according to the record header.
    changes: u32,
    payload: Vec<u8>,
}

impl Records {
    fn decode(journal: &[u8]) -> Self {
        let mut records = Vec::new();
        let mut from = ALIGNMENT_BYTES;
        loop {
            let word = |at: usize| {
                let bytes = journal[from + at..from + at + 4].try_into().unwrap();
                u32::from_le_bytes(bytes)
            };
            let payload_bytes = word(24) as usize;
            if payload_bytes == 0 {
                return Self(records);
            }
            let payload = from + HEADER_BYTES..from + HEADER_BYTES + payload_bytes;
            records.push(Record {
                changes: word(28),
                payload: journal[payload.clone()].to_vec(),
            });
            from = payload.end.next_multiple_of(ALIGNMENT_BYTES);
        }
    }

    fn apply(&mut self, edit: Edit) {
        let count = self.0.len();
        let (this, other) = (edit.which % count, edit.other() % count);
        let record = &mut self.0[this];
        let length = record.payload.len();
        let at = edit.at % length.max(1);
        match edit.kind % 10 {
            0 => Edit::put(&mut record.payload, at, &edit.value[..1]),
            1 => Edit::put(&mut record.payload, at, &edit.value),
            2 if length > 0 => record.payload[at] ^= 1 << (edit.value[0] % 8),
            3 => record.payload.truncate(at),
            4 => drop(record.payload.splice(at..at, edit.value)),
            5 => {
                let end = (at + edit.count()).min(length);
                record.payload.drain(at..end);
            }
            6 => record.changes = edit.word(),
            // Duplicate the changes.
            7 => {
                let end = (at + 64 * edit.count()).min(length);
                let again = record.payload[at..end].to_vec();
                record.payload.extend(again);
            }
            8 => self.0.swap(this, other),
            9 if count < 16 => {
                let again = record.clone();
                self.0.insert(other, again);
            }
            _ => {}
        }
    }

    /// Encodes a journal with these records, and the database id and generation of `like`.
    fn encode(&mut self, like: &[u8]) -> Vec<u8> {
        let mut journal = like[..ALIGNMENT_BYTES].to_vec();
        let (database, generation) = (&like[12..20], &like[20..28]);
        let end = Record {
            changes: 0,
            payload: Vec::new(),
        };
        for (sequence, record) in (0_u64..).zip(self.0.iter().chain([&end])) {
            let covered = [
                &crc32fast::hash(&record.payload).to_le_bytes(),
                generation,
                &sequence.to_le_bytes(),
                &(record.payload.len() as u32).to_le_bytes(),
                &record.changes.to_le_bytes(),
            ]
            .concat();
            let crc = crc32fast::hash(&[database, &covered].concat());
            journal.extend(crc.to_le_bytes());
            journal.extend(covered);
            journal.extend(&record.payload);
            journal.resize(journal.len().next_multiple_of(ALIGNMENT_BYTES), 0);
        }
        journal
    }
}
