//! `simdb-cli recipe test`: the fingerprints of a recipe beside those of the software it equals.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use simdb::{Fingerprinter, Recipe};

use super::cases::{Case, cases};
use crate::console::table::{Align, Table};
use crate::console::{Answer, Output, note};

/// Compares a recipe with fingerprints that the software it equals made of the same texts
///
/// The file has one case a line, in JSON. Known are those of python-simhash (mode, input,
/// simhash64, simhash128), java-string-hash (text, simhash64, simhash128, token_hash64,
/// token_hash128) and cppjieba (text, cut, hash, keywords_N, simhash_N).
///
/// How many cases agree is printed for each part, then the first differences. For cppjieba, words
/// may be cut otherwise than by the original; that is reported, but decides only with --strict. The
/// exit code is 0 if all agree, 1 if some differ, 2 if the file cannot be read.
///
/// --json prints a line with recipe, agrees, parts (part, agree, cases, decides) and differences
/// (line, part, expected, found).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli recipe test python-simhash vectors.jsonl
  simdb-cli recipe test cppjieba vectors.jsonl --strict --json")]
pub(super) struct Test {
    /// The name of the recipe
    name: String,

    /// The cases; .gz and .zst are read through, - is standard input
    file: PathBuf,

    /// Let words that are cut otherwise, and what follows from that, decide the exit code too
    #[arg(long)]
    strict: bool,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Differences that are shown, of each part.
const SHOWN: usize = 3;

/// What was compared, part by part.
#[derive(Default)]
struct Report {
    parts: Vec<Part>,
    differences: Vec<Difference>,
}

/// Things of one kind.
#[derive(Serialize)]
struct Part {
    part: String,
    agree: u64,
    cases: u64,
    /// Whether the exit code depends on it.
    decides: bool,
}

/// Something that is not as it should be.
#[derive(Serialize)]
struct Difference {
    line: u64,
    part: String,
    expected: String,
    found: String,
}

#[derive(Serialize)]
struct ReportLine<'r> {
    recipe: &'static str,
    agrees: bool,
    parts: &'r [Part],
    differences: &'r [Difference],
}

impl Test {
    /// Compares, and prints what came of it.
    pub(super) fn run(&self, output: &mut Output) -> Result<Answer> {
        let recipe = Recipe::by_name(&self.name)?;
        let compare = match recipe.name() {
            "python-simhash" => compare_python,
            "java-string-hash" => compare_java,
            "cppjieba" => compare_cppjieba,
            name => bail!(
                "no other software makes fingerprints by the recipe {name}; known are cases of \
             python-simhash, java-string-hash and cppjieba"
            ),
        };
        let cases = cases(&self.file)?;
        let mut report = Report::default();
        compare(&cases, &mut report)
            .with_context(|| format!("cannot read {}", self.file.display()))?;
        if self.strict {
            report.parts.iter_mut().for_each(|part| part.decides = true);
        }
        let mut deciding = report.parts.iter().filter(|part| part.decides);
        let agrees = deciding.all(|part| part.agree == part.cases);
        let answer = if agrees { Answer::Yes } else { Answer::No };
        output.decided(answer);
        if self.json {
            output.json(&ReportLine {
                recipe: recipe.name(),
                agrees,
                parts: &report.parts,
                differences: &report.differences,
            })?;
        } else {
            print(&report, output)?;
        }
        if report
            .parts
            .iter()
            .any(|part| !part.decides && part.agree < part.cases)
        {
            note("(*) words that are cut otherwise than by the original; --strict counts them");
        }
        Ok(answer)
    }
}

fn print(report: &Report, output: &mut Output) -> Result<()> {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    for part in &report.parts {
        let decides = if part.decides { "" } else { " (*)" };
        let agree = format!("{} of {} agree{decides}", part.agree, part.cases);
        table.row([&part.part, "", &agree]);
    }
    for row in table.lines() {
        output.line(row)?;
    }
    for difference in &report.differences {
        let Difference {
            line,
            part,
            expected,
            found,
        } = difference;
        output.line(format_args!(
            "line {line}: {part}: expected {expected}, found {found}"
        ))?;
    }
    Ok(())
}

