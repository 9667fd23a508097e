//! [`Pipeline`]: reading and parsing on one thread, fingerprints on many, documents in the order
//! of the input.
//!
//! ```text
//! inputs ──reader──batches──> fingerprints (a pool of threads) ──batches──> whoever calls `next`
//! ```
//!
//! Batches are bounded in records and in bytes of text, and few of them wait anywhere, so memory
//! is bounded however slow the last stage is. The threads are not joined: one that waits for
//! standard input must not keep an interrupted tool from ending.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use rayon::ThreadPool;
use rayon::prelude::*;
use simdb::{Document, Fingerprinter};

use super::ledger::Input;
use crate::console::interrupt::Interrupt;
use crate::formats::{Item, MAX_TEXT_BYTES, Record, Reject, Wanted, reader};

/// The most records of a batch.
const BATCH_RECORDS: usize = 8192;

/// A batch with this many bytes of text is full.
const BATCH_BYTES: usize = 4 << 20;

/// How many batches may wait between two stages.
const BATCHES_WAITING: usize = 2;

/// What the pipeline holds at most, in ordinary records: six batches, with as much again for
/// what their records weigh apart from their texts. Each batch may also hold one long text, of
/// [`MAX_TEXT_BYTES`] unless `--max-text` says less; one of them at a time is made a fingerprint, which
/// may take 25 to 40 times as much.
pub const PIPELINE_BYTES: u64 = 12 * BATCH_BYTES as u64;

/// Nothing stored is larger than what is read.
const _: () = assert!(BATCH_BYTES <= MAX_TEXT_BYTES);

/// How often a waiting tool looks whether it was interrupted.
const PATIENCE: Duration = Duration::from_millis(100);

/// What is read, and how.
pub struct Plan {
    /// The inputs in their order.
    pub inputs: Vec<Input>,
    /// What is read of them.
    pub wanted: Wanted,
    /// Makes the fingerprints.
    pub fingerprinter: Fingerprinter,
    /// How many threads make fingerprints.
    pub threads: usize,
    /// Whether documents come out with their texts.
    pub keep_texts: bool,
}

/// Records of one input, in order.
pub struct Batch<T> {
    /// The place of the input among the inputs.
    pub input: usize,
    /// The records, bad ones among them.
    pub records: Vec<T>,
}

/// A document and where it was, or what is no document.
pub enum Entry {
    /// A document that was read at this line or offset.
    Document(u64, Document),
    /// Something that is none.
    Reject(Reject),
}

/// What is sent from stage to stage.
enum Message<T> {
    Batch(Batch<T>),
    /// All inputs are read. A stage that ends without saying so has failed.
    End,
    Failed(anyhow::Error),
}

/// Documents as they come out.
pub struct Pipeline {
    entries: Receiver<Message<Entry>>,
    bytes_read: Arc<AtomicU64>,
    interrupt: Interrupt,
}

impl Pipeline {
    /// Starts reading.
    pub fn start(plan: Plan, interrupt: Interrupt) -> Result<Self> {
        let bytes_read = Arc::<AtomicU64>::default();
        let (items_out, items) = sync_channel(BATCHES_WAITING);
        let (entries_out, entries) = sync_channel(BATCHES_WAITING);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(plan.threads)
            .build()
            .context("cannot start the threads that make fingerprints")?;
        let Plan {
            inputs,
            wanted,
            fingerprinter,
            keep_texts,
            ..
        } = plan;
        let counter = Arc::clone(&bytes_read);
        spawn("reader", move || {
            let last = match read_all(&inputs, wanted, &counter, &items_out) {
                Ok(()) => Message::End,
                Err(error) => Message::Failed(error),
            };
            // Nobody may be listening any more; then there is nobody to tell.
            let _ = items_out.send(last);
        })?;
        spawn("fingerprints", move || {
            fingerprint_all(&pool, &fingerprinter, keep_texts, &items, &entries_out);
        })?;
        Ok(Self {
            entries,
            bytes_read,
            interrupt,
        })
    }

