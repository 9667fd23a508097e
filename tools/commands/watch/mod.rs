//! `simdb-cli watch`: a filter that stores each line of a stream and prints if it was new.
//!
//! ```text
//! stdin ──reader──lines──> documents, submitted in groups ──tickets──> answers, in order
//! ```
//!
//! Three threads: the reader waits for input, the second thread makes fingerprints on all cores,
//! and the main thread waits for commits. A fourth thread prints counts and makes backups. [`Room`]
//! bounds the lines that are read and not answered.

mod answers;
mod counts;
mod documents;
mod lines;
mod monitor;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

use anyhow::{Result, anyhow, bail, ensure};
use clap::Args;
use simdb::{Database, Error};

use self::answers::Answers;
use self::counts::VerdictCounts;
use self::documents::SubmittedDocuments;
use self::lines::{Event, Room};
use self::monitor::{Monitor, MonitorEvent, MonitorOptions};
use crate::console::interrupt::Interrupt;
use crate::console::paths::refuse_special;
use crate::console::{Output, OutputClosed, note};
use crate::corpus::filled_fields::FilledFields;
use crate::corpus::frames::StreamFrames;
use crate::formats::id_sequence::IdSequence;
use crate::formats::parse_id;
use crate::options::{
    DuplicateRule, FieldNames, KeyOptions, NewDatabase, OnError, OnExistsOption, UniqueOptions,
};

/// Stores the documents of a stream, and prints for each if it was new
///
/// Reads JSON Lines from standard input, stores their documents, and prints one line of JSON for
/// each, in order, as soon as the document is durable. A single line is answered at once; many
/// waiting lines are committed in groups. Blank lines are skipped, but counted.
///
/// An answer has line (counted from 1), id, fingerprint, reliable (false for a text with too little
/// content, whose fingerprint matches no other) and verdict. Unknown values are null. With --key,
/// an answer has the key, no id, and beside `of` also `of_key`, the key of that document. The
/// verdicts:
///
/// new: the document is stored. With --unique similar, `extends` has the id of a stored document
/// that the new text covers, and that stays (its key is in `extends_keys`); with --on-extended
/// replace, `replaces` has the ids of covered documents, which are removed, and `replaces_keys`
/// their keys.
///
/// duplicate: with --unique, document `of` lies at this `distance`, or with --unique similar has
/// this `edit_similarity` and `jaccard`, the same words or more (`containment`: same or a_in_b),
/// and `missing_in_b` and `missing_in_a`, where B is the stored text. The document is not stored.
/// In a database with --copies, `copies` has the number of copies of document `of` so far, and
/// `first_seen` the time of the first; lines of one commit have the same number. If a later line of
/// the same commit removed document `of`, for example because it expired, `of_key` is null, and
/// `copies` and `first_seen` are absent.
///
/// seen: in a database with --copies, the key or id is the key or id of a copy that was refused
/// before. The document is not compared, not counted again and not stored.
///
/// exists: the id is taken, and the document is not stored. `stored` is the fingerprint of the
/// stored document; `repeated` is true if both fingerprints are equal.
///
/// replaced: with --on-exists, the document is stored in place of the document with its id or key,
/// whose fingerprint was `stored`.
///
/// expired: the document arrived before `cutoff`, outside the retention window. It is not stored.
///
/// rejected: the line is no document, or its time is too far ahead, for the reason in `error`.
///
/// SIGUSR1 prints the counts so far on standard error, and SIGUSR2 makes a backup: see
/// --stats-every and --backup.
///
/// In a database with --retention, an expired document makes no duplicate and holds no id.
///
/// watch ends at the end of the input, or at Ctrl-C or SIGTERM, with exit code 0: lines that were
/// submitted are answered, and the database is closed; other lines are not stored. The exit code is
/// 2 if all lines were rejected, and if the database file was deleted, moved or replaced meanwhile:
/// the next commit, or at the latest the end, notices it. A second signal ends watch at once, with
/// exit code 2. watch also ends if the reader of its answers closes the pipe. After any end,
/// including kill -9, every answered line is durable. Lines without an answer can be sent again if
/// they have ids.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli watch news.simdb --text body --time posted --assign-ids < news.jsonl
  tail -F posts.jsonl | simdb-cli watch posts.simdb --create --retention 2d --unique 3
  tail -F posts.jsonl | simdb-cli watch posts.simdb --create --retention 2d --unique similar
  simdb-cli watch feed.simdb --create --unique similar --ignore-frames < feed.jsonl
  simdb-cli watch posts.simdb --stats-every 1m --backup copy.simdb --backup-every 6h < posts.fifo")]
pub struct Watch {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    unique: UniqueOptions,

    /// Stop at a line that is no document, or whose id is taken by another fingerprint, or skip it
    ///
    /// skip answers the line with the reason and continues. abort ends watch with exit code 2;
    /// lines that were submitted after a taken id are still answered.
    #[arg(long, value_enum, default_value_t = OnError::Skip)]
    on_error: OnError,

    #[command(flatten)]
    on_exists: OnExistsOption,

    #[command(flatten)]
    fields: FieldNames,

    #[command(flatten)]
    keys: KeyOptions,

    /// Assign ids to lines without an id: ascending numbers above all stored ids and all ids read
    ///
    /// A null is no id. The id assigned to a duplicate is not used again, and the answer has no id.
    #[arg(long, conflicts_with = "key", help_heading = "Input")]
    assign_ids: bool,

