//! The tables of a file, and what is fixed when it is created.
//!
//! | table | kind | entry |
//! |---|---|---|
//! | `fingerprints` | packed pairs | document id, fingerprint: every document |
//! | `block0` | packed pairs | fingerprint, document id: every reliable document |
//! | `block1` `block2` `block3` | packed | each distinct reliable fingerprint, rotated so that the block is in front |
//! | `unreliable` | packed | ids of the documents whose fingerprint says nothing |
//! | `texts` | plain | document id → sealed, compressed text |
//! | `meta` | plain | name → sealed value: format version, recipe, settings, counters |

use redb::{ReadableTable, TableDefinition};

use super::chunk::{seal, unseal};
use super::fault::Place;
use super::packed::Kind;
use crate::error::{Error, Result};

/// The version of the file format that this library reads and writes.
pub(crate) const FORMAT_VERSION: u32 = 2;

pub(crate) const FINGERPRINTS: Kind = Kind {
    name: "fingerprints",
    number: 0,
};
pub(crate) const BLOCK0: Kind = Kind {
    name: "block0",
    number: 1,
};
pub(crate) const ROTATED: [Kind; 3] = [
    Kind {
        name: "block1",
        number: 2,
    },
    Kind {
        name: "block2",
        number: 3,
    },
    Kind {
        name: "block3",
        number: 4,
    },
];
pub(crate) const UNRELIABLE: Kind = Kind {
    name: "unreliable",
    number: 5,
};

pub(crate) const TEXTS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("texts");
pub(crate) const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");

const FORMAT_KEY: &str = "format";
const RECIPE_KEY: &str = "recipe";
const SETTINGS_KEY: &str = "settings";
const COUNTERS_KEY: &str = "counters";

const KEEP_TEXTS_FLAG: u8 = 1;
const FROZEN_FLAG: u8 = 2;

/// What is fixed when a file is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The canonical description of the recipe; its first word is the recipe's name.
    pub(crate) recipe: String,
    pub(crate) keep_texts: bool,
    pub(crate) frozen: bool,
}

/// What is counted as documents come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) documents: u64,
    pub(crate) distinct_fingerprints: u64,
    pub(crate) unreliable: u64,
    pub(crate) texts: u64,
    /// Commits that changed anything: which state of the file this is.
    pub(crate) commits: u64,
}

impl Counters {
    /// Counts documents that a bulk load added.
    pub(crate) fn add(&mut self, documents: u64, distinct_fingerprints: u64, unreliable: u64) {
        self.documents = self.documents.saturating_add(documents);
        self.distinct_fingerprints = self
            .distinct_fingerprints
            .saturating_add(distinct_fingerprints);
        self.unreliable = self.unreliable.saturating_add(unreliable);
    }
}

type Meta<'t> = redb::Table<'t, &'static str, &'static [u8]>;

/// Writes what is fixed into a new file.
pub(crate) fn write_header(meta: &mut Meta<'_>, header: &Header, place: &Place) -> Result<()> {
    let flags =
        u8::from(header.keep_texts) * KEEP_TEXTS_FLAG + u8::from(header.frozen) * FROZEN_FLAG;
    put(meta, FORMAT_KEY, &FORMAT_VERSION.to_le_bytes(), place)?;
    put(meta, RECIPE_KEY, header.recipe.as_bytes(), place)?;
    put(meta, SETTINGS_KEY, &[flags], place)
}

/// Reads what is fixed, the format version first: a newer format may store anything else.
pub(crate) fn read_header(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    place: &Place,
) -> Result<Header> {
    let format = value(meta, FORMAT_KEY, place)?;
    let format: [u8; 4] = format
        .try_into()
        .map_err(|_| place.corrupt("the format version has not four bytes"))?;
    let found = u32::from_le_bytes(format);
    if found != FORMAT_VERSION {
        return Err(Error::FormatVersion {
            path: place.path().to_path_buf(),
            found,
            supported: FORMAT_VERSION,
        });
    }
    let recipe = String::from_utf8(value(meta, RECIPE_KEY, place)?)
        .map_err(|_| place.corrupt("the recipe is not UTF-8"))?;
    let settings = value(meta, SETTINGS_KEY, place)?;
    let &[flags] = settings.as_slice() else {
        return Err(place.corrupt("the settings have not one byte"));
    };
    if flags & !(KEEP_TEXTS_FLAG | FROZEN_FLAG) != 0 {
        return Err(place.corrupt("the settings hold a flag that this format has not"));
    }
    Ok(Header {
        recipe,
        keep_texts: flags & KEEP_TEXTS_FLAG != 0,
        frozen: flags & FROZEN_FLAG != 0,
    })
}

pub(crate) fn write_counters(
    meta: &mut Meta<'_>,
    counters: &Counters,
    place: &Place,
) -> Result<()> {
    let Counters {
        documents,
        distinct_fingerprints,
        unreliable,
        texts,
        commits,
    } = *counters;
    let bytes: Vec<u8> = [documents, distinct_fingerprints, unreliable, texts, commits]
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    put(meta, COUNTERS_KEY, &bytes, place)
}

pub(crate) fn read_counters(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    place: &Place,
) -> Result<Counters> {
    let bytes = value(meta, COUNTERS_KEY, place)?;
    let (&[documents, distinct_fingerprints, unreliable, texts, commits], &[]) =
        bytes.as_chunks::<8>()
    else {
        return Err(place.corrupt("the counters have not 40 bytes"));
    };
    Ok(Counters {
        documents: u64::from_le_bytes(documents),
        distinct_fingerprints: u64::from_le_bytes(distinct_fingerprints),
        unreliable: u64::from_le_bytes(unreliable),
        texts: u64::from_le_bytes(texts),
        commits: u64::from_le_bytes(commits),
    })
}

fn put(meta: &mut Meta<'_>, key: &'static str, payload: &[u8], place: &Place) -> Result<()> {
    meta.insert(key, seal(payload).as_slice())
        .map_err(|cause| place.writing(cause))?;
    Ok(())
}

fn value(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    key: &'static str,
    place: &Place,
) -> Result<Vec<u8>> {
    let sealed = meta
        .get(key)
        .map_err(|cause| place.reading(cause))?
        .ok_or_else(|| place.corrupt(format!("the value {key} of table meta is missing")))?;
    unseal(sealed.value()).map(<[u8]>::to_vec).ok_or_else(|| {
        place.corrupt(format!(
            "the checksum of value {key} of table meta does not fit"
        ))
    })
}
