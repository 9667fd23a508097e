//! The payload of a record: the changes of a commit, and the totals after the commit.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | number of documents after the commit |
//! | 8..17 | 1 and the latest arrival, or 0 and 0 |
//! | 17.. | the changes |
//!
//! A change is the id of the document, a byte of flags, and the fields that the flags announce, in
//! this order: the stored state before and the state after, each a fingerprint and an optional
//! arrival; the length of the text in four bytes, and the text. The highest bit of the length is
//! set for the content of a [`Record`] with key and fields. The forest keys of a text are not
//! written: they are three times as long as a text of one line, and an open after a crash makes
//! them again from the texts, on all cores.
//!
//! | bit | flag |
//! |---|---|
//! | 0, 3 | the document is stored: before, after |
//! | 1, 4 | its fingerprint is reliable: before, after |
//! | 2, 5 | it has an arrival: before, after |
//! | 6 | a text is put |
//! | 7 | the text is removed |
//!
//! With bits 6 and 7, a byte follows the flags, and says what changes: 1 if a text is put or 2 if
//! the text is removed, plus 4 if copies are put, plus 8 if documents were refused. The copies
//! follow the text: their length in four bytes, and the copies. The refused documents come last:
//! their number in four bytes, and hash and value of each.

use std::io::{Result, Write};
use std::sync::Arc;

use super::frame::FieldReader;
use crate::copies::Copies;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::record::Record;
use crate::store::tables::edit::{
    CopiesEdit, DocumentEdit, Refused, StoredDocument, TextEdit, Totals,
};

/// Bytes of the totals.
const COUNTS_BYTES: u64 = 17;
/// Bytes of the shortest change: the id and the flags.
const MIN_EDIT_BYTES: usize = 9;

// The flags of a state.
const STORED: u8 = 1;
const RELIABLE: u8 = 2;
const ARRIVED: u8 = 4;
/// The flags of the state after are shifted left by 3 bits.
const AFTER_SHIFT: u32 = 3;

const PUT_TEXT: u8 = 1 << 6;
const REMOVE_TEXT: u8 = 1 << 7;
/// A byte with the parts of the change follows.
const HAS_PARTS: u8 = PUT_TEXT | REMOVE_TEXT;

// The bits of the parts of a change.
const TEXT_PART: u8 = 1;
const REMOVED_PART: u8 = 2;
const COPIES_PART: u8 = 4;
const REFUSED_PART: u8 = 8;

/// Bytes of a refused document.
const REFUSED_BYTES: usize = 16;

/// The bit of the length that marks a record. A text has at most 256 MiB.
const RECORD: u32 = 1 << 31;

/// The number of bytes that [`encode`] writes.
pub(super) fn encoded_bytes(edits: &[DocumentEdit]) -> u64 {
    COUNTS_BYTES + edits.iter().map(edit_bytes).sum::<u64>()
}

fn edit_bytes(edit: &DocumentEdit) -> u64 {
    let state_bytes = |state: Option<StoredDocument>| {
        state.map_or(0, |state| if state.arrival.is_some() { 16 } else { 8 })
    };
    let text_bytes = match &edit.text {
        TextEdit::Put(_) => 4 + edit.text.len_bytes() as u64,
        TextEdit::Keep | TextEdit::Remove => 0,
    };
    let copies_bytes = edit.copies.as_ref().map_or(0, |_| {
        let state = edit
            .new_copies()
            .map_or(0, |copies| 4 + copies.encoded_bytes());
        let refused = match edit.refused().len() {
            0 => 0,
            len => 4 + len * REFUSED_BYTES,
        };
        1 + (state + refused) as u64
    });
    MIN_EDIT_BYTES as u64
        + state_bytes(edit.before)
        + state_bytes(edit.after)
        + text_bytes
        + copies_bytes
}

/// Writes the payload of a record. The caller limits a payload to 4 GiB, so every length fits in
/// four bytes.
pub(super) fn encode(out: &mut impl Write, edits: &[DocumentEdit], counts: Totals) -> Result<()> {
    out.write_all(&counts.documents.to_le_bytes())?;
    let latest = counts.latest_arrival;
    out.write_all(&[u8::from(latest.is_some())])?;
    out.write_all(&latest.map_or(0, |Timestamp(time)| time).to_le_bytes())?;
    edits.iter().try_for_each(|edit| encode_edit(out, edit))
}

