//! [`Wording`]: the wording of passages without information, from the table `stamps.txt`.

use std::collections::HashSet;
use std::sync::OnceLock;

use foldhash::fast::FixedState;

use crate::text::table_lines;

const TABLE: &str = include_str!("../stamps.txt");

/// The wording of the passages, from the table `stamps.txt`.
#[derive(Default)]
pub(super) struct Wording {
    pub(super) words: HashSet<&'static str, FixedState>,
    pub(super) keys: HashSet<&'static str, FixedState>,
    pub(super) phrases: Vec<&'static str>,
    pub(super) truncations: Vec<&'static str>,
    pub(super) reposts: Vec<&'static str>,
    pub(super) credits: Vec<&'static str>,
    pub(super) agencies: Vec<&'static str>,
    pub(super) frames: Vec<&'static str>,
    pub(super) notices: Vec<&'static str>,
    pub(super) lines: HashSet<&'static str, FixedState>,
    pub(super) units: Vec<&'static str>,
    pub(super) wires: HashSet<&'static str, FixedState>,
    pub(super) sites: HashSet<&'static str, FixedState>,
    pub(super) papers: HashSet<&'static str, FixedState>,
    pub(super) stations: HashSet<&'static str, FixedState>,
    pub(super) links: HashSet<&'static str, FixedState>,
    pub(super) endings: Vec<&'static str>,
}

impl Wording {
    /// The table of this version of the crate.
    pub(super) fn builtin() -> &'static Self {
        static WORDING: OnceLock<Wording> = OnceLock::new();
        WORDING.get_or_init(|| Self::parse(TABLE))
    }

    fn parse(table: &'static str) -> Self {
        let mut wording = Self::default();
        for (class, entries) in table_lines(table).filter_map(|line| line.split_once(": ")) {
            let entries = entries.split(", ");
            match class {
                "word" => wording.words.extend(entries),
                "key" => wording.keys.extend(entries),
                "phrase" => wording.phrases.extend(entries),
                "truncation" => wording.truncations.extend(entries),
                "repost" => wording.reposts.extend(entries),
                "credit" => wording.credits.extend(entries),
                "agency" => wording.agencies.extend(entries),
                "frame" => wording.frames.extend(entries),
                "notice" => wording.notices.extend(entries),
                "line" => wording.lines.extend(entries),
                "unit" => wording.units.extend(entries),
                "wire" => wording.wires.extend(entries),
                "site" => wording.sites.extend(entries),
                "link" => wording.links.extend(entries),
                "station" => wording.stations.extend(entries),
                "paper" => wording.papers.extend(entries),
                "ending" => wording.endings.extend(entries),
                _ => {}
            }
        }
        // The end of a longer mark may be a mark.
        wording
            .truncations
            .sort_by_key(|mark| std::cmp::Reverse(mark.len()));
        wording
    }
}
