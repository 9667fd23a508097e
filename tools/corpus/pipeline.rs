//! [`Pipeline`]: reading and parsing on one thread, fingerprints on many, documents in the order
//! of the input.
//!
//! ```text
//! inputs ──reader──batches──> fingerprints (a pool of threads) ──batches──> `Pipeline::next`
//! ```
//!
//! Batches are bounded in records and in bytes of text, and few of them wait between the stages, so
//! memory is bounded however slow the last stage is. The threads are not joined: one that waits for
//! standard input must not keep an interrupted tool from ending.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use rayon::ThreadPool;
use rayon::prelude::*;
use simdb::{Document, Fingerprinter};

use super::inputs::Input;
use crate::console::interrupt::Interrupt;
use crate::console::progress::ProgressMode;
use crate::formats::{Item, MAX_TEXT_BYTES, Record, Records, Reject, Wanted, reader};

/// The most records of a batch.
const BATCH_RECORDS: usize = 8192;

/// A batch with this many bytes of text is full.
const BATCH_BYTES: usize = 4 << 20;

/// The number of batches that may wait between two stages.
const BATCHES_WAITING: usize = 2;

/// The most that the pipeline holds in ordinary records: six batches, and as much again for
/// the parts of records other than texts. Each batch may also hold one long text, of
/// [`MAX_TEXT_BYTES`] unless `--max-text` says less. The fingerprint of one of them at a time is made,
/// which may take 25 to 40 times as much.
pub const PIPELINE_BYTES: u64 = 12 * BATCH_BYTES as u64;

const _: () = assert!(BATCH_BYTES <= MAX_TEXT_BYTES);

/// The time after which a waiting tool looks for an interruption.
const PATIENCE: Duration = Duration::from_millis(100);

/// The inputs of a pipeline, and what is made of them.
pub struct PipelineConfig {
    /// The inputs in their order.
    pub inputs: Vec<Input>,
    pub wanted: Wanted,
    pub fingerprinter: Fingerprinter,
    /// The number of threads that make fingerprints. `None` for one per core.
    pub threads: Option<u16>,
    /// Documents come out with their texts.
    pub keep_texts: bool,
}

/// Records of one input, in order.
pub struct Batch<T> {
    /// The index of the input.
    pub input: usize,
    /// The records, bad ones among them.
    pub records: Vec<T>,
}

/// The outcome of reading a record.
pub enum Entry {
    /// A document, and its number in the input.
    Document(u64, Document),
    Reject(Reject),
}

/// A batch, or `None` after the last. A stage that ends without that has failed.
type Message<T> = Result<Option<Batch<T>>>;

/// The documents of inputs that are read by other threads. A progress bar shows how far they are.
pub struct Pipeline {
    entries: Receiver<Message<Entry>>,
    bytes_read: Arc<AtomicU64>,
    bar: ProgressBar,
    interrupt: Interrupt,
}

impl Pipeline {
    /// Starts to read.
    pub fn start(
        config: PipelineConfig,
        progress: ProgressMode,
        interrupt: Interrupt,
    ) -> Result<Self> {
        let PipelineConfig {
            inputs,
            wanted,
            fingerprinter,
            threads,
            keep_texts,
        } = config;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.map_or(0, usize::from))
            .build()
            .context("cannot start the threads that make fingerprints")?;
        let bar = progress.bytes(inputs.iter().map(|input| input.source.size_bytes()).sum());
        bar.set_prefix("reading");
        let bytes_read = Arc::<AtomicU64>::default();
        let (items_out, items) = sync_channel(BATCHES_WAITING);
        let (entries_out, entries) = sync_channel(BATCHES_WAITING);
        let counter = Arc::clone(&bytes_read);
        spawn("reader", move || {
            let outcome = read_all(&inputs, wanted, &counter, &items_out);
            // The receiver is gone if the tool has failed or was interrupted.
            let _ = items_out.send(outcome.map(|()| None));
        })?;
        spawn("fingerprints", move || {
            fingerprint_all(&pool, &fingerprinter, keep_texts, &items, &entries_out);
        })?;
        Ok(Self {
            entries,
            bytes_read,
            bar,
            interrupt,
        })
    }

    /// The next batch in the order of the inputs; `None` after the last. An error if the tool is to
    /// stop.
    pub fn next(&mut self) -> Result<Option<Batch<Entry>>> {
        loop {
            self.interrupt.check()?;
            self.bar
                .set_position(self.bytes_read.load(Ordering::Relaxed));
            match self.entries.recv_timeout(PATIENCE) {
                Ok(Ok(None)) => {
                    self.bar.finish_and_clear();
                    return Ok(None);
                }
                Ok(message) => return message,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("a thread of the loader failed; nothing was changed");
                }
            }
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .context("cannot start a thread")
        .map(drop)
}

/// Reads every input and sends its records. Ends early if the receiver is gone.
fn read_all(
    inputs: &[Input],
    mut wanted: Wanted,
    bytes_read: &Arc<AtomicU64>,
    items: &SyncSender<Message<Item>>,
) -> Result<()> {
    for (input, Input { source, format }) in inputs.iter().enumerate() {
        let mut reader = reader(*format, source, &wanted, bytes_read)?;
        loop {
            let records = read_batch(&mut *reader)?;
            if records.is_empty() {
                break;
            }
            if items.send(Ok(Some(Batch { input, records }))).is_err() {
                return Ok(());
            }
        }
        wanted.counted = reader.next_ids().or(wanted.counted);
    }
    Ok(())
}

/// The next records, as many as make a batch. None at the end of the input.
fn read_batch(reader: &mut dyn Records) -> Result<Vec<Item>> {
    let mut records = Vec::new();
    let mut bytes = 0;
    while records.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
        let Some(item) = reader.next()? else {
            break;
        };
        bytes += match &item {
            Item::Record(record) => record.content.text.as_ref().map_or(0, String::len),
            Item::Reject(reject) => reject.reason.len(),
        };
        records.push(item);
    }
    Ok(records)
}

/// Makes a document of every record, batch by batch. Ends early if the receiver is gone.
fn fingerprint_all(
    pool: &ThreadPool,
    fingerprinter: &Fingerprinter,
    keep_texts: bool,
    items: &Receiver<Message<Item>>,
    entries: &SyncSender<Message<Entry>>,
) {
    let entry = |item| match item {
        Item::Record(record) => entry_of(fingerprinter, keep_texts, record),
        Item::Reject(reject) => Entry::Reject(reject),
    };
    // To wake the pool takes longer than to copy fingerprints that are given.
    let is_work = |item: &Item| matches!(item, Item::Record(r) if r.content.fingerprint.is_none());
    let entries_of = |Batch { input, records }: Batch<Item>| Batch {
        input,
        records: if records.iter().any(is_work) {
            pool.install(|| records.into_par_iter().map(entry).collect())
        } else {
            records.into_iter().map(entry).collect()
        },
    };
    for message in items {
        let message = message.map(|batch| batch.map(entries_of));
        if entries.send(message).is_err() {
            return;
        }
    }
}

fn entry_of(fingerprinter: &Fingerprinter, keep_texts: bool, record: Record) -> Entry {
    let Record {
        number,
        id,
        content,
    } = record;
    match content.into_document(id, fingerprinter) {
        Ok(document) => {
            let text = document.text.filter(|_| keep_texts);
            Entry::Document(number, Document { text, ..document })
        }
        Err(error) => Entry::Reject(Reject {
            number,
            id: Some(id),
            reason: error.to_string(),
        }),
    }
}
