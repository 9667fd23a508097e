//! Tests of whole journal files: cut, damaged, torn, reused.

use proptest::prelude::*;
use tempfile::TempDir;

use super::frame::ALIGNMENT_BYTES;
use super::payload::tests::edit;
use super::*;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::store::tables::edit::{StoredDocument, TextEdit};

type Batch = (Vec<DocumentEdit>, Totals);

const DATABASE: u64 = 0x5eed_0123_4567_89ab;

fn generation(generation: u64) -> Identity {
    Identity {
        database: DATABASE,
        generation,
    }
}

/// A temporary folder for the journals of a database that need not exist.
struct Folder {
    _folder: TempDir,
    database: PathBuf,
    db_path: DbPath,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("docs.simdb");
        Self {
            db_path: DbPath::on_system_disk(&database),
            database,
            _folder: folder,
        }
    }

    fn file(&self) -> PathBuf {
        Journal::path(&self.database, 1)
    }

    fn create(&self, identity: Identity) -> Result<Journal> {
        Journal::create(&self.database, identity, &self.db_path)
    }

    fn journal_of(&self, batches: &[Batch]) -> Journal {
        let mut journal = self.create(generation(1)).unwrap();
        append(&mut journal, batches);
        journal
    }

    fn read(
        &self,
        identity: Identity,
        to_write: bool,
        visitor: &mut Visitor<'_>,
    ) -> Result<Lookup<Journal>> {
        let (database, db_path) = (&self.database, &self.db_path);
        Journal::read(database, identity, db_path, to_write, visitor, &mut Err)
    }

    fn replay(&self, identity: Identity) -> Result<(Lookup<Journal>, Vec<Batch>)> {
        let mut batches = Vec::new();
        let mut visitor = |edits, counts| {
            batches.push((edits, counts));
            Ok(())
        };
        let found = self.read(identity, true, &mut visitor)?;
        Ok((found, batches))
    }

    /// The batches of generation 1, after comparing `read` with `replay`.
    fn batches(&self) -> Result<Vec<Batch>> {
        let mut read = Vec::new();
        let mut visitor = |edits, counts| {
            read.push((edits, counts));
            Ok(())
        };
        let found = self.read(generation(1), false, &mut visitor)?;
        assert!(
            matches!(&found, Lookup::Found(journal) if !journal.is_sealed()),
            "{found:?}"
        );
        assert_eq!(self.replay(generation(1)).unwrap().1, read);
        Ok(read)
    }

    fn reopen(&self) -> Journal {
        match self.replay(generation(1)).unwrap() {
            (Lookup::Found(journal), _) => journal,
            (other, _) => panic!("{other:?}"),
        }
    }
}

fn append(journal: &mut Journal, batches: &[Batch]) {
    for (edits, counts) in batches {
        journal.append(edits, *counts).unwrap();
    }
}

fn insertion(id: u64, text: &str) -> DocumentEdit {
    DocumentEdit {
        id: DocId(id),
        before: None,
        after: Some(StoredDocument {
            fingerprint: Fingerprint::from_bits(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            reliable: true,
            arrival: None,
        }),
        text: TextEdit::put_without_keys(text),
        copies: None,
    }
}

fn counts(documents: u64) -> Totals {
    Totals {
        documents,
        latest_arrival: Some(Timestamp(documents)),
    }
}

/// One batch for each length: one insertion with a text of this length.
fn batches_of(lengths: &[usize]) -> Vec<Batch> {
    let batch = |(n, length): (usize, &usize)| {
        let id = n as u64 + 1;
        (vec![insertion(id, &"x".repeat(*length))], counts(id))
    };
    lengths.iter().enumerate().map(batch).collect()
}

fn is_corrupt<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Corrupt { .. }))
}

