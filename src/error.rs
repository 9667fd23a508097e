//! [`Error`], the one error type of the library, and [`Result`].

use std::error::Error as StdError;
use std::path::PathBuf;
use std::time::Duration;

/// The result of a call of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of an [`Error`], as another package reported it.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// An error of this library.
///
/// The text of each variant says what failed, where, and what to do. A cause from the operating
/// system or from redb is behind [`source`](StdError::source), and is not repeated in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation of the operating system outside the database file failed: creating or renaming
    /// the file, or writing a temporary file beside it.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The operation, as a verb: `create`, `rename`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },

    /// The file to be created exists. Nothing was changed.
    #[error("{} already exists; choose another name", path.display())]
    AlreadyExists {
        /// The file.
        path: PathBuf,
    },

    /// The file to be opened does not exist.
    #[error("there is no database {}; check the path, or create the database first", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },

    /// The file is not a simdb database, or its first page is damaged.
    #[error(
        "{} is not a simdb database; check the path; if it was one, save what is left with \
         `simdb-cli salvage`, or restore a backup",
        path.display()
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// The error of redb, if redb was asked.
        source: Option<Cause>,
    },

    /// The file has a format that this version of simdb does not read.
    #[error(
        "cannot open {}: its format is version {found}, this simdb reads version {supported}; \
         upgrade simdb, or rebuild the database with simdb-load",
        path.display()
    )]
    FormatVersion {
        /// The file.
        path: PathBuf,
        /// The format version of the file.
        found: u32,
        /// The format version that this library reads and writes.
        supported: u32,
    },

    /// The file was created with a recipe other than the requested one, so its fingerprints cannot be
    /// compared with those of the caller.
    #[error(
        "cannot open {} with the recipe {asked}: its fingerprints were made with {stored}; \
         ask for that recipe, or build another database",
        path.display()
    )]
    RecipeMismatch {
        /// The file.
        path: PathBuf,
        /// Name, version and description of the recipe stored in the file.
        stored: String,
        /// Name, version and description of the requested recipe.
        asked: String,
    },

    /// The database was created without a setting that was requested when opening it. Settings are
    /// fixed in the file.
    #[error(
        "cannot open {} with the requested {setting}: it was created otherwise; open it with its own \
         settings, or load its documents into a new database",
        path.display()
    )]
    SettingsMismatch {
        /// The file.
        path: PathBuf,
        /// The method of [`Builder`](crate::Builder) that requested the setting: `keep_texts`,
        /// `similar`, `retention` or `frozen`.
        setting: &'static str,
    },

    /// The recipe of the file uses a dictionary, idf values or stop words, and the file is opened
    /// without them. The database keeps their hashes only.
    #[error(
        "cannot open {}: its recipe {recipe} was given files of its own, by xxh3_64: {needed}; \
         name the recipe and give it the same files",
        path.display()
    )]
    RecipeFiles {
        /// The file.
        path: PathBuf,
        /// Name and version of the recipe.
        recipe: String,
        /// The kind of each file and its `xxh3_64` in hexadecimal.
        needed: String,
    },

    /// A recipe was given an option that it does not have, or a value that it does not understand.
    #[error("the recipe {recipe} does not take {what}")]
    RecipeOption {
        /// Name and version of the recipe.
        recipe: String,
        /// The option, and which recipe takes it or why the value is refused.
        what: String,
    },

    /// A dictionary, a table of idf values or a list of stop words is malformed.
    #[error("cannot use {name}: line {line}: {what}; correct the file")]
    WordFile {
        /// The name that the caller gave, usually the path of the file.
        name: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with the line.
        what: String,
    },

    /// A query needs stored texts, and the database keeps none.
    #[error(
        "cannot compare texts in {}: it keeps no texts; create a database that keeps texts, or give \
         the texts with the query",
        path.display()
    )]
    KeepsNoTexts {
        /// The file.
        path: PathBuf,
    },

    /// Too many documents have near-duplicates to cluster them.
    #[error(
        "cannot find clusters in {} at radius {radius}: more than 4,294,967,294 documents have \
         near-duplicates; use a smaller radius",
        path.display()
    )]
    TooManyNear {
        /// The file.
        path: PathBuf,
        /// The radius.
        radius: u32,
    },

    /// A document without a text was to be stored unless its text is similar to another. Nothing was
    /// changed.
    #[error("document {id} has no text to compare; give the document a text")]
    TextMissing {
        /// The document.
        id: u64,
    },

    /// A recipe that takes features and weights was given a text.
    #[error(
        "the recipe {recipe} makes no fingerprints of texts; give it features and their weights, \
         or store fingerprints"
    )]
    NoTexts {
        /// Name and version of the recipe.
        recipe: String,
    },

    /// A fingerprint of 128 bits was requested of a recipe with a shorter hash.
    #[error("the recipe {recipe} makes fingerprints of 64 bits only")]
    Only64Bits {
        /// Name and version of the recipe.
        recipe: String,
    },

    /// The weight of a feature is negative, too large, or not a number. Nothing was changed.
    #[error("feature {place} has the weight {weight}; a weight is a number from 0 to 2^40")]
    InvalidWeight {
        /// The position of the feature in the list, counted from 1.
        place: usize,
        /// Its weight.
        weight: f64,
    },

    /// The bands of the file, which find similar texts, differ from those of this version of simdb.
    #[error(
        "cannot open {}: its bands were made by {stored}, this simdb makes them by {known}; use \
         the simdb that wrote it, or rebuild the database with simdb-load",
        path.display()
    )]
    BandsMismatch {
        /// The file.
        path: PathBuf,
        /// The description in the file.
        stored: String,
        /// The description of this library.
        known: String,
    },

    /// No recipe has the requested name.
    #[error("there is no recipe {name:?}; known are {known}")]
    UnknownRecipe {
        /// The requested name.
        name: String,
        /// The names of all recipes, separated by commas.
        known: String,
    },

    /// Another process, or another handle in this process, has the database open.
    #[error("{} is open elsewhere; close it there and try again", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },

    /// The operation needs the database without snapshots, and one is held.
    #[error("a snapshot of {} is held; drop it and try again", path.display())]
    SnapshotHeld {
        /// The file.
        path: PathBuf,
    },

    /// An empty database was to be created frozen. No document could ever be added to it.
    #[error("a frozen database cannot be created empty: load {} with bulk_create", path.display())]
    FrozenEmpty {
        /// The file.
        path: PathBuf,
    },

    /// The retention window is too short or too long.
    #[error(
        "a retention window of {window:?} is not possible; it must be from 1 to 2^64 - 1 milliseconds"
    )]
    RetentionWindow {
        /// The requested window.
        window: Duration,
    },

    /// A change was requested of a database that was opened for reading only.
    #[error("{} was opened for reading only; open it for writing to change it", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },

    /// A change was requested of a database that was created frozen.
    #[error("{} is frozen; load its documents into a new database to change it", path.display())]
    Frozen {
        /// The file.
        path: PathBuf,
    },

    /// A document with this id is already stored. Nothing was changed.
    #[error(
        "document {id} is already stored, with fingerprint {stored:016x}; use another id, or upsert"
    )]
    DocumentExists {
        /// The id.
        id: u64,
        /// The bits of the stored fingerprint: equal to the given ones if the call was a repetition.
        stored: u64,
    },

    /// A text is too long to be stored.
    #[error("the text of document {id} has {len_bytes} bytes; at most {limit_bytes} can be stored")]
    TextTooLong {
        /// The id of the document.
        id: u64,
        /// Bytes of the text in UTF-8.
        len_bytes: usize,
        /// The most bytes of a stored text.
        limit_bytes: usize,
    },

    /// A string is not a fingerprint in hexadecimal.
    #[error("{text:?} is not a fingerprint: {digits} hexadecimal digits are expected")]
    InvalidFingerprint {
        /// The string.
        text: String,
        /// The number of digits of a fingerprint of that width.
        digits: usize,
    },

    /// The file is damaged: bytes read from it are not the bytes written. The request fails, and nothing
    /// was changed.
    #[error("{} is damaged: {what}; {advice}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The damaged part, such as table and chunk, and what is wrong with it.
        what: String,
        /// The advice what to do.
        advice: &'static str,
    },

    /// No page of the file to be salvaged can be read, and no journal lies beside it. Nothing was
    /// written.
    #[error("nothing in {} was written by simdb; check the name, or restore a backup", path.display())]
    NothingToSalvage {
        /// The file.
        path: PathBuf,
    },

    /// A read or a write of the database file failed, for example because the disk is full. The
    /// transaction was not applied. After an I/O error in the file the handle refuses changes until
    /// the database is reopened.
    #[error(
        "cannot {action} {}; fix the cause (see the error below); if errors go on, reopen the database",
        path.display()
    )]
    Storage {
        /// The operation, as a verb: `read`, `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of redb or of the disk.
        source: Cause,
    },

    /// A commit failed, and its changes are either all durable or not at all. Reopen the database and
    /// repeat the same changes; that is harmless, because a repeated insert finds its document stored.
    #[error(
        "the outcome of a commit to {} is unknown: all of it is durable, or none; reopen the \
         database and repeat the same changes",
        path.display()
    )]
    CommitUnknown {
        /// The file.
        path: PathBuf,
        /// The error of redb or of the disk.
        source: Cause,
    },

    /// An earlier write failed, and its outcome may be unknown. Nothing is written until the database is
    /// reopened. Reads still work after a failed write of the journal; after a failed write of the
    /// database file, as in a flush, redb refuses reads that are not in its cache.
    #[error("an earlier write to {} failed; fix its cause, then reopen the database", path.display())]
    WritesFailed {
        /// The file.
        path: PathBuf,
    },

    /// Some submitted changes were refused since the last flush. The tickets of these changes have the
    /// errors.
    #[error(
        "some changes of {} were refused since the last flush; the errors of their calls say why",
        path.display()
    )]
    NotAllWritten {
        /// The file.
        path: PathBuf,
    },

    /// A database that was not closed has lost its journal, which holds changes that the database file
    /// does not.
    #[error(
        "{} was not closed, and its journal {} is missing; put the journal back, restore a backup, or \
         save the content of the database file with `simdb-cli salvage`",
        path.display(),
        journal.display()
    )]
    JournalMissing {
        /// The database.
        path: PathBuf,
        /// The journal.
        journal: PathBuf,
    },

    /// A request needs arrival times, and the database keeps none.
    #[error("{} keeps no arrival times; create a database with a retention setting", path.display())]
    NoArrivals {
        /// The file.
        path: PathBuf,
    },

    /// The queue of submitted changes is full. Nothing was changed.
    #[error("too many changes wait to be written to {}; wait, then try again", path.display())]
    QueueFull {
        /// The file.
        path: PathBuf,
    },

    /// The timeout of a call passed before its changes were started. Nothing was changed.
    #[error("the changes to {} were not started in time; nothing was changed, try again", path.display())]
    TimedOut {
        /// The file.
        path: PathBuf,
    },

    /// A batch of this transaction failed. The transaction can only be dropped; nothing of it is
    /// committed.
    #[error("a batch of this transaction on {} failed; drop it, fix the cause and begin again", path.display())]
    TransactionFailed {
        /// The file.
        path: PathBuf,
    },

    /// A progress handler, or the conflict handler of a bulk load, returned `Break`. Nothing was
    /// changed.
    #[error("the work on {} was interrupted; nothing was changed", path.display())]
    Interrupted {
        /// The file of the operation.
        path: PathBuf,
    },
}
