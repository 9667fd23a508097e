//! Answers to a file of queries, in its order: many are asked at once, so that each part of the
//! database is read once for all of them.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::Result;
use rayon::prelude::*;
use simdb::{Fingerprint, Match, TextFingerprint};

use super::file::{Asked, Queries};
use super::search::{Found, Searcher};
use crate::console::{Answer, Output, note};

/// The most queries asked at once: few the first time, so that answers come soon.
const FIRST_BATCH: usize = 1 << 10;
const LARGEST_BATCH: usize = 1 << 20;

/// How long queries are gathered before they are asked: this, and so many times as long as the
/// answers to those before took, whichever is longer. So many are asked at once where that pays,
/// and where queries come slowly the answers do not wait for many of them.
const SHORT_READING: Duration = Duration::from_millis(200);
const READING_PER_ANSWERING: u32 = 2;

/// Answers that are given their texts at once, on all cores: so many, or with so many matches.
const ANSWERS_AT_ONCE: usize = 1024;
const MATCHES_AT_ONCE: usize = 4096;

/// Asks for each query and prints the answers in order.
pub(super) fn ask_all(
    searcher: &Searcher<'_>,
    mut queries: Queries,
    output: &mut Output,
) -> Result<Answer> {
    let mut printer = Printer {
        searcher,
        output,
        waiting: Vec::new(),
        waiting_matches: 0,
        printed: 0,
        unreliable: 0,
        answer: Answer::No,
    };
    let (mut most, mut reading) = (FIRST_BATCH, SHORT_READING);
    loop {
        let batch = read_batch(searcher, &mut queries, most, Instant::now() + reading)?;
        if batch.is_empty() {
            break;
        }
        let started = Instant::now();
        printer.answer(batch)?;
        most = LARGEST_BATCH;
        reading = SHORT_READING.max(READING_PER_ANSWERING * started.elapsed());
    }
    let Printer {
        printed,
        unreliable,
        answer,
        ..
    } = printer;
    if unreliable > 0 {
        note(format_args!(
            "{unreliable} of {printed} texts say too little: too short, or one phrase over and \
             over; they have no matches"
        ));
    }
    Ok(answer)
}

/// The fingerprints of the next queries; texts are read and forgotten a part at a time.
fn read_batch(
    searcher: &Searcher<'_>,
    queries: &mut Queries,
    most: usize,
    until: Instant,
) -> Result<Vec<TextFingerprint>> {
    let mut batch = Vec::new();
    while batch.is_empty() || (batch.len() < most && Instant::now() < until) {
        let asked = queries.read(most - batch.len(), until)?;
        if asked.is_empty() {
            break;
        }
        let made = asked.into_par_iter().map(|asked| match asked {
            Asked::Text(text) => searcher.database.fingerprint(&text),
            Asked::Fingerprint(fingerprint, reliable) => Ok(TextFingerprint {
                fingerprint,
                reliable,
            }),
        });
        batch.append(&mut made.collect::<simdb::Result<Vec<_>>>()?);
    }
    Ok(batch)
}

/// Prints answers as they come.
struct Printer<'p> {
    searcher: &'p Searcher<'p>,
    output: &'p mut Output,
    /// Answers that are not printed yet.
    waiting: Vec<(TextFingerprint, Vec<Match>)>,
    waiting_matches: usize,
    /// Answers printed so far: the number of the next one.
    printed: u64,
    unreliable: u64,
    answer: Answer,
}

impl Printer<'_> {
    fn answer(&mut self, batch: Vec<TextFingerprint>) -> Result<()> {
        let Some(radius) = self.searcher.radius else {
            return self.answer_one_by_one(batch);
        };
        // Those that say too little are not asked for, and have no matches.
        let asked: Vec<Fingerprint> = batch
            .iter()
            .filter(|query| query.reliable)
            .map(|query| query.fingerprint)
            .collect();
        let mut failed = None;
        let mut batch = batch.into_iter();
        self.searcher.snapshot.within_batch_with(
            &asked,
            radius,
            self.searcher.most,
            |_, matches| match self.take(&mut batch, matches) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            },
        )?;
        if let Some(error) = failed {
            return Err(error);
        }
        for unreliable in batch {
            self.wait(unreliable, Vec::new())?;
        }
        self.flush()
    }

    /// Takes the matches of the next query that says something, behind those that do not.
    fn take(
        &mut self,
        batch: &mut impl Iterator<Item = TextFingerprint>,
        matches: Vec<Match>,
    ) -> Result<()> {
        for query in batch {
            if query.reliable {
                return self.wait(query, matches);
            }
            self.wait(query, Vec::new())?;
        }
        Ok(())
    }

    fn wait(&mut self, query: TextFingerprint, matches: Vec<Match>) -> Result<()> {
        self.waiting_matches += matches.len();
        self.waiting.push((query, matches));
        if self.waiting.len() >= ANSWERS_AT_ONCE || self.waiting_matches >= MATCHES_AT_ONCE {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.waiting_matches = 0;
        let waiting = std::mem::take(&mut self.waiting);
        self.print_all(waiting, |(query, matches)| {
            Ok(Found {
                fingerprint: query.fingerprint,
                reliable: query.reliable,
                matches,
            })
        })
    }

    /// Where the nearest are asked for, however far, no two queries look at the same keys.
    fn answer_one_by_one(&mut self, batch: Vec<TextFingerprint>) -> Result<()> {
        let searcher = self.searcher;
        for part in batch.chunks(ANSWERS_AT_ONCE) {
            self.print_all(part.to_vec(), |query| {
                searcher.search(query.fingerprint, query.reliable, None)
            })?;
        }
        Ok(())
    }

    /// Finds out and puts into words on all cores, and prints in order.
    fn print_all<Q: Send>(
        &mut self,
        queries: Vec<Q>,
        find: impl Fn(Q) -> Result<Found> + Sync,
    ) -> Result<()> {
        let (searcher, first) = (self.searcher, self.printed);
        let answers: Vec<Result<(Found, Option<Vec<String>>)>> = queries
            .into_par_iter()
            .enumerate()
            .map(|(place, query)| {
                let found = find(query)?;
                let lines = searcher.lines(first + place as u64, &found)?;
                Ok((found, lines))
            })
            .collect();
        for answer in answers {
            let (found, lines) = answer?;
            match lines {
                Some(lines) => {
                    for line in lines {
                        self.output.line(line)?;
                    }
                }
                None => searcher.print(self.printed, &found, self.output)?,
            }
            self.printed += 1;
            self.unreliable += u64::from(!found.reliable);
            if !found.matches.is_empty() {
                self.answer = Answer::Yes;
            }
        }
        Ok(())
    }
}
