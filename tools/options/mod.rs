//! Options of several commands: the fields of a document, the settings of a new database, the
//! treatment of a bad record.

mod keys;
mod on_exists;
mod quotation;
mod recipe;
mod subset;
mod times;
mod unique;

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use simdb::{Recipe, Retention, Settings};

use crate::console::{duration, parse_duration, parse_size};
use crate::formats::{DocumentFields, DocumentPart, MAX_MORE_TEXTS, MAX_TEXT_BYTES};

pub use keys::KeyOptions;
pub use on_exists::OnExistsOption;
pub use quotation::QuotationOptions;
pub use recipe::RecipeOptions;
pub use subset::{ScopeOptions, SubsetOptions, time_before};
pub use times::TimeOptions;
pub use unique::{DuplicateRule, LikenessOptions, UniqueOptions, note_without_forest};

/// The options that name the fields of a document.
#[derive(Clone, Debug, Args)]
pub struct FieldNames {
    /// The field or column that holds the id
    #[arg(
        long,
        value_name = "FIELD",
        default_value = "id",
        help_heading = "Input"
    )]
    pub id: String,

    /// The field or column that holds the text [default: text]
    ///
    /// Given several times, up to four fields make one text, in this order, with a line feed
    /// between two: --text title --text body. A field that is missing, null or empty is left out.
    ///
    /// With --fingerprint or --features, texts are read only if this option is given; they are kept
    /// beside the fingerprints, in a database created with --keep-texts.
    #[arg(long, value_name = "FIELD", help_heading = "Input")]
    pub text: Vec<String>,

    /// The field or column that holds the fingerprint, read instead of texts: 16 hexadecimal
    /// digits, or INT64 in Parquet
    ///
    /// A document whose field or column `reliable` is false is stored as unreliable: no search
    /// within a radius finds it.
    #[arg(long, value_name = "FIELD", help_heading = "Input")]
    pub fingerprint: Option<String>,

    /// The field of JSON Lines that holds features and their weights, read instead of texts:
    /// {"word": 1.5, "another": 2}
    ///
    /// The fingerprint is made of them, as by `simdb-cli hash --features`; the recipe weighted
    /// needs them or fingerprints. A weight is from 0 to 2^40. Texts are read only if --text is
    /// given.
    #[arg(
        long,
        value_name = "FIELD",
        conflicts_with = "fingerprint",
        help_heading = "Input"
    )]
    pub features: Option<String>,

    /// The field or column that holds the arrival time [default: now]
    ///
    /// RFC 3339 (2024-05-31T12:00:00Z, 2024-05-31 20:00:00.5+08:00), RFC 822 and 2822 (Fri, 31 May
    /// 2024 20:00:00 GMT), 2024年5月31日 20:00 and the like with --default-zone, or a number of
    /// seconds or milliseconds in the years 1990 to 2100. A timestamp column of Parquet has its own
    /// unit, and needs --default-zone if it is not in UTC. Needs a database created with
    /// --retention or --arrivals.
    #[arg(long, value_name = "FIELD", help_heading = "Input")]
    pub time: Option<String>,

    #[command(flatten)]
    pub times: TimeOptions,

    /// Read the texts as HTML, without tags, comments, scripts and styles
    ///
    /// Character references are resolved, and lines end where a browser ends them. Fingerprints are
    /// made of the text that is left, which alone is compared and stored; a copy of a corpus has
    /// its records whole.
    #[arg(long, help_heading = "Input")]
    pub strip_html: bool,

    /// The longest text to read, at most 128MiB
    ///
    /// A longer text is a bad record. So is a line, or a record of CSV, longer than twice this
    /// limit plus 1MiB. Computing a fingerprint takes 25 to 40 times the size of the text in
    /// memory, 5GB for 128MiB. Lower the limit for texts of unknown origin.
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_text_size,
        default_value = "128MiB",
        help_heading = "Input"
    )]
    pub max_text: usize,
}

/// The clap parser of `--max-text`.
fn parse_text_size(text: &str) -> Result<usize, String> {
    match usize::try_from(parse_size(text)?) {
        Ok(size @ 1..=MAX_TEXT_BYTES) => Ok(size),
        _ => Err("at least 1 and at most 128MiB can be read".to_owned()),
    }
}

