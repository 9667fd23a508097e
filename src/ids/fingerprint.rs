//! [`Fingerprint`], the 64-bit SimHash of a document, [`TextFingerprint`] and [`Fingerprint128`].

use std::fmt;

/// The 64-bit SimHash of a document's features (Charikar, STOC 2002).
///
/// Near-duplicates differ in few bits: see [`distance`](Self::distance). `Display` writes and
/// `FromStr` reads 16 hexadecimal digits, the most significant bit first.
///
/// ```
/// use simdb::Fingerprint;
///
/// let a: Fingerprint = "00000000000000ff".parse()?;
/// let b = Fingerprint::from_bits(0xf0);
/// assert_eq!(a.distance(b), 4);
/// assert_eq!(b.to_string(), "00000000000000f0");
/// # Ok::<(), simdb::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

/// A 128-bit SimHash, to be computed and compared only: a database stores 64 bits.
///
/// `Display` writes and `FromStr` reads 32 hexadecimal digits.
///
/// ```
/// use simdb::Fingerprint128;
///
/// let a = Fingerprint128::from_bits(0b10101);
/// let b = Fingerprint128::from_bits(0b00110);
/// assert_eq!(a.distance(b), 3);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint128(u128);

/// The fingerprint of a text, with its reliability.
///
/// A [`Fingerprint`] converts into a reliable `TextFingerprint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TextFingerprint {
    /// The fingerprint. A text without features has the fingerprint 0, except for recipes that
    /// imitate software with another result.
    pub fingerprint: Fingerprint,
    /// `true` if near fingerprints mean similar texts. `false` for a text
    /// - with fewer than 5 distinct features (4 if features are words): one changed character
    ///   replaces most of them, and unrelated texts may share most of them;
    /// - in which one feature weighs at least as much as all others together: that feature decides
    ///   every bit, so any two texts that it dominates would be equal;
    /// - of few distinct features that occur many times on average (`ngram`, `python-simhash`): it
    ///   would match every text that repeats the same phrase;
    /// - without a letter, or without two different words (`ngram`): numbers and single words that
    ///   differ in one place are no near-duplicates.
    ///
    /// [`Fingerprinter::unreliable_reason`](crate::Fingerprinter::unreliable_reason) returns the
    /// reason. An unreliable fingerprint is deterministic, but should never make its text a
    /// near-duplicate of another text.
    pub reliable: bool,
}

impl From<Fingerprint> for TextFingerprint {
    fn from(fingerprint: Fingerprint) -> Self {
        Self {
            fingerprint,
            reliable: true,
        }
    }
}

macro_rules! fingerprint {
    ($name:ident, $bits:ty, $digits:literal) => {
        impl $name {
            /// A fingerprint with these bits.
            pub const fn from_bits(bits: $bits) -> Self {
                Self(bits)
            }

            /// The bits of the fingerprint.
            pub const fn bits(self) -> $bits {
                self.0
            }

            /// The Hamming distance: the number of differing bits.
            pub const fn distance(self, other: Self) -> u32 {
                (self.0 ^ other.0).count_ones()
            }
        }

        /// Writes hexadecimal digits in lower case, zero-padded.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{:0", $digits, "x}"), self.0)
            }
        }

        impl fmt::LowerHex for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerHex::fmt(&self.0, f)
            }
        }

        impl From<$bits> for $name {
            fn from(bits: $bits) -> Self {
                Self(bits)
            }
        }

        impl From<$name> for $bits {
            fn from(fingerprint: $name) -> Self {
                fingerprint.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

fingerprint!(Fingerprint, u64, "16");
fingerprint!(Fingerprint128, u128, "32");

impl Fingerprint {
    /// The number of bits, the largest distance and the largest radius: 64.
    pub const BITS: u32 = u64::BITS;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_converts_to_its_bits_and_back() {
        let fingerprint = Fingerprint::from(0xab);
        assert_eq!(u64::from(fingerprint), 0xab);
        assert_eq!(format!("{fingerprint:x} {fingerprint:#06x}"), "ab 0x00ab");
        assert_eq!(u128::from(Fingerprint128::from(7)), 7);
    }

    #[test]
    fn distance_is_the_number_of_differing_bits() {
        let a = Fingerprint::from_bits(0b10101);
        let b = Fingerprint::from_bits(0b00110);
        assert_eq!(a.distance(b), 3);
        assert_eq!(
            Fingerprint::from_bits(0).distance(Fingerprint::from_bits(u64::MAX)),
            64
        );
    }
}