#[test]
fn sealed_journal_refuses_records_and_stays_sealed() {
    for lengths in [&[][..], &[10], &[300, 20_000], &[420]] {
        let folder = Folder::new();
        let batches = batches_of(lengths);
        let mut journal = folder.journal_of(&batches);
        journal.seal().unwrap();
        journal.seal().unwrap();
        let refused = journal.append(&[insertion(99, "late")], counts(99));
        assert!(matches!(refused, Err(Error::Storage { .. })), "{refused:?}");
        let end = journal.end as usize;
        drop(journal);
        let sound = std::fs::read(folder.file()).unwrap();
        // Also if a sector with one copy of the end marker is lost, and after `replay` rewrote
        // both.
        let sector = end / 512 * 512;
        for lost in [
            None,
            Some(end.max(sector)..sector + 512),
            Some(sector + 512..sector + 1024),
        ] {
            let mut bytes = sound.clone();
            if let Some(lost) = lost {
                bytes[lost].fill(0);
            }
            std::fs::write(folder.file(), bytes).unwrap();
            for _ in 0..2 {
                let mut read = Vec::new();
                let mut visitor = |edits, counts| {
                    read.push((edits, counts));
                    Ok(())
                };
                let found = folder.read(generation(1), false, &mut visitor);
                assert!(
                    matches!(&found, Ok(Lookup::Found(journal)) if journal.is_sealed()),
                    "{found:?}"
                );
                assert_eq!(read, batches);
                assert!(folder.reopen().is_sealed());
            }
        }
    }
}

#[test]
fn every_kind_of_change_is_replayed_in_order() {
    let state = |bits, reliable, arrival: Option<u64>| {
        Some(StoredDocument {
            fingerprint: Fingerprint::from_bits(bits),
            reliable,
            arrival: arrival.map(Timestamp),
        })
    };
    let states = [
        None,
        state(0, true, None),
        state(u64::MAX, false, None),
        state(5, true, Some(0)),
        state(6, false, Some(u64::MAX)),
    ];
    let texts = [
        TextEdit::Keep,
        TextEdit::Remove,
        TextEdit::put_without_keys(""),
        TextEdit::put_without_keys("短 text"),
        TextEdit::put_without_keys("long ".repeat(100_000)),
    ];
    let mut batches = vec![(Vec::new(), Totals::default())];
    for before in states {
        for after in states {
            let edits = texts.iter().enumerate().map(|(id, text)| DocumentEdit {
                id: DocId(id as u64),
                before,
                after,
                text: text.clone(),
                copies: None,
            });
            batches.push((edits.collect(), counts(3)));
        }
    }
    let folder = Folder::new();
    folder.journal_of(&batches);
    assert_eq!(folder.batches().unwrap(), batches);
}

#[test]
fn reopened_journal_accepts_records() {
    let folder = Folder::new();
    let batches = batches_of(&[10, 0, 70, 200, 3]);
    folder.journal_of(&batches[..2]);
    for position in 2..batches.len() {
        append(&mut folder.reopen(), &batches[position..=position]);
        assert_eq!(folder.batches().unwrap(), batches[..=position]);
    }
    assert_eq!(folder.reopen().used_bytes() % ALIGNMENT_BYTES, 0);
}

#[test]
fn file_keeps_its_length_until_it_is_full() {
    let folder = Folder::new();
    let mut journal = folder.create(generation(1)).unwrap();
    let length = || folder.file().metadata().unwrap().len();
    assert_eq!(length(), frame::MIN_FILE_BYTES);
    let batches = batches_of(&[1000; 2000]);
    for batch in &batches {
        let before = length();
        append(&mut journal, std::slice::from_ref(batch));
        assert!(length() == before || journal.used_bytes() > before);
        assert_eq!(length(), journal.length);
    }
    assert_eq!(folder.batches().unwrap(), batches);
}

