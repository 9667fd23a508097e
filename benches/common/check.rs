//! Answers that are known, from the plain scan.

use super::contender::{Answer, Contender};
use super::keys::{Query, queries_of};
use super::plain_scan;

/// Queries of each kind.
const QUERIES: usize = 16;

/// A sample of queries at one radius, and what must be answered: half of them random, a quarter
/// with a document at exactly the radius, a quarter with one at one bit more.
pub struct Sample {
    radius: u32,
    expected: Vec<(u64, Answer)>,
}

impl Sample {
    pub fn new(keys: &[u64], radius: u32) -> Self {
        Self::with(keys, radius, QUERIES)
    }

    /// A sample with that many queries of each kind.
    pub fn with(keys: &[u64], radius: u32, queries: usize) -> Self {
        let planted = |flips: u32| {
            queries_of(
                &|id| keys[id as usize],
                keys.len() as u64,
                queries,
                flips.min(64),
            )
        };
        let mut expected = Vec::new();
        let near = |answer: &Answer, id| answer.iter().find(|(_, found)| *found == id).copied();
        for query in planted(radius) {
            let answer = plain_scan::answer(keys, query.bits, radius);
            if let Some(id) = query.planted {
                assert_eq!(near(&answer, id), Some((radius, id)), "the plain scan");
            }
            expected.push((query.bits, answer));
        }
        let beyond = if radius < 64 {
            planted(radius + 1)
        } else {
            Vec::new()
        };
        for query in beyond.into_iter().filter(|query| query.planted.is_some()) {
            let answer = plain_scan::answer(keys, query.bits, radius);
            let id = query.planted.expect("only planted queries are left");
            assert_eq!(near(&answer, id), None, "the plain scan");
            expected.push((query.bits, answer));
        }
        Self { radius, expected }
    }

    /// Panics unless the contender answers what the plain scan does.
    pub fn check(&self, name: &str, contender: &dyn Contender) {
        let mut ask = contender.asker();
        for (bits, expected) in &self.expected {
            let answer = ask(*bits, self.radius);
            assert!(
                answer == *expected,
                "{name} gives {} matches of {bits:016x} at radius {}, the plain scan {}",
                answer.len(),
                self.radius,
                expected.len()
            );
        }
    }

    /// The queries, as ones to be timed.
    pub fn queries(&self) -> Vec<Query> {
        let query = |(bits, _): &(u64, Answer)| Query {
            bits: *bits,
            planted: None,
        };
        self.expected.iter().map(query).collect()
    }
}
