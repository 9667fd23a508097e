//! `simdb-cli check-report`: proves each line of a report of removals from the texts alone.
//!
//! - [`claim`]: the lines of a report
//! - [`texts`]: the texts that a report names
//! - [`ignored`]: the paragraphs or the frames that were not compared
//! - [`forgiven`]: the differences that the lines forgive

mod claim;
mod forgiven;
mod ignored;
mod texts;

use std::collections::HashSet;
use std::iter;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::json;
use simdb::{Database, Decision, Snapshot};

use self::claim::Claim;
use self::forgiven::ForgivenClass;
use self::ignored::{Ignored, uncompared_rule};
use self::texts::{ReportTexts, TextPlace};
use super::certificate::{Certifier, hash_of};
use super::input_options::InputOptions;
use super::json_object::for_each_object;
use super::open_to_read;
use crate::console::interrupt::Interrupt;
use crate::console::progress::ProgressMode;
use crate::console::{Output, counted};
use crate::corpus::frames::each_stored_texts;
use crate::corpus::records::InputRecords;
use crate::corpus::stream_copies::copies_of_streams;
use crate::corpus::uncompared::UncomparedRule;
use crate::formats::Wanted;

/// Proves each line of a report of `simdb-cli dedup` from the texts
///
/// For each removed document, the text of its keeper must cover the removed text. The verdict is
/// computed anew from both texts, as by `simdb-cli compare`, without an index or a database. A line
/// holds if
///
/// - both texts are where the line says, with the ids and the hashes of the line;
///
/// - the keeper is not removed itself, and no text is removed twice;
///
/// - the verdict is same, a_in_b or same_body, and the line has this verdict, these missing words
///   and these forgiven differences.
///
/// The differences that the lines forgive are printed by class, the rarest class first, each with
/// its count and its rarest pairs. A doubtful misspelling or number occurs once, so it is there.
///
/// A report with `by_place` numbers the records of all inputs, because dedup found an id twice or
/// was given --no-id.
///
/// A report of `dedup --ignore-repeated-paragraphs` has the number of documents from which on a
/// paragraph was not compared. The paragraphs of all inputs are counted again, both texts are
/// compared without their repeated paragraphs, and each repeated paragraph must be in a document
/// that is kept. A report of `dedup --ignore-frames` names the frames of both texts: each of these
/// lines must be at the head or the tail of that number of different documents, and the
/// texts are compared without their frames.
///
/// INPUT are the files that `dedup` read, with the options that say how they are read, such as
/// --text and --format. The report has all other options. A file may have moved: then its name
/// without the folder counts. Each file is given once. A keeper in the database of `dedup
/// --against` needs --against.
///
/// Each line that does not hold is printed with the reason, as REPORT:LINE: document ID: reason, or
/// with --json as {"line":3,"id":7,"reason":"..."}; then the counts. The exit code is 1 if a line
/// does not hold. Memory: some 400 bytes for each line; texts wait in a temporary file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli check-report removed.jsonl news.jsonl.gz
  simdb-cli check-report removed.jsonl today.jsonl --against all.simdb")]
pub struct CheckReport {
    /// The report
    #[arg(value_name = "REPORT")]
    report: PathBuf,

    #[command(flatten)]
    input: InputOptions,

    /// The database of `dedup --against`, which has the texts of some keepers
    #[arg(long, value_name = "DATABASE")]
    against: Option<PathBuf>,

    /// Print lines of JSON
    #[arg(long)]
    json: bool,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: ProgressMode,
}

/// Lines that are proved at a time, on all cores.
const BATCH_CLAIMS: usize = 1024;

/// The counts, with the field names of JSON.
#[derive(Serialize)]
struct CheckCounts {
    ok: bool,
    lines: usize,
    unproved: usize,
    /// The number of documents from which on paragraphs or frames were not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_documents: Option<u64>,
    /// The differences that the lines forgive, the rarest class first.
    forgiven: Vec<ForgivenClass>,
}

