//! [`Changed`]: the rows whose lines, sentences or groups have changed.

/// The number of rows, each with a 256th of all lines. Together at most 45 MiB, and 12 MiB usually.
pub(crate) const ROWS: usize = 256;

/// The [rows](ROWS) that have changed.
#[derive(Clone, Debug)]
pub(super) struct Changed(pub(super) [bool; ROWS]);

impl Default for Changed {
    fn default() -> Self {
        Self([false; ROWS])
    }
}

impl Changed {
    pub(super) fn add(&mut self, key: u64) {
        self.0[row_of(key)] = true;
    }

    pub(super) fn add_all(&mut self) {
        self.0 = [true; ROWS];
    }
}

/// The row of a key.
pub(super) fn row_of(key: u64) -> usize {
    (key >> 56) as usize
}
