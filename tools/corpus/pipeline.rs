//! [`Pipeline`]: reading and parsing on one thread, fingerprints on many, documents in input order.
//!
//! ```text
//! inputs ──reader──batches──> fingerprints (a pool of threads) ──batches──> `Pipeline::next`
//! ```
//!
//! Batches are bounded in records and in bytes of text, and at most two batches wait between
//! stages, so memory is bounded even if the last stage is slow. The threads are not joined: a
//! thread that waits for standard input would keep an interrupted tool from exiting.

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

use super::filled_fields::FilledFields;
use super::inputs::Input;
use super::uncompared::Uncompared;
use crate::console::interrupt::Interrupt;
use crate::console::progress::ProgressMode;
use crate::formats::{InputRecord, Item, MAX_TEXT_BYTES, Records, Reject, Wanted, reader};

/// At most 8,192 records per batch: without texts, a batch would not reach its bytes.
const BATCH_RECORDS: usize = 8192;

/// A batch is full at 4 MiB of text. The last text of the batch may exceed this limit.
const BATCH_BYTES: usize = 4 << 20;

/// At most two batches wait between two stages. Then the earlier stage blocks.
const BATCHES_WAITING: usize = 2;

/// The bytes of six batches, and as much again for the parts of records other than texts. Each of
/// the two threads holds one batch, and two batches wait behind each thread. Not included: the
/// batch that the caller of [`Pipeline::next`] holds, one text of up to `--max-text` in each batch,
/// and the memory to fingerprint such a text, 25 to 40 times its size.
pub const PIPELINE_BYTES: u64 = 12 * BATCH_BYTES as u64;

const _: () = assert!(BATCH_BYTES <= MAX_TEXT_BYTES);

/// The time between two checks for Ctrl-C.
const INTERRUPT_CHECK: Duration = Duration::from_millis(100);

/// The inputs and the work of a pipeline.
pub struct PipelineConfig {
    /// The inputs in their order.
    pub inputs: Vec<Input>,
    pub wanted: Wanted,
    pub fingerprinter: Fingerprinter,
    /// The number of threads that compute fingerprints; `None` for one per core.
    pub threads: Option<u16>,
    pub texts: TextsKept,
    /// The parts that are removed from each text before its fingerprint is computed.
    pub uncompared: Option<Arc<Uncompared>>,
}

/// The texts that documents keep after their fingerprints are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextsKept {
    All,
    /// The texts whose fingerprints do not recognise a copy.
    Unreliable,
    None,
}

/// Consecutive records of one input.
pub struct RecordBatch<T> {
    /// The index of the input.
    pub input: usize,
    /// The records, including bad ones.
    pub records: Vec<T>,
}

/// The outcome of reading a record.
pub enum PipelineRecord {
    /// A document, and its number in the input.
    Document(u64, Document),
    Reject(Reject),
}

/// A batch, or `None` after the last. A panic only closes the channel, so `None` distinguishes
/// the end from a panic.
type Message<T> = Result<Option<RecordBatch<T>>>;

