//! `simdb-cli pairs`: all pairs of near-duplicates in a database.

use std::io::{BufWriter, IntoInnerError, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;
use simdb::{PairsEvent, Snapshot};

use super::open_to_read;
use super::pairs_lines::{Found, Lines, PairsFormat};
use crate::console::files::{persist_new, temporary_beside};
use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::console::{Answer, Output, counted, grouped, note};
use crate::options::RecipeOptions;

/// Finds all pairs of documents whose fingerprints differ in at most so many bits
///
/// Every pair is found, and each is written once. Documents that have the same fingerprint are
/// copies of each other, and written as one group, since n copies are n² / 2 pairs. A pair has two
/// different fingerprints, and names the document with the smallest id of each: where that one is
/// the first of a group, the pair holds for every document of the group. --expand writes every pair
/// of documents instead.
///
/// jsonl: {"fingerprint":"...","documents":[1,7,...]} for each group, its documents in order, then
/// {"a":1,"b":2,"distance":3} for each pair, a being the smaller id.
/// csv: the columns a, b and distance; a group is its first document with each of the others, at
/// distance 0.
///
/// What was found is counted on standard error, or, with -o, on standard output; --json makes
/// that a line {"documents":...,"radius":3,"groups":...,"copies":...,"pairs":...,"seconds":...},
/// copies being the documents in groups. The exit code is 1 if there is no pair and no group.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli pairs news.simdb > pairs.jsonl
  simdb-cli pairs news.simdb --radius 6 --format csv -o pairs.csv
  simdb-cli pairs news.simdb --expand --sorted | head")]
pub struct Pairs {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// The most bits in which the fingerprints of a pair differ
    ///
    /// The larger it is, the longer it takes: of five million documents at 4 twice as long as at 3, at
    /// 7 seven times, at 8 fifteen times.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: u32,

    /// How to write them
    #[arg(long, value_enum, default_value_t)]
    format: PairsFormat,

    /// Write every pair of documents, copies too, and no groups
    #[arg(long)]
    expand: bool,

    /// Write them in order of a, then b, groups in order of their first documents
    ///
    /// All of them are held in memory until the end: 24 bytes for a pair, 8 for a copy.
    #[arg(long)]
    sorted: bool,

    /// Write to this new file, which appears when it is whole [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print what was found, counted, as one line of JSON; needs -o
    #[arg(long, requires = "output")]
    json: bool,

    /// Whether to show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Progress,
}

#[derive(Serialize)]
struct CountLine {
    documents: u64,
    radius: u32,
    groups: u64,
    copies: u64,
    pairs: u64,
    seconds: f64,
}

impl Pairs {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let started = Instant::now();
        let database = open_to_read(&self.database, &self.recipe)?;
        let snapshot = database.snapshot()?;
        let found = match &self.output {
            Some(path) => self.to_file(path, &snapshot)?,
            None => {
                let found = self.write(&snapshot, &Interrupt::default(), &mut |bytes| {
                    output.bytes(bytes)
                })?;
                output.flush()?;
                found
            }
        };
        let said = format!(
            "{}, {} of {} copies",
            counted(found.pairs, "pair"),
            counted(found.groups, "group"),
            grouped(found.copies)
        );
        if self.json {
            output.json(&CountLine {
                documents: snapshot.len(),
                radius: self.radius,
                groups: found.groups,
                copies: found.copies,
                pairs: found.pairs,
                seconds: started.elapsed().as_secs_f64(),
            })?;
        } else if self.output.is_some() {
            output.line(said)?;
        } else {
            note(said);
        }
        Ok(match found.pairs + found.groups {
            0 => Answer::No,
            _ => Answer::Yes,
        })
    }

    /// Writes to a file that is not there yet, and is not until it is whole.
    fn to_file(&self, path: &Path, snapshot: &Snapshot) -> Result<Found> {
        let cannot = || format!("cannot write {}", path.display());
        if path.symlink_metadata().is_ok() {
            bail!(
                "{} already exists; remove it, or choose another name",
                path.display()
            );
        }
        let interrupt = Interrupt::listen()?;
        let temporary = temporary_beside(path).with_context(cannot)?;
        let mut writer = BufWriter::with_capacity(1 << 16, temporary);
        let found = self.write(snapshot, &interrupt, &mut |bytes| {
            writer.write_all(bytes).with_context(cannot)
        })?;
        let (file, temporary) = writer
            .into_inner()
            .map_err(IntoInnerError::into_error)
            .with_context(cannot)?
            .into_parts();
        file.sync_all().with_context(cannot)?;
        interrupt.check()?;
        persist_new(temporary, path).with_context(cannot)?;
        Ok(found)
    }

    /// Writes all there is, and says how much that was.
    fn write(
        &self,
        snapshot: &Snapshot,
        interrupt: &Interrupt,
        write: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Found> {
        let bar = self.bar();
        let mut lines = Lines::new(self.format, self.expand, self.sorted, interrupt, write)?;
        let mut failed = Ok(());
        // What fails, and Ctrl-C, ends it; the library knows of neither.
        let mut goes_on = |outcome: Result<()>| {
            failed = outcome.and_then(|()| interrupt.check());
            match failed {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        };
        snapshot.pairs(self.radius, |event| {
            goes_on(match event {
                PairsEvent::Copies {
                    fingerprint,
                    documents,
                } => lines.copies(fingerprint, documents),
                PairsEvent::Pairs(pairs) => pairs.iter().try_for_each(|pair| lines.pair(pair)),
                PairsEvent::Progress(done) => {
                    bar.set_length(PROGRESS_STEPS);
                    bar.set_position((done * PROGRESS_STEPS as f64) as u64);
                    Ok(())
                }
                _ => Ok(()),
            })
        })?;
        bar.finish_and_clear();
        failed?;
        lines.finish()
    }

    /// A bar, unless the lines are shown on the same terminal.
    fn bar(&self) -> ProgressBar {
        let is_shown_in_between = self.output.is_none() && std::io::stdout().is_terminal();
        let progress = match self.progress {
            Progress::Auto if is_shown_in_between => Progress::Never,
            progress => progress,
        };
        let bar = progress.work();
        bar.set_prefix("pairing");
        bar
    }
}

/// How finely progress is told.
const PROGRESS_STEPS: u64 = 10_000;
