//! The class `Fingerprint`.

use pyo3::prelude::*;

use crate::numbers::whole_number;

/// The 64 bits that a recipe makes of a text. int() and hex() convert a fingerprint; distance is
/// the number of bits in which two fingerprints differ.
///
/// A fingerprint is a type of its own, so that a number in a column of texts is refused, and is
/// never taken for the fingerprint of a text.
#[pyclass(frozen, eq, ord, hash, from_py_object, module = "simdb")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

#[pymethods]
impl Fingerprint {
    /// The fingerprint with these bits, an int from 0 to 2**64 - 1.
    #[new]
    fn new(bits: &Bound<'_, PyAny>) -> PyResult<Self> {
        whole_number(bits, "a fingerprint", "an int (the bits of a fingerprint)").map(Self)
    }

    /// The number of bits in which this fingerprint differs from another fingerprint, from 0 to 64.
    fn distance(&self, other: &Self) -> u32 {
        (self.0 ^ other.0).count_ones()
    }

    /// The bits as 16 hexadecimal digits, as the command line prints them.
    fn hex(&self) -> String {
        format!("{:016x}", self.0)
    }

    fn __int__(&self) -> u64 {
        self.0
    }

    fn __index__(&self) -> u64 {
        self.0
    }

    fn __getnewargs__(&self) -> (u64,) {
        (self.0,)
    }

    fn __str__(&self) -> String {
        self.hex()
    }

    fn __repr__(&self) -> String {
        format!("Fingerprint(0x{:016x})", self.0)
    }
}

impl From<simdb::Fingerprint> for Fingerprint {
    fn from(fingerprint: simdb::Fingerprint) -> Self {
        Self(fingerprint.bits())
    }
}
