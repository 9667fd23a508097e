//! `simdb-cli watch`: a filter that says of each line of a stream whether it is new.
//!
//! ```text
//! stdin ──reader──lines──> documents, submitted in groups ──tickets──> answers, in order
//! ```
//!
//! Each of the three is a thread: the reader waits for input, the second makes fingerprints on
//! all cores, the third, which is the main thread, waits for commits. [`Room`] bounds the lines that
//! are read and not answered.

mod answers;
mod documents;
mod lines;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use simdb::{Database, Error};

use self::answers::{Answers, VerdictCounts};
use self::documents::Documents;
use self::lines::{Event, Room};
use crate::console::interrupt::Interrupt;
use crate::console::paths::refuse_special;
use crate::console::{Answer, Output, OutputClosed, counted, grouped, note};
use crate::formats::id_sequence::IdSequence;
use crate::formats::parse_id;
use crate::options::{DuplicateRule, FieldNames, NewDatabase, OnError, UniqueOptions};

/// Stores lines as they come, and says of each whether it is new
///
/// Reads JSON Lines from standard input, stores their documents, and writes a line of JSON for
/// each, in their order, as soon as what it says is durable: at once for a single line, and many
/// at a time when many come. Blank lines are skipped, but counted.
///
/// A line of the answer has line (counted from 1), id, fingerprint, reliable (false for a text that
/// says too little: no radius reaches it) and verdict: new: it is stored. duplicate:
/// with --unique, because document `of` lies at this `distance`, and of --unique similar has so much
/// in common with it (`edit_similarity`, `jaccard`); it is not stored. exists: the id
/// is taken, so it is not stored; `stored` is the fingerprint there, and `repeated` says whether it
/// is the same one. rejected: it is no document; `error` says why. What is not known is null.
///
/// Where documents expire (--retention), what is expired when a line arrives neither makes it a
/// duplicate nor holds its id; a line that is itself too old when it comes is new, and expired.
///
/// It ends with the input, or when told to (Ctrl-C, SIGTERM); that is no failure, and the exit code
/// is 0. Lines that are on their way are then answered, and the database is closed; a line without
/// an answer that was not on its way is not stored. Told a second time, it ends at once, with 2. If
/// nobody reads its answers any longer it ends as well. However it ends, by kill -9 too, what was
/// answered stays. To repeat lines that have no answer is harmless if they have ids of their own.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli watch news.simdb --text body --time posted --assign-ids < news.jsonl
  tail -F posts.jsonl | simdb-cli watch posts.simdb --create --retention 2d --unique 3
  tail -F posts.jsonl | simdb-cli watch posts.simdb --create --retention 2d --unique similar")]
pub struct Watch {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    unique: UniqueOptions,

    /// What to do about a line that is no document, or whose id is taken by another fingerprint
    ///
    /// To skip is to go on after saying so in the answer: one bad line should not stop a stream
    /// that nobody looks after. To abort is to end with exit code 2; of the lines after a taken id,
    /// those that were on their way are answered still.
    #[arg(long, value_enum, default_value_t = OnError::Skip)]
    on_error: OnError,

    #[command(flatten)]
    fields: FieldNames,

    /// Give lines without an id one: they count up, beyond all that are stored and all that came
    ///
    /// A null counts as none. Ids of duplicates are left out, and the answer to such a line has
    /// none.
    #[arg(long, help_heading = "Input")]
    assign_ids: bool,

    /// The least id to give [default: 1]
    #[arg(
        long,
        value_name = "ID",
        value_parser = parse_id,
        requires = "assign_ids",
        help_heading = "Input"
    )]
    first_id: Option<u64>,

    /// Create the database if it is missing
    #[arg(long, help_heading = "New database")]
    create: bool,

    #[command(flatten)]
    new: NewDatabase,
}

impl Watch {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let started = Instant::now();
        let (events_in, events) = channel();
        let wake = {
            let events_in = events_in.clone();
            // The receiver is gone if the tool is ending.
            move || drop(events_in.send(Event::Woken))
        };
        let interrupt = Interrupt::listen_and(wake.clone())?;
        let fields = self.fields.fields()?;
        self.new.check()?;
        let rule = self.unique.rule()?;
        if let Some(rule) = &rule {
            rule.refuse_textless(&self.fields)?;
        }
        let max_line_bytes = fields.max_line_bytes();
        let database = self.open(rule)?;
        // A database that takes no changes is an error before the first line.
        database.flush()?;
        // The dictionary is loaded before the first line.
        if fields.text.is_some() {
            database.fingerprinter();
        }
        let mut documents = Documents {
            database: &database,
            fields,
            rule,
            ids: self.ids(&database)?,
            on_error: self.on_error,
        };
        let room = Arc::new(Room::default());
        let mut answers = Answers {
            output,
            room: &room,
            on_error: self.on_error,
            counts: VerdictCounts::default(),
        };
        lines::start(Arc::clone(&room), events_in, max_line_bytes)?;
        let (groups_in, groups) = channel();
        let (submitted, answered) = std::thread::scope(|scope| {
            let interrupt = &interrupt;
            let submitting =
                scope.spawn(move || documents.submit_all(&events, &groups_in, interrupt));
            let stop = || {
                interrupt.set();
                wake();
            };
            let answered = answers.answer_all(&groups, stop);
            if answered.is_err() {
                stop();
            }
            let submitted = submitting.join();
            (submitted, answered)
        });
        let counts = answers.counts;
        let submitted = submitted.unwrap_or_else(|_| Err(anyhow!("a thread failed")));
        let closed = database.close();
        note(counts.summary(started));
        match answered {
            // The reader of the answers is gone. Other errors are reported still.
            Err(unread) if unread.is::<OutputClosed>() => {
                submitted?;
                closed?;
                Err(unread)
            }
            answered => {
                answered?;
                submitted?;
                closed?;
                Ok(Answer::Yes)
            }
        }
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
                self.new.refuse_other(path, database.settings())?;
                self.fields.refuse_unkept(database.settings())?;
                if let Some(rule) = rule {
                    rule.refuse_unkept(path, database.settings())?;
                }
                Ok(database)
            }
            Err(Error::NotFound { .. }) if self.create => {
                let settings = self.new.settings(&self.fields)?;
                let settings = match rule {
                    Some(rule) => rule.settings(settings),
                    None => settings,
                };
                self.fields.refuse_unkept(&settings)?;
                Ok(Database::builder().settings(&settings).create(path)?)
            }
            Err(missing @ Error::NotFound { .. }) => bail!("{missing}, as --create does"),
            Err(error) => Err(error.into()),
        }
    }

    /// The ids of lines without one, if such lines are given ids.
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

impl VerdictCounts {
    fn summary(self, started: Instant) -> String {
        let Self {
            new,
            duplicates,
            exist,
            rejected,
        } = self;
        let lines = new + duplicates + exist + rejected;
        let seconds = started.elapsed().as_secs_f64();
        let per_second = lines as f64 / seconds.max(f64::MIN_POSITIVE);
        format!(
            "{} in {seconds:.1} s, {} a second: {} new, {}, {} there already, {} rejected",
            counted(lines, "line"),
            grouped(per_second as u64),
            grouped(new),
            counted(duplicates, "duplicate"),
            grouped(exist),
            grouped(rejected),
        )
    }
}
