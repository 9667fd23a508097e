//! [`Monitor`]: the counts of a running watch, on standard error and in a file, and its backups.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use clap::Args;
use parking_lot::Mutex;
use serde_json::{Value, json};
use simdb::{Builder, Database, Error, Timestamp};

use super::counts::{VERDICTS, VerdictCounts};
use crate::console::file::make_or_replace_database;
use crate::console::paths::{OutputPaths, Overwrite};
use crate::console::prometheus::{write_head, write_metric, write_sample};
use crate::console::{error_text, note, parse_duration};

/// The options of a watch that is watched.
#[derive(Debug, Args)]
#[command(next_help_heading = "Monitoring")]
pub struct MonitorOptions {
    /// Print the counts on standard error this often, as one line of JSON: `10s`, `5m`
    ///
    /// SIGUSR1 prints them at once. The counts are since the start: seconds, read, answered, new,
    /// refused (duplicate, exists, seen, expired), rejected, copies (duplicates with the
    /// fingerprint of the stored document; --copies counts all duplicates), documents and
    /// latest_arrival of the database, backups and failed_backups; latency_ms has the mean and the
    /// maximum, from the reading of a line to its answer, since the last print.
    #[arg(long, value_name = "DURATION", value_parser = parse_interval)]
    stats_every: Option<Duration>,

    /// Write the counts to this file as often, or every 10 s, for Prometheus (the textfile
    /// collector of node exporter); the file is replaced as a whole
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,

    /// Copy the database to this file at SIGUSR2 and with --backup-every, as `simdb-cli backup`
    /// does; an earlier backup is replaced
    #[arg(long, value_name = "FILE")]
    backup: Option<PathBuf>,

    /// Make a backup this often: `6h`
    #[arg(long, value_name = "DURATION", value_parser = parse_interval, requires = "backup")]
    backup_every: Option<Duration>,
}

/// The clap parser of an interval.
fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text)?;
    if interval < Duration::from_secs(1) {
        return Err("at least 1s is needed".to_owned());
    }
    Ok(interval)
}

/// Without `--stats-every`, metrics are written every 10 seconds.
const METRICS_EVERY: Duration = Duration::from_secs(10);

/// The time after which a watch without lines notices that its file is gone.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// An event for the thread of the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MonitorEvent {
    /// Print the counts now.
    Stats,
    /// Make a backup now.
    Backup,
    /// The watch ends.
    End,
}

/// The counts that the threads of a watch share.
pub(super) struct Monitor {
    started: Instant,
    /// Lines read, blank ones excepted.
    pub(super) read: AtomicU64,
    answered: Mutex<AnswerCounts>,
    backups: AtomicU64,
    failed_backups: AtomicU64,
}

#[derive(Clone, Copy, Default)]
struct AnswerCounts {
    counts: VerdictCounts,
    copies: u64,
    /// Since the last print.
    latency: Latency,
}

/// The time from the reading of a line to its answer.
#[derive(Clone, Copy, Default)]
struct Latency {
    lines: u64,
    sum: Duration,
    most: Duration,
}

impl Latency {
    /// The mean and the maximum in milliseconds; `None` without lines.
    fn ms(self) -> Option<[f64; 2]> {
        let ms = |duration: Duration| (duration.as_secs_f64() * 1e6).round() / 1e3;
        let mean = self
            .sum
            .checked_div(u32::try_from(self.lines).unwrap_or(u32::MAX))?;
        Some([ms(mean), ms(self.most)])
    }
}

impl MonitorOptions {
    /// Refuses a backup or metrics that would replace the database or each other, or whose folder
    /// is missing.
    pub(super) fn check(&self, database: &Path) -> Result<()> {
        let mut paths = OutputPaths::new(Overwrite { force: true });
        paths.reserve(database, "the database");
        if let Some(path) = &self.backup {
            paths.database("--backup", path)?;
        }
        if let Some(path) = &self.metrics {
            paths.file("--metrics", path)?;
        }
        Ok(())
    }
}

