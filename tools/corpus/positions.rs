//! [`RecordPositions`]: the input and the number of each document of a load, by position.
//!
//! A bulk load reports a conflict by the position of the document among all pushed documents, after
//! the inputs are closed. Most documents are on consecutive lines, so only runs are stored: the gap
//! before a run and its length, as variable-length integers. An input without gaps takes a few
//! bytes in all, an input with a gap before every document two bytes for each document.

use crate::formats::Unit;
use crate::formats::raw::PAIR_BYTES;

/// The input and the number of each document, by position.
#[derive(Debug, Default)]
pub struct RecordPositions {
    segments: Vec<PositionSegment>,
    documents: u64,
}

/// Consecutive documents of one input, with gaps.
#[derive(Debug)]
struct PositionSegment {
    /// The number of documents before the segment.
    first_position: u64,
    input: usize,
    /// The difference of the numbers of two documents without a gap: 1, or the bytes of a raw pair.
    step: u64,
    /// The number of the first document.
    first_number: u64,
    /// For each run but the last: the gap before the run in steps, and the documents in the run.
    runs: Vec<u8>,
    last_gap: u64,
    last_len: u64,
    /// The number of the next document without a gap.
    next_number: u64,
}

/// At most 16 KiB of runs per segment, because a lookup decodes the runs from the start.
const SEGMENT_BYTES: usize = 1 << 14;

impl RecordPositions {
    /// Adds the next document.
    pub fn push(&mut self, input: usize, unit: Unit, number: u64) {
        let last = self.segments.last_mut().filter(|last| {
            last.input == input && last.runs.len() < SEGMENT_BYTES && number >= last.next_number
        });
        match last {
            Some(last) => last.push(number),
            None => {
                let mut segment = PositionSegment::new(self.documents, input, unit, number);
                segment.push(number);
                self.segments.push(segment);
            }
        }
        self.documents += 1;
    }

    /// The input and the number of the document at this position.
    pub fn find(&self, position: u64) -> Option<(usize, u64)> {
        if position >= self.documents {
            return None;
        }
        let after = self
            .segments
            .partition_point(|segment| segment.first_position <= position);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let number = segment.number(position - segment.first_position)?;
        Some((segment.input, number))
    }
}

impl PositionSegment {
    fn new(first_position: u64, input: usize, unit: Unit, number: u64) -> Self {
        Self {
            first_position,
            input,
            step: match unit {
                Unit::Line | Unit::Row => 1,
                Unit::Byte => PAIR_BYTES as u64,
            },
            first_number: number,
            runs: Vec::new(),
            last_gap: 0,
            last_len: 0,
            next_number: number,
        }
    }

    fn push(&mut self, number: u64) {
        let gap = (number - self.next_number) / self.step;
        if gap > 0 {
            write_varint(&mut self.runs, self.last_gap);
            write_varint(&mut self.runs, self.last_len);
            self.last_gap = gap;
            self.last_len = 0;
        }
        self.last_len += 1;
        self.next_number = number + self.step;
    }

    /// The number of the document at this index in the segment.
    fn number(&self, index: u64) -> Option<u64> {
        let mut left = index;
        let mut steps = 0;
        let mut runs = &self.runs[..];
        while !runs.is_empty() {
            let gap = read_varint(&mut runs)?;
            let len = read_varint(&mut runs)?;
            steps += gap;
            if left < len {
                return Some(self.first_number + (steps + left) * self.step);
            }
            left -= len;
            steps += len;
        }
        Some(self.first_number + (steps + self.last_gap + left) * self.step)
    }
}

/// Writes LEB128: seven bits a byte, the lowest first, the top bit set if another byte follows.
fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_found(pushed: &[(usize, u64)], unit: Unit) -> RecordPositions {
        let mut positions = RecordPositions::default();
        for &(input, number) in pushed {
            positions.push(input, unit, number);
        }
        for (position, &record) in pushed.iter().enumerate() {
            assert_eq!(
                positions.find(position as u64),
                Some(record),
                "position {position}"
            );
        }
        assert_eq!(positions.find(pushed.len() as u64), None);
        positions
    }

    #[test]
    fn position_of_every_record_is_found() {
        assert_found(&[], Unit::Line);
        assert_found(
            &[(0, 1), (0, 2), (0, 5), (0, 1000), (0, 1001), (2, 1), (2, 3)],
            Unit::Line,
        );
        assert_found(
            &[(0, 0), (0, 16), (0, 32), (1, 0), (1, 16), (0, 0)],
            Unit::Byte,
        );
        assert_found(&[(0, 7), (0, 7 + (1 << 40))], Unit::Line);
    }

    #[test]
    fn gaps_take_two_bytes_a_document_and_no_gaps_none() {
        let regular: Vec<_> = (1..10_000).map(|line| (0, line)).collect();
        let positions = assert_found(&regular, Unit::Line);
        assert_eq!(positions.segments.len(), 1);
        assert!(positions.segments[0].runs.is_empty());

        let irregular: Vec<_> = (1..10_000).map(|line| (0, line * 2)).collect();
        let positions = assert_found(&irregular, Unit::Line);
        let bytes: usize = positions
            .segments
            .iter()
            .map(|segment| segment.runs.len())
            .sum();
        assert!(bytes <= 2 * irregular.len(), "{bytes}");
        assert!(positions.segments.len() > 1);
    }
}
