//! [`Wording`]: the wording of passages without information, from the table `stamps.txt`.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use foldhash::fast::FixedState;

use super::piece::Piece;
use crate::text::table_lines;

const TABLE: &str = include_str!("../stamps.txt");

/// The wording of the passages, from the table `stamps.txt`.
#[derive(Default)]
pub(super) struct Wording {
    /// The words of a line of stamps, and the CJK phrases, the longest first.
    pub(super) pieces: HashMap<&'static str, Piece, FixedState>,
    pub(super) phrases: Vec<(&'static str, Piece)>,
    pub(super) truncations: Vec<&'static str>,
    pub(super) reposts: Vec<&'static str>,
    pub(super) titles: Vec<&'static str>,
    pub(super) agencies: Vec<&'static str>,
    pub(super) bureaus: Vec<&'static str>,
    pub(super) frames: Vec<&'static str>,
    pub(super) about: Vec<&'static str>,
    pub(super) corrections: HashSet<&'static str, FixedState>,
    pub(super) tails: Vec<&'static str>,
    pub(super) lines: HashSet<&'static str, FixedState>,
    pub(super) insertions: HashSet<&'static str, FixedState>,
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
            let piece = match class {
                "word" => Some(Piece::Word),
                "time" => Some(Piece::Time),
                "counter" => Some(Piece::Counter),
                "weak" => Some(Piece::WeakCounter),
                "date" => Some(Piece::Date),
                "unit" => Some(Piece::Unit),
                _ => None,
            };
            if let Some(piece) = piece {
                wording.pieces.extend(entries.map(|entry| (entry, piece)));
                continue;
            }
            match class {
                "truncation" => wording.truncations.extend(entries),
                "repost" => wording.reposts.extend(entries),
                "title" => wording.titles.extend(entries),
                "agency" => wording.agencies.extend(entries),
                "bureau" => wording.bureaus.extend(entries),
                "frame" => wording.frames.extend(entries),
                "about" => wording.about.extend(entries),
                "correction" => wording.corrections.extend(entries),
                "tail" => wording.tails.extend(entries),
                "line" => wording.lines.extend(entries),
                "insertion" => wording.insertions.extend(entries),
                "wire" => wording.wires.extend(entries),
                "site" => wording.sites.extend(entries),
                "link" => wording.links.extend(entries),
                "station" => wording.stations.extend(entries),
                "paper" => wording.papers.extend(entries),
                "ending" => wording.endings.extend(entries),
                _ => {}
            }
        }
        let pieces = wording.pieces.iter().map(|(key, piece)| (*key, *piece));
        wording.phrases = pieces.filter(|(key, _)| !key.is_ascii()).collect();
        // The start of a longer entry may be an entry.
        wording
            .phrases
            .sort_unstable_by_key(|(key, _)| (Reverse(key.len()), *key));
        wording.about.sort_by_key(|about| Reverse(about.len()));
        // The end of a longer mark may be a mark.
        wording.truncations.sort_by_key(|mark| Reverse(mark.len()));
        wording
    }
}
