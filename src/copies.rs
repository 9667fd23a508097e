//! [`Copies`]: the documents that were refused as copies of a document.

use xxhash_rust::xxh3::xxh3_64;

use crate::ids::{DocId, DocRef, KEY_LIMIT_BYTES, Timestamp};

/// At most 1,000 sightings of a document are stored, one MiB with the longest keys.
pub(crate) const MAX_NEWEST: usize = 1000;

/// The copies of a document: documents that [`insert_unique`](crate::Database::insert_unique) or
/// [`insert_unless_similar`](crate::Database::insert_unless_similar) refused because of the
/// document. Stored in a database with [`Builder::copies`](crate::Builder::copies).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "UncheckedCopies"))]
pub struct Copies {
    /// The number of refused documents, and of the copies that they
    /// [brought](crate::Document::copies). A document that is refused again under its key or id
    /// ([`Outcome::Seen`](crate::Outcome::Seen)) is not counted again.
    pub count: u64,
    /// The earliest time of a copy.
    pub first_seen: Timestamp,
    /// The latest time of a copy.
    pub last_seen: Timestamp,
    /// The copies that were refused last, the last first.
    pub newest: Vec<Sighting>,
}

/// Copies that a database may refuse.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct UncheckedCopies {
    count: u64,
    first_seen: Timestamp,
    last_seen: Timestamp,
    newest: Vec<Sighting>,
}

#[cfg(feature = "serde")]
impl TryFrom<UncheckedCopies> for Copies {
    type Error = &'static str;

    fn try_from(unchecked: UncheckedCopies) -> Result<Self, Self::Error> {
        let copies = Self {
            count: unchecked.count,
            first_seen: unchecked.first_seen,
            last_seen: unchecked.last_seen,
            newest: unchecked.newest,
        };
        copies.fault(false).map_or(Ok(copies), Err)
    }
}

/// A document that was refused as a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sighting {
    /// The key of the refused document, or the id in a database without keys.
    pub document: DocRef,
    /// The arrival of the refused document, or the time of the insert.
    pub seen: Timestamp,
    /// The reason of the refusal.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub kind: SightingKind,
}

/// The reason for which a document was refused as a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "snake_case"))]
pub enum SightingKind {
    /// The fingerprints lie within the radius.
    Duplicate {
        /// The Hamming distance.
        distance: u32,
    },
    /// Each text covers the other.
    Same,
    /// The stored text covers the refused text, and has more.
    AInB,
    /// Each text covers the body of the other.
    SameBody,
    /// The texts are alike by thresholds.
    Alike,
}

impl SightingKind {
    /// The largest code is the largest distance plus 4.
    const SIMILAR: [Self; 4] = [Self::Same, Self::AInB, Self::SameBody, Self::Alike];
    const MAX_DISTANCE: u64 = 64;

    fn code(self) -> u64 {
        match self {
            Self::Duplicate { distance } => u64::from(distance),
            Self::Same => Self::MAX_DISTANCE + 1,
            Self::AInB => Self::MAX_DISTANCE + 2,
            Self::SameBody => Self::MAX_DISTANCE + 3,
            Self::Alike => Self::MAX_DISTANCE + 4,
        }
    }

    fn of_code(code: u64) -> Option<Self> {
        match code.checked_sub(Self::MAX_DISTANCE + 1) {
            None => Some(Self::Duplicate {
                distance: code as u32,
            }),
            Some(similar) => Self::SIMILAR.get(usize::try_from(similar).ok()?).copied(),
        }
    }
}

impl Copies {
    /// Adds a sighting, and the copies that the refused document brings, to the copies so far.
    /// Leaves the newest `newest` sightings.
    pub(crate) fn with(
        before: Option<&Self>,
        sighting: Sighting,
        brought: Option<&Self>,
        newest: usize,
    ) -> Self {
        let seen = sighting.seen;
        let mut copies = Self {
            count: 1,
            first_seen: seen,
            last_seen: seen,
            newest: vec![sighting],
        };
        for other in [brought, before].into_iter().flatten() {
            copies.count = copies.count.saturating_add(other.count);
            copies.first_seen = copies.first_seen.min(other.first_seen);
            copies.last_seen = copies.last_seen.max(other.last_seen);
            copies.newest.extend_from_slice(&other.newest);
        }
        copies.newest.truncate(newest);
        copies
    }