    /// The next batch in the order of the inputs; `None` when all are read. `waiting` is called
    /// now and then with the bytes read so far.
    pub fn next(&mut self, waiting: impl Fn(u64)) -> Result<Option<Batch<Entry>>> {
        loop {
            self.interrupt.check()?;
            waiting(self.bytes_read.load(Ordering::Relaxed));
            match self.entries.recv_timeout(PATIENCE) {
                Ok(Message::Batch(batch)) => return Ok(Some(batch)),
                Ok(Message::End) => return Ok(None),
                Ok(Message::Failed(error)) => return Err(error),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(anyhow!(
                        "a thread of the loader failed; nothing was changed"
                    ));
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

/// Reads every input and sends its records. Ends early when nobody listens.
fn read_all(
    inputs: &[Input],
    mut wanted: Wanted,
    bytes_read: &Arc<AtomicU64>,
    items: &SyncSender<Message<Item>>,
) -> Result<()> {
    for (input, Input { source, format }) in inputs.iter().enumerate() {
        let mut records = reader(*format, source, &wanted, bytes_read)?;
        let mut batch = Vec::new();
        let mut batch_bytes = 0;
        while let Some(item) = records.next()? {
            batch_bytes += text_bytes(&item);
            batch.push(item);
            if batch.len() == BATCH_RECORDS || batch_bytes >= BATCH_BYTES {
                batch_bytes = 0;
                let records = std::mem::take(&mut batch);
                if items
                    .send(Message::Batch(Batch { input, records }))
                    .is_err()
                {
                    return Ok(());
                }
            }
        }
        wanted.counted = records.next_ids().or(wanted.counted);
        if !batch.is_empty()
            && items
                .send(Message::Batch(Batch {
                    input,
                    records: batch,
                }))
                .is_err()
        {
            return Ok(());
        }
    }
    Ok(())
}

fn text_bytes(item: &Item) -> usize {
    match item {
        Item::Record(record) => record.content.text.as_ref().map_or(0, String::len),
        Item::Reject(reject) => reject.reason.len(),
    }
}

/// Makes a document of every record, batch by batch. Ends early when nobody listens.
fn fingerprint_all(
    pool: &ThreadPool,
    fingerprinter: &Fingerprinter,
    keep_texts: bool,
    items: &Receiver<Message<Item>>,
    entries: &SyncSender<Message<Entry>>,
) {
    for message in items {
        let message = match message {
            Message::Batch(Batch { input, records }) => Message::Batch(Batch {
                input,
                records: fingerprint_batch(pool, fingerprinter, keep_texts, records),
            }),
            Message::End => Message::End,
            Message::Failed(error) => Message::Failed(error),
        };
        if entries.send(message).is_err() {
            return;
        }
    }
}

fn fingerprint_batch(
    pool: &ThreadPool,
    fingerprinter: &Fingerprinter,
    keep_texts: bool,
    records: Vec<Item>,
) -> Vec<Entry> {
    let entry = |item| match item {
        Item::Record(record) => {
            let (number, id) = (record.number, record.id);
            match document(fingerprinter, keep_texts, record) {
                Ok(document) => Entry::Document(number, document),
                Err(error) => Entry::Reject(Reject {
                    number,
                    id: Some(id),
                    reason: error.to_string(),
                }),
            }
        }
        Item::Reject(reject) => Entry::Reject(reject),
    };
    // Waking the pool costs more than fingerprints that are there already.
    let is_work = |item: &Item| matches!(item, Item::Record(r) if r.content.fingerprint.is_none());
    if records.iter().any(is_work) {
        pool.install(|| records.into_par_iter().map(entry).collect())
    } else {
        records.into_iter().map(entry).collect()
    }
}

fn document(
    fingerprinter: &Fingerprinter,
    keep_texts: bool,
    record: Record,
) -> simdb::Result<Document> {
    let document = record.content.into_document(record.id, fingerprinter)?;
    let text = document.text.filter(|_| keep_texts);
    Ok(Document { text, ..document })
}
