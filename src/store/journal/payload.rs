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
//! | 7 | the text is removed; never with bit 6 |

use std::io::{Result, Write};

use super::frame::Fields;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::record::Record;
use crate::store::tables::edit::{Counts, DocumentEdit, StoredDocument, TextEdit};

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
/// No change has both flags.
const BOTH_TEXT: u8 = PUT_TEXT | REMOVE_TEXT;

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
    MIN_EDIT_BYTES as u64 + state_bytes(edit.before) + state_bytes(edit.after) + text_bytes
}

/// Writes the payload of a record. The caller limits a payload to 4 GiB, so every length fits in
/// four bytes.
pub(super) fn encode(out: &mut impl Write, edits: &[DocumentEdit], counts: Counts) -> Result<()> {
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
    let flags = flags_of(edit.before) | flags_of(edit.after) << AFTER_SHIFT | text_flag;
    out.write_all(&edit.id.0.to_le_bytes())?;
    out.write_all(&[flags])?;
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
    Ok(())
}

fn flags_of(state: Option<StoredDocument>) -> u8 {
    state.map_or(0, |state| {
        STORED + u8::from(state.reliable) * RELIABLE + u8::from(state.arrival.is_some()) * ARRIVED
    })
}

/// The changes and totals that [`encode`] was given, their texts without keys; `None` unless
/// `payload` is a valid payload with `edits` changes.
pub(super) fn decode(payload: &[u8], edits: u32) -> Option<(Vec<DocumentEdit>, Counts)> {
    let mut fields = Fields(payload);
    let counts = Counts {
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

fn decode_edit(fields: &mut Fields<'_>) -> Option<DocumentEdit> {
    let id = DocId(fields.u64()?);
    let flags = fields.u8()?;
    Some(DocumentEdit {
        id,
        before: decode_state(fields, flags)?,
        after: decode_state(fields, flags >> AFTER_SHIFT)?,
        text: match flags & BOTH_TEXT {
            PUT_TEXT => TextEdit::put_without_keys(decode_record(fields)?),
            REMOVE_TEXT => TextEdit::Remove,
            BOTH_TEXT => return None,
            _ => TextEdit::Keep,
        },
    })
}

/// The state that the lowest three flags announce; `Some(None)` if the document is not stored.
fn decode_state(fields: &mut Fields<'_>, flags: u8) -> Option<Option<StoredDocument>> {
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

fn decode_record(fields: &mut Fields<'_>) -> Option<Record> {
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
            ("\\PC{1,40}", any::<Option<bool>>()).prop_map(|(key, text)| {
                let text = text.map(|is_empty| if is_empty { "" } else { &key });
                TextEdit::put_without_keys(Record::new(Some(&key), None, text))
            }),
        ]
    }

    /// Any change of a document.
    pub(in crate::store::journal) fn edit() -> impl Strategy<Value = DocumentEdit> {
        (any::<u64>(), state(), state(), text()).prop_map(|(id, before, after, text)| {
            let id = DocId(id);
            DocumentEdit {
                id,
                before,
                after,
                text,
            }
        })
    }

    fn counts() -> impl Strategy<Value = Counts> {
        (any::<u64>(), any::<Option<u64>>()).prop_map(|(documents, arrival)| Counts {
            documents,
            latest_arrival: arrival.map(Timestamp),
        })
    }

    #[test]
    fn text_that_is_put_and_removed_is_refused() {
        let payload = |text_flags| {
            let mut bytes = vec![0; COUNTS_BYTES as usize + 8];
            bytes.push(text_flags);
            bytes.extend(4_u32.to_le_bytes().iter().chain(b"text"));
            decode(&bytes, 1)
        };
        assert!(payload(PUT_TEXT).is_some());
        assert_eq!(payload(BOTH_TEXT), None);
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