impl CheckReport {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let inputs = self.input.inputs()?;
        let claims = self.read_claims()?;
        ensure!(
            self.against.is_some() || !claims.iter().any(|claim| claim.is_against),
            "{} has keepers in a database; name the database with --against",
            self.report.display()
        );
        let interrupt = Interrupt::listen()?;
        let rule = uncompared_rule(&claims)?;
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        let inputs = match rule {
            Some(_) => copies_of_streams(inputs, folder.path(), &interrupt)?,
            None => inputs,
        };
        let records = InputRecords {
            inputs: &inputs,
            wanted: &self.wanted(&claims)?,
            progress: self.progress,
            interrupt: &interrupt,
        };
        let ignored = rule.map(|rule| Ignored::new(rule, &claims, folder.path(), &records));
        let mut ignored = ignored.transpose()?;
        let mut texts = ReportTexts::new(&inputs, &claims)?;
        let places = texts.places(&claims);
        let all_removed: HashSet<TextPlace> =
            places.iter().filter_map(|place| place.text).collect();
        texts.read(&records, |place, text| {
            if let Some(ignored) = &mut ignored {
                ignored.read(text, all_removed.contains(&place));
            }
        })?;
        let against = self.open_against(ignored.as_mut())?;
        let against = against.as_ref().map(Database::snapshot).transpose()?;

        let mut unproved = Vec::new();
        let mut removed = HashSet::new();
        let certifiers = [Decision::Contained, Decision::News].map(Certifier::new);
        for (claims, places) in claims.chunks(BATCH_CLAIMS).zip(places.chunks(BATCH_CLAIMS)) {
            interrupt.check()?;
            let mut pairs = Vec::new();
            for (claim, place) in claims.iter().zip(places) {
                let is_first = place.text.is_none_or(|text| removed.insert(text));
                let is_kept = place
                    .keeper
                    .is_none_or(|keeper| !all_removed.contains(&keeper));
                let pair = match (is_first, is_kept) {
                    (false, _) => Err("an earlier line removes the same record".to_owned()),
                    (_, false) => Err(format!(
                        "its keeper, document {}, is removed too",
                        claim.keeper
                    )),
                    _ => texts.pair(claim, place, &|id| stored_text(against.as_ref(), id))?,
                };
                pairs.push((claim, pair));
            }
            unproved.extend(unproved_of(pairs, &certifiers, ignored.as_ref()));
        }
        self.print(&claims, &unproved, rule, output)
    }

    /// Prints the lines that do not hold, each with its reason, and the counts.
    fn print(
        &self,
        claims: &[Claim],
        unproved: &[(&Claim, String)],
        rule: Option<UncomparedRule>,
        output: &mut Output,
    ) -> Result<()> {
        output.decide(unproved.is_empty());
        let report = self.report.display();
        for (Claim { line, id, .. }, reason) in unproved {
            if self.json {
                output.json(&json!({"line": line, "id": id, "reason": reason}))?;
            } else {
                output.line(format_args!("{report}:{line}: document {id}: {reason}"))?;
            }
        }
        let counts = CheckCounts {
            ok: unproved.is_empty(),
            lines: claims.len(),
            unproved: unproved.len(),
            in_documents: rule.map(|rule| rule.field().1),
            forgiven: ForgivenClass::of(claims),
        };
        let text = || {
            let removals = counted(claims.len() as u64, "removal");
            let ignored = rule.map(|rule| {
                let (name, number) = (rule.name(), rule.field().1);
                format!("; {name} in {number} documents are not compared")
            });
            let ignored = ignored.unwrap_or_default();
            let counts_of_lines = match unproved.len() {
                0 => format!("proved  {removals}{ignored}"),
                count => format!("not proved  {count} of {removals}{ignored}"),
            };
            let classes = counts.forgiven.iter().map(ForgivenClass::to_string);
            let lines: Vec<_> = iter::once(counts_of_lines).chain(classes).collect();
            lines.join("\n")
        };
        output.print(self.json, || &counts, text)
    }

    /// Opens the database of `--against`, and reads its texts for what is not compared.
    fn open_against(&self, ignored: Option<&mut Ignored>) -> Result<Option<Database>> {
        let Some(path) = &self.against else {
            return Ok(None);
        };
        let against = open_to_read(path, Database::builder())?;
        if let Some(ignored) = ignored {
            each_stored_texts(&against, |texts| {
                texts.iter().for_each(|text| ignored.read(text, false));
                Ok(())
            })?;
        }
        Ok(Some(against))
    }

    fn read_claims(&self) -> Result<Vec<Claim>> {
        // A corpus without near-duplicates has an empty report.
        if std::fs::metadata(&self.report).is_ok_and(|file| file.is_file() && file.len() == 0) {
            return Ok(Vec::new());
        }
        let mut claims = Vec::new();
        for_each_object(&self.report, |line, fields| {
            claims.push(Claim::parse(line, fields)?);
            Ok(())
        })?;
        Ok(claims)
    }

    fn wanted(&self, claims: &[Claim]) -> Result<Wanted> {
        let mut fields = self.input.document_fields()?;
        fields.are_counted |= claims.iter().any(|claim| claim.is_by_place);
        ensure!(
            fields.text.is_some(),
            "check-report compares texts; name their field with --text"
        );
        Ok(self.input.wanted(fields))
    }
}

