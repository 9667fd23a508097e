//! [`PackedWording`]: a stored text in the form in which a query compares it, without reading and
//! normalising the text again.
//!
//! | bytes | content |
//! |---|---|
//! | 32 | the counts of the characters in 32 classes, at most 255 each |
//! | 8 | a bit for each phrase |
//! | 2, 2, 2 | the numbers of characters, of bytes of the letters, and of distinct phrases |
//! | 2 | [`IS_COMPARABLE`], [`IS_ASCII`] |
//! | bytes of the letters | the normalised letters and digits |
//! | characters, 0 if ASCII | a byte for each character |
//! | 8 × phrases | the hashes of the distinct phrases, ascending |

/// Classes of characters. A class is the low five bits of the code of a character.
pub(crate) const CLASSES: usize = 32;

const PHRASE_BITS: usize = CLASSES;
const COUNTS: usize = PHRASE_BITS + 8;
pub(crate) const HEADER_BYTES: usize = COUNTS + 8;

const IS_COMPARABLE: u16 = 1;
const IS_ASCII: u16 = 2;

/// The counts of a [`PackedWording`], which reject most wordings without their content.
#[derive(Clone, Copy, Hash)]
pub(crate) struct PackedHeader<'b>(pub(crate) &'b [u8; HEADER_BYTES]);

/// The packed form of a text.
#[derive(Clone, Copy, Hash)]
pub(crate) struct PackedWording<'b> {
    header: PackedHeader<'b>,
    /// The letters, the codes of the characters, and the phrases.
    content: &'b [u8],
}

impl<'b> PackedHeader<'b> {
    pub(crate) fn class_counts(self) -> &'b [u8] {
        &self.0[..CLASSES]
    }

    pub(crate) fn phrase_bits(self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[PHRASE_BITS..COUNTS]);
        u64::from_le_bytes(bytes)
    }

    fn count(self, index: usize) -> u16 {
        let at = COUNTS + 2 * index;
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    pub(crate) fn characters(self) -> usize {
        self.count(0).into()
    }

    pub(crate) fn phrase_count(self) -> usize {
        self.count(2).into()
    }
}

impl<'b> PackedWording<'b> {
    /// `None` if the bytes are too short.
    pub(crate) fn new(bytes: &'b [u8]) -> Option<Self> {
        let (header, content) = bytes.split_first_chunk()?;
        Some(Self::of_parts(PackedHeader(header), content))
    }

    /// The packed form in bytes from elsewhere; `None` if a comparison could fail on them.
    pub(crate) fn checked(bytes: &'b [u8]) -> Option<Self> {
        let packed = Self::new(bytes)?;
        let header = packed.header;
        let [characters, len, phrases] = [0, 1, 2].map(|at| usize::from(header.count(at)));
        let is_ascii = packed.has(IS_ASCII);
        let codes = if is_ascii { 0 } else { characters };
        let is_whole = packed.content.len() == len + codes + size_of::<u64>() * phrases;
        let letters = str::from_utf8(packed.content.get(..len)?).ok()?;
        let is_sound = is_whole
            && letters.is_ascii() == is_ascii
            && letters.chars().count() == characters
            && class_counts(letters.chars().map(code)) == header.class_counts()
            && phrase_bits(packed.phrases()) == header.phrase_bits();
        is_sound.then_some(packed)
    }

    /// The packed form with a header and the bytes after the header.
    pub(crate) fn of_parts(header: PackedHeader<'b>, content: &'b [u8]) -> Self {
        Self { header, content }
    }