impl Report {
    /// Takes note of one comparison, which decides the exit code.
    fn compare<T: PartialEq + std::fmt::Display>(
        &mut self,
        line: u64,
        part: &str,
        expected: T,
        found: T,
    ) {
        self.note(line, part, true, expected, found);
    }

    fn note<T: PartialEq + std::fmt::Display>(
        &mut self,
        line: u64,
        name: &str,
        decides: bool,
        expected: T,
        found: T,
    ) {
        let agrees = expected == found;
        let part = match self.parts.iter_mut().position(|part| part.part == name) {
            Some(index) => &mut self.parts[index],
            None => {
                self.parts.push(Part {
                    part: name.to_owned(),
                    agree: 0,
                    cases: 0,
                    decides,
                });
                self.parts.last_mut().expect("one was just pushed")
            }
        };
        part.cases += 1;
        part.agree += u64::from(agrees);
        if !agrees && (part.cases - part.agree) as usize <= SHOWN {
            self.differences.push(Difference {
                line,
                part: name.to_owned(),
                expected: expected.to_string(),
                found: found.to_string(),
            });
        }
    }
}

fn compare_java(cases: &[Case], report: &mut Report) -> Result<()> {
    let java = Fingerprinter::new(Recipe::java_string_hash());
    for case in cases {
        let (line, text) = (case.line, case.text("text")?);
        let narrow = u128::from(java.fingerprint(text)?.fingerprint.bits());
        report.compare(line, "simhash64", case.bits("simhash64")?, narrow);
        report.compare(
            line,
            "simhash128",
            case.bits("simhash128")?,
            java.fingerprint128(text)?.bits(),
        );
        if case.has("token_hash64") {
            let hashes = case.hashes("token_hash64")?;
            for &(token, hash) in &hashes {
                report.compare(line, "token_hash64", hash, u128::from(java.hash(token)));
            }
            let mut tokens: Vec<_> = hashes.into_iter().map(|(token, _)| token).collect();
            tokens.sort_unstable();
            report.compare(
                line,
                "tokens",
                tokens.join(" "),
                repeated(&java, text)?.join(" "),
            );
        }
        if case.has("token_hash128") {
            for (token, hash) in case.hashes("token_hash128")? {
                report.compare(line, "token_hash128", hash, java.hash128(token)?);
            }
        }
    }
    Ok(())
}

fn compare_python(cases: &[Case], report: &mut Report) -> Result<()> {
    let usual = Fingerprinter::new(Recipe::python_simhash());
    for case in cases {
        let line = case.line;
        let mode = case.text("mode")?;
        let (narrow, wide) = match mode {
            "text" => {
                let text = case.text("input")?;
                let other;
                let python = match case.has("reg") {
                    true => {
                        let recipe = Recipe::python_simhash().with_characters(case.text("reg")?);
                        other = Fingerprinter::new(recipe.with_context(|| format!("line {line}"))?);
                        &other
                    }
                    false => &usual,
                };
                if case.has("features") {
                    let features = case.texts("features")?.join(" ");
                    report.compare(
                        line,
                        "features",
                        features,
                        repeated(python, text)?.join(" "),
                    );
                }
                (python.fingerprint(text)?, python.fingerprint128(text)?)
            }
            "features" | "features_weighted" => {
                let features = case.weights("input")?;
                (
                    usual.fingerprint_tokens(&features)?,
                    usual.fingerprint128_tokens(&features)?,
                )
            }
            _ => bail!("line {line}: the mode {mode:?} is not known"),
        };
        let narrow = u128::from(narrow.fingerprint.bits());
        report.compare(
            line,
            &format!("{mode}, simhash64"),
            case.bits("simhash64")?,
            narrow,
        );
        report.compare(
            line,
            &format!("{mode}, simhash128"),
            case.bits("simhash128")?,
            wide.bits(),
        );
    }
    Ok(())
}

