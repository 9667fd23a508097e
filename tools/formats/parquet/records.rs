//! [`ParquetRecords`]: the rows of a file as documents.

use anyhow::{Context, Result, ensure};
use simdb::{DocId, Fingerprint, Timestamp};

use super::column::{Cell, Column};
use super::file::ParquetFile;
use super::metadata::recipe_of;
use super::schema::{Chosen, Leaf};
use crate::formats::edge::at_edge;
use crate::formats::score::Score;
use crate::formats::time::{time_of_ms, time_of_number, time_of_text};
use crate::formats::{
    Content, Fields, Item, Records, fingerprint_of, id_of_digits, not_an_id, text_of, utf8,
};

/// Reads the rows of a file, counted from 0.
pub struct ParquetRecords {
    file: ParquetFile,
    chosen: Chosen,
    max_text_bytes: usize,
    /// The row group after the one that is being read.
    next_group: usize,
    columns: Option<Columns>,
    /// The number of the next row.
    row: u64,
    /// How many rows there are up to the end of the group that is being read.
    group_end: u64,
}

/// The columns of a row group.
struct Columns {
    id: Column,
    text: Option<Column>,
    fingerprint: Option<Column>,
    reliable: Option<Column>,
    time: Option<Column>,
    score: Option<Column>,
}

/// A row of them.
struct Row {
    id: Cell,
    text: Option<Cell>,
    fingerprint: Option<Cell>,
    reliable: Option<Cell>,
    time: Option<Cell>,
    score: Option<Cell>,
}

impl ParquetRecords {
    /// Reads rows by the columns that these fields name, or those of simdb's own files.
    pub fn new(file: ParquetFile, fields: &Fields) -> Result<Self> {
        let chosen = chosen(&file, fields)?;
        Ok(Self {
            file,
            chosen,
            max_text_bytes: fields.max_text_bytes,
            next_group: 0,
            columns: None,
            row: 0,
            group_end: 0,
        })
    }

    /// Refuses a file that lacks one of these columns.
    pub fn check(file: &ParquetFile, fields: &Fields) -> Result<()> {
        chosen(file, fields).map(drop)
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(columns) = &mut self.columns {
                if let Some(row) = columns.next()? {
                    return Ok(Some(row));
                }
                ensure!(
                    self.row == self.group_end,
                    "it is damaged: a row group has not as many rows as it says"
                );
                self.columns = None;
            }
            if self.next_group == self.file.metadata().num_row_groups() {
                return Ok(None);
            }
            let group = self.next_group;
            self.next_group += 1;
            let rows = u64::try_from(self.file.metadata().row_group(group).num_rows())?;
            self.group_end = self.row.saturating_add(rows);
            self.columns = Some(Columns::of(&self.chosen, &self.file, group)?);
        }
    }
}

fn chosen(file: &ParquetFile, fields: &Fields) -> Result<Chosen> {
    match reads_own(fields) && recipe_of(file)?.is_some() {
        true => Chosen::own(file),
        false => Chosen::by_fields(file, fields),
    }
}

/// Whether nobody has said which columns to read, so that simdb's own files are known by what they
/// say of themselves.
pub fn reads_own(fields: &Fields) -> bool {
    let unnamed = (fields.id.as_str(), fields.text.as_deref()) == ("id", Some("text"));
    unnamed && fields.fingerprint.is_none() && fields.time.is_none()
}

impl Records for ParquetRecords {
    fn next(&mut self) -> Result<Option<Item>> {
        let number = self.row;
        let row = at_edge(|| self.next_row());
        let row =
            row.with_context(|| format!("cannot read {} beyond row {number}", self.file.name()))?;
        let Some(row) = row else {
            return Ok(None);
        };
        self.row += 1;
        Ok(Some(match id_of(&row.id, &self.chosen.id) {
            Ok(id) => Item::of(number, id, content(row, &self.chosen, self.max_text_bytes)),
            Err(reason) => Item::reject(number, None, reason),
        }))
    }
}

impl Columns {
    fn of(chosen: &Chosen, file: &ParquetFile, group: usize) -> Result<Self> {
        let column = |leaf: &Option<Leaf>| {
            leaf.as_ref()
                .map(|leaf| leaf.column(file, group))
                .transpose()
        };
        Ok(Self {
            id: chosen.id.column(file, group)?,
            text: column(&chosen.text)?,
            fingerprint: column(&chosen.fingerprint)?,
            reliable: column(&chosen.reliable)?,
            time: column(&chosen.time)?,
            score: column(&chosen.score)?,
        })
    }