    /// The reason why the copies of a caller cannot be stored, where documents have keys if
    /// `has_keys`; `None` if they can be.
    pub(crate) fn fault(&self, has_keys: bool) -> Option<&'static str> {
        let is_far = |kind| {
            matches!(kind, SightingKind::Duplicate { distance }
                if u64::from(distance) > SightingKind::MAX_DISTANCE)
        };
        if (self.newest.len() as u64) > self.count {
            return Some("the newest are more than their count");
        }
        if self.first_seen > self.last_seen {
            return Some("the first was seen after the last");
        }
        if self.newest.iter().any(|sighting| is_far(sighting.kind)) {
            return Some("a distance is above 64");
        }
        let is_no_key = |document: &DocRef| match document {
            DocRef::Key(key) => !(1..=KEY_LIMIT_BYTES).contains(&key.len()),
            DocRef::Id(_) => has_keys,
        };
        let mut documents = self.newest.iter().map(|sighting| &sighting.document);
        (documents.any(is_no_key)).then_some("a copy has no key of 1 to 1,024 bytes")
    }

    /// The copies with their newest `newest` sightings; `None` without a copy, and for none.
    pub(crate) fn limited_to(mut self, newest: usize) -> Option<Self> {
        self.newest.truncate(newest);
        (self.count.min(newest as u64) > 0).then_some(self)
    }

    /// Returns `false` only if no document with this [hash](refused_hash) was refused as one of the
    /// copies. If `newest` has all copies, the answer is exact.
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        let mut newest = self.newest.iter();
        self.count > self.newest.len() as u64
            || newest.any(|sighting| refused_hash(&sighting.document) == hash)
    }

    /// The copies as a string of numbers and keys: count, first time, time from the first to the
    /// last, number of sightings; for each sighting the time back from the one before, the first
    /// from the last time, the code of its kind, and the length of its key with the key, or 0 with
    /// the id.
    pub(crate) fn encode(&self) -> String {
        let mut content = String::new();
        self.for_each_part(|part| match part {
            EncodedPart::Number(number) => push_number(&mut content, number),
            EncodedPart::Key(key) => content.push_str(key),
        });
        content
    }

    /// The bytes that [`encode`](Self::encode) writes.
    pub(crate) fn encoded_bytes(&self) -> usize {
        let mut bytes = 0;
        self.for_each_part(|part| {
            bytes += match part {
                EncodedPart::Number(number) => digits(number),
                EncodedPart::Key(key) => key.len(),
            }
        });
        bytes
    }

    fn for_each_part(&self, mut each: impl FnMut(EncodedPart<'_>)) {
        each(EncodedPart::Number(self.count));
        each(EncodedPart::Number(self.first_seen.0));
        each(EncodedPart::Number(
            self.last_seen.0.wrapping_sub(self.first_seen.0),
        ));
        each(EncodedPart::Number(self.newest.len() as u64));
        let mut time = self.last_seen.0;
        for Sighting {
            document,
            seen,
            kind,
        } in &self.newest
        {
            each(EncodedPart::Number(zigzag(time.wrapping_sub(seen.0))));
            each(EncodedPart::Number(kind.code()));
            time = seen.0;
            match document {
                DocRef::Key(key) => {
                    each(EncodedPart::Number(key.len() as u64));
                    each(EncodedPart::Key(key));
                }
                DocRef::Id(id) => {
                    each(EncodedPart::Number(0));
                    each(EncodedPart::Number(id.0));
                }
            }
        }
    }

    /// The copies that [`encode`](Self::encode) wrote; `None` for damaged content.
    pub(crate) fn parse(content: &str) -> Option<Self> {
        let mut rest = content;
        let count = number(&mut rest)?;
        let first_seen = Timestamp(number(&mut rest)?);
        let last_seen = Timestamp(first_seen.0.wrapping_add(number(&mut rest)?));
        let len = usize::try_from(number(&mut rest)?).ok()?;
        (len <= MAX_NEWEST && len as u64 <= count).then_some(())?;
        let mut newest = Vec::with_capacity(len);
        let mut time = last_seen.0;
        for _ in 0..len {
            time = time.wrapping_sub(unzigzag(number(&mut rest)?));
            let kind = SightingKind::of_code(number(&mut rest)?)?;
            let document = match usize::try_from(number(&mut rest)?).ok()? {
                0 => DocRef::Id(DocId(number(&mut rest)?)),
                len => {
                    let key = rest.get(..len)?;
                    rest = rest.get(len..)?;
                    DocRef::Key(key.to_owned())
                }
            };
            newest.push(Sighting {
                document,
                seen: Timestamp(time),
                kind,
            });
        }
        rest.is_empty().then_some(Self {
            count,
            first_seen,
            last_seen,
            newest,
        })
    }

    /// Bytes in memory, estimated.
    pub(crate) fn len_bytes(&self) -> usize {
        let key_bytes = |sighting: &Sighting| match &sighting.document {
            DocRef::Key(key) => key.len(),
            DocRef::Id(_) => 0,
        };
        let keys: usize = self.newest.iter().map(key_bytes).sum();
        size_of::<Self>() + self.newest.len() * size_of::<Sighting>() + keys
    }
}

