//! The check of answers against the plain scan.

use super::contender::{Answer, Contender};
use super::keys::{Query, queries_for};
use super::plain_scan;

/// Random queries and queries with a document at the radius, together.
const QUERIES: usize = 16;

/// Queries at one radius with their expected answers. A third of the queries are random, a third
/// have a document at exactly the radius, and a third have a document one bit beyond the radius,
/// which is the case that an off-by-one error gets wrong.
pub struct Sample {
    radius: u32,
    expected: Vec<(u64, Answer)>,
}

impl Sample {
    pub fn new(keys: &[u64], radius: u32) -> Self {
        Self::with_queries(keys, radius, QUERIES)
    }

    /// A sample with `queries` random queries and queries with a document at the radius, and half
    /// as many with a document one bit beyond.
    pub fn with_queries(keys: &[u64], radius: u32, queries: usize) -> Self {
        let planted = |flips: u32| {
            queries_for(
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
        // At radius 64 every document matches, so no query can be planted beyond it.
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

    /// Panics if an answer of the contender differs from the answer of the plain scan.
    pub fn check(&self, name: &str, contender: &dyn Contender) {
        let mut ask = contender.asker();
        for (bits, expected) in &self.expected {
            let answer = ask(*bits, self.radius);
            assert!(
                answer == *expected,
                "{name} returns {} matches of {bits:016x} at radius {}, the plain scan {}",
                answer.len(),
                self.radius,
                expected.len()
            );
        }
    }

    /// The queries of the sample, to be timed.
    pub fn queries(&self) -> Vec<Query> {
        let query = |(bits, _): &(u64, Answer)| Query {
            bits: *bits,
            planted: None,
        };
        self.expected.iter().map(query).collect()
    }
}
