//! The tables of a file. Table [`meta`](super::meta) has the settings that are fixed when the file
//! is created.
//!
//! | table | kind | entry |
//! |---|---|---|
//! | `fingerprints` | packed pairs | document id, fingerprint: every document |
//! | `block0` | packed pairs | fingerprint, document id: every reliable document |
//! | `block1` `block2` `block3` | packed | each distinct reliable fingerprint, rotated so that block 1, 2 or 3 is in front |
//! | `unreliable` | packed | ids of the documents whose fingerprint is unreliable |
//! | `arrivals` | packed pairs | arrival time in ms, document id: every document, if times are kept |
//! | `times` | packed pairs | document id, arrival time in ms: every document, if times are kept |
//! | `forest` | packed pairs | forest key, document id: each distinct key of each text in `texts`, if the file is made for similar texts |
//! | `keys` | packed pairs | hash of the key, document id: every document, if keys are kept |
//! | `copied` | packed pairs | document id, time of the last copy and number of copies: every document with a copy, if copies are kept |
//! | `refused` | packed pairs | hash of a refused key or id, time or document: every refused document, if copies are kept |
//! | `frames` | plain | row of lines → crc32, lines around texts: the [`FrameLearner`](crate::analysis::frames::FrameLearner), if frames are kept |
//! | `texts` | plain | document id → crc32, compressed text; with keys, fields or copies, each record |
//! | `meta` | plain | name → crc32, value: recipe, settings, `max_ahead` if not the default, options if any, names of scopes if scopes are kept, description of the forest, counters, identity, journal mark |

use std::marker::PhantomData;

use redb::TableDefinition;

use super::packed::TableId;
use crate::document::Document;
use crate::ids::DocId;
use crate::ids::scope::ScopeNumber;
use crate::record::Record;

/// A packed table with entries of one type.
#[derive(Clone, Copy)]
pub(crate) struct TableSpec<E> {
    pub(crate) id: TableId,
    /// Returns `true` for a file that has the table.
    pub(crate) is_kept: fn(Keeps) -> bool,
    entry: PhantomData<E>,
}

/// A value for a table of pairs, or for a table of single `u64`s.
pub(crate) enum ByEntry<P, S> {
    Pairs(P),
    Singles(S),
}

/// Every packed table, each at the index of its number.
// The number is in the header of each chunk, so the number of a table never changes, and the number
// of a table that goes is not used again.
pub(crate) const TABLES: [ByEntry<TableSpec<u128>, TableSpec<u64>>; 12] = [
    ByEntry::Pairs(FINGERPRINTS),
    ByEntry::Pairs(BLOCK0),
    ByEntry::Singles(ROTATED[0]),
    ByEntry::Singles(ROTATED[1]),
    ByEntry::Singles(ROTATED[2]),
    ByEntry::Singles(UNRELIABLE),
    ByEntry::Pairs(ARRIVALS),
    ByEntry::Pairs(TIMES),
    ByEntry::Pairs(TEXT_KEYS),
    ByEntry::Pairs(KEYS),
    ByEntry::Pairs(COPIED),
    ByEntry::Pairs(REFUSED),
];

pub(crate) const FINGERPRINTS: TableSpec<u128> = TableSpec::new("fingerprints", 0, |_| true);
pub(crate) const BLOCK0: TableSpec<u128> = TableSpec::new("block0", 1, |_| true);
pub(crate) const ROTATED: [TableSpec<u64>; 3] = [
    TableSpec::new("block1", 2, |_| true),
    TableSpec::new("block2", 3, |_| true),
    TableSpec::new("block3", 4, |_| true),
];
pub(crate) const UNRELIABLE: TableSpec<u64> = TableSpec::new("unreliable", 5, |_| true);
pub(crate) const ARRIVALS: TableSpec<u128> = TableSpec::new("arrivals", 6, |keeps| keeps.arrivals);
pub(crate) const TIMES: TableSpec<u128> = TableSpec::new("times", 7, |keeps| keeps.arrivals);
pub(crate) const TEXT_KEYS: TableSpec<u128> = TableSpec::new("forest", 8, |keeps| keeps.text_keys);
pub(crate) const KEYS: TableSpec<u128> = TableSpec::new("keys", 9, |keeps| keeps.keys);
pub(crate) const COPIED: TableSpec<u128> = TableSpec::new("copied", 10, Keeps::copies);
pub(crate) const REFUSED: TableSpec<u128> = TableSpec::new("refused", 11, Keeps::copies);

impl<E> TableSpec<E> {
    const fn new(name: &'static str, number: u8, is_kept: fn(Keeps) -> bool) -> Self {
        Self {
            id: TableId { name, number },
            is_kept,
            entry: PhantomData,
        }
    }

    /// The index in [`TABLES`].
    pub(super) fn index(self) -> usize {
        usize::from(self.id.number)
    }
}

pub(crate) const TEXTS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("texts");

/// The optional parts of a document that a database keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keeps {
    pub(crate) texts: bool,
    pub(crate) text_keys: bool,
    pub(crate) arrivals: bool,
    pub(crate) keys: bool,
    pub(crate) fields: bool,
    /// The number of sightings of a document that are stored; 0 without copies.
    pub(crate) newest_copies: u16,
    pub(crate) scopes: bool,
}

impl Keeps {
    /// Returns `true` if table `texts` has the record of every document.
    pub(crate) fn records(self) -> bool {
        self.keys || self.fields || self.copies()
    }

    pub(crate) fn copies(self) -> bool {
        self.newest_copies > 0
    }

    /// Takes the record of a document, as far as the database keeps it; the text alone in a
    /// database without keys, fields and copies.
    pub(crate) fn take_record(self, document: &mut Document) -> Option<Record> {
        let text = document.text.take().filter(|_| self.texts);
        let fields = document.fields.take().filter(|_| self.fields);
        let copies = document.copies.take();
        let copies = copies.and_then(|copies| copies.limited_to(self.newest_copies.into()));
        if !self.records() {
            return text.map(Record::from);
        }
        Some(Record::new(
            document.key.as_deref(),
            document.scope.as_deref(),
            fields.as_deref(),
            copies.as_ref(),
            text.as_deref(),
        ))
    }

    /// The scope of a document; the empty scope in a database without scopes, whose ids may be any
    /// number.
    pub(crate) fn scope_of(self, id: DocId) -> ScopeNumber {
        match self.scopes {
            true => ScopeNumber::of(id),
            false => ScopeNumber::default(),
        }
    }

    pub(crate) fn has_texts_table(self) -> bool {
        self.texts || self.records()
    }
}
