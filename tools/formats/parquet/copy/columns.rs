//! Columns of a row group, copied as levels and values: nested ones come along as they are.

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use parquet::basic::Type;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96Type,
};
use parquet::file::writer::SerializedRowGroupWriter;

use crate::formats::parquet::file::ParquetFile;

/// Copies the rows that are kept of all columns of a row group.
pub fn copy_columns<W: Write + Send>(
    file: &ParquetFile,
    group: usize,
    kept: &[bool],
    output: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let schema = file.metadata().file_metadata().schema_descr();
    for leaf in 0..schema.num_columns() {
        let copy = match schema.column(leaf).physical_type() {
            Type::BOOLEAN => copy_column::<BoolType, W>,
            Type::INT32 => copy_column::<Int32Type, W>,
            Type::INT64 => copy_column::<Int64Type, W>,
            Type::INT96 => copy_column::<Int96Type, W>,
            Type::FLOAT => copy_column::<FloatType, W>,
            Type::DOUBLE => copy_column::<DoubleType, W>,
            Type::BYTE_ARRAY => copy_column::<ByteArrayType, W>,
            Type::FIXED_LEN_BYTE_ARRAY => copy_column::<FixedLenByteArrayType, W>,
        };
        copy(file, (group, leaf), kept, output)?;
    }
    Ok(())
}

/// Copies the rows that are kept of one column.
fn copy_column<T: DataType, W: Write + Send>(
    file: &ParquetFile,
    (group, leaf): (usize, usize),
    kept: &[bool],
    output: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let descriptor = file.metadata().file_metadata().schema_descr().column(leaf);
    let has_lists = descriptor.max_rep_level() > 0;
    let deepest = descriptor.max_def_level();
    let pages = file.pages(group, leaf)?;
    let gate = pages.gate();
    let mut reader = ColumnReaderImpl::<T>::new(descriptor.clone(), Box::new(pages));
    let mut writer = output.next_column()?.context("there is no such column")?;
    let (mut row, mut is_next_page) = (0, false);
    let mut is_kept = false;
    loop {
        let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let (_, _, levels) = reader.read_records(
            gate.records(),
            Some(&mut definitions),
            Some(&mut repetitions),
            &mut values,
        )?;
        if levels == 0 {
            if is_next_page {
                break;
            }
            gate.open();
            is_next_page = true;
            continue;
        }
        is_next_page = false;
        let mut values = values.into_iter();
        let mut chosen = Chosen::<T>::default();
        for level in 0..levels {
            let is_start = !has_lists || repetitions.get(level) == Some(&0);
            if is_start {
                let Some(fate) = kept.get(row) else {
                    bail!("it is damaged: column {} is too long", descriptor.path());
                };
                is_kept = *fate;
                row += 1;
            }
            let definition = definitions.get(level).copied();
            let value = match definition {
                Some(definition) if definition != deepest => None,
                _ => values.next(),
            };
            if is_kept {
                chosen.definitions.extend(definition);
                chosen.repetitions.extend(repetitions.get(level));
                chosen.values.extend(value);
            }
        }
        writer.typed::<T>().write_batch(
            &chosen.values,
            (deepest > 0).then_some(&chosen.definitions),
            has_lists.then_some(&chosen.repetitions),
        )?;
    }
    ensure!(
        row == kept.len(),
        "it is damaged: column {} is too short",
        descriptor.path()
    );
    writer.close()?;
    Ok(())
}

/// What is kept of some records of a column.
struct Chosen<T: DataType> {
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    values: Vec<T::T>,
}

impl<T: DataType> Default for Chosen<T> {
    fn default() -> Self {
        Self {
            definitions: Vec::new(),
            repetitions: Vec::new(),
            values: Vec::new(),
        }
    }
}

/// Writes an optional column that is no part of another.
pub fn write_optional<T: DataType, W: Write + Send>(
    cells: impl Iterator<Item = Option<T::T>>,
    output: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let (mut definitions, mut values) = (Vec::new(), Vec::new());
    for cell in cells {
        definitions.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let mut writer = output.next_column()?.context("there is no such column")?;
    writer
        .typed::<T>()
        .write_batch(&values, Some(&definitions), None)?;
    writer.close()?;
    Ok(())
}
