//! [`VerdictCounts`]: the number of lines with each verdict.

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::console::{counted, grouped, note};

/// The verdict on a line, in the order of the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) enum VerdictKind {
    New,
    Duplicate,
    Exists,
    /// The document was refused before as a copy.
    Seen,
    /// A stored document with the id or key of the line is replaced.
    Replaced,
    Expired,
    Rejected,
}

/// The names of the verdicts, in their order.
pub(super) const VERDICTS: [&str; 7] = [
    "new",
    "duplicate",
    "exists",
    "seen",
    "replaced",
    "expired",
    "rejected",
];

/// The number of lines with each verdict.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VerdictCounts(pub(super) [u64; VERDICTS.len()]);

impl VerdictCounts {
    /// Returns an error if no line was a document, and warns of the share of the lines that were
    /// none.
    pub(super) fn refuse_all_rejected(self) -> Result<()> {
        let Self([.., rejected]) = self;
        let lines = self.lines();
        ensure!(
            rejected == 0 || rejected < lines,
            "{} rejected; the answers have the reasons",
            match lines {
                1 => "the only line was".to_owned(),
                _ => format!("all {} were", counted(lines, "line")),
            }
        );
        if rejected > 0 {
            note(format_args!(
                "warning: {:.1}% of the lines were rejected",
                100.0 * rejected as f64 / lines as f64
            ));
        }
        Ok(())
    }

    pub(super) fn count(&mut self, verdict: VerdictKind) {
        self.0[verdict as usize] += 1;
    }

    pub(super) fn lines(self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) fn summary(self, started: Instant) -> String {
        let [new, duplicates, exist, seen, replaced, expired, rejected] = self.0;
        let lines = self.lines();
        let seconds = started.elapsed().as_secs_f64();
        let per_second = lines as f64 / seconds.max(f64::MIN_POSITIVE);
        // Only a database that records copies knows documents that are not stored.
        let seen = match seen {
            0 => String::new(),
            _ => format!("{} seen before, ", grouped(seen)),
        };
        let replaced = match replaced {
            0 => String::new(),
            _ => format!("{} replaced, ", grouped(replaced)),
        };
        format!(
            "{} in {seconds:.1} s, {} a second: {} new, {}, {} there already, {seen}{replaced}{} expired, \
             {} rejected",
            counted(lines, "line"),
            grouped(per_second as u64),
            grouped(new),
            counted(duplicates, "duplicate"),
            grouped(exist),
            grouped(expired),
            grouped(rejected),
        )
    }
}