fn compare_cppjieba(cases: &[Case], report: &mut Report) -> Result<()> {
    compare_hashes_and_sums(cases, report)?;
    let mut tops = BTreeSet::new();
    for case in cases {
        tops.extend(
            case.ends_of_names("simhash_")
                .filter(|end| !end.ends_with("_hex")),
        );
    }
    // One at a time, since each has a dictionary in memory.
    for top in tops {
        let recipe = match top {
            "auto" => Recipe::cppjieba(),
            "all" => Recipe::cppjieba().with_top(u32::MAX)?,
            number => match number.parse() {
                Ok(number) => Recipe::cppjieba().with_top(number)?,
                Err(_) => continue,
            },
        };
        let cppjieba = Fingerprinter::new(recipe);
        for case in cases {
            compare_texts(&cppjieba, top, case, report)?;
        }
    }
    Ok(())
}

/// What does not depend on how words are cut: hashes, and the fingerprints of keywords given.
fn compare_hashes_and_sums(cases: &[Case], report: &mut Report) -> Result<()> {
    let cppjieba = Fingerprinter::new(Recipe::cppjieba());
    for case in cases {
        let line = case.line;
        if case.has("hash") {
            for (token, hash) in case.hashes("hash")? {
                report.compare(line, "hash", hash, u128::from(cppjieba.hash(token)));
            }
        }
        for top in case.ends_of_names("keywords_") {
            let keywords = case.weights(&format!("keywords_{top}"))?;
            let made = cppjieba.fingerprint_tokens(&keywords)?;
            let expected = case.bits(&format!("simhash_{top}"))?;
            let found = u128::from(made.fingerprint.bits());
            report.compare(line, "keywords to simhash", expected, found);
        }
        if case.has("cut") {
            let (expected, found) = (case.texts("cut")?, cppjieba.words(case.text("text")?));
            let found = found.iter().map(String::as_str).collect();
            // White space that the original keeps is of no use to anyone.
            let shown = |words: Vec<&str>| {
                let words = words
                    .into_iter()
                    .filter(|word| word.chars().nth(1).is_some());
                words.collect::<Vec<_>>().join("/")
            };
            report.note(line, "text to words", false, shown(expected), shown(found));
        }
    }
    Ok(())
}

/// What follows from the words.
fn compare_texts(
    cppjieba: &Fingerprinter,
    top: &str,
    case: &Case,
    report: &mut Report,
) -> Result<()> {
    let simhash = format!("simhash_{top}");
    if !case.has(&simhash) {
        return Ok(());
    }
    let text = case.text("text")?;
    let keywords = format!("keywords_{top}");
    if case.has(&keywords) {
        let features = cppjieba.features(text)?;
        let found = features.iter().map(|f| (f.token.as_str(), f.weight));
        report.note(
            case.line,
            "text to keywords",
            false,
            shown(case.weights(&keywords)?),
            shown(found.collect()),
        );
    }
    let found = u128::from(cppjieba.fingerprint(text)?.fingerprint.bits());
    report.note(
        case.line,
        "text to simhash",
        false,
        case.bits(&simhash)?,
        found,
    );
    Ok(())
}

/// Keywords with weights to the last digit.
fn shown(keywords: Vec<(&str, f64)>) -> String {
    let keywords = keywords
        .iter()
        .map(|(word, weight)| format!("{word} {weight}"));
    keywords.collect::<Vec<_>>().join(", ")
}

/// The tokens of a text, each as often as it occurs, sorted.
fn repeated(fingerprinter: &Fingerprinter, text: &str) -> Result<Vec<String>> {
    let features = fingerprinter.features(text)?.into_iter();
    let tokens = features.flat_map(|f| std::iter::repeat_n(f.token, f.weight as usize));
    let mut tokens: Vec<_> = tokens.collect();
    tokens.sort_unstable();
    Ok(tokens)
}