impl FieldNames {
    /// The fields, which must differ.
    pub fn fields(&self) -> Result<DocumentFields> {
        let text = match self.text.first() {
            None if self.reads_texts() => Some("text".to_owned()),
            text => text.cloned(),
        };
        let fields = DocumentFields {
            id: self.id.clone(),
            text,
            more_texts: more_texts_of(&self.text)?.to_vec(),
            fingerprint: self.fingerprint.clone(),
            features: self.features.clone(),
            time: self.time.clone(),
            time_rules: self.times.rules(),
            max_text_bytes: self.max_text,
            strips_html: self.strip_html,
            ..DocumentFields::default()
        };
        let parts = [
            DocumentPart::Id,
            DocumentPart::Fingerprint,
            DocumentPart::Features,
            DocumentPart::Time,
        ];
        let names = parts.iter().filter_map(|part| fields.name(*part));
        let names: Vec<&str> = names
            .chain(fields.text_names().map(String::as_str))
            .collect();
        let different: HashSet<&&str> = names.iter().collect();
        ensure!(
            different.len() == names.len(),
            "--id, --text, --fingerprint, --features and --time must name different fields"
        );
        Ok(fields)
    }

    /// Returns `true` if fingerprints are made of texts, so that texts are read by default.
    pub fn reads_texts(&self) -> bool {
        self.fingerprint.is_none() && self.features.is_none()
    }

    /// Refuses to read parts that a database with these settings does not store.
    pub fn refuse_unkept(&self, settings: &Settings) -> Result<()> {
        if !self.reads_texts() && !self.text.is_empty() && !settings.keep_texts {
            bail!(
                "--text beside --fingerprint or --features needs a database that keeps texts; create \
                 the database with --keep-texts, or leave --text out"
            );
        }
        if self.time.is_some() && settings.retention.is_none() {
            bail!(
                "--time needs a database that keeps arrival times; create the database with \
                 --retention or --arrivals, or leave --time out"
            );
        }
        Ok(())
    }
}

/// The names of `--text` after the first, which are not too many.
fn more_texts_of(names: &[String]) -> Result<&[String]> {
    let more_texts = names.get(1..).unwrap_or_default();
    ensure!(
        more_texts.len() <= MAX_MORE_TEXTS,
        "a text has at most {} fields; --text is given {} times",
        MAX_MORE_TEXTS + 1,
        names.len()
    );
    Ok(more_texts)
}

/// The fields of texts alone, with these names of `--text`, which must differ.
pub fn text_fields(names: &[String]) -> Result<DocumentFields> {
    let different: HashSet<&String> = names.iter().collect();
    ensure!(
        different.len() == names.len(),
        "--text must name different fields"
    );
    Ok(DocumentFields {
        text: names.first().cloned(),
        more_texts: more_texts_of(names)?.to_vec(),
        ..DocumentFields::default()
    })
}

/// The options of a new database.
#[derive(Clone, Debug, Args)]
pub struct NewDatabase {
    #[command(flatten)]
    pub recipe: RecipeOptions,

    /// Keep the texts, to show them with matches
    #[arg(long, help_heading = "New database")]
    pub keep_texts: bool,

    /// Keep the texts and an index of similar texts, 180 to 520 bytes for each document
    #[arg(long, help_heading = "New database")]
    pub similar: bool,

    /// Keep the arrival time of each document, and documents for this long: `90m`, `2d`, `1h 30m`
    ///
    /// A document expires when it is older than this, counted back from the latest arrival; in a
    /// database that is created without --time, from the present.
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = parse_duration,
        conflicts_with = "arrivals",
        help_heading = "New database"
    )]
    pub retention: Option<Duration>,

    /// Keep the arrival time of each document, and documents without expiry
    #[arg(long, help_heading = "New database")]
    pub arrivals: bool,

    /// Let the arrival of a duplicate renew the document that it duplicates
    #[arg(long, help_heading = "New database")]
    pub sliding: bool,

    /// Refuse a document that arrives farther than this ahead of the system clock [default: 1d]
    ///
    /// One time in the wrong unit would otherwise expire all other documents.
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = parse_duration,
        help_heading = "New database"
    )]
    pub max_ahead: Option<Duration>,

    /// Count the copies of each document, and store the newest N of them, 1 to 1,000
    ///
    /// A copy is a document that is refused because of a stored document. Its key or id, its time
    /// and the kind are stored, and not its fields. A key or id that was refused is known from then
    /// on, and is not counted again.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1000),
        help_heading = "New database"
    )]
    pub copies: Option<u16>,

    /// Learn the frames that at least N texts have, and compare texts without them [default: 10]
    ///
    /// A frame is a line or a sentence at the head or the tail of N texts with different bodies, as
    /// for `simdb-cli dedup --ignore-frames`. The texts are kept. What is learned is kept in the
    /// database, in at most 45 MiB, with frames for each scope; `simdb-cli frames` lists the
    /// frames.
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u16).range(2..),
        help_heading = "New database"
    )]
    pub ignore_frames: Option<u16>,
}

impl NewDatabase {
    /// The recipe that the options name, if any.
    pub fn recipe(&self) -> Result<Option<Recipe>> {
        self.recipe.recipe()
    }

