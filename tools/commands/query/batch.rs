//! The answers to the queries of a file: computed on all cores, printed in the order of the file.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use rayon::prelude::*;
use simdb::TextFingerprint;

use super::answer::{print, print_parts};
use super::file::QueryFile;
use super::search::{Answered, FileSearch, Matches, Searcher, Source, Way};
use crate::console::{Output, note};
use crate::remote::{MAX_QUERIES, Remote};

/// At most 1,048,576 fingerprints in one search, which reads each part of the database once for all
/// of them. The first search has 1,024, so that the first answers come soon.
const FIRST_SEARCH: usize = 1 << 10;
const LARGEST_SEARCH: usize = 1 << 20;

/// At most 16,384 queries are in memory with their texts.
const MAX_READ: usize = 1 << 14;

/// A search gathers queries for 200 ms, or for twice the duration of the search before, if that is
/// longer. So answers to a slow stream of queries do not wait for a full search.
const SHORT_READING: Duration = Duration::from_millis(200);
const READING_PER_SEARCH: u32 = 2;

/// At most 1,024 answers, or answers with 4,096 matches, are composed at the same time.
const MAX_WAITING_ANSWERS: usize = 1024;
const MAX_WAITING_MATCHES: usize = 4096;

/// Composed answers of 64 MiB are printed before more answers are composed.
const MAX_WAITING_BYTES: usize = 64 << 20;

pub(super) fn answer_all(
    searcher: &Searcher<'_>,
    queries: QueryFile,
    output: &mut Output,
) -> Result<()> {
    let mut printer = Printer {
        searcher,
        output,
        printed: 0,
        too_little: 0,
        has_matches: false,
    };
    match (searcher.source, searcher.way) {
        (Source::Server(remote, _), _) => printer.search_remotely(queries, remote)?,
        (
            Source::File {
                database, searched, ..
            },
            Way::Within(radius),
        ) => {
            let search = FileSearch {
                searcher,
                database,
                snapshot: searched,
            };
            printer.search_batches(queries, &search, radius)?;
        }
        _ => printer.search_each(queries)?,
    }
    if printer.too_little > 0 {
        note(format_args!(
            "{} of {} texts have too little content: too short, or one phrase over and over; they have \
             no matches",
            printer.too_little, printer.printed
        ));
    }
    let has_matches = printer.has_matches;
    output.decide(has_matches);
    Ok(())
}

struct Printer<'p> {
    searcher: &'p Searcher<'p>,
    output: &'p mut Output,
    /// The number of printed answers, which is the number of the next query.
    printed: u64,
    /// Queries whose texts have too little content for matches.
    too_little: u64,
    has_matches: bool,
}

impl Printer<'_> {
    /// Searches for one query at a time on each core, because these searches share no reads.
    fn search_each(&mut self, mut queries: QueryFile) -> Result<()> {
        let searcher = self.searcher;
        loop {
            let contents = queries.read(MAX_WAITING_ANSWERS, Instant::now() + SHORT_READING)?;
            if contents.is_empty() {
                return Ok(());
            }
            self.print_all(contents, |query| searcher.search(&query))?;
        }
    }

    /// Sends many queries in each request.
    fn search_remotely(&mut self, mut queries: QueryFile, remote: &Remote) -> Result<()> {
        loop {
            let contents = queries.read(MAX_QUERIES, Instant::now() + SHORT_READING)?;
            if contents.is_empty() {
                return Ok(());
            }
            let answered = self.searcher.search_remotely(remote, &contents)?;
            self.print_all(answered, Ok)?;
        }
    }

    /// Searches for many fingerprints in each search.
    fn search_batches(
        &mut self,
        mut queries: QueryFile,
        search: &FileSearch<'_>,
        radius: u32,
    ) -> Result<()> {
        let (mut most, mut reading) = (FIRST_SEARCH, SHORT_READING);
        loop {
            let made = fingerprints(search, &mut queries, most, Instant::now() + reading)?;
            if made.is_empty() {
                return Ok(());
            }
            let started = Instant::now();
            self.search_batch(search, &made, radius)?;
            most = LARGEST_SEARCH;
            reading = SHORT_READING.max(READING_PER_SEARCH * started.elapsed());
        }
    }

    fn search_batch(
        &mut self,
        search: &FileSearch<'_>,
        made: &[TextFingerprint],
        radius: u32,
    ) -> Result<()> {
        let (snapshot, most) = (search.snapshot, self.searcher.most);
        // Unreliable fingerprints are not searched for, and have no matches.
        let (mut searched, mut all) = (made.iter().filter(|made| made.reliable), made.iter());
        let fingerprints: Vec<_> = searched.clone().map(|made| made.fingerprint).collect();
        let unmatched = |made: &TextFingerprint| Answered::by_fingerprint(*made, Vec::new());
        let (mut waiting, mut waiting_matches, mut printed) = (Vec::new(), 0, Ok(()));
        let outcome = snapshot.within_batch_with(&fingerprints, radius, most, |_, matches| {
            waiting_matches += matches.len();
            // `take_while` also consumes the query of these matches, which `searched` returns next.
            let unsearched = all.by_ref().take_while(|made| !made.reliable);
            waiting.extend(unsearched.map(unmatched));
            let query = searched.next();
            waiting.extend(query.map(|made| Answered::by_fingerprint(*made, matches)));
            if waiting.len() >= MAX_WAITING_ANSWERS || waiting_matches >= MAX_WAITING_MATCHES {
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
        outcome?;
        waiting.extend(all.map(unmatched));
        self.print_all(waiting, Ok)
    }

    /// Searches and composes answers on all cores, and prints them in order.
    fn print_all<Q: Send>(
        &mut self,
        queries: Vec<Q>,
        search: impl Fn(Q) -> Result<Answered> + Sync,
    ) -> Result<()> {
        let searcher = self.searcher;
        let mut queries = (self.printed..).zip(queries);
        loop {
            let waiting_bytes = AtomicUsize::new(0);
            let next = std::iter::from_fn(|| {
                let has_room = waiting_bytes.load(Ordering::Relaxed) < MAX_WAITING_BYTES;
                has_room.then(|| queries.next()).flatten()
            });
            let compose = |number, query| {
                let answered = search(query)?;
                let composed = searcher.compose(number, &answered)?;
                let bytes = bytes_of(&answered) + composed.as_ref().map_or(0, String::len);
                waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
                Ok((answered, composed))
            };
            let mut answers: Vec<(u64, Result<_>)> = next
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
            None => print_parts(self.searcher, number, answered, self.output)?,
        }
        self.printed += 1;
        self.too_little += u64::from(answered.has_too_little);
        self.has_matches |= answered.has_matches();
        Ok(())
    }
}

fn fingerprints(
    search: &FileSearch<'_>,
    queries: &mut QueryFile,
    most: usize,
    until: Instant,
) -> Result<Vec<TextFingerprint>> {
    let mut all = Vec::new();
    while all.is_empty() || (all.len() < most && Instant::now() < until) {
        let contents = queries.read(MAX_READ.min(most - all.len()), until)?;
        if contents.is_empty() {
            break;
        }
        let made = contents.par_iter().map(|query| search.fingerprint(query));
        all.append(&mut made.collect::<simdb::Result<_>>()?);
    }
    Ok(all)
}

fn bytes_of(answered: &Answered) -> usize {
    match &answered.matches {
        Matches::Near(matches) => size_of_val(&matches[..]),
        Matches::Similar(matches) => size_of_val(&matches[..]),
    }
}