impl Monitor {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            read: AtomicU64::new(0),
            answered: Mutex::default(),
            backups: AtomicU64::new(0),
            failed_backups: AtomicU64::new(0),
        }
    }

    /// Records the answers so far, and the latency of the last ones.
    pub(super) fn record(
        &self,
        counts: VerdictCounts,
        copies: u64,
        read_at: impl Iterator<Item = Instant>,
    ) {
        let now = Instant::now();
        let mut answered = self.answered.lock();
        answered.counts = counts;
        answered.copies = copies;
        for read_at in read_at {
            let latency = &mut answered.latency;
            let elapsed = now.saturating_duration_since(read_at);
            latency.lines += 1;
            latency.sum += elapsed;
            latency.most = latency.most.max(elapsed);
        }
    }

    /// Prints counts and makes backups until the end. Returns an error if the database is gone.
    pub(super) fn run(
        &self,
        options: &MonitorOptions,
        database: &Database,
        events: &Receiver<MonitorEvent>,
    ) -> Result<()> {
        let mut stats = Schedule::new(options.stats_every);
        let mut metrics = Schedule::new(
            (options.metrics.as_ref()).map(|_| options.stats_every.unwrap_or(METRICS_EVERY)),
        );
        let mut backup = Schedule::new(options.backup_every);
        let mut look = Schedule::new(Some(LOOK_EVERY));
        loop {
            let next = [&stats, &metrics, &backup, &look].map(|schedule| schedule.next);
            let wait = next.into_iter().flatten().min().map_or(LOOK_EVERY, |next| {
                next.saturating_duration_since(Instant::now())
            });
            let event = match events.recv_timeout(wait) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(MonitorEvent::End),
            };
            let is_end = event == Some(MonitorEvent::End);
            // Before the print, which resets the latency.
            if metrics.is_due(is_end)
                && let Some(path) = &options.metrics
                && let Err(error) = self.write_metrics(path, database)
            {
                note(format_args!("warning: cannot write the metrics: {error:#}"));
            }
            if stats.is_due(is_end) || event == Some(MonitorEvent::Stats) {
                note(self.json(database)?);
            }
            if backup.is_due(false) || event == Some(MonitorEvent::Backup) {
                self.back_up(options, database);
            }
            if look.is_due(false)
                && let Err(gone @ Error::FileGone { .. }) = database.submit([])?.wait()
            {
                return Err(gone.into());
            }
            if is_end {
                return Ok(());
            }
        }
    }

    fn json(&self, database: &Database) -> Result<Value> {
        let (answered, latency) = {
            let mut answered = self.answered.lock();
            (*answered, std::mem::take(&mut answered.latency).ms())
        };
        let snapshot = database.snapshot()?;
        let counts = answered.counts;
        let [new, duplicate, exists, seen, replaced, expired, rejected] = counts.0;
        Ok(json!({
            "seconds": (self.started.elapsed().as_secs_f64() * 1e3).round() / 1e3,
            "read": self.read.load(Ordering::Relaxed),
            "answered": counts.lines(),
            "new": new,
            "replaced": replaced,
            "refused": {"duplicate": duplicate, "exists": exists, "seen": seen, "expired": expired},
            "rejected": rejected,
            "copies": answered.copies,
            "latency_ms": latency.map(|[mean, most]| json!({"mean": mean, "max": most})),
            "documents": snapshot.len()?,
            "latest_arrival": snapshot.latest_arrival().map(|time| time.to_string()),
            "backups": self.backups.load(Ordering::Relaxed),
            "failed_backups": self.failed_backups.load(Ordering::Relaxed),
        }))
    }

    /// Writes the metrics to a temporary file, and renames it: a collector reads a whole file.
    fn write_metrics(&self, path: &Path, database: &Database) -> Result<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let text = self.metrics(database)?;
        std::fs::write(&name, text)
            .and_then(|()| std::fs::rename(&name, path))
            .with_context(|| path.display().to_string())
    }

    fn metrics(&self, database: &Database) -> Result<String> {
        let AnswerCounts {
            counts,
            copies,
            latency,
        } = *self.answered.lock();
        let snapshot = database.snapshot()?;
        let mut text = String::new();
        let out = &mut text;
        let read = self.read.load(Ordering::Relaxed);
        write_metric(
            out,
            "simdb_watch_read_total",
            "counter",
            "Lines read.",
            read,
        );
        let name = "simdb_watch_answers_total";
        write_head(out, name, "counter", "Lines answered, by verdict.");
        for (verdict, count) in VERDICTS.iter().zip(counts.0) {
            write_sample(out, name, &format!("verdict=\"{verdict}\""), count);
        }
        let help = "Duplicates with the fingerprint of the stored document.";
        write_metric(out, "simdb_watch_copies_total", "counter", help, copies);
        if let Some([mean, most]) = latency.ms() {
            let name = "simdb_watch_latency_seconds";
            let help = "Time from the reading of a line to its answer, since the last print.";
            write_head(out, name, "gauge", help);
            write_sample(out, name, "value=\"mean\"", mean / 1e3);
            write_sample(out, name, "value=\"max\"", most / 1e3);
        }
        let (name, help) = ("simdb_documents", "Documents in the database.");
        write_metric(out, name, "gauge", help, snapshot.len()?);
        if let Some(Timestamp(ms)) = snapshot.latest_arrival() {
            let name = "simdb_latest_arrival_seconds";
            let help = "The latest arrival, in Unix seconds.";
            write_metric(out, name, "gauge", help, ms as f64 / 1e3);
        }
        let name = "simdb_watch_backups_total";
        write_head(out, name, "counter", "Backups, by result.");
        for (result, count) in [("done", &self.backups), ("failed", &self.failed_backups)] {
            let count = count.load(Ordering::Relaxed);
            write_sample(out, name, &format!("result=\"{result}\""), count);
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0.0, |now| now.as_secs_f64());
        let (name, help) = ("simdb_watch_written_seconds", "The time of this file.");
        write_metric(out, name, "gauge", help, now);
        Ok(text)
    }

    /// Makes a backup. A failure is reported and counted, and the watch goes on.
    fn back_up(&self, options: &MonitorOptions, database: &Database) {
        let Some(path) = &options.backup else {
            note("no backup is made: --backup FILE names its path");
            return;
        };
        match back_up(path, database) {
            Ok(()) => {
                self.backups.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                self.failed_backups.fetch_add(1, Ordering::Relaxed);
                let causes: Vec<String> = error.chain().map(error_text).collect();
                note(format_args!(
                    "warning: the backup failed: {}",
                    causes.join(": ")
                ));
            }
        }
    }
}