/// The documents of inputs that other threads read. A progress bar shows the bytes read.
pub struct Pipeline {
    results: Receiver<Message<PipelineRecord>>,
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
            texts,
            uncompared,
        } = config;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.map_or(0, usize::from))
            .build()
            .context("cannot start the threads that make fingerprints")?;
        let bar = progress.bytes(inputs.iter().map(|input| input.source.size_bytes()).sum());
        bar.set_prefix("reading");
        let bytes_read = Arc::<AtomicU64>::default();
        let (items_out, items) = sync_channel(BATCHES_WAITING);
        let (results_out, results) = sync_channel(BATCHES_WAITING);
        let counter = Arc::clone(&bytes_read);
        spawn("reader", move || {
            let outcome = read_all(&inputs, wanted, &counter, &items_out);
            // Sending fails only after the tool has failed or was interrupted.
            let _ = items_out.send(outcome.map(|()| None));
        })?;
        spawn("fingerprints", move || {
            let fingerprint =
                |record| fingerprint_record(&fingerprinter, uncompared.as_deref(), texts, record);
            fingerprint_all(&pool, &fingerprint, &items, &results_out);
        })?;
        Ok(Self {
            results,
            bytes_read,
            bar,
            interrupt,
        })
    }

    /// The next batch in input order; `None` after the last. An error after Ctrl-C.
    pub fn next(&mut self) -> Result<Option<RecordBatch<PipelineRecord>>> {
        loop {
            self.interrupt.check()?;
            self.bar
                .set_position(self.bytes_read.load(Ordering::Relaxed));
            match self.results.recv_timeout(INTERRUPT_CHECK) {
                Ok(Ok(None)) => {
                    self.bar.finish_and_clear();
                    return Ok(None);
                }
                Ok(message) => return message,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("a thread of the loader panicked; nothing was changed");
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

/// Reads all inputs and sends their records. Returns early if the receiver is dropped.
fn read_all(
    inputs: &[Input],
    mut wanted: Wanted,
    bytes_read: &Arc<AtomicU64>,
    items: &SyncSender<Message<Item>>,
) -> Result<()> {
    let mut filled = FilledFields::default();
    for (input, Input { source, format }) in inputs.iter().enumerate() {
        let mut reader = reader(*format, source, &wanted, bytes_read)?;
        // An empty batch is the end of the input.
        loop {
            let records = read_batch(&mut *reader)?;
            if records.is_empty() {
                break;
            }
            for item in &records {
                match item {
                    Item::Record(InputRecord { content, .. }) => {
                        filled.add(
                            content.fields.is_some(),
                            content.scope.is_some(),
                            content.copies.is_some(),
                        );
                        filled.add_texts(content.text_fields);
                    }
                    Item::Reject(reject) => filled.add_bad(&reject.reason, &wanted.fields),
                }
            }
            if items
                .send(Ok(Some(RecordBatch { input, records })))
                .is_err()
            {
                return Ok(());
            }
        }
        // Counted ids continue from input to input. An input with ids of its own keeps the count.
        wanted.counted = reader.next_ids().or(wanted.counted);
    }
    filled.warn_of_empty(&wanted.fields);
    Ok(())
}

/// The next batch; empty at the end of the input.
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

/// Turns records into documents, batch by batch. Returns early if the receiver is dropped.
fn fingerprint_all(
    pool: &ThreadPool,
    fingerprint: &(dyn Fn(InputRecord) -> PipelineRecord + Sync),
    items: &Receiver<Message<Item>>,
    results: &SyncSender<Message<PipelineRecord>>,
) {
    let fingerprint = |item| match item {
        Item::Record(record) => fingerprint(record),
        Item::Reject(reject) => PipelineRecord::Reject(reject),
    };
    // A batch whose records all have fingerprints does not wake the pool: the copies take less
    // time.
    let needs_fingerprint =
        |item: &Item| matches!(item, Item::Record(r) if r.content.fingerprint.is_none());
    let fingerprint_batch = |RecordBatch { input, records }: RecordBatch<Item>| RecordBatch {
        input,
        records: if records.iter().any(needs_fingerprint) {
            pool.install(|| records.into_par_iter().map(fingerprint).collect())
        } else {
            records.into_iter().map(fingerprint).collect()
        },
    };
    for message in items {
        let message = message.map(|batch| batch.map(fingerprint_batch));
        if results.send(message).is_err() {
            return;
        }
    }
}

fn fingerprint_record(
    fingerprinter: &Fingerprinter,
    uncompared: Option<&Uncompared>,
    texts: TextsKept,
    record: InputRecord,
) -> PipelineRecord {
    let InputRecord {
        number,
        id,
        mut content,
    } = record;
    if let Some(uncompared) = uncompared {
        let (group, text) = (content.group(), content.text.take());
        content.text = text.map(|text| uncompared.compared(group, text));
    }
    match content.into_document(id, fingerprinter) {
        Ok(document) => {
            let is_kept = match texts {
                TextsKept::All => true,
                TextsKept::Unreliable => !document.reliable,
                TextsKept::None => false,
            };
            let text = document.text.filter(|_| is_kept);
            PipelineRecord::Document(number, Document { text, ..document })
        }
        Err(error) => PipelineRecord::Reject(Reject {
            number,
            id: Some(id),
            reason: error.to_string(),
        }),
    }
}