#[test]
fn unfinished_record_ends_replay_without_error() {
    let folder = Folder::new();
    let batches = batches_of(&[10, 100]);
    let mut journal = folder.create(generation(1)).unwrap();
    append(&mut journal, &batches[..1]);
    let start = journal.used_bytes();
    append(&mut journal, &batches[1..]);
    let payload_end = start + 32 + payload::encoded_bytes(&batches[1].0);
    let bytes = std::fs::read(folder.file()).unwrap();
    for cut in start..=payload_end {
        let mut torn = bytes.clone();
        torn[cut as usize..].fill(0);
        std::fs::write(folder.file(), &torn).unwrap();
        let kept = if cut == payload_end { 2 } else { 1 };
        assert_eq!(folder.batches().unwrap(), batches[..kept], "{cut}");
        // The cut batch can be appended again.
        append(&mut folder.reopen(), &batches[kept..]);
        assert_eq!(folder.batches().unwrap(), batches, "{cut}");
        // No crash leaves a file that is shorter than its first length.
        std::fs::write(folder.file(), &bytes[..cut as usize]).unwrap();
        assert!(is_corrupt(&folder.batches()), "{cut}");
    }
}

#[test]
fn truncated_file_is_corrupt() {
    let folder = Folder::new();
    let batches = batches_of(&[300_000; 7]);
    let used = folder.journal_of(&batches).used_bytes();
    let bytes = std::fs::read(folder.file()).unwrap();
    assert!(used > frame::MIN_FILE_BYTES);
    for cut in (0..used as usize).step_by(9_973) {
        std::fs::write(folder.file(), &bytes[..cut]).unwrap();
        let read = folder.replay(generation(1));
        let is_missing = matches!(&read, Ok((Lookup::Missing, _)));
        assert!(
            is_corrupt(&read) || (cut < 32 && is_missing),
            "{cut}: {read:?}"
        );
    }
}

#[test]
fn flipped_byte_never_gives_other_batches() {
    let folder = Folder::new();
    let batches = batches_of(&[10, 0, 100]);
    let used = folder.journal_of(&batches).used_bytes();
    let bytes = std::fs::read(folder.file()).unwrap();
    let (mut whole, mut refused) = (0, 0);
    for position in 0..used as usize {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] ^= flip;
            std::fs::write(folder.file(), &damaged).unwrap();
            match folder.batches() {
                Ok(read) if read == batches => whole += 1,
                result => {
                    assert!(is_corrupt(&result), "{position}: {result:?}");
                    refused += 1;
                }
            }
        }
    }
    assert!(whole > 0 && refused > 0);
}

#[test]
fn lost_sector_is_never_read_as_end() {
    const SECTOR_BYTES: usize = 512;
    // The last record ends at every multiple of 64 in a sector, sometimes within the first sector.
    for last in (0..1600).step_by(64) {
        let folder = Folder::new();
        let batches = batches_of(&[10, last]);
        let used = folder.journal_of(&batches).used_bytes() as usize;
        let bytes = std::fs::read(folder.file()).unwrap();
        for start in (0..used).step_by(SECTOR_BYTES) {
            let mut damaged = bytes.clone();
            damaged[start..start + SECTOR_BYTES].fill(0);
            std::fs::write(folder.file(), &damaged).unwrap();
            let read = folder.replay(generation(1));
            assert!(is_corrupt(&read), "{last}, {start}: {read:?}");
        }
    }
}

