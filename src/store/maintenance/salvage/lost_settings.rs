//! The settings of a database that has lost them, as its readable parts show them.
//!
//! A setting that is missed loses the data of all documents, and turns rows of keys into documents.
//! The recipe, a window and the number of texts with a frame are in no other part of the file.

use redb::TableHandle;

use super::evidence::Evidence;
use super::source::{DamagedFile, OpenFile, SourceContent};
use crate::error::Result;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::disk::path::DbPath;
use crate::store::tables::frames::FRAMES;
use crate::store::tables::meta::Header;
use crate::store::tables::packed::damaged_ranges::{Part, rows_past_damage};
use crate::store::tables::schema::TEXTS;

/// The settings of a new database, as a list.
fn listed(header: &Header) -> String {
    let copies = format!("copies of which {} are stored", header.copies);
    let settings = [
        (header.keys, "keys"),
        (header.scopes, "scopes"),
        (header.fields, "fields"),
        (header.keep_texts, "texts"),
        (header.text_keys.is_some(), "similar search"),
        (header.retention.is_some(), "arrival times"),
        (header.copies > 0, &copies),
    ];
    let kept = settings.into_iter().filter(|(is_kept, _)| *is_kept);
    let names: Vec<&str> = kept.map(|(_, name)| name).collect();
    names.join(", ")
}

impl DamagedFile {
    /// The settings of a database whose header is lost: the settings that its readable parts show,
    /// and `asked`.
    pub(crate) fn lost_header(
        &mut self,
        asked: Header,
        target: &DbPath,
        progress: &ProgressHandler,
    ) -> Result<Header> {
        let reporter = ProgressReporter::new(progress, Stage::Salvage, None, target.path());
        let mut evidence = Evidence::default();
        match &self.content {
            SourceContent::Tables(file) => {
                file.show_settings(&mut evidence, &self.db_path, &reporter)?;
            }
            SourceContent::Pages(pages) => {
                pages.show_settings(&mut evidence, &self.db_path, &reporter)?;
            }
        }
        evidence.take_journals(&self.overlay);
        let (asked_window, asked_frames) = (asked.retention.is_some(), asked.frames > 0);
        let header = evidence.header(asked);
        let kept = match listed(&header) {
            empty if empty.is_empty() => "fingerprints alone".to_owned(),
            kept => kept,
        };
        (self.damage).push(format!(
            "the settings are lost: the new database keeps {kept}"
        ));
        self.lost_window = header.retention.is_some() && !asked_window;
        for (is_lost, what) in [
            (
                self.lost_window,
                "the window of the arrival times, if there was one, is lost; name it to keep it",
            ),
            (
                self.lost_window && header.copies > 0,
                "table refused is not read: its values depend on the window; name the window, or \
                 arrival times without one, to keep the refused documents",
            ),
            (
                evidence.has(FRAMES.name()) && !asked_frames,
                "the frames are lost; name the number of texts with a frame to learn them again",
            ),
        ] {
            self.damage.extend(is_lost.then(|| what.to_owned()));
        }
        Ok(header)
    }
}

impl OpenFile {
    fn show_settings(
        &self,
        evidence: &mut Evidence,
        db_path: &DbPath,
        reporter: &ProgressReporter,
    ) -> Result<()> {
        // A table that cannot be read is reported when its rows are.
        for name in db_path
            .catch_failed_reads(|| self.table_names(db_path))
            .unwrap_or_default()
        {
            evidence.take_table(&name);
        }
        let Some(rows) = self.table(TEXTS, db_path, &mut Vec::new()) else {
            return Ok(());
        };
        for part in rows_past_damage(&rows, 0, db_path) {
            if let Part::Read((id, sealed)) = part? {
                evidence.take_row(id, &sealed, db_path);
            }
            reporter.report()?;
        }
        Ok(())
    }
}
