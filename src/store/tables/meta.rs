//! Table `meta`: the settings that are fixed when a file is created, the counters, the identity of
//! the file, and the mark up to which its journal is in the tables.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use redb::{ReadableTable, TableDefinition};

use super::edit::Totals;
use super::schema::Keeps;
use crate::error::{Error, Result};
use crate::ids::{DocId, Timestamp};
use crate::retention::Retention;
use crate::store::disk::checksum::{verify_crc, with_crc};
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::tables::scopes::ScopeNames;
use crate::store::tables::text_keys;

pub(crate) const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");

const RECIPE_KEY: &str = "recipe";
const SETTINGS_KEY: &str = "settings";
const FOREST_KEY: &str = "forest";
const MAX_AHEAD_KEY: &str = "max_ahead";
const OPTIONS_KEY: &str = "options";
const SCOPES_KEY: &str = "scopes";
pub(crate) const COUNTERS_KEY: &str = "counters";
const IDENTITY_KEY: &str = "identity";
const JOURNAL_KEY: &str = "journal";

const KEEP_TEXTS_FLAG: u8 = 1;
const FROZEN_FLAG: u8 = 2;
const KEEP_ARRIVALS_FLAG: u8 = 4;
const SLIDING_FLAG: u8 = 8;
const BY_CLOCK_FLAG: u8 = 16;
const KEEP_FOREST_FLAG: u8 = 32;
/// The value `max_ahead` is present. Without the flag, the setting has its default.
const MAX_AHEAD_FLAG: u8 = 64;
/// The value `options` is present: the file has format 6.
const OPTIONS_FLAG: u8 = 128;

// The bits of the value `options`.
const KEYS_OPTION: u64 = 1;
const FIELDS_OPTION: u64 = 2;
const SCOPES_OPTION: u64 = 4;
/// The number of documents with a frame is in the 16 bits from here on; 0 without frames.
const FRAMES_SHIFT: u32 = 16;
/// The number of sightings of a document that are stored is in the bits from here on; 0 without
/// copies.
const COPIES_SHIFT: u32 = 32;
const OPTIONS: u64 = KEYS_OPTION
    | FIELDS_OPTION
    | SCOPES_OPTION
    | (u16::MAX as u64) << FRAMES_SHIFT
    | (u16::MAX as u64) << COPIES_SHIFT;

/// The settings that are fixed when a file is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The canonical description of the recipe; its first word is the name of the recipe.
    pub(crate) recipe: String,
    pub(crate) keep_texts: bool,
    /// The description of the [text keys](TEXT_KEYS); `None` in a database that keeps no text keys.
    /// A database that keeps text keys keeps texts too.
    pub(crate) text_keys: Option<String>,
    pub(crate) frozen: bool,
    /// `None` in a database that keeps no arrival times.
    pub(crate) retention: Option<Retention>,
    /// Documents have keys, and simdb gives the ids.
    pub(crate) keys: bool,
    /// Documents may have fields.
    pub(crate) fields: bool,
    /// The number of sightings of a document that are stored; 0 in a database without copies.
    pub(crate) copies: u16,
    /// Documents have keys and may have scopes, and the ids that simdb gives have the scope.
    pub(crate) scopes: bool,
    /// The number of documents with a frame; 0 in a database that keeps no frames. A database that
    /// keeps frames keeps texts too.
    pub(crate) frames: u16,
}

impl Header {
    /// Returns `true` if the file has an option of format 6.
    pub(crate) fn has_options(&self) -> bool {
        self.options() != 0
    }

    fn options(&self) -> u64 {
        u64::from(self.keys) * KEYS_OPTION
            + u64::from(self.fields) * FIELDS_OPTION
            + (u64::from(self.frames) << FRAMES_SHIFT)
            + (u64::from(self.copies) << COPIES_SHIFT)
            + u64::from(self.scopes) * SCOPES_OPTION
    }

    /// The parts of a document that the database keeps.
    pub(crate) fn keeps(&self) -> Keeps {
        Keeps {
            texts: self.keep_texts,
            text_keys: self.text_keys.is_some(),
            arrivals: self.retention.is_some(),
            keys: self.keys,
            fields: self.fields,
            newest_copies: self.copies,
            scopes: self.scopes,
        }
    }

