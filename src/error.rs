//! [`Error`], the one error type of the library, and [`Result`].

use std::error::Error as StdError;
use std::path::PathBuf;
use std::time::Duration;

/// What a call of this library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of an [`Error`], as another package reported it.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// Everything that can go wrong.
///
/// The text of each variant says what failed, where, and what to do about it. A cause from the
/// operating system or the storage engine is behind [`source`](StdError::source) and is not
/// repeated in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something that was asked of it outside the database file
    /// proper: creating it, renaming it, writing a temporary file beside it.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was attempted, as a verb: `create`, `rename`.
        action: &'static str,
        /// The file or folder it was attempted on.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// A file that should be created is already there. Nothing was changed.
    #[error("{} already exists; choose another name", path.display())]
    AlreadyExists {
        /// The file.
        path: PathBuf,
    },

    /// A file that should be opened is not there.
    #[error("there is no database {}; check the name, or create it first", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },

    /// The file is not a database of simdb, or its first page is damaged.
    #[error(
        "{} is not a simdb database; check the name; if it was one, save what is left with \
         `simdb-cli salvage`, or restore a backup",
        path.display()
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// What the storage engine said, where it was asked.
        source: Option<Cause>,
    },

    /// The file was written in a format that this version of simdb does not know.
    #[error(
        "cannot open {}: its format is version {found}, this simdb reads version {supported}; \
         upgrade simdb, or rebuild the database with simdb-load",
        path.display()
    )]
    FormatVersion {
        /// The file.
        path: PathBuf,
        /// The version the file says it has.
        found: u32,
        /// The one version this library reads and writes.
        supported: u32,
    },

    /// The file was created with another recipe than the one asked for, so its fingerprints and
    /// those of the caller do not mean the same.
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
        /// Name, version and description of the recipe the caller asked for.
        asked: String,
    },

    /// The database was not created with a setting that was asked for when it was opened. Settings are
    /// fixed in the file.
    #[error(
        "cannot open {} with {setting} as asked for: it was not created so; ask for what it has, or \
         load its documents into a new database",
        path.display()
    )]
    SettingsMismatch {
        /// The file.
        path: PathBuf,
        /// The method of [`Builder`](crate::Builder) that asked for it: `keep_texts`, `similar`,
        /// `retention` or `frozen`.
        setting: &'static str,
    },

    /// The file was created with a recipe that was given a dictionary, idf values or stop words,
    /// and is opened without them. The database keeps their hashes, not the files.
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
        /// What each of the files is, and its `xxh3_64` in hexadecimal.
        needed: String,
    },

    /// A recipe was to be given something that it has no use for, or that it does not understand.
    #[error("the recipe {recipe} does not take {what}")]
    RecipeOption {
        /// Name and version of the recipe.
        recipe: String,
        /// What it does not take, and which recipe does or why not.
        what: String,
    },

    /// A dictionary, a table of idf values or a list of stop words is not what it should be.
    #[error("cannot use {name}: line {line}: {what}; mend the file")]
    WordFile {
        /// What the caller calls it: the path of the file, as a rule.
        name: String,
        /// The line that is wrong, counted from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },

    /// Texts were to be compared in a database that keeps none.
    #[error(
        "cannot compare texts in {}: it keeps none; create a database that keeps texts, or give \
         the texts with the query",
        path.display()
    )]
    KeepsNoTexts {
        /// The file.
        path: PathBuf,
    },

    /// More documents have near-duplicates than can be put into clusters at once.
    #[error(
        "cannot find clusters in {} at radius {radius}: more than 4,294,967,294 documents are near \
         another; ask for a smaller radius",
        path.display()
    )]
    TooManyNear {
        /// The file.
        path: PathBuf,
        /// The radius.
        radius: u32,
    },

    /// A document was to be stored unless its text is like another, and has no text. Nothing was
    /// changed.
    #[error("document {id} has no text, by which it could be compared; give it one")]
    TextMissing {
        /// The document.
        id: u64,
    },

    /// A fingerprint of a text was asked of a recipe that knows only features and weights.
    #[error(
        "the recipe {recipe} makes no fingerprints of texts; give it features and their weights, \
         or store fingerprints"
    )]
    NoTexts {
        /// Name and version of the recipe.
        recipe: String,
    },

    /// A fingerprint of 128 bits was asked of a recipe whose hash function has fewer.
    #[error("the recipe {recipe} makes fingerprints of 64 bits only")]
    Only64Bits {
        /// Name and version of the recipe.
        recipe: String,
    },

    /// A feature has a weight with which nothing can be reckoned. Nothing was changed.
    #[error("feature {place} has the weight {weight}; a weight is a number from 0 to 2^40")]
    InvalidWeight {
        /// Which feature of the list, counted from 1.
        place: usize,
        /// Its weight.
        weight: f64,
    },

    /// The bands of the file, by which similar texts are found, were made otherwise than this
    /// version of simdb makes them.
    #[error(
        "cannot open {}: its bands were made by {stored}, this simdb makes them by {known}; use \
         the simdb that wrote it, or rebuild the database with simdb-load",
        path.display()
    )]
    BandsMismatch {
        /// The file.
        path: PathBuf,
        /// How the file says they were made.
        stored: String,
        /// How this library makes them.
        known: String,
    },

    /// There is no recipe of that name.
    #[error("there is no recipe {name:?}; known are {known}")]
    UnknownRecipe {
        /// The name asked for.
        name: String,
        /// The names of the recipes there are, separated by commas.
        known: String,
    },

    /// Another process, or another handle of this one, has the database open.
    #[error("{} is open elsewhere; close it there and try again", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },

    /// The file is to be checked while a snapshot of it is held.
    #[error("a snapshot of {} is held; drop it and try again", path.display())]
    SnapshotHeld {
        /// The file.
        path: PathBuf,
    },

    /// An empty database was to be created frozen: nobody could ever fill it.
    #[error("a frozen database cannot be created empty: fill {} in one go, with bulk_create", path.display())]
    FrozenEmpty {
        /// The file that was to be created.
        path: PathBuf,
    },

    /// A database was to be created with a retention window that cannot be kept.
    #[error(
        "a retention window of {window:?} cannot be kept; it must be from 1 to 2^64 - 1 \
         milliseconds long"
    )]
    RetentionWindow {
        /// The window asked for.
        window: Duration,
    },

    /// A change was asked of a database that was opened for reading only.
    #[error("{} was opened for reading only; open it for writing to change it", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },

    /// A change was asked of a database that was declared frozen when it was created.
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
        /// The id that is taken.
        id: u64,
        /// The bits of the fingerprint stored under it; those given if the call was a repetition.
        stored: u64,
    },

    /// A text is too long to be kept.
    #[error("the text of document {id} has {len_bytes} bytes; at most {limit_bytes} can be kept")]
    TextTooLong {
        /// The id of the document.
        id: u64,
        /// Bytes of its text in UTF-8.
        len_bytes: usize,
        /// The most a stored text may have.
        limit_bytes: usize,
    },

    /// Something that should be a fingerprint in hexadecimal is none.
    #[error("{text:?} is not a fingerprint: {digits} hexadecimal digits are expected")]
    InvalidFingerprint {
        /// What was given.
        text: String,
        /// How many digits a fingerprint of that width has.
        digits: usize,
    },

    /// Something read from the file is not what was written there. The answer that was asked for
    /// cannot be given; nothing was changed.
    #[error("{} is damaged: {what}; {advice}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Which table and chunk, and what is wrong with it.
        what: String,
        /// What to do about it.
        advice: &'static str,
    },

    /// A file that should be salvaged holds not one page that can be read, and no journal lies beside
    /// it. Nothing was written.
    #[error("nothing in {} was written by simdb; check the name, or restore a backup", path.display())]
    NothingToSalvage {
        /// The file.
        path: PathBuf,
    },

    /// The storage engine failed: the disk is full, a read or a write failed. The transaction
    /// was not applied. After an input/output error in the file itself the handle refuses further
    /// changes until the database is opened anew.
    #[error(
        "cannot {action} {}; mend the cause, and open the database again if it still refuses",
        path.display()
    )]
    Storage {
        /// What was attempted, as a verb: `read`, `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the storage engine said.
        source: Cause,
    },

    /// A commit failed in such a way that its changes may or may not be durable: wholly, or not
    /// at all. Open the database again and repeat the same changes; that is harmless, because a
    /// repeated insert finds its document already there.
    #[error(
        "the outcome of a commit to {} is unknown: all of it is durable, or none; open the \
         database again and repeat the same changes",
        path.display()
    )]
    CommitUnknown {
        /// The file.
        path: PathBuf,
        /// What the storage engine said.
        source: Cause,
    },

    /// A write failed before, and its outcome may not be known. Nothing more is written until the
    /// database is opened anew. Reading goes on after a failed write of the journal; where the file
    /// itself could not be written, as in a merge, the storage engine refuses what it would have to
    /// read from the file.
    #[error("an earlier write to {} failed; mend the cause and open the database again", path.display())]
    WritesFailed {
        /// The file.
        path: PathBuf,
    },

    /// Some changes that were handed over before were refused; whoever waited for them was told why.
    #[error(
        "some changes of {} were refused since the last flush; the errors of their calls say why",
        path.display()
    )]
    NotAllWritten {
        /// The file.
        path: PathBuf,
    },

    /// The journal of a database that was not closed is not beside it. It holds changes that the
    /// file does not.
    #[error(
        "{} was not closed, and its journal {} is not there; put it back, restore a backup, or save \
         what is in the file with `simdb-cli salvage`",
        path.display(),
        journal.display()
    )]
    JournalMissing {
        /// The database.
        path: PathBuf,
        /// The journal.
        journal: PathBuf,
    },

    /// Something was asked about arrival times of a database that keeps none.
    #[error("{} keeps no arrival times; that is fixed when a database is created", path.display())]
    NoArrivals {
        /// The file.
        path: PathBuf,
    },

    /// The queue of changes that wait to be written is full. Nothing was changed.
    #[error("too many changes wait to be written to {}; wait, then try again", path.display())]
    QueueFull {
        /// The file.
        path: PathBuf,
    },

    /// The time that a call had was over before its changes were taken up. Nothing was changed.
    #[error("the changes to {} were not taken up in time; nothing was changed, try again", path.display())]
    TimedOut {
        /// The file.
        path: PathBuf,
    },

    /// A transaction in which a batch failed half way can only be dropped: nothing of it was
    /// committed.
    #[error("a batch of this transaction on {} failed; drop it, mend the cause and begin anew", path.display())]
    TransactionFailed {
        /// The file.
        path: PathBuf,
    },

    /// A handler for progress, or the function for conflicts of a bulk load, returned `Break`. Nothing
    /// was changed.
    #[error("the work on {} was interrupted; nothing was changed", path.display())]
    Interrupted {
        /// The file that would have been created or changed, or was read.
        path: PathBuf,
    },
}