fn encode_edit(out: &mut impl Write, edit: &DocumentEdit) -> Result<()> {
    let text_flag = match &edit.text {
        TextEdit::Keep => 0,
        TextEdit::Put(_) => PUT_TEXT,
        TextEdit::Remove => REMOVE_TEXT,
    };
    let states = flags_of(edit.before) | flags_of(edit.after) << AFTER_SHIFT;
    out.write_all(&edit.id.0.to_le_bytes())?;
    match parts_of(edit) {
        None => out.write_all(&[states | text_flag])?,
        Some(parts) => out.write_all(&[states | HAS_PARTS, parts])?,
    }
    for state in [edit.before, edit.after].into_iter().flatten() {
        out.write_all(&state.fingerprint.bits().to_le_bytes())?;
        if let Some(Timestamp(time)) = state.arrival {
            out.write_all(&time.to_le_bytes())?;
        }
    }
    if let Some(record) = edit.text.record() {
        let kind = if record.is_plain() { 0 } else { RECORD };
        out.write_all(&(record.content().len() as u32 | kind).to_le_bytes())?;
        out.write_all(record.content().as_bytes())?;
    }
    if let Some(copies) = edit.new_copies() {
        let content = copies.encode();
        out.write_all(&(content.len() as u32).to_le_bytes())?;
        out.write_all(content.as_bytes())?;
    }
    if !edit.refused().is_empty() {
        out.write_all(&(edit.refused().len() as u32).to_le_bytes())?;
    }
    for Refused { hash, value } in edit.refused() {
        out.write_all(&hash.to_le_bytes())?;
        out.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}

/// The parts of a change of copies; `None` for any other change.
fn parts_of(edit: &DocumentEdit) -> Option<u8> {
    edit.copies.as_ref()?;
    let text = match &edit.text {
        TextEdit::Keep => 0,
        TextEdit::Put(_) => TEXT_PART,
        TextEdit::Remove => REMOVED_PART,
    };
    let copies = u8::from(edit.new_copies().is_some()) * COPIES_PART;
    let refused = u8::from(!edit.refused().is_empty()) * REFUSED_PART;
    Some(text | copies | refused)
}

fn flags_of(state: Option<StoredDocument>) -> u8 {
    state.map_or(0, |state| {
        STORED + u8::from(state.reliable) * RELIABLE + u8::from(state.arrival.is_some()) * ARRIVED
    })
}

/// The changes and totals that [`encode`] was given, their texts without keys; `None` unless
/// `payload` is a valid payload with `edits` changes.
pub(super) fn decode(payload: &[u8], edits: u32) -> Option<(Vec<DocumentEdit>, Totals)> {
    let mut fields = FieldReader(payload);
    let counts = Totals {
        documents: fields.u64()?,
        latest_arrival: match (fields.u8()?, fields.u64()?) {
            (0, 0) => None,
            (1, time) => Some(Timestamp(time)),
            _ => return None,
        },
    };
    let edits = usize::try_from(edits).ok()?;
    // The capacity is bounded by the payload, so a damaged count cannot allocate more.
    let mut decoded = Vec::with_capacity(edits.min(payload.len() / MIN_EDIT_BYTES));
    for _ in 0..edits {
        decoded.push(decode_edit(&mut fields)?);
    }
    // Bytes after the last change are damage too.
    fields.0.is_empty().then_some((decoded, counts))
}

fn decode_edit(fields: &mut FieldReader<'_>) -> Option<DocumentEdit> {
    let id = DocId(fields.u64()?);
    let flags = fields.u8()?;
    let parts = match flags & HAS_PARTS {
        PUT_TEXT => TEXT_PART,
        REMOVE_TEXT => REMOVED_PART,
        HAS_PARTS => fields.u8().filter(|parts| {
            let changes_copies = parts & (COPIES_PART | REFUSED_PART) != 0;
            changes_copies && *parts <= TEXT_PART | REMOVED_PART | COPIES_PART | REFUSED_PART
        })?,
        _ => 0,
    };
    Some(DocumentEdit {
        id,
        before: decode_state(fields, flags)?,
        after: decode_state(fields, flags >> AFTER_SHIFT)?,
        text: match parts & (TEXT_PART | REMOVED_PART) {
            0 => TextEdit::Keep,
            TEXT_PART => TextEdit::put_without_keys(decode_record(fields)?),
            REMOVED_PART => TextEdit::Remove,
            _ => return None,
        },
        copies: CopiesEdit::new(
            match parts & COPIES_PART {
                0 => None,
                _ => Some(Arc::new(decode_copies(fields)?)),
            },
            match parts & REFUSED_PART {
                0 => Vec::new(),
                _ => decode_refused(fields)?,
            },
        ),
    })
}

fn decode_copies(fields: &mut FieldReader<'_>) -> Option<Copies> {
    let length = fields.u32()?;
    let bytes = fields.bytes(usize::try_from(length).ok()?)?;
    Copies::parse(std::str::from_utf8(bytes).ok()?)
}

/// At least one refused document.
fn decode_refused(fields: &mut FieldReader<'_>) -> Option<Vec<Refused>> {
    let len = usize::try_from(fields.u32()?).ok()?;
    let bytes = fields.bytes(len.checked_mul(REFUSED_BYTES)?)?;
    let mut fields = FieldReader(bytes);
    let mut refused = Vec::with_capacity(len);
    while !fields.0.is_empty() {
        refused.push(Refused {
            hash: fields.u64()?,
            value: fields.u64()?,
        });
    }
    (len > 0).then_some(refused)
}

/// The state that the lowest three flags announce; `Some(None)` if the document is not stored.
fn decode_state(fields: &mut FieldReader<'_>, flags: u8) -> Option<Option<StoredDocument>> {
    let has = |flag| flags & flag != 0;
    if !has(STORED) {
        return (!has(RELIABLE | ARRIVED)).then_some(None);
    }
    let fingerprint = Fingerprint::from_bits(fields.u64()?);
    let arrival = if has(ARRIVED) {
        Some(Timestamp(fields.u64()?))
    } else {
        None
    };
    Some(Some(StoredDocument {
        fingerprint,
        reliable: has(RELIABLE),
        arrival,
    }))
}

fn decode_record(fields: &mut FieldReader<'_>) -> Option<Record> {
    let length = fields.u32()?;
    let bytes = fields.bytes(usize::try_from(length & !RECORD).ok()?)?;
    let content = std::str::from_utf8(bytes).ok()?;
    match length & RECORD {
        0 => Some(content.into()),
        _ => Record::parse(content),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::copies::{Sighting, SightingKind};

    fn state() -> impl Strategy<Value = Option<StoredDocument>> {
        let state = (any::<u64>(), any::<bool>(), any::<Option<u64>>());
        proptest::option::of(state.prop_map(|(bits, reliable, arrival)| StoredDocument {
            fingerprint: Fingerprint::from_bits(bits),
            reliable,
            arrival: arrival.map(Timestamp),
        }))
    }

    fn text() -> impl Strategy<Value = TextEdit> {
        prop_oneof![
            Just(TextEdit::Keep),
            Just(TextEdit::Remove),
            "\\PC{0,40}".prop_map(TextEdit::put_without_keys),
            ("\\PC{1,40}", any::<bool>(), any::<Option<bool>>()).prop_map(|(key, scope, text)| {
                let scope = scope.then_some("scope");
                let text = text.map(|is_empty| if is_empty { "" } else { &key });
                TextEdit::put_without_keys(Record::new(Some(&key), scope, None, None, text))
            }),
        ]
    }

    fn copies() -> impl Strategy<Value = Option<Box<CopiesEdit>>> {
        let state = proptest::option::of("\\PC{1,9}".prop_map(|key| {
            let sighting = Sighting {
                document: key.as_str().into(),
                seen: Timestamp(9),
                kind: SightingKind::Alike,
            };
            Arc::new(Copies::with(None, sighting, None, 1))
        }));
        let refused = vec(any::<(u64, u64)>(), 0..3);
        (state, refused).prop_map(|(state, refused)| {
            let refused = refused.into_iter();
            let refused = refused.map(|(hash, value)| Refused { hash, value });
            CopiesEdit::new(state, refused.collect())
        })
    }

    /// Any change of a document.
    pub(in crate::store::journal) fn edit() -> impl Strategy<Value = DocumentEdit> {
        (any::<u64>(), state(), state(), text(), copies()).prop_map(
            |(id, before, after, text, copies)| DocumentEdit {
                id: DocId(id),
                before,
                after,
                text,
                copies,
            },
        )
    }

    fn counts() -> impl Strategy<Value = Totals> {
        (any::<u64>(), any::<Option<u64>>()).prop_map(|(documents, arrival)| Totals {
            documents,
            latest_arrival: arrival.map(Timestamp),
        })
    }

    #[test]
    fn text_that_is_put_and_removed_is_refused() {
        let payload = |flags: &[u8]| {
            let mut bytes = vec![0; COUNTS_BYTES as usize + 8];
            bytes.extend(flags);
            bytes.extend(4_u32.to_le_bytes().iter().chain(b"text"));
            bytes.extend(1_u32.to_le_bytes().iter().chain(&[0; REFUSED_BYTES]));
            decode(&bytes, 1)
        };
        let with_parts = |parts| payload(&[HAS_PARTS, parts]);
        assert!(with_parts(TEXT_PART | REFUSED_PART).is_some());
        assert_eq!(with_parts(TEXT_PART | REMOVED_PART | REFUSED_PART), None);
        assert_eq!(with_parts(TEXT_PART), None);
        assert_eq!(with_parts(16 | TEXT_PART | REFUSED_PART), None);
    }

    proptest! {
        #[test]
        fn encoded_payload_decodes_from_exactly_its_bytes(
            edits in vec(edit(), 0..6),
            counts in counts(),
        ) {
            let mut bytes = Vec::new();
            encode(&mut bytes, &edits, counts).unwrap();
            prop_assert_eq!(bytes.len() as u64, encoded_bytes(&edits));
            let number = edits.len() as u32;
            for length in 0..bytes.len() {
                prop_assert_eq!(decode(&bytes[..length], number), None);
            }
            prop_assert_eq!(decode(&bytes, number + 1), None);
            prop_assert_eq!(decode(&bytes, number), Some((edits, counts)));
            bytes.push(0);
            prop_assert_eq!(decode(&bytes, number), None);
        }

        #[test]
        fn arbitrary_bytes_decode_without_panic(
            bytes in vec(any::<u8>(), 0..200),
            edits in any::<u32>(),
        ) {
            if let Some((decoded, counts)) = decode(&bytes, edits) {
                let mut again = Vec::new();
                encode(&mut again, &decoded, counts).unwrap();
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