    /// Refuses a file whose text keys were made by another version: the keys of a query would not
    /// match.
    pub(crate) fn refuse_other_keys(&self, db_path: &DbPath) -> Result<()> {
        let known = text_keys::description();
        match &self.text_keys {
            Some(stored) if *stored != known => Err(Error::ForestMismatch {
                path: db_path.path().to_path_buf(),
                stored: stored.clone(),
                known,
            }),
            _ => Ok(()),
        }
    }
}

/// The state of the journals, as recorded in table `meta`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JournalMark {
    /// `true` if a journal may hold commits that the tables do not: its loss is an error.
    pub(crate) open: bool,
    /// The last generation whose commits are in the tables.
    pub(crate) merged_generation: u64,
}

/// Totals of the tables, updated by every redb commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) documents: u64,
    pub(crate) distinct_fingerprints: u64,
    pub(crate) unreliable: u64,
    pub(crate) texts: u64,
    /// The number of commits that changed anything: the version of the content.
    pub(crate) commits: u64,
    /// The latest arrival time of all documents ever stored, in ms, even if the document was
    /// removed; 0 before the first document.
    pub(crate) latest_arrival: u64,
    /// The largest [sequence](crate::ids::scope::sequence) of an id that was ever given to a
    /// document with a key; 0 in a database without keys.
    pub(crate) last_id: DocId,
}

impl Counters {
    /// The totals that a journal records too.
    pub(crate) fn counts(&self) -> Totals {
        Totals {
            documents: self.documents,
            latest_arrival: (self.latest_arrival > 0).then_some(Timestamp(self.latest_arrival)),
        }
    }

    /// Adds the documents of a bulk load.
    pub(crate) fn add(&mut self, documents: u64, distinct_fingerprints: u64, unreliable: u64) {
        // Saturating: the counters of a damaged file may be any number.
        self.documents = self.documents.saturating_add(documents);
        self.distinct_fingerprints = self
            .distinct_fingerprints
            .saturating_add(distinct_fingerprints);
        self.unreliable = self.unreliable.saturating_add(unreliable);
    }
}