/// The hash by which a refused document is known: of the key, or the id itself.
pub(crate) fn refused_hash(document: &DocRef) -> u64 {
    match document {
        DocRef::Key(key) => xxh3_64(key.as_bytes()),
        DocRef::Id(id) => id.0,
    }
}

/// A part of encoded copies.
enum EncodedPart<'c> {
    Number(u64),
    Key(&'c str),
}

/// A number is written in digits of 6 bits, the least significant first, each in a byte below 128,
/// so that copies are UTF-8. All digits but the last have this bit.
const HAS_NEXT: u8 = 0x40;
const DIGIT_BITS: u32 = 6;

fn push_number(content: &mut String, mut number: u64) {
    loop {
        let digit = (number as u8) & (HAS_NEXT - 1);
        number >>= DIGIT_BITS;
        if number == 0 {
            content.push(char::from(digit));
            return;
        }
        content.push(char::from(digit | HAS_NEXT));
    }
}

/// The digits that [`push_number`] writes.
fn digits(number: u64) -> usize {
    let bits = u64::BITS - number.leading_zeros();
    bits.div_ceil(DIGIT_BITS).max(1) as usize
}

/// Takes a number from the front; `None` unless [`push_number`] writes the same digits.
fn number(rest: &mut &str) -> Option<u64> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let byte = *rest.as_bytes().first()?;
        byte.is_ascii().then_some(())?;
        *rest = &rest[1..];
        let digit = u64::from(byte & (HAS_NEXT - 1));
        let shifted = digit.checked_shl(shift)?;
        (shifted >> shift == digit).then_some(())?;
        number |= shifted;
        if byte & HAS_NEXT == 0 {
            return (digit > 0 || shift == 0).then_some(number);
        }
        shift += DIGIT_BITS;
    }
}

/// Small numbers for small differences in both directions.
fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn sighting() -> impl Strategy<Value = Sighting> {
        let document = prop_oneof![
            "\\PC{1,40}".prop_map(DocRef::Key),
            any::<u64>().prop_map(DocRef::from),
        ];
        let kind = (0..=68_u64).prop_map(|code| SightingKind::of_code(code).unwrap());
        (document, any::<u64>(), kind).prop_map(|(document, seen, kind)| Sighting {
            document,
            seen: Timestamp(seen),
            kind,
        })
    }

    proptest! {
        #[test]
        fn copies_decode_from_exactly_their_bytes(sightings in vec(sighting(), 1..6), n in 1..8_usize) {
            let mut copies = None;
            for sighting in &sightings {
                copies = Some(Copies::with(copies.as_ref(), sighting.clone(), None, n));
            }
            let copies = copies.unwrap();
            prop_assert_eq!(copies.count, sightings.len() as u64);
            prop_assert_eq!(copies.newest.len(), sightings.len().min(n));
            prop_assert_eq!(Some(&copies.newest[0]), sightings.last());
            prop_assert_eq!(Some(copies.first_seen), sightings.iter().map(|one| one.seen).min());
            prop_assert_eq!(Some(copies.last_seen), sightings.iter().map(|one| one.seen).max());
            let content = copies.encode();
            prop_assert_eq!(copies.encoded_bytes(), content.len());
            prop_assert_eq!(Copies::parse(&content), Some(copies));
            for end in (0..content.len()).filter(|end| content.is_char_boundary(*end)) {
                prop_assert_eq!(Copies::parse(&content[..end]), None);
            }
            let longer = format!("{content}x");
            prop_assert_eq!(Copies::parse(&longer), None);
        }

        #[test]
        fn brought_copies_are_added(sightings in vec(sighting(), 3..6), n in 1..8_usize) {
            let copies_of = |sightings: &[Sighting]| {
                let mut copies = None;
                for sighting in sightings {
                    copies = Some(Copies::with(copies.as_ref(), sighting.clone(), None, n));
                }
                copies.unwrap()
            };
            let (last, rest) = sightings.split_last().unwrap();
            let (before, brought) = rest.split_at(1);
            let (before, brought) = (copies_of(before), copies_of(brought));
            let both = Copies::with(Some(&before), last.clone(), Some(&brought), n);
            prop_assert_eq!(both, copies_of(&sightings));
        }

        #[test]
        fn arbitrary_content_is_refused_or_encoded_again(content in "[\\x00-\\x7f]{0,40}") {
            if let Some(copies) = Copies::parse(&content) {
                prop_assert_eq!(copies.encode(), content);
            }
        }
    }
}