    /// The counts.
    pub(crate) fn header(self) -> PackedHeader<'b> {
        self.header
    }

    /// The number of characters in the upper half, and of distinct phrases in the lower.
    pub(crate) fn size(&self) -> u32 {
        u32::from(self.header.count(0)) << 16 | u32::from(self.header.count(2))
    }

    /// Returns `true` if the text has enough content to be compared by its parts.
    pub(crate) fn is_comparable(&self) -> bool {
        self.has(IS_COMPARABLE)
    }

    /// Returns `true` if the letters are ASCII.
    pub(crate) fn is_ascii(&self) -> bool {
        self.has(IS_ASCII)
    }

    /// All bytes after the header.
    pub(crate) fn content(&self) -> &'b [u8] {
        self.content
    }

    fn has(&self, flag: u16) -> bool {
        self.header.count(3) & flag != 0
    }

    /// The normalised letters and digits.
    pub(crate) fn letters(&self) -> &'b [u8] {
        &self.content[..usize::from(self.header.count(1))]
    }

    /// A byte for each character: equal characters have equal codes.
    pub(crate) fn codes(&self) -> &'b [u8] {
        if self.has(IS_ASCII) {
            return self.letters();
        }
        &self.content[self.letters().len()..][..self.header.characters()]
    }

    pub(crate) fn phrases(&self) -> impl Iterator<Item = u64> + use<'b> {
        let start = self.content.len() - size_of::<u64>() * self.header.phrase_count();
        let hashes = self.content[start..].as_chunks().0;
        hashes.iter().map(|hash| u64::from_le_bytes(*hash))
    }
}

/// Copies of packed wordings, by number: 0 for the first, 1 for the next.
#[derive(Debug, Default)]
pub(crate) struct PackedWordings {
    /// The end of each wording in `bytes`.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl PackedWordings {
    /// Adds a wording; `None` for a text without one.
    pub(crate) fn push(&mut self, packed: Option<PackedWording<'_>>) {
        if let Some(packed) = packed {
            self.bytes.extend(packed.header.0);
            self.bytes.extend(packed.content);
        }
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    /// The bytes of a wording; none for a text without one.
    pub(crate) fn bytes(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = number
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let end = self.ends.get(number).copied().unwrap_or_default();
        self.bytes
            .get(start.copied().unwrap_or_default()..end)
            .unwrap_or_default()
    }

    /// A wording; `None` for a text without one.
    pub(crate) fn get(&self, number: u32) -> Option<PackedWording<'_>> {
        PackedWording::new(self.bytes(number))
    }
}

/// The code of a character: an ASCII character itself, otherwise seven bits of a hash.
pub(crate) fn code(character: char) -> u8 {
    match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => byte,
        _ => 0x80 | (u32::from(character).wrapping_mul(0x9e37_79b1) >> 25) as u8,
    }
}

pub(crate) fn class_counts(codes: impl Iterator<Item = u8>) -> [u8; CLASSES] {
    let mut counts = [0_u8; CLASSES];
    for code in codes {
        let count = &mut counts[usize::from(code) % CLASSES];
        *count = count.saturating_add(1);
    }
    counts
}

/// A bit for each phrase. The phrases of two texts are compared only if enough bits are equal.
pub(crate) fn phrase_bits(phrases: impl Iterator<Item = u64>) -> u64 {
    phrases.fold(0, |bits, hash| bits | 1 << (hash >> 58))
}

/// The bytes of the [`PackedWording`] of a text with these normalised letters, number of characters
/// and distinct phrases; `None` for a text without letters and digits, or with more than 65,535
/// bytes of them.
pub(super) fn pack(
    letters: &str,
    characters: usize,
    phrases: &[u64],
    is_comparable: bool,
) -> Option<Box<[u8]>> {
    let count = |count: usize| u16::try_from(count).ok().map(u16::to_le_bytes);
    if letters.is_empty() {
        return None;
    }
    let is_ascii = letters.is_ascii();
    let is_comparable = if is_comparable { IS_COMPARABLE } else { 0 };
    let flags = is_comparable | if is_ascii { IS_ASCII } else { 0 };
    let codes = || letters.chars().map(code);
    let codes_len = if is_ascii { 0 } else { characters };
    let len = HEADER_BYTES + letters.len() + codes_len + size_of_val(phrases);
    let mut packed = Vec::with_capacity(len);
    packed.extend(class_counts(codes()));
    packed.extend(phrase_bits(phrases.iter().copied()).to_le_bytes());
    packed.extend(count(characters)?);
    packed.extend(count(letters.len())?);
    packed.extend(count(phrases.len())?);
    packed.extend(flags.to_le_bytes());
    packed.extend(letters.as_bytes());
    packed.extend(codes().take(codes_len));
    packed.extend(phrases.iter().flat_map(|hash| hash.to_le_bytes()));
    Some(packed.into_boxed_slice())
}