    /// The settings of a new database for documents with these fields.
    pub fn settings(&self, fields: &FieldNames) -> Result<Settings> {
        // Without a field for arrival times, documents arrive by the clock.
        self.settings_by_clock(fields.time.is_none())
    }

    /// The settings of a new database; with `by_clock` its documents arrive by the clock.
    pub fn settings_by_clock(&self, by_clock: bool) -> Result<Settings> {
        let mut retention = self.retention();
        if let Some(retention) = &mut retention {
            retention.by_clock = by_clock;
        }
        Ok(Settings {
            recipe: self.recipe()?.unwrap_or_else(Recipe::ngram),
            keep_texts: self.keep_texts || self.similar || self.ignore_frames.is_some(),
            similar: self.similar,
            retention,
            frozen: false,
            keys: false,
            fields: false,
            copies: self.copies,
            scopes: false,
            frames: self.ignore_frames,
        })
    }

    fn retention(&self) -> Option<Retention> {
        let default = Retention::default();
        (self.arrivals || self.retention.is_some()).then_some(Retention {
            window: self.retention,
            sliding: self.sliding,
            max_ahead: self.max_ahead.or(default.max_ahead),
            ..default
        })
    }

    /// Refuses options that contradict each other.
    pub fn check(&self) -> Result<()> {
        if self.sliding && self.retention().is_none() {
            bail!("--sliding needs --retention or --arrivals, which keep arrival times");
        }
        if self.max_ahead.is_some() && self.retention().is_none() {
            bail!("--max-ahead needs --retention or --arrivals, which keep arrival times");
        }
        Ok(())
    }

    /// Refuses an existing database that was created without one of these options, or with another
    /// value. The recipe is compared when the database is opened.
    pub fn refuse_other(&self, path: &Path, settings: &Settings) -> Result<()> {
        let kept = settings.retention;
        let window = match (kept.and_then(|kept| kept.window), self.retention) {
            (None, None) => "without --arrivals".to_owned(),
            (kept, asked) => created("--retention ", asked.map(duration), kept.map(duration)),
        };
        let asks_window = self.arrivals || self.retention.is_some();
        let has_window = kept.is_some_and(|kept| kept.window == self.retention);
        let is_sliding = kept.is_some_and(|kept| kept.sliding);
        let kept_ahead = kept.and_then(|kept| kept.max_ahead);
        let [asked, stored] = [self.max_ahead, kept_ahead].map(|ahead| ahead.map(duration));
        let max_ahead = created("--max-ahead ", asked, stored);
        let copies = created("--copies ", self.copies, settings.copies);
        let frames = created("--ignore-frames=", self.ignore_frames, settings.frames);
        let missing = [
            (
                "without --keep-texts",
                self.keep_texts && !settings.keep_texts,
            ),
            ("without --similar", self.similar && !settings.similar),
            (&window, asks_window && !has_window),
            ("without --sliding", self.sliding && !is_sliding),
            (&max_ahead, differs(self.max_ahead, kept_ahead)),
            (&copies, differs(self.copies, settings.copies)),
            (&frames, differs(self.ignore_frames, settings.frames)),
        ];
        refuse_created(path, missing)
    }
}

/// Returns `true` if a setting is asked for that is not the stored one.
fn differs<T: PartialEq>(asked: Option<T>, stored: Option<T>) -> bool {
    asked.is_some() && asked != stored
}

/// The setting of an existing database in place of the setting that is asked for.
fn created<T: Display>(option: &str, asked: Option<T>, stored: Option<T>) -> String {
    match (stored, asked) {
        (Some(stored), _) => format!("with {option}{stored}"),
        (None, Some(asked)) => format!("without {option}{asked}"),
        (None, None) => String::new(),
    }
}

/// Refuses an existing database that was created otherwise: each way, such as `without --frozen`,
/// and `true` if the database was created in this way.
pub fn refuse_created<'a>(
    path: &Path,
    ways: impl IntoIterator<Item = (&'a str, bool)>,
) -> Result<()> {
    match ways.into_iter().find(|(_, is_so)| *is_so) {
        Some((way, _)) => bail!(
            "{} was created {way}, and its settings cannot be changed; load into a new database",
            path.display()
        ),
        None => Ok(()),
    }
}

/// The value of `--on-error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnError {
    /// End with an error
    Abort,
    /// Leave the record out
    Skip,
}

/// The treatment of a bad record: the value of `--on-error` of a command that copies records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnBadRecord {
    /// End with an error
    Abort,
    /// Leave the record out
    Skip,
    /// Copy the record, and compare it with no other
    Keep,
}

impl From<OnError> for OnBadRecord {
    fn from(on_error: OnError) -> Self {
        match on_error {
            OnError::Abort => Self::Abort,
            OnError::Skip => Self::Skip,
        }
    }
}