#[test]
fn lost_record_before_others_is_corrupt() {
    let folder = Folder::new();
    let batches = batches_of(&[10, 0, 100]);
    let mut starts = Vec::new();
    let mut journal = folder.create(generation(1)).unwrap();
    for batch in &batches {
        starts.push(journal.used_bytes() as usize);
        append(&mut journal, std::slice::from_ref(batch));
    }
    let bytes = std::fs::read(folder.file()).unwrap();
    for lost in [0, 1] {
        let mut damaged = bytes.clone();
        damaged[starts[lost]..starts[lost + 1]].fill(0);
        std::fs::write(folder.file(), &damaged).unwrap();
        let message = folder.replay(generation(1)).unwrap_err().to_string();
        let expected = format!(
            "has lost record {lost}, which is before record {}",
            lost + 1
        );
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn longer_unfinished_record_is_not_read_after_a_shorter_one() {
    let batches = batches_of(&[10, 1000]);
    let shorter = batches_of(&[0, 20, 0, 30]);
    let folder = Folder::new();
    let mut journal = folder.journal_of(&batches[..1]);
    let start = journal.used_bytes() as usize;
    append(&mut journal, &batches[1..]);
    let end = journal.used_bytes() as usize;
    let mut whole = std::fs::read(folder.file()).unwrap();
    // A record that was never durable has no end marker.
    let beyond = RecordHeader::beyond_end(end as u64) as usize;
    whole[end..beyond].fill(0);
    for cut in (start..end - 64).step_by(16) {
        // The disk wrote either the first part of the record or the last.
        for lost in [cut..end, start..cut + 1] {
            let mut torn = whole.clone();
            torn[lost].fill(0);
            std::fs::write(folder.file(), &torn).unwrap();
            assert_eq!(folder.batches().unwrap(), batches[..1]);
            let mut expected = batches[..1].to_vec();
            for batch in &shorter {
                append(&mut folder.reopen(), std::slice::from_ref(batch));
                expected.push(batch.clone());
                assert_eq!(folder.batches().unwrap(), expected);
            }
        }
    }
}

#[test]
fn file_without_header_is_missing_and_can_be_created() {
    let folder = Folder::new();
    let begun = folder.create(generation(1)).map(drop);
    assert!(begun.is_ok());
    let bytes = std::fs::read(folder.file()).unwrap();
    let mut half = bytes.clone();
    half[20..32].fill(0);
    for unfinished in [&[][..], &[0; 31], &[0; 5000], &bytes[..31], &half] {
        std::fs::write(folder.file(), unfinished).unwrap();
        let (found, batches) = folder.replay(generation(1)).unwrap();
        assert!(matches!(found, Lookup::Missing) && batches.is_empty());
        let batches = batches_of(&[5]);
        folder.journal_of(&batches);
        assert_eq!(folder.batches().unwrap(), batches);
    }
}

#[test]
fn records_without_file_header_are_corrupt() {
    let folder = Folder::new();
    folder.journal_of(&batches_of(&[5, 5]));
    let mut bytes = std::fs::read(folder.file()).unwrap();
    bytes[..32].fill(0);
    std::fs::write(folder.file(), &bytes).unwrap();
    assert!(is_corrupt(&folder.replay(generation(1))));
    // Records of a generation that is not looked up are not damage.
    let (found, _) = folder.replay(generation(3)).unwrap();
    assert!(matches!(found, Lookup::Missing));
}

#[test]
fn file_of_other_generation_or_database_is_reported_and_kept() {
    let folder = Folder::new();
    folder.journal_of(&batches_of(&[5]));
    let foreign = Identity {
        database: DATABASE + 1,
        generation: 3,
    };
    for identity in [generation(3), foreign] {
        let (found, batches) = folder.replay(identity).unwrap();
        assert!(matches!(found, Lookup::Other(found) if found == generation(1)));
        assert!(batches.is_empty());
    }
    assert!(is_corrupt(&folder.create(foreign)));
    assert!(is_corrupt(&folder.create(generation(1))));
    assert_eq!(folder.batches().unwrap().len(), 1);
    assert!(folder.create(generation(3)).is_ok());
    assert!(is_corrupt(&folder.create(generation(1))));
}

#[test]
fn foreign_file_is_refused_and_unchanged() {
    let folder = Folder::new();
    let letter = "Dear reader, this is not a journal of anything.";
    std::fs::write(folder.file(), letter).unwrap();
    assert!(is_corrupt(&folder.replay(generation(1))));
    assert!(is_corrupt(&folder.create(generation(1))));
    assert_eq!(std::fs::read_to_string(folder.file()).unwrap(), letter);
}

#[test]
fn new_generation_takes_the_place_of_journals_without_commits_only() {
    let folder = Folder::new();
    let begin = |identity| Journal::begin(&folder.database, identity, &folder.db_path);
    let other = Identity {
        database: DATABASE + 1,
        generation: 1,
    };
    folder.journal_of(&batches_of(&[5]));
    let held = std::fs::read(folder.file()).unwrap();
    for identity in [other, generation(1)] {
        let refused = begin(identity).unwrap_err().to_string();
        assert!(refused.contains("docs.simdb.journal-1"), "{refused}");
        assert!(refused.contains("move that journal"), "{refused}");
    }
    // Damage to the only commit.
    let mut damaged = held.clone();
    damaged[100] ^= 1;
    std::fs::write(folder.file(), &damaged).unwrap();
    assert!(begin(other).is_err());
    assert_eq!(std::fs::read(folder.file()).unwrap(), damaged);
    // Generation 1 is in the tables when generation 3 begins.
    std::fs::write(folder.file(), &held).unwrap();
    drop(begin(generation(3)).unwrap());
    // Without commits.
    drop(begin(other).unwrap());
    drop(begin(generation(1)).unwrap());
    assert!(folder.batches().unwrap().is_empty());

    let letter = "Dear reader, this is not a journal of anything.";
    std::fs::write(folder.file(), letter).unwrap();
    let refused = begin(generation(1)).unwrap_err().to_string();
    assert!(refused.contains("move that journal"), "{refused}");
    assert_eq!(std::fs::read_to_string(folder.file()).unwrap(), letter);
}

#[cfg(unix)]
#[test]
fn link_is_not_followed() {
    let folder = Folder::new();
    let elsewhere = folder.database.with_file_name("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, folder.file()).unwrap();
    assert!(matches!(
        folder.create(generation(1)),
        Err(Error::Io { .. })
    ));
    std::fs::write(&elsewhere, "").unwrap();
    assert!(matches!(
        folder.create(generation(1)),
        Err(Error::Io { .. })
    ));
    assert!(matches!(
        folder.replay(generation(1)),
        Err(Error::Io { .. })
    ));
    assert_eq!(std::fs::read(&elsewhere).unwrap(), b"");
    Journal::remove(&folder.database, 1, &folder.db_path).unwrap();
    assert!(elsewhere.exists() && folder.create(generation(1)).is_ok());
}

#[test]
fn generations_alternate_between_two_files() {
    let folder = Folder::new();
    let name = |number| {
        let path = Journal::path(&folder.database, number);
        path.file_name().unwrap().to_str().unwrap().to_owned()
    };
    assert_eq!(name(1), "docs.simdb.journal-1");
    assert_eq!(name(2), "docs.simdb.journal-2");
    assert_eq!(name(3), name(1));
    let (first, second) = (batches_of(&[1]), batches_of(&[2, 3]));
    folder.journal_of(&first);
    append(&mut folder.create(generation(2)).unwrap(), &second);
    assert_eq!(folder.batches().unwrap(), first);
    assert_eq!(folder.replay(generation(2)).unwrap().1, second);
}

#[test]
fn removed_file_is_missing() {
    let folder = Folder::new();
    Journal::remove(&folder.database, 1, &folder.db_path).unwrap();
    folder.journal_of(&batches_of(&[5]));
    Journal::remove(&folder.database, 1, &folder.db_path).unwrap();
    assert!(!folder.file().exists());
    let (found, _) = folder.replay(generation(1)).unwrap();
    assert!(matches!(found, Lookup::Missing));
}

#[test]
fn failed_write_poisons_journal_until_reopened() {
    let folder = Folder::new();
    let batches = batches_of(&[5, 6]);
    let mut journal = folder.journal_of(&batches[..1]);
    let writable = std::mem::replace(
        &mut journal.file,
        folder.db_path.disk().open(&folder.file(), false).unwrap(),
    );
    let (edits, counts) = &batches[1];
    let failed = journal.append(edits, *counts);
    assert!(matches!(failed, Err(Error::CommitUnknown { .. })));
    journal.file = writable;
    for _ in 0..2 {
        let refused = journal.append(edits, *counts);
        assert!(matches!(
            refused,
            Err(Error::Storage {
                action: "write",
                ..
            })
        ));
    }
    assert_eq!(folder.batches().unwrap(), batches[..1]);
    append(&mut folder.reopen(), &batches[1..]);
    assert_eq!(folder.batches().unwrap(), batches);
}

#[test]
fn failed_record_is_not_replayed() {
    let folder = Folder::new();
    let batches = batches_of(&[5, 6]);
    let mut journal = folder.journal_of(&batches);
    // The state after the sync of the second record has failed.
    let beyond = RecordHeader::beyond_end(journal.end) - journal.end;
    let end = journal
        .file
        .write_at(journal.end, &vec![0; beyond as usize]);
    end.unwrap();
    journal.end = FIRST_RECORD + 128;
    journal.records = 1;
    journal.poison();
    assert_eq!(folder.batches().unwrap(), batches[..1]);
}

#[test]
fn failed_growth_writes_nothing_and_loses_nothing() {
    let folder = Folder::new();
    let batches = batches_of(&[5, 2_000_000]);
    let mut journal = folder.journal_of(&batches[..1]);
    let writable = std::mem::replace(
        &mut journal.file,
        folder.db_path.disk().open(&folder.file(), false).unwrap(),
    );
    let (edits, counts) = &batches[1];
    let refused = journal.append(edits, *counts);
    assert!(matches!(
        refused,
        Err(Error::Storage {
            action: "write",
            ..
        })
    ));
    journal.file = writable;
    append(&mut journal, &batches[1..]);
    assert_eq!(folder.batches().unwrap(), batches);
}

#[test]
fn commit_above_record_limit_is_refused() {
    let folder = Folder::new();
    let mut journal = folder.create(generation(1)).unwrap();
    let text = TextEdit::put_without_keys("x".repeat(1 << 20));
    let edits: Vec<_> = (0..4096)
        .map(|id| DocumentEdit {
            text: text.clone(),
            ..insertion(id, "")
        })
        .collect();
    let refused = journal.append(&edits, counts(1));
    assert!(matches!(
        refused,
        Err(Error::Storage {
            action: "write",
            ..
        })
    ));
    let batches = batches_of(&[5]);
    append(&mut journal, &batches);
    assert_eq!(folder.batches().unwrap(), batches);
}

#[test]
fn visitor_error_ends_replay() {
    let folder = Folder::new();
    folder.journal_of(&batches_of(&[5, 6, 7]));
    let mut seen = 0;
    let mut visitor = |_, _| {
        seen += 1;
        Err(folder.db_path.corrupt("enough"))
    };
    let result = folder.read(generation(1), false, &mut visitor);
    assert!(is_corrupt(&result));
    assert_eq!(seen, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn reused_file_never_replays_older_generation(
        generations in proptest::collection::vec(
            proptest::collection::vec(proptest::collection::vec(edit(), 0..4), 0..6),
            1..5,
        ),
    ) {
        let folder = Folder::new();
        for (position, batches) in generations.iter().enumerate() {
            let identity = generation(2 * position as u64 + 1);
            let mut journal = folder.create(identity).unwrap();
            let mut expected = Vec::new();
            prop_assert_eq!(&folder.replay(identity).unwrap().1, &expected);
            for edits in batches {
                journal.append(edits, counts(7)).unwrap();
                expected.push((edits.clone(), counts(7)));
                prop_assert_eq!(&folder.replay(identity).unwrap().1, &expected);
            }
        }
    }
}
