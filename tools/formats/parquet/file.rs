//! [`ParquetFile`]: a file and what it says it holds, looked through before it is believed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Context, Result, bail, ensure};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use super::chunk::Chunk;
use super::pages::Pages;
use super::positioned::Positioned;
use super::thrift::Walk;
use crate::formats::edge::at_edge;

/// The most bytes that the description of a file may have. It is held in memory, and what is made
/// of it takes some ten times as much.
const MOST_FOOTER_BYTES: u64 = 64 << 20;

/// How deep columns may lie in one another.
const MOST_DEPTH: usize = 64;

/// A row group, or a column of one, is described in no fewer bytes.
const LEAST_DESCRIBED_BYTES: usize = 16;

/// The length of the description and the name of the format, at the end of a file.
const TAIL_BYTES: u64 = 8;

const MAGIC: &[u8] = b"PAR1";
const MAGIC_ENCRYPTED: &[u8] = b"PARE";

/// A Parquet file that is open, and what it says it holds.
pub struct ParquetFile {
    name: String,
    bytes: Arc<Positioned>,
    metadata: ParquetMetaData,
}

impl ParquetFile {
    /// Opens a file and reads its description. Bytes read from it are added to `bytes_read`.
    pub fn open(path: &Path, bytes_read: &Arc<AtomicU64>) -> Result<Self> {
        let name = path.display().to_string();
        let opened = at_edge(|| {
            let bytes = Positioned::open(path, bytes_read)?;
            let metadata = metadata(&bytes)?;
            Ok((bytes, metadata))
        });
        let (bytes, metadata) = opened.with_context(|| format!("cannot read {name}"))?;
        Ok(Self {
            name,
            bytes: Arc::new(bytes),
            metadata,
        })
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says it holds.
    pub fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// The value of a key that its writer has put beside the schema.
    pub fn value(&self, key: &str) -> Option<&str> {
        let pairs = self.metadata.file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// Whether there is a column of that name.
    pub fn has_column(&self, name: &str) -> bool {
        let schema = self.metadata.file_metadata().schema_descr();
        let mut fields = schema.root_schema().get_fields().iter();
        fields.any(|field| field.name() == name)
    }

    /// The pages of a column, which is counted among those that are not made of others, in a row
    /// group. To be called at the edge.
    pub fn pages(&self, group: usize, leaf: usize) -> Result<Pages> {
        let group = self.metadata.row_group(group);
        ensure!(
            leaf < group.num_columns(),
            "a row group lacks column {}",
            leaf
        );
        let column = group.column(leaf);
        let (start, len) = column.byte_range();
        ensure!(
            start
                .checked_add(len)
                .is_some_and(|end| end <= self.bytes.len_bytes()),
            "column {} reaches beyond the end of the file",
            column.column_path()
        );
        let chunk = Chunk::new(Arc::clone(&self.bytes), column.compression());
        Pages::new(chunk, column, usize::try_from(group.num_rows())?)
    }
}

/// The description at the end of a file.
fn metadata(bytes: &Positioned) -> Result<ParquetMetaData> {
    let mut tail = [0; TAIL_BYTES as usize];
    let footer_end = bytes.len_bytes().checked_sub(TAIL_BYTES);
    let footer_end = footer_end.context("it is no Parquet file: it is too short for one")?;
    bytes.read_exact_at(footer_end, &mut tail)?;
    let (len, magic) = tail.split_at(4);
    ensure!(
        magic != MAGIC_ENCRYPTED,
        "it is encrypted; write it without encryption"
    );
    ensure!(
        magic == MAGIC,
        "it is no Parquet file, or is cut: it does not end in PAR1"
    );
    let mut word = [0; 4];
    word.copy_from_slice(len);
    let len = u64::from(u32::from_le_bytes(word));
    ensure!(
        len <= MOST_FOOTER_BYTES,
        "its description has {len} bytes; at most {MOST_FOOTER_BYTES} are read: write it with \
         fewer, larger row groups"
    );
    let start = footer_end.checked_sub(len);
    let start = start.context("it is damaged: its description is longer than the file")?;
    let mut footer = vec![0; len as usize];
    bytes.read_exact_at(start, &mut footer)?;
    if look_through(&footer).is_none() {
        bail!("it is damaged: its description is cut, or describes more than it has room for");
    }
    Ok(ParquetMetaDataReader::decode_metadata(&footer)?)
}

/// Whether a description is whole, and makes no more of itself than its length allows. Nothing if
/// not.
fn look_through(footer: &[u8]) -> Option<()> {
    let mut walk = Walk::new(footer);
    let mut last = 0;
    while let Some(field) = walk.field(&mut last)? {
        match field.number {
            2 if field.is_list() => look_through_schema(&mut walk)?,
            4 if field.is_list() => look_through_groups(&mut walk)?,
            _ => walk.skip(field)?,
        }
    }
    Some(())
}

/// Columns are listed each before what it is made of, with how many these are.
fn look_through_schema(walk: &mut Walk<'_>) -> Option<()> {
    let elements = walk.structs()?;
    // How many are still to come, in each that the next one lies in.
    let mut open: Vec<usize> = Vec::new();
    for element in 0..elements {
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        let (mut last, mut children) = (0, 0);
        while let Some(field) = walk.field(&mut last)? {
            match field.number {
                5 if field.is_i32() => children = usize::try_from(walk.integer()?).ok()?,
                _ => walk.skip(field)?,
            }
        }
        if children > elements - element - 1 || open.len() >= MOST_DEPTH {
            return None;
        }
        open.push(children);
    }
    Some(())
}

fn look_through_groups(walk: &mut Walk<'_>) -> Option<()> {
    for _ in 0..described(walk)? {
        let mut last = 0;
        while let Some(field) = walk.field(&mut last)? {
            match field.number {
                1 if field.is_list() => {
                    for _ in 0..described(walk)? {
                        walk.skip_struct()?;
                    }
                }
                _ => walk.skip(field)?,
            }
        }
    }
    Some(())
}

/// Steps into a list of what takes much room once it is read.
fn described(walk: &mut Walk<'_>) -> Option<usize> {
    let len = walk.structs()?;
    (len <= walk.left_bytes() / LEAST_DESCRIBED_BYTES).then_some(len)
}