/// The values of table `meta` by name: the table itself, or the values that salvage found.
pub(crate) trait MetaValues {
    fn value(&self, key: &'static str, db_path: &DbPath) -> Result<Vec<u8>>;
}

type Meta<'t> = redb::Table<'t, &'static str, &'static [u8]>;

/// Writes the settings of a new file.
pub(crate) fn write_header(meta: &mut Meta<'_>, header: &Header, db_path: &DbPath) -> Result<()> {
    let retention = header.retention.unwrap_or_default();
    let max_ahead_ms = retention.max_ahead_ms();
    let has_max_ahead = max_ahead_ms != Retention::default().max_ahead_ms();
    let flags = u8::from(header.keep_texts) * KEEP_TEXTS_FLAG
        + u8::from(header.frozen) * FROZEN_FLAG
        + u8::from(header.retention.is_some()) * KEEP_ARRIVALS_FLAG
        + u8::from(retention.sliding) * SLIDING_FLAG
        + u8::from(retention.by_clock) * BY_CLOCK_FLAG
        + u8::from(header.text_keys.is_some()) * KEEP_FOREST_FLAG
        + u8::from(has_max_ahead) * MAX_AHEAD_FLAG
        + u8::from(header.has_options()) * OPTIONS_FLAG;
    let mut settings = vec![flags];
    settings.extend(retention.window_ms()?.to_le_bytes());
    put(meta, RECIPE_KEY, header.recipe.as_bytes(), db_path)?;
    if let Some(forest) = &header.text_keys {
        put(meta, FOREST_KEY, forest.as_bytes(), db_path)?;
    }
    if has_max_ahead {
        put(meta, MAX_AHEAD_KEY, &max_ahead_ms.to_le_bytes(), db_path)?;
    }
    if header.has_options() {
        put(meta, OPTIONS_KEY, &header.options().to_le_bytes(), db_path)?;
    }
    if header.scopes {
        write_scopes(meta, &[], db_path)?;
    }
    put(meta, SETTINGS_KEY, &settings, db_path)
}

/// Reads the settings.
pub(crate) fn read_header(values: &impl MetaValues, db_path: &DbPath) -> Result<Header> {
    let recipe = String::from_utf8(values.value(RECIPE_KEY, db_path)?)
        .map_err(|_| db_path.corrupt("the recipe is not UTF-8"))?;
    let settings = values.value(SETTINGS_KEY, db_path)?;
    let (flags, window_ms) = flag_and_word(&settings)
        .ok_or_else(|| db_path.corrupt("the settings are not 9 bytes long"))?;
    let word = |key| {
        let bytes = values.value(key, db_path)?.try_into();
        let long = || db_path.corrupt(format!("the setting {key} is not 8 bytes long"));
        Ok::<u64, Error>(u64::from_le_bytes(bytes.map_err(|_| long())?))
    };
    let options = match flags & OPTIONS_FLAG {
        0 => 0,
        _ => word(OPTIONS_KEY)?,
    };
    if options & !OPTIONS != 0 {
        return Err(db_path.corrupt("the settings have an unknown option"));
    }
    if options & SCOPES_OPTION != 0 && options & KEYS_OPTION == 0 {
        return Err(db_path.corrupt("the settings have scopes but no keys"));
    }
    let max_ahead = if flags & MAX_AHEAD_FLAG == 0 {
        Retention::default().max_ahead
    } else {
        let max_ahead_ms = word(MAX_AHEAD_KEY)?;
        (max_ahead_ms < u64::MAX).then(|| Duration::from_millis(max_ahead_ms))
    };
    let retention = Retention {
        max_ahead,
        window: (window_ms > 0).then(|| Duration::from_millis(window_ms)),
        sliding: flags & SLIDING_FLAG != 0,
        by_clock: flags & BY_CLOCK_FLAG != 0,
    };
    let keeps_arrivals = flags & KEEP_ARRIVALS_FLAG != 0;
    if !keeps_arrivals && retention != Retention::default() {
        return Err(db_path.corrupt("the settings have a retention window but no arrival times"));
    }
    let keep_texts = flags & KEEP_TEXTS_FLAG != 0;
    let keep_forest = flags & KEEP_FOREST_FLAG != 0;
    if keep_forest && !keep_texts {
        return Err(db_path.corrupt("the settings keep a forest but no texts"));
    }
    let frames = (options >> FRAMES_SHIFT) as u16;
    if frames > 0 && !keep_texts {
        return Err(db_path.corrupt("the settings keep frames but no texts"));
    }
    let forest = keep_forest
        .then(|| {
            String::from_utf8(values.value(FOREST_KEY, db_path)?)
                .map_err(|_| db_path.corrupt("the description of the forest is not UTF-8"))
        })
        .transpose()?;
    Ok(Header {
        recipe,
        keep_texts,
        text_keys: forest,
        frozen: flags & FROZEN_FLAG != 0,
        retention: keeps_arrivals.then_some(retention),
        keys: options & KEYS_OPTION != 0,
        fields: options & FIELDS_OPTION != 0,
        copies: (options >> COPIES_SHIFT) as u16,
        scopes: options & SCOPES_OPTION != 0,
        frames,
    })
}

/// Writes the names of scopes, as [encoded](ScopeNames::encode).
pub(crate) fn write_scopes(meta: &mut Meta<'_>, names: &[u8], db_path: &DbPath) -> Result<()> {
    put(meta, SCOPES_KEY, names, db_path)
}

/// Reads the names of the scopes of a file with scopes.
pub(crate) fn read_scopes(values: &impl MetaValues, db_path: &DbPath) -> Result<ScopeNames> {
    ScopeNames::decode(&values.value(SCOPES_KEY, db_path)?)
        .ok_or_else(|| db_path.corrupt("the names of the scopes cannot be decoded"))
}

pub(crate) fn write_counters(
    meta: &mut Meta<'_>,
    counters: &Counters,
    db_path: &DbPath,
) -> Result<()> {
    let Counters {
        documents,
        distinct_fingerprints,
        unreliable,
        texts,
        commits,
        latest_arrival,
        last_id,
    } = *counters;
    let mut words = vec![
        documents,
        distinct_fingerprints,
        unreliable,
        texts,
        commits,
        latest_arrival,
    ];
    // The first ids are greater than 0, so a database without keys has the bytes of format 5.
    words.extend((last_id.0 > 0).then_some(last_id.0));
    let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    put(meta, COUNTERS_KEY, &bytes, db_path)
}

/// Reads the counters.
pub(crate) fn read_counters(values: &impl MetaValues, db_path: &DbPath) -> Result<Counters> {
    let bytes = values.value(COUNTERS_KEY, db_path)?;
    let (
        &[
            documents,
            distinct_fingerprints,
            unreliable,
            texts,
            commits,
            latest_arrival,
            ref last_id @ ..,
        ],
        &[],
    ) = bytes.as_chunks::<8>()
    else {
        return Err(db_path.corrupt("the counters are not 48 or 56 bytes long"));
    };
    if last_id.len() > 1 {
        return Err(db_path.corrupt("the counters are not 48 or 56 bytes long"));
    }
    Ok(Counters {
        documents: u64::from_le_bytes(documents),
        distinct_fingerprints: u64::from_le_bytes(distinct_fingerprints),
        unreliable: u64::from_le_bytes(unreliable),
        texts: u64::from_le_bytes(texts),
        commits: u64::from_le_bytes(commits),
        latest_arrival: u64::from_le_bytes(latest_arrival),
        last_id: DocId(
            last_id
                .first()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes)),
        ),
    })
}

