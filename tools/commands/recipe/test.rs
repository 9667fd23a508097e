//! `simdb-cli recipe test`: the fingerprints of a recipe beside those of the software it imitates.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use simdb::{Fingerprinter, Recipe};

use super::cases::{Case, cases};
use crate::console::rows::cells;
use crate::console::table::{Align, Table};
use crate::console::{Answer, Output, note};

/// Compares a recipe with fingerprints that the software it equals made of the same texts
///
/// The file has one case a line, in JSON. Known are those of python-simhash (mode, input,
/// simhash64, simhash128), java-string-hash (text, simhash64, simhash128, token_hash64,
/// token_hash128) and cppjieba (text, cut, hash, keywords_N, simhash_N).
///
/// Prints the number of cases that agree for each part, then the first differences. For cppjieba,
/// words may be cut otherwise than by the original; that is reported, but decides only with --strict.
/// The exit code is 0 if all agree, 1 if some differ, 2 if the file cannot be read.
///
/// --json prints a line with recipe, agrees, parts (part, agree, cases, decides) and differences
/// (line, part, expected, found).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli recipe test python-simhash vectors.jsonl
  simdb-cli recipe test cppjieba vectors.jsonl --strict --json")]
pub(super) struct TestRecipe {
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

/// The start of the names of parts that depend on how words are cut.
const FROM_TEXT: &str = "text to ";

/// The most differences that are shown of each part.
const SHOWN: u64 = 3;

/// The outcome of all comparisons.
#[derive(Serialize)]
struct CaseReport {
    recipe: &'static str,
    agrees: bool,
    parts: Vec<ComparedPart>,
    differences: Vec<Difference>,
    /// `true` if words that are cut otherwise decide the exit code too.
    #[serde(skip)]
    strict: bool,
}

/// The comparisons of one kind.
#[derive(Serialize)]
struct ComparedPart {
    part: String,
    agree: u64,
    cases: u64,
    /// `true` if the exit code depends on this part.
    decides: bool,
}

#[derive(Serialize)]
struct Difference {
    line: u64,
    part: String,
    expected: String,
    found: String,
}

impl TestRecipe {
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
        let mut report = CaseReport {
            recipe: recipe.name(),
            agrees: true,
            parts: Vec::new(),
            differences: Vec::new(),
            strict: self.strict,
        };
        compare(&cases(&self.file)?, &mut report)
            .with_context(|| format!("cannot read {}", self.file.display()))?;
        let answer = Answer::from(report.agrees);
        output.decided(answer);
        output.row(&report, self.json)?;
        let mut parts = report.parts.iter();
        if parts.any(|part| !part.decides && part.agree < part.cases) {
            note("(*) words that are cut otherwise than by the original; --strict counts them");
        }
        Ok(answer)
    }
}

impl Display for CaseReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(&[Align::Left; 2]);
        for part in &self.parts {
            let decides = if part.decides { "" } else { " (*)" };
            let agree = format!("{} of {} agree{decides}", part.agree, part.cases);
            table.row(cells![part.part, agree]);
        }
        write!(f, "{table}")?;
        for difference in &self.differences {
            let Difference { line, part, .. } = difference;
            let (expected, found) = (&difference.expected, &difference.found);
            write!(
                f,
                "\nline {line}: {part}: expected {expected}, found {found}"
            )?;
        }
        Ok(())
    }
}

impl CaseReport {
    /// Adds one comparison.
    fn compare<T: PartialEq + Display>(&mut self, case: &Case, part: &str, expected: T, found: T) {
        let name = part;
        let decides = self.strict || !name.starts_with(FROM_TEXT);
        let index = self.parts.iter().position(|part| part.part == name);
        let index = index.unwrap_or_else(|| {
            self.parts.push(ComparedPart {
                part: name.to_owned(),
                agree: 0,
                cases: 0,
                decides,
            });
            self.parts.len() - 1
        });
        let part = &mut self.parts[index];
        part.cases += 1;
        if expected == found {
            part.agree += 1;
            return;
        }
        self.agrees &= !decides;
        if part.cases - part.agree <= SHOWN {
            self.differences.push(Difference {
                line: case.line,
                part: name.to_owned(),
                expected: expected.to_string(),
                found: found.to_string(),
            });
        }
    }
}

fn compare_java(cases: &[Case], report: &mut CaseReport) -> Result<()> {
    let java = Fingerprinter::new(Recipe::java_string_hash());
    for case in cases {
        let text = case.text("text")?;
        let [narrow, wide] = [bits(&java, text)?, java.fingerprint128(text)?.bits()];
        report.compare(case, "simhash64", case.bits("simhash64")?, narrow);
        report.compare(case, "simhash128", case.bits("simhash128")?, wide);
        if case.has("token_hash64") {
            let mut tokens = Vec::new();
            for (token, hash) in case.hashes("token_hash64")? {
                report.compare(case, "token_hash64", hash, java.hash(&token).into());
                tokens.push(token);
            }
            tokens.sort_unstable();
            report.compare(case, "tokens", tokens.join(" "), repeated(&java, text)?);
        }
        if case.has("token_hash128") {
            for (token, hash) in case.hashes("token_hash128")? {
                report.compare(case, "token_hash128", hash, java.hash128(&token)?);
            }
        }
    }
    Ok(())
}