fn stored_text(against: Option<&Snapshot>, id: u64) -> Result<Result<String, String>> {
    // A line with such a keeper needs --against.
    let document = against.map(|against| against.get(id)).transpose()?;
    let text = document.flatten().and_then(|document| document.text);
    Ok(text.ok_or_else(|| format!("the database has no text of its keeper, document {id}")))
}

/// The lines that do not hold, each with the reason, in order.
fn unproved_of<'c>(
    pairs: Vec<(&'c Claim, Result<[String; 2], String>)>,
    certifiers: &[Certifier],
    ignored: Option<&Ignored>,
) -> Vec<(&'c Claim, String)> {
    let proved = pairs.into_par_iter().map(|(claim, pair)| {
        let pair = pair.and_then(|pair| match ignored {
            Some(ignored) => ignored.compared(claim, pair),
            None => Ok(pair),
        });
        let outcome = pair.and_then(|pair| prove(certifiers, claim, &pair));
        (claim, outcome)
    });
    let unproved = proved.filter_map(|(claim, outcome)| Some((claim, outcome.err()?)));
    unproved.collect()
}

/// Proves a line from both texts. Returns the reason if the line does not hold.
fn prove(
    certifiers: &[Certifier],
    claim: &Claim,
    [text, keeper]: &[String; 2],
) -> Result<(), String> {
    let Some(claimed) = &claim.certificate else {
        return Err("the line has no verdict, because dedup knew no texts".to_owned());
    };
    for (whose, text, hash) in [
        ("its text", text, &claimed.text_hash),
        ("the text of its keeper", keeper, &claimed.keeper_hash),
    ] {
        if hash_of(text) != *hash {
            return Err(format!("{whose} has changed since the report was written"));
        }
    }
    let mut certifiers = certifiers.iter();
    let is_of = |certifier: &&Certifier| certifier.weights() == claimed.weights;
    let Some(certifier) = certifiers.find(is_of) else {
        return Err(format!(
            "the report was decided with the weights {}, which this simdb does not have",
            claimed.weights
        ));
    };
    let found = certifier.certificate(text, keeper);
    if !matches!(found.verdict.as_str(), "same" | "a_in_b" | "same_body") {
        return Err(format!(
            "its keeper, document {}, does not cover it: {}, missing {}",
            claim.keeper, found.verdict, found.missing
        ));
    }
    for (what, found, claimed) in [
        ("verdict is", &json!(found.verdict), &json!(claimed.verdict)),
        ("missing words are", &found.missing, &claimed.missing),
        (
            "forgiven differences are",
            &found.forgiven,
            &claimed.forgiven,
        ),
    ] {
        if found != claimed {
            return Err(format!("the {what} {found}, not {claimed}"));
        }
    }
    Ok(())
}