/// The commits in the bytes of counters; `None` if there are too few.
pub(crate) fn commits(counters: &[u8]) -> Option<u64> {
    let words = counters.as_chunks::<8>().0;
    words.get(4).map(|bytes| u64::from_le_bytes(*bytes))
}

/// A random number that identifies a new database. Journals name it, so a journal that is moved to
/// another database is refused.
pub(crate) fn new_identity() -> u64 {
    // The keys of a `RandomState` come from the random source of the operating system.
    RandomState::new().hash_one((SystemTime::now(), std::process::id()))
}

pub(crate) fn write_identity(meta: &mut Meta<'_>, identity: u64, db_path: &DbPath) -> Result<()> {
    put(meta, IDENTITY_KEY, &identity.to_le_bytes(), db_path)
}

/// Reads the identity.
pub(crate) fn read_identity(values: &impl MetaValues, db_path: &DbPath) -> Result<u64> {
    let identity: [u8; 8] = values
        .value(IDENTITY_KEY, db_path)?
        .try_into()
        .map_err(|_| db_path.corrupt("the identity is not 8 bytes long"))?;
    Ok(u64::from_le_bytes(identity))
}

pub(crate) fn write_journal_mark(
    meta: &mut Meta<'_>,
    mark: &JournalMark,
    db_path: &DbPath,
) -> Result<()> {
    let mut bytes = vec![u8::from(mark.open)];
    bytes.extend(mark.merged_generation.to_le_bytes());
    put(meta, JOURNAL_KEY, &bytes, db_path)
}

/// Reads the journal mark.
pub(crate) fn read_journal_mark(values: &impl MetaValues, db_path: &DbPath) -> Result<JournalMark> {
    let bytes = values.value(JOURNAL_KEY, db_path)?;
    match flag_and_word(&bytes) {
        Some((open @ (0 | 1), merged_generation)) => Ok(JournalMark {
            open: open == 1,
            merged_generation,
        }),
        Some(_) => Err(db_path.corrupt("the journal mark has an unknown flag")),
        None => Err(db_path.corrupt("the journal mark is not 9 bytes long")),
    }
}

/// Decodes exactly one byte and a little-endian integer.
fn flag_and_word(bytes: &[u8]) -> Option<(u8, u64)> {
    let (&flag, word) = bytes.split_first()?;
    Some((flag, u64::from_le_bytes(word.try_into().ok()?)))
}

fn put(meta: &mut Meta<'_>, key: &'static str, payload: &[u8], db_path: &DbPath) -> Result<()> {
    meta.insert(key, with_crc(payload).as_slice())
        .writing(db_path)?;
    Ok(())
}

impl<T: ReadableTable<&'static str, &'static [u8]>> MetaValues for T {
    fn value(&self, key: &'static str, db_path: &DbPath) -> Result<Vec<u8>> {
        let stored = self
            .get(key)
            .reading(db_path)?
            .ok_or_else(|| db_path.corrupt(format!("the value {key} of table meta is missing")))?;
        verify_crc(stored.value())
            .map(<[u8]>::to_vec)
            .ok_or_else(|| {
                db_path.corrupt(format!(
                    "the value {key} of table meta does not match its checksum"
                ))
            })
    }
}