fn compare_python(cases: &[Case], report: &mut CaseReport) -> Result<()> {
    let usual = Fingerprinter::new(Recipe::python_simhash());
    for case in cases {
        let mode = case.text("mode")?;
        let (narrow, wide) = match mode {
            "text" => {
                let text = case.text("input")?;
                let other;
                let python = if case.has("reg") {
                    let recipe = Recipe::python_simhash().with_characters(case.text("reg")?);
                    other =
                        Fingerprinter::new(recipe.with_context(|| format!("line {}", case.line))?);
                    &other
                } else {
                    &usual
                };
                if case.has("features") {
                    let features = case.texts("features")?.join(" ");
                    report.compare(case, "features", features, repeated(python, text)?);
                }
                (python.fingerprint(text)?, python.fingerprint128(text)?)
            }
            "features" | "features_weighted" => {
                let features = case.weights("input")?;
                let narrow = usual.fingerprint_tokens(&features)?;
                (narrow, usual.fingerprint128_tokens(&features)?)
            }
            _ => bail!("line {}: the mode {mode:?} is not known", case.line),
        };
        let narrow = u128::from(narrow.fingerprint.bits());
        let [part, wide_part] = ["simhash64", "simhash128"].map(|part| format!("{mode}, {part}"));
        report.compare(case, &part, case.bits("simhash64")?, narrow);
        report.compare(case, &wide_part, case.bits("simhash128")?, wide.bits());
    }
    Ok(())
}

fn compare_cppjieba(cases: &[Case], report: &mut CaseReport) -> Result<()> {
    compare_given_words(cases, report)?;
    let ends = cases.iter().flat_map(|case| case.ends_of_names("simhash_"));
    let tops: BTreeSet<_> = ends.filter(|end| !end.ends_with("_hex")).collect();
    // One recipe at a time, since each has a dictionary in memory.
    for top in tops {
        let recipe = match (top, top.parse()) {
            ("auto", _) => Recipe::cppjieba(),
            ("all", _) => Recipe::cppjieba().with_top(u32::MAX)?,
            (_, Ok(number)) => Recipe::cppjieba().with_top(number)?,
            _ => continue,
        };
        let cppjieba = Fingerprinter::new(recipe);
        let [simhash, keywords] = ["simhash", "keywords"].map(|start| format!("{start}_{top}"));
        for case in cases.iter().filter(|case| case.has(&simhash)) {
            let text = case.text("text")?;
            if case.has(&keywords) {
                let features = cppjieba.features(text)?.into_iter();
                let found = features.map(|f| (f.token, f.weight)).collect();
                let expected = shown(case.weights(&keywords)?);
                report.compare(case, "text to keywords", expected, shown(found));
            }
            let found = bits(&cppjieba, text)?;
            report.compare(case, "text to simhash", case.bits(&simhash)?, found);
        }
    }
    Ok(())
}

/// Compares words, hashes, and the fingerprints of given keywords.
fn compare_given_words(cases: &[Case], report: &mut CaseReport) -> Result<()> {
    let cppjieba = Fingerprinter::new(Recipe::cppjieba());
    for case in cases {
        if case.has("hash") {
            for (token, hash) in case.hashes("hash")? {
                report.compare(case, "hash", hash, cppjieba.hash(&token).into());
            }
        }
        for top in case.ends_of_names("keywords_") {
            let keywords = case.weights(&format!("keywords_{top}"))?;
            let made = cppjieba.fingerprint_tokens(&keywords)?.fingerprint;
            let expected = case.bits(&format!("simhash_{top}"))?;
            report.compare(case, "keywords to simhash", expected, made.bits().into());
        }
        if case.has("cut") {
            // Single characters, such as the white space that the original keeps, are left out.
            let shown = |mut words: Vec<String>| {
                words.retain(|word| word.chars().nth(1).is_some());
                words.join("/")
            };
            let found = shown(cppjieba.words(case.text("text")?));
            report.compare(case, "text to words", shown(case.texts("cut")?), found);
        }
    }
    Ok(())
}

fn bits(fingerprinter: &Fingerprinter, text: &str) -> Result<u128> {
    Ok(fingerprinter.fingerprint(text)?.fingerprint.bits().into())
}

/// Keywords with weights to the last digit.
fn shown(keywords: Vec<(String, f64)>) -> String {
    let keywords = keywords
        .iter()
        .map(|(word, weight)| format!("{word} {weight}"));
    keywords.collect::<Vec<_>>().join(", ")
}

/// The tokens of a text, each as often as it occurs, sorted.
fn repeated(fingerprinter: &Fingerprinter, text: &str) -> Result<String> {
    let features = fingerprinter.features(text)?.into_iter();
    let tokens = features.flat_map(|f| std::iter::repeat_n(f.token, f.weight as usize));
    let mut tokens: Vec<_> = tokens.collect();
    tokens.sort_unstable();
    Ok(tokens.join(" "))
}