    /// The least id to assign [default: 1]
    #[arg(
        long,
        value_name = "ID",
        value_parser = parse_id,
        requires = "assign_ids",
        conflicts_with = "key",
        help_heading = "Input"
    )]
    first_id: Option<u64>,

    /// Create the database if it is missing
    #[arg(long, help_heading = "New database")]
    create: bool,

    #[command(flatten)]
    new: NewDatabase,

    #[command(flatten)]
    monitor: MonitorOptions,
}

impl Watch {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let started = Instant::now();
        let (events_in, events) = channel();
        let wake = {
            let events_in = events_in.clone();
            // Fails only if the tool is ending.
            move || drop(events_in.send(Event::Woken))
        };
        let interrupt = Interrupt::listen_and(wake.clone())?;
        let fields = self.keys.fields(self.fields.fields()?)?;
        self.new.check()?;
        self.monitor.check(&self.database)?;
        let rule = self.unique.rule()?;
        if let Some(rule) = &rule {
            rule.refuse_textless(&self.fields)?;
        }
        ensure!(
            self.new.ignore_frames.is_none() || matches!(rule, Some(DuplicateRule::Similar(_))),
            "--ignore-frames needs --unique similar, which compares texts"
        );
        let max_line_bytes = fields.max_line_bytes();
        let database = self.open(rule)?;
        // Reports a read-only or frozen database before the first line.
        database.flush()?;
        // Loads the dictionary before the first line.
        if fields.text.is_some() {
            database.fingerprinter();
        }
        // A database that keeps frames learns by itself.
        let learns = self.new.ignore_frames;
        let learner = learns.filter(|_| database.settings().frames.is_none());
        let learner = learner
            .map(|number| StreamFrames::new(u64::from(number), &database))
            .transpose()?;
        let mut documents = SubmittedDocuments {
            learner,
            filled: FilledFields::default(),
            database: &database,
            fields,
            rule,
            ids: self.ids(&database)?,
            on_error: self.on_error,
            on_exists: self.on_exists.rule(),
        };
        let room = Arc::new(Room::default());
        let monitor = Arc::new(Monitor::new());
        let (monitor_in, monitored) = channel();
        monitor::listen(monitor_in.clone())?;
        let mut answers = Answers {
            output,
            database: &database,
            room: &room,
            on_error: self.on_error,
            counts: VerdictCounts::default(),
            copies: 0,
            monitor: &monitor,
        };
        lines::start(
            Arc::clone(&room),
            events_in,
            max_line_bytes,
            Arc::clone(&monitor),
        )?;
        let (groups_in, groups) = channel();
        let (submitted, answered, monitored) = std::thread::scope(|scope| {
            let interrupt = &interrupt;
            let (monitor, database, options) = (&monitor, &database, &self.monitor);
            let stop = || {
                interrupt.set();
                wake();
            };
            let monitoring = scope.spawn(move || {
                let outcome = monitor.run(options, database, &monitored);
                if outcome.is_err() {
                    stop();
                }
                outcome
            });
            let submitting =
                scope.spawn(move || documents.submit_all(&events, &groups_in, interrupt));
            let answered = answers.answer_all(&groups, stop);
            if answered.is_err() {
                stop();
            }
            let submitted = submitting.join();
            // Fails only if the monitor has ended.
            let _ = monitor_in.send(MonitorEvent::End);
            (submitted, answered, monitoring.join())
        });
        let counts = answers.counts;
        let submitted = submitted.unwrap_or_else(|_| Err(anyhow!("a thread failed")));
        let closed = database.close();
        note(counts.summary(started));
        // A closed pipe ends the tool quietly, so it must not hide another error.
        let is_quiet = |error: &anyhow::Error| error.is::<OutputClosed>();
        let answered = match answered {
            Err(error) if !is_quiet(&error) => return Err(error),
            answered => answered,
        };
        submitted?;
        monitored.unwrap_or_else(|_| Err(anyhow!("a thread failed")))?;
        closed?;
        counts.refuse_all_rejected()?;
        answered
    }

    fn open(&self, rule: Option<DuplicateRule>) -> Result<Database> {
        let path = &self.database;
        let mut builder = Database::builder();
        if let Some(recipe) = self.new.recipe()? {
            builder = builder.recipe(recipe);
        }
        refuse_special(path)?;
        match builder.open(path) {
            Ok(database) => {
                let settings = database.settings();
                let mut asked = self.new.clone();
                // Without kept frames, the frames are learned from the stored texts at the start.
                asked.ignore_frames = asked.ignore_frames.filter(|_| settings.frames.is_some());
                asked.refuse_other(path, settings)?;
                self.fields.refuse_unkept(database.settings())?;
                self.keys.refuse_unkept(database.settings())?;
                self.on_exists.refuse_unkept(database.settings())?;
                if let Some(rule) = rule {
                    rule.refuse_unkept(path, database.settings())?;
                }
                Ok(database)
            }
            Err(Error::NotFound { .. }) if self.create => {
                let mut settings = self.keys.settings(self.new.settings(&self.fields)?);
                if let Some(rule) = rule {
                    settings = rule.settings(settings);
                }
                self.fields.refuse_unkept(&settings)?;
                Ok(Database::builder().settings(&settings).create(path)?)
            }
            Err(missing @ Error::NotFound { .. }) => bail!("{missing}, as --create does"),
            Err(error) => Err(error.into()),
        }
    }

    /// The ids to assign; `None` without `--assign-ids`.
    fn ids(&self, database: &Database) -> Result<Option<IdSequence>> {
        if !self.assign_ids {
            return Ok(None);
        }
        let mut ids = IdSequence::new(self.first_id.unwrap_or(1));
        if let Some(last) = database.snapshot()?.last_id()? {
            ids.skip_to_after(last);
        }
        Ok(Some(ids))
    }
}
