//! The settings of tested databases.

use std::time::Duration;

use simdb::{Builder, Database, Retention};

use crate::SplitMix;
use crate::disk::SimDisk;

/// The retention window of databases that have one, in milliseconds.
pub const WINDOW_MS: u64 = 1000;

/// The settings of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub keep_texts: bool,
    pub similar: bool,
    pub retention: Option<Retention>,
    pub keys: bool,
    pub fields: bool,
    /// The copies of a document that are stored; 0 without copies.
    pub copies: u16,
    /// With keys.
    pub scopes: bool,
    pub cache_bytes: usize,
    /// Changes after which a memtable is sealed and flushed in the background, and a transaction
    /// continues in the tables; `None` for the default.
    pub seal_after_changes: Option<usize>,
}

impl Settings {
    pub fn drawn(sequence: &mut SplitMix) -> Self {
        let window = |sliding| Retention {
            window: Some(Duration::from_millis(WINDOW_MS)),
            sliding,
            ..Retention::default()
        };
        let mut settings = Self {
            cache_bytes: [1 << 20, 2 << 20, 16 << 20][sequence.below(3) as usize],
            ..Self::default()
        };
        match sequence.below(8) {
            0 | 1 => {}
            2 | 3 => settings.keep_texts = true,
            4 => settings.similar = true,
            5 => settings.retention = Some(window(sequence.below(2) == 0)),
            6 => {
                settings.keep_texts = true;
                settings.retention = Some(match sequence.below(2) {
                    0 => window(true),
                    _ => Retention::default(),
                });
            }
            _ => {
                settings.similar = sequence.below(2) == 0;
                settings.retention = Some(window(false));
            }
        }
        settings.seal_after_changes = match sequence.below(6) {
            0 => Some(4),
            1 => Some(16),
            2 => Some(100),
            _ => None,
        };
        if sequence.below(2) == 0 {
            settings.scopes = sequence.below(2) == 0;
            settings.keys = settings.scopes || sequence.below(2) == 0;
            settings.fields = sequence.below(2) == 0;
            settings.copies = [0, 2, 5][sequence.below(3) as usize];
        }
        settings
    }

    pub fn keeps_texts(&self) -> bool {
        self.keep_texts || self.similar
    }

    pub fn builder(&self, disk: &SimDisk) -> Builder {
        let builder = Database::builder()
            .disk(disk.for_database())
            .cache_bytes(self.cache_bytes)
            .keep_texts(self.keep_texts)
            .similar(self.similar)
            .keys(self.keys)
            .fields(self.fields)
            .scopes(self.scopes);
        let builder = match self.copies {
            0 => builder,
            newest => builder.copies(newest),
        };
        let builder = match self.retention {
            Some(retention) => builder.retention(retention),
            None => builder,
        };
        match self.seal_after_changes {
            Some(changes) => builder.merge_after_changes(changes),
            None => builder,
        }
    }
}
