//! [`Error`], the one error type of the library, [`Result`], and the [`Advice`] after an error.

mod next_step;

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::next_step::format_advice;
use crate::ids::{DocId, DocRef};

pub use crate::advice::{Advice, ForeignFile};
pub use crate::lock_holder::LockHolder;

/// The result of a function of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of an [`Error`], as another package reported it.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// An error of this library.
///
/// The text of each variant names the failure, the place and the next step. A cause from the
/// operating system or from redb is behind [`source`](StdError::source), and is not repeated in the
/// text. A next step that is a function of this library is also an [`Advice`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation of the operating system outside the database file failed: creating or renaming
    /// the file, or writing a temporary file beside it.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The operation as a verb, such as `create` or `rename`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },

    /// The file to be created exists already. Nothing was changed.
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

    /// The file is not a simdb database, or its superblock is damaged.
    #[error("{} is not a simdb database: {found}; {}", path.display(), found.advice())]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// The content of the file.
        found: ForeignFile,
    },

    /// The path of a database is empty.
    #[error("the path of the database is empty; give the path of a file")]
    EmptyPath,

    /// The file has a format version that this simdb does not read.
    #[error(
        "cannot open {}: its format is version {found}, this simdb reads version {supported}; \
         {}",
        path.display(), format_advice(*found, *supported)
    )]
    FormatVersion {
        /// The file.
        path: PathBuf,
        /// The format version of the file.
        found: u32,
        /// The format version that this library reads and writes.
        supported: u32,
    },

    /// The recipe of the file differs from the requested recipe, so the fingerprints of both cannot
    /// be compared.
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

    /// A setting that was requested when opening a database differs from the setting in the file.
    /// Settings are fixed at creation.
    #[error(
        "cannot open {} with the requested {setting}: the file was created with another setting; open \
         it without {setting}, or load its documents into a new database",
        path.display()
    )]
    SettingsMismatch {
        /// The file.
        path: PathBuf,
        /// The method of [`Builder`](crate::Builder) that requested the setting: `keep_texts`,
        /// `similar`, `retention` or `frozen`.
        setting: &'static str,
    },

    /// The recipe of the file uses a dictionary, idf values or stop words, and the file was opened
    /// without these. The database stores their hashes only.
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
        /// The kind and the `xxh3_64` in hexadecimal of each file.
        needed: String,
    },

    /// A recipe does not have a given option, or the option has an invalid value.
    #[error("the recipe {recipe} does not take {what}")]
    RecipeOption {
        /// Name and version of the recipe.
        recipe: String,
        /// The option, and the recipe that has it or the reason why its value is invalid.
        what: String,
    },

    /// A dictionary, a table of idf values or a list of stop words is malformed.
    #[error("cannot use {name}: line {line}: {what}; correct the file")]
    WordFile {
        /// The name given by the caller, usually the path of the file.
        name: String,
        /// The line, counted from 1.
        line: u64,
        /// The fault of the line.
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

    /// More documents have near-duplicates than clustering can number.
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

    /// More documents have texts than a comparison of all texts can number.
    #[error(
        "cannot compare all texts of {}: more than 4,294,967,294 documents have texts; split the corpus",
        path.display()
    )]
    TooManyTexts {
        /// The file.
        path: PathBuf,
    },

    /// A document without a text was given to an operation that compares texts. Nothing was
    /// changed.
    #[error("document {id} has no text to compare; give the document a text")]
    TextMissing {
        /// The id or the key of the document.
        id: DocRef,
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

    /// A text was given to a recipe that needs the dictionary of jieba, and this build of simdb
    /// does not have the dictionary.
    #[error(
        "the recipe {recipe} needs the dictionary of jieba, which this build of simdb leaves out; \
         build simdb with its feature `jieba`"
    )]
    NoDictionary {
        /// Name and version of the recipe.
        recipe: String,
    },

    /// A 128-bit fingerprint was requested of a recipe with a 64-bit hash.
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
        /// The weight.
        weight: f64,
    },

    /// The forest of the file, which finds similar texts, was made otherwise than by this simdb.
    #[error(
        "cannot open {}: its forest was made by {stored}, this simdb makes it by {known}; {}",
        path.display(), Advice::Rebuild
    )]
    ForestMismatch {
        /// The file.
        path: PathBuf,
        /// The description of the forest in the file.
        stored: String,
        /// The description of the forest of this library.
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

    /// Another process, or another handle of this process, has the database open.
    #[error("cannot open {}: {holder}", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// The holder of the lock.
        holder: LockHolder,
    },

    /// Snapshots of the database are held: [`Database::check`](crate::Database::check) did not
    /// finish, or [`Database::close`](crate::Database::close) has written everything but the file
    /// stays locked until the snapshots are dropped.
    #[error(
        "snapshots of {} are held ({snapshots}), also by iterators and by calls of other threads; drop \
         them, then check or close it again: a close has released nothing yet",
        path.display()
    )]
    SnapshotHeld {
        /// The file.
        path: PathBuf,
        /// The number of snapshots, including the snapshots of iterators and running calls.
        snapshots: usize,
    },

    /// The database file was deleted, moved or replaced while it was open. A change that gets this
    /// error is not made. Changes that were durable before are in the file that is gone.
    #[error(
        "{} was deleted, moved or replaced by another file while it was open: no further change is \
         stored, and everything stored so far is in the file that is gone; put the file back if it \
         was moved, or else restore a backup, and open it again",
        path.display()
    )]
    FileGone {
        /// The path that the file had.
        path: PathBuf,
    },

    /// The database was closed with [`Database::close`](crate::Database::close).
    #[error("{} was closed; open it again", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },

    /// The calling thread has a transaction, a bulk load or a check of the database open, for which
    /// the call would wait for ever. Nothing was changed.
    #[error(
        "this thread has a transaction or a bulk load on {} open, and would wait for itself; make \
         the change with Transaction::apply or BulkLoad::push, or commit or drop it first",
        path.display()
    )]
    TransactionOpen {
        /// The file.
        path: PathBuf,
    },

    /// An empty database cannot be created frozen, because no document could ever be added.
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

    /// A database that is open for reading only was to be changed.
    #[error("{} was opened for reading only; open it for writing to change it", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },

    /// A frozen database was to be changed.
    #[error("{} is frozen; load its documents into a new database to change it", path.display())]
    Frozen {
        /// The file.
        path: PathBuf,
    },

    /// The arrival time of a document lies too far ahead of the system clock. Nothing was changed.
    /// Times are written in RFC 3339.
    #[error(
        "document {id} has the arrival time {arrival}, more than {max_ahead:?} ahead of the system \
         clock ({clock}); {}",
        Advice::CheckTime
    )]
    ArrivalAhead {
        /// The id or the key of the document.
        id: DocRef,
        /// The arrival time of the document.
        arrival: String,
        /// The system clock.
        clock: String,
        /// The setting [`Retention::max_ahead`](crate::Retention::max_ahead).
        max_ahead: Duration,
    },

    /// A text is too long to be stored.
    #[error("the text of document {id} has {len_bytes} bytes; at most {limit_bytes} can be stored")]
    TextTooLong {
        /// The id or the key of the document.
        id: DocRef,
        /// Bytes of the text in UTF-8.
        len_bytes: usize,
        /// The limit in bytes.
        limit_bytes: usize,
    },

    /// The fields of a document are too long to be stored.
    #[error(
        "the fields of document {id} have {len_bytes} bytes; at most {limit_bytes} can be stored"
    )]
    FieldsTooLong {
        /// The id or the key of the document.
        id: DocRef,
        /// Bytes of the fields in UTF-8.
        len_bytes: usize,
        /// The limit in bytes.
        limit_bytes: usize,
    },

    /// A key is empty or too long. Nothing was changed.
    #[error("a key has {len_bytes} bytes; give a key of 1 to 1,024 bytes")]
    InvalidKey {
        /// Bytes of the key in UTF-8.
        len_bytes: usize,
    },

    /// A document without a key was given to a database with keys. Nothing was changed.
    #[error("document {id} has no key, and each document of {} has one; give the document a key", path.display())]
    KeyMissing {
        /// The file.
        path: PathBuf,
        /// The id of the document.
        id: DocId,
    },

    /// A key was given to a database without keys. Nothing was changed.
    #[error("{} keeps no keys, so no document has the key {key:?}; give ids, or build another database with keys", path.display())]
    KeepsNoKeys {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },

    /// Copies were asked for in a database that records none.
    #[error("{} records no copies, which cannot be changed; build another database that counts copies", path.display())]
    KeepsNoCopies {
        /// The file.
        path: PathBuf,
    },

    /// A database was to store too many or no copies of a document.
    #[error("{newest} copies of a document cannot be stored; store 1 to 1,000")]
    CopiesLimit {
        /// The number asked for.
        newest: u16,
    },

    /// The copies of a document cannot be stored. Nothing was changed.
    #[error(
        "the copies of document {id} cannot be stored, because {reason}; correct or remove them"
    )]
    InvalidCopies {
        /// The id or the key of the document.
        id: DocRef,
        /// The fault.
        reason: &'static str,
    },

    /// The name of a scope is empty, too long, or has a control character. Nothing was changed.
    #[error(
        "{scope:?} cannot be a scope; give a name of 1 to 64 bytes without control characters, or no scope"
    )]
    InvalidScope {
        /// The name.
        scope: String,
    },

    /// A scope was given to a database without scopes. Nothing was changed.
    #[error("{} keeps no scopes, so no document is in scope {scope:?}; leave the scope out, or build another \
             database with scopes", path.display())]
    KeepsNoScopes {
        /// The file.
        path: PathBuf,
        /// The name of the scope.
        scope: String,
    },

    /// A bulk load that leaves out near-duplicates got a document that asks for a comparison with
    /// other documents than the documents of its scope. Nothing was changed.
    #[error(
        "a bulk load compares document {id} with the documents of its scope only; insert the document by \
             itself, or ask for no other documents"
    )]
    WithinOtherScopes {
        /// The id or the key of the document.
        id: DocRef,
    },

    /// A database has as many scopes as it can have. Nothing was changed.
    #[error("{} has 65,535 scopes, so there is no room for scope {scope:?}; give documents one of the scopes \
             in use, or a field instead", path.display())]
    TooManyScopes {
        /// The file.
        path: PathBuf,
        /// The name of the new scope.
        scope: String,
    },

    /// No document has the key from which documents were asked for.
    #[error("no document of {} has the key {key:?}", path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },

    /// A radius is larger than the number of bits of a fingerprint. Nothing was changed.
    #[error("there is no radius {radius}: a fingerprint has 64 bits; give a radius from 0 to 64")]
    InvalidRadius {
        /// The radius.
        radius: u32,
    },

    /// A threshold of a [`Likeness`](crate::similarity::Likeness) is not a number from 0 to 1.
    /// The call changes nothing.
    #[error("the threshold {value} of {measure} is not possible; give a number from 0 to 1")]
    InvalidLikeness {
        /// The field of the likeness: `edit_similarity` or `jaccard`.
        measure: &'static str,
        /// The threshold.
        value: f64,
    },

    /// [`SimilarJoin::contained_up_to`](crate::join::SimilarJoin::contained_up_to) is not a number
    /// from 1 on, or more than 1 with [`Decision::Alike`](crate::Decision::Alike), which finds no
    /// contained texts.
    #[error(
        "contained_up_to {ratio} is not possible; give a number from 1 on, and 1 if thresholds alone decide"
    )]
    InvalidContainedUpTo {
        /// The ratio.
        ratio: f64,
    },

    /// The checkpoint of [`SimilarJoin::resume`](crate::join::SimilarJoin::resume) is one of other
    /// documents, texts or rules, or of another version of simdb.
    #[error(
        "{}: the checkpoint is of other documents, texts or rules, or of another version of simdb; give the \
         same again, or no checkpoint",
        path.display()
    )]
    OtherCheckpoint {
        /// The path of the database.
        path: PathBuf,
    },

    /// A query for at most 0 documents: the limit or the count is 0.
    #[error("a query for at most 0 documents has no answer; give a limit of 1 or more")]
    ZeroLimit,

    /// A string is not the id of a document.
    #[error(
        "{text:?} is not a document id; a whole number from 0 to 18446744073709551615 is expected"
    )]
    InvalidDocId {
        /// The string.
        text: String,
    },

    /// No time zone has the given name.
    #[error(
        "there is no time zone {name:?}; give an offset such as +08:00, or a name such as Asia/Shanghai"
    )]
    UnknownZone {
        /// The given name.
        name: String,
    },

    /// A string is not a time.
    #[error("{text:?} is not a time: {reason}")]
    InvalidTimestamp {
        /// The string.
        text: String,
        /// The part that is missing or wrong.
        reason: &'static str,
    },

    /// No rule of [`Keep`](crate::clusters::Keep) has the given name.
    #[error("there is no rule {name:?} for the document to keep; known are {known}")]
    UnknownKeep {
        /// The given name.
        name: String,
        /// The names of all rules, separated by commas.
        known: &'static str,
    },

    /// A string is not a fingerprint in hexadecimal.
    #[error("{text:?} is not a fingerprint: {digits} hexadecimal digits are expected")]
    InvalidFingerprint {
        /// The string.
        text: String,
        /// The expected number of digits.
        digits: usize,
    },

    /// The file is damaged: the bytes read are not the bytes written. The operation failed and
    /// changed nothing.
    #[error("{} is damaged: {what}; {advice}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The damaged part, such as table and chunk, and its damage.
        what: String,
        /// The next step.
        advice: Advice,
    },

    /// No page of the file to be salvaged can be read, and no journal lies beside it. Nothing was
    /// written.
    #[error("nothing in {} was written by simdb; check the name, or restore a backup", path.display())]
    NothingToSalvage {
        /// The file.
        path: PathBuf,
    },

    /// A read or a write of the database file or its journal failed, for example because the disk
    /// is full. The transaction was not applied. After an I/O error in the database file, changes
    /// are refused until the database is reopened.
    #[error(
        "cannot {action} {}; fix the cause; if the error persists, reopen the database",
        path.display()
    )]
    Storage {
        /// The operation as a verb: `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of redb or of the disk.
        source: Cause,
    },

    /// A commit failed, and it is unknown if its changes are durable: either all or none are.
    /// Reopen the database and repeat the same changes. A repetition is harmless, because a
    /// repeated insert finds its document stored.
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

    /// An earlier write failed, and its outcome may be unknown. Changes are refused until the
    /// database is reopened. Reads still work after a failed write of the journal. After a failed
    /// write of the database file, as in a flush, redb refuses reads that its cache cannot answer.
    #[error("an earlier write to {} failed; fix its cause, then reopen the database", path.display())]
    WritesFailed {
        /// The file.
        path: PathBuf,
    },

    /// Some submitted changes were refused since the last flush. Their tickets have the errors.
    #[error(
        "some changes of {} were refused since the last flush; see the error of each ticket",
        path.display()
    )]
    NotAllWritten {
        /// The file.
        path: PathBuf,
    },

    /// The journal of a database that was not closed is missing. The journal holds commits that the
    /// database file does not.
    #[error(
        "{} was not closed, and its journal {} is missing; {}",
        path.display(),
        journal.display(),
        Advice::FindJournal
    )]
    JournalMissing {
        /// The database.
        path: PathBuf,
        /// The journal.
        journal: PathBuf,
    },

    /// The operation needs arrival times, and the database keeps none.
    #[error("{} keeps no arrival times; {}", path.display(), Advice::KeepArrivals)]
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

    /// The timeout of [`Ticket::wait_timeout`](crate::Ticket::wait_timeout) ended before the commit
    /// of the changes began. Nothing was changed.
    #[error(
        "the changes to {} did not begin in time, because other changes or a transaction were in \
         progress; nothing was changed, try again",
        path.display()
    )]
    TimedOut {
        /// The file.
        path: PathBuf,
    },

    /// An earlier batch of the transaction failed. The transaction can only be dropped; none of its
    /// changes is committed.
    #[error("a batch of this transaction on {} failed; drop it, fix the cause and begin again", path.display())]
    TransactionFailed {
        /// The file.
        path: PathBuf,
    },

    /// A progress handler, a visitor, or the conflict handler of a bulk load returned `Break`.
    /// The call changes nothing.
    #[error("the work on {} was interrupted; nothing was changed", path.display())]
    Interrupted {
        /// The file of the operation.
        path: PathBuf,
    },
}

impl Error {
    /// A function that turns an I/O error into an [`Error::Io`] with this path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io {
            action,
            path: path.clone(),
            source,
        }
    }
}