fn back_up(path: &Path, database: &Database) -> Result<()> {
    let mut paths = OutputPaths::new(Overwrite { force: true });
    paths.reserve(database.path(), "the database");
    let output = paths.database("--backup", path)?;
    make_or_replace_database(&output, builder_of(database), |path| {
        Ok(database.backup(path)?)
    })
}

/// The builder that opens an earlier backup.
fn builder_of(database: &Database) -> Builder {
    Database::builder().recipe(database.settings().recipe.clone())
}

/// The next time of a repeated action.
struct Schedule {
    every: Option<Duration>,
    next: Option<Instant>,
}

impl Schedule {
    fn new(every: Option<Duration>) -> Self {
        Self {
            every,
            next: every.and_then(|every| Instant::now().checked_add(every)),
        }
    }

    /// Returns `true` if the time has come, or at the end if `is_end`, and plans the next time.
    fn is_due(&mut self, is_end: bool) -> bool {
        let now = Instant::now();
        let is_due = self.next.is_some_and(|next| is_end || next <= now);
        if is_due {
            self.next = self.every.and_then(|every| now.checked_add(every));
        }
        is_due
    }
}

/// Sends an event for each SIGUSR1 and SIGUSR2.
#[cfg(unix)]
pub(super) fn listen(events: Sender<MonitorEvent>) -> Result<()> {
    use signal_hook::consts::{SIGUSR1, SIGUSR2};
    let mut signals = signal_hook::iterator::Signals::new([SIGUSR1, SIGUSR2])
        .context("cannot listen for signals")?;
    // The thread is not joined: it waits for signals for ever.
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                let event = match signal {
                    SIGUSR1 => MonitorEvent::Stats,
                    _ => MonitorEvent::Backup,
                };
                if events.send(event).is_err() {
                    break;
                }
            }
        })
        .context("cannot start a thread")
        .map(drop)
}

/// There are no such signals.
#[cfg(not(unix))]
pub(super) fn listen(_: Sender<MonitorEvent>) -> Result<()> {
    Ok(())
}
