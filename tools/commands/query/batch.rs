//! The answers to the queries of a file, in its order and on all cores.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use rayon::prelude::*;
use simdb::TextFingerprint;

use super::answer::print;
use super::file::QueryFile;
use super::search::{Answered, Matches, Searcher, Way};
use crate::console::{Answer, Output, note};

/// Queries by fingerprints in one search, which reads each part of the database once for all of them.
/// The first search has few, so that answers come soon.
const FIRST_SEARCH: usize = 1 << 10;
const LARGEST_SEARCH: usize = 1 << 20;

/// Queries that are held with their texts.
const READ_AT_ONCE: usize = 1 << 14;

/// Queries are gathered for this long, or this many times the duration of the search before, whichever
/// is longer: where queries come slowly, the answers do not wait for many of them.
const SHORT_READING: Duration = Duration::from_millis(200);
const READING_PER_SEARCH: u32 = 2;

/// Answers, or matches in answers, that are composed at once.
const ANSWERS_AT_ONCE: usize = 1024;
const MATCHES_AT_ONCE: usize = 4096;

/// Composed answers of this size are printed before others are composed.
const WAITING_BYTES: usize = 64 << 20;

/// Answers each query of a file.
pub(super) fn ask_all(
    searcher: &Searcher<'_>,
    queries: QueryFile,
    output: &mut Output,
) -> Result<Answer> {
    let mut printer = Printer {
        searcher,
        output,
        printed: 0,
        too_little: 0,
        has_matches: false,
    };
    if let Way::Within(radius) = searcher.way {
        printer.ask_together(queries, radius)?;
    } else {
        printer.ask_each(queries)?;
    }
    if printer.too_little > 0 {
        note(format_args!(
            "{} of {} texts say too little: too short, or one phrase over and over; they have no \
             matches",
            printer.too_little, printer.printed
        ));
    }
    Ok(printer.has_matches.into())
}

/// A printer of answers in the order of the queries.
struct Printer<'p> {
    searcher: &'p Searcher<'p>,
    output: &'p mut Output,
    /// The number of answers printed, and of the next query.
    printed: u64,
    /// Queries without matches because their texts say too little.
    too_little: u64,
    has_matches: bool,
}

impl Printer<'_> {
    /// Searches for one query at a time on each core: these searches read no common parts.
    fn ask_each(&mut self, mut queries: QueryFile) -> Result<()> {
        let searcher = self.searcher;
        loop {
            let asked = queries.read(ANSWERS_AT_ONCE, Instant::now() + SHORT_READING)?;
            if asked.is_empty() {
                return Ok(());
            }
            self.print_all(asked, |asked| searcher.search(&asked))?;
        }
    }

    /// Searches for many fingerprints together.
    fn ask_together(&mut self, mut queries: QueryFile, radius: u32) -> Result<()> {
        let (mut most, mut reading) = (FIRST_SEARCH, SHORT_READING);
        loop {
            let made = self.fingerprints(&mut queries, most, Instant::now() + reading)?;
            if made.is_empty() {
                return Ok(());
            }
            let started = Instant::now();
            self.search_together(&made, radius)?;
            most = LARGEST_SEARCH;
            reading = SHORT_READING.max(READING_PER_SEARCH * started.elapsed());
        }
    }

    /// The fingerprints of the next queries.
    fn fingerprints(
        &self,
        queries: &mut QueryFile,
        most: usize,
        until: Instant,
    ) -> Result<Vec<TextFingerprint>> {
        let mut all = Vec::new();
        while all.is_empty() || (all.len() < most && Instant::now() < until) {
            let asked = queries.read(READ_AT_ONCE.min(most - all.len()), until)?;
            if asked.is_empty() {
                break;
            }
            let made = asked
                .par_iter()
                .map(|asked| self.searcher.fingerprint(asked));
            all.append(&mut made.collect::<simdb::Result<_>>()?);
        }
        Ok(all)
    }

    fn search_together(&mut self, made: &[TextFingerprint], radius: u32) -> Result<()> {
        let Searcher { snapshot, most, .. } = *self.searcher;
        // Those that say too little are not searched for, and have no matches.
        let (mut searched, mut all) = (made.iter().filter(|made| made.reliable), made.iter());
        let fingerprints: Vec<_> = searched.clone().map(|made| made.fingerprint).collect();
        let unmatched = |made: &TextFingerprint| Answered::by_fingerprint(*made, Vec::new());
        let (mut waiting, mut waiting_matches, mut printed) = (Vec::new(), 0, Ok(()));
        let searched = snapshot.within_batch_with(&fingerprints, radius, most, |_, matches| {
            waiting_matches += matches.len();
            // Takes the query of these matches too.
            let unsearched = all.by_ref().take_while(|made| !made.reliable);
            waiting.extend(unsearched.map(unmatched));
            let query = searched.next();
            waiting.extend(query.map(|made| Answered::by_fingerprint(*made, matches)));
            if waiting.len() >= ANSWERS_AT_ONCE || waiting_matches >= MATCHES_AT_ONCE {
                waiting_matches = 0;
                printed = self.print_all(std::mem::take(&mut waiting), Ok);
            }
            match printed {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        // Before the error that the visitor returned `Break`.
        printed?;
        searched?;
        waiting.extend(all.map(unmatched));
        self.print_all(waiting, Ok)
    }

    /// Searches and composes on all cores, and prints in order.
    fn print_all<Q: Send>(
        &mut self,
        queries: Vec<Q>,
        search: impl Fn(Q) -> Result<Answered> + Sync,
    ) -> Result<()> {
        let searcher = self.searcher;
        let mut queries = (self.printed..).zip(queries);
        loop {
            let waiting_bytes = AtomicUsize::new(0);
            let some = std::iter::from_fn(|| {
                let has_room = waiting_bytes.load(Ordering::Relaxed) < WAITING_BYTES;
                has_room.then(|| queries.next()).flatten()
            });
            let compose = |number, query| {
                let answered = search(query)?;
                let composed = searcher.compose(number, &answered)?;
                let bytes = bytes_of(&answered) + composed.as_ref().map_or(0, String::len);
                waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
                Ok((answered, composed))
            };
            let mut answers: Vec<(u64, Result<_>)> = some
                .par_bridge()
                .map(|(number, query)| (number, compose(number, query)))
                .collect();
            if answers.is_empty() {
                return Ok(());
            }
            answers.sort_unstable_by_key(|(number, _)| *number);
            for (number, answer) in answers {
                let (answered, composed) = answer?;
                self.print(number, &answered, composed)?;
            }
        }
    }

    fn print(&mut self, number: u64, answered: &Answered, composed: Option<String>) -> Result<()> {
        match composed {
            Some(answer) => print(&answer, self.output)?,
            None => {
                for part in self.searcher.parts(number, answered) {
                    print(&part?, self.output)?;
                }
            }
        }
        self.printed += 1;
        self.too_little += u64::from(answered.says_too_little);
        self.has_matches |= answered.has_matches();
        Ok(())
    }
}

/// Memory that the matches of an answer take.
fn bytes_of(answered: &Answered) -> usize {
    match &answered.matches {
        Matches::Near(matches) => size_of_val(&matches[..]),
        Matches::Similar(matches) => size_of_val(&matches[..]),
    }
}
