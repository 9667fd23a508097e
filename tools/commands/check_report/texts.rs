//! [`ReportTexts`]: the texts that a report names, in a temporary file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::claim::{Claim, ClaimedPlace};
use crate::corpus::inputs::Input;
use crate::corpus::records::InputRecords;
use crate::formats::Item;

/// The input and the number of a record.
pub type TextPlace = (usize, u64);

/// The places that a line names; `None` if the line has no such place.
pub struct ClaimPlaces {
    pub text: Option<TextPlace>,
    pub keeper: Option<TextPlace>,
}

/// The texts of the records that a report names.
pub struct ReportTexts<'i> {
    inputs: &'i [Input],
    /// The number of the input of each file that the report names.
    files: HashMap<String, usize>,
    /// The text of each place, or the reason why the record has none.
    records: HashMap<TextPlace, Result<SpooledText, String>>,
    spool: File,
}

/// A text in the temporary file.
#[derive(Clone, Copy)]
struct SpooledText {
    id: u64,
    offset: u64,
    len: usize,
}

const CANNOT: &str = "cannot use the temporary file of texts";

impl<'i> ReportTexts<'i> {
    /// Finds the input of each file. A file that is no input is an error.
    pub fn new(inputs: &'i [Input], claims: &[Claim]) -> Result<Self> {
        let mut texts = Self {
            inputs,
            files: HashMap::new(),
            records: HashMap::new(),
            spool: tempfile::tempfile().context(CANNOT)?,
        };
        for claim in claims {
            for place in [Some(&claim.place), claim.keeper_place.as_ref()] {
                let Some(ClaimedPlace { file, number }) = place else {
                    continue;
                };
                let input = match texts.files.get(file) {
                    Some(input) => *input,
                    None => {
                        let input = input_named(inputs, file, claim.line)?;
                        texts.files.insert(file.clone(), input);
                        input
                    }
                };
                let unread = Err("it is no document".to_owned());
                texts.records.insert((input, *number), unread);
            }
        }
        Ok(texts)
    }

    /// Reads the named texts of all inputs. Calls `visit` with the place and the text of each
    /// document.
    pub fn read(
        &mut self,
        records: &InputRecords<'_>,
        mut visit: impl FnMut(TextPlace, &str),
    ) -> Result<()> {
        let mut spool = BufWriter::new(&mut self.spool);
        let mut offset = 0;
        records.for_each("reading", |input, item| {
            let record = match item {
                Item::Record(record) => record,
                Item::Reject(reject) => {
                    if let Some(wanted) = self.records.get_mut(&(input, reject.number)) {
                        *wanted = Err(reject.reason);
                    }
                    return Ok(());
                }
            };
            let Some(text) = record.content.text else {
                return Ok(());
            };
            let place = (input, record.number);
            visit(place, &text);
            if let Some(wanted) = self.records.get_mut(&place) {
                spool.write_all(text.as_bytes()).context(CANNOT)?;
                *wanted = Ok(SpooledText {
                    id: record.id.0,
                    offset,
                    len: text.len(),
                });
                offset += text.len() as u64;
            }
            Ok(())
        })?;
        spool.flush().context(CANNOT)
    }

    /// The places of each line.
    pub fn places(&self, claims: &[Claim]) -> Vec<ClaimPlaces> {
        let place = |place: &ClaimedPlace| Some((*self.files.get(&place.file)?, place.number));
        let places = claims.iter().map(|claim| ClaimPlaces {
            text: place(&claim.place),
            keeper: claim.keeper_place.as_ref().and_then(place),
        });
        places.collect()
    }

    /// The texts of a removed document and of its keeper, or the reason why one is missing.
    pub fn pair(
        &mut self,
        claim: &Claim,
        places: &ClaimPlaces,
        stored: &dyn Fn(u64) -> Result<Result<String, String>>,
    ) -> Result<Result<[String; 2], String>> {
        let text = match self.text("its text", places.text, claim.id)? {
            Ok(text) => text,
            Err(reason) => return Ok(Err(reason)),
        };
        let keeper = if claim.is_against {
            stored(claim.keeper)?
        } else {
            self.text("its keeper", places.keeper, claim.keeper)?
        };
        Ok(keeper.map(|keeper| [text, keeper]))
    }

    fn text(
        &mut self,
        what: &str,
        place: Option<TextPlace>,
        id: u64,
    ) -> Result<Result<String, String>> {
        let Some(place) = place else {
            return Ok(Err(format!("{what} is not in the inputs")));
        };
        let location = self.inputs[place.0].location(place.1);
        let record = match &self.records[&place] {
            Ok(record) => *record,
            Err(reason) => return Ok(Err(format!("{what} is missing: {location}: {reason}"))),
        };
        if record.id != id {
            return Ok(Err(format!(
                "{what} is missing: {location} is document {}, not {id}",
                record.id
            )));
        }
        let mut bytes = vec![0; record.len];
        self.spool
            .seek(SeekFrom::Start(record.offset))
            .and_then(|_| self.spool.read_exact(&mut bytes))
            .context(CANNOT)?;
        Ok(Ok(String::from_utf8(bytes).context(CANNOT)?))
    }
}

/// The number of the input with this name, or else with this name without its folder.
fn input_named(inputs: &[Input], file: &str, line: u64) -> Result<usize> {
    let exact = inputs.iter().position(|input| input.source.name() == file);
    let last =
        |input: &Input| Path::new(input.source.name()).file_name() == Path::new(file).file_name();
    let mut moved = (0..inputs.len()).filter(|index| last(&inputs[*index]));
    // Two inputs of one name in different folders are told apart by their folders only.
    let moved = moved.next().filter(|_| moved.next().is_none());
    match exact.or(moved) {
        Some(input) => Ok(input),
        None => bail!(
            "line {line} of the report names {file}, which is not one of the inputs; name all files that \
             dedup read"
        ),
    }
}