    /// The next row; nothing when all columns end.
    fn next(&mut self) -> Result<Option<Row>> {
        let id = self.id.next()?;
        let is_there = id.is_some();
        let next = |column: &mut Option<Column>| {
            let Some(column) = column else {
                return Ok(None);
            };
            let cell = column.next()?;
            ensure!(
                cell.is_some() == is_there,
                "it is damaged: the columns of a row group are not equally long"
            );
            Ok(cell)
        };
        let (text, fingerprint) = (next(&mut self.text)?, next(&mut self.fingerprint)?);
        let (reliable, time) = (next(&mut self.reliable)?, next(&mut self.time)?);
        let score = next(&mut self.score)?;
        Ok(id.map(|id| Row {
            id,
            text,
            fingerprint,
            reliable,
            time,
            score,
        }))
    }
}

/// The id in a cell.
fn id_of(cell: &Cell, leaf: &Leaf) -> Result<DocId, String> {
    let id = match cell {
        Cell::Unsigned(id) => Ok(DocId(*id)),
        Cell::Signed(id) => match u64::try_from(*id) {
            Ok(id) => Ok(DocId(id)),
            Err(_) => Err(not_an_id(&id.to_string())),
        },
        Cell::Text(digits) => utf8(digits.data()).and_then(id_of_digits),
        Cell::Null => Err(not_an_id("null")),
        _ => Err(not_an_id("this")),
    };
    id.map_err(|reason| in_column(leaf, &reason))
}

fn content(row: Row, chosen: &Chosen, max_text_bytes: usize) -> Result<Content, String> {
    let text = match (row.text, &chosen.text) {
        (Some(cell), Some(leaf)) => Some(text(&cell, leaf, max_text_bytes)?),
        _ => None,
    };
    let fingerprint = match (row.fingerprint, &chosen.fingerprint) {
        (Some(cell), Some(leaf)) => Some((
            fingerprint(&cell).map_err(|reason| in_column(leaf, &reason))?,
            // As in the other formats, what does not say that it is unreliable is not.
            !matches!(row.reliable, Some(Cell::Boolean(false))),
        )),
        _ => None,
    };
    let arrival = match (row.time, &chosen.time) {
        (Some(cell), Some(leaf)) => Some(time(&cell).map_err(|reason| in_column(leaf, &reason))?),
        _ => None,
    };
    let score = match (row.score, &chosen.score) {
        (Some(cell), Some(leaf)) => Some(score(&cell).map_err(|reason| in_column(leaf, &reason))?),
        _ => None,
    };
    Ok(Content {
        text,
        fingerprint,
        arrival,
        score,
    })
}

fn text(cell: &Cell, leaf: &Leaf, max_text_bytes: usize) -> Result<String, String> {
    match cell {
        Cell::Text(bytes) => {
            let text = utf8(bytes.data()).map_err(|reason| in_column(leaf, &reason))?;
            text_of(text.to_owned(), max_text_bytes)
        }
        _ => Err(in_column(leaf, "it is null, a string is expected")),
    }
}

fn fingerprint(cell: &Cell) -> Result<Fingerprint, String> {
    match cell {
        Cell::Signed(bits) => Ok(Fingerprint::from_bits(*bits as u64)),
        Cell::Unsigned(bits) => Ok(Fingerprint::from_bits(*bits)),
        Cell::Text(digits) => utf8(digits.data()).and_then(fingerprint_of),
        _ => Err("it is null, a fingerprint is expected".to_owned()),
    }
}

fn time(cell: &Cell) -> Result<Timestamp, String> {
    match cell {
        Cell::Millis(ms) => time_of_ms(*ms),
        Cell::Text(text) => utf8(text.data()).and_then(time_of_text),
        Cell::Signed(number) => time_of_number(&(*number).into()),
        Cell::Unsigned(number) => time_of_number(&(*number).into()),
        Cell::Number(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => time_of_number(&number),
            None => Err(format!("{number} is not a time")),
        },
        Cell::Null | Cell::Boolean(_) => Err("it is null, a time is expected".to_owned()),
    }
}

fn score(cell: &Cell) -> Result<Score, String> {
    match cell {
        Cell::Signed(number) => Ok((*number).into()),
        Cell::Unsigned(number) => Ok((*number).into()),
        Cell::Number(number) => {
            Score::of_number(*number).ok_or_else(|| format!("{number} is not a number to go by"))
        }
        Cell::Text(digits) => utf8(digits.data()).and_then(Score::of_digits),
        _ => Err("it is null, a number is expected".to_owned()),
    }
}

fn in_column(leaf: &Leaf, reason: &str) -> String {
    format!("column {:?}: {reason}", leaf.name)
}
