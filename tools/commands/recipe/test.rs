//! `simdb-cli recipe test`: the comparison of a recipe with the software that it imitates.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use simdb::{Fingerprinter, Recipe};

use super::cases::{Case, cases};
use crate::console::rows::cells;
use crate::console::table::{Align, Table};
use crate::console::{Output, note};

/// Compares a recipe with the fingerprints of the software that it imitates
///
/// The file has one case per line, in JSON. Fields for python-simhash: mode, input, simhash64,
/// simhash128. For java-string-hash: text, simhash64, simhash128, token_hash64, token_hash128. For
/// cppjieba: text, cut, hash, keywords_N, simhash_N.
///
/// Prints the number of cases that agree for each part, then the first differences. The recipe
/// cppjieba may cut words differently from the original: such differences are printed, and affect
/// the exit code only with --strict. The exit code is 0 if all cases agree, 1 if some differ, 2 if
/// the file cannot be read.
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

    /// Let differences that follow from differently cut words affect the exit code
    #[arg(long)]
    strict: bool,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The prefix of the names of parts that depend on the cut of words.
const FROM_TEXT: &str = "text to ";

/// At most 3 differences of each part are printed.
const SHOWN: u64 = 3;

#[derive(Serialize)]
struct CaseReport {
    recipe: &'static str,
    agrees: bool,
    parts: Vec<ComparedPart>,
    differences: Vec<Difference>,
    /// `true` if differently cut words affect the exit code.
    #[serde(skip)]
    strict: bool,
}

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
    pub(super) fn run(&self, output: &mut Output) -> Result<()> {
        let recipe = Recipe::by_name(&self.name)?;
        let compare = match recipe.name() {
            "python-simhash" => compare_python,
            "java-string-hash" => compare_java,
            "cppjieba" => compare_cppjieba,
            name => bail!(
                "no other software makes fingerprints by the recipe {name}; there are cases of \
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
        output.decide(report.agrees);
        output.print(self.json, || &report, || report.text())?;
        let mut parts = report.parts.iter();
        if parts.any(|part| !part.decides && part.agree < part.cases) {
            note("(*) words that are cut otherwise than by the original; --strict counts them");
        }
        Ok(())
    }
}

impl CaseReport {
    fn text(&self) -> String {
        let mut table = Table::new(&[Align::Left; 2]);
        for part in &self.parts {
            let decides = if part.decides { "" } else { " (*)" };
            let agree = format!("{} of {} agree{decides}", part.agree, part.cases);
            table.row(cells![part.part, agree]);
        }
        let mut text = table.to_string();
        for Difference {
            line,
            part,
            expected,
            found,
        } in &self.differences
        {
            text += &format!("\nline {line}: {part}: expected {expected}, found {found}");
        }
        text
    }

    fn compare<T: PartialEq + Display>(&mut self, case: &Case, name: &str, expected: T, found: T) {
        let decides = self.strict || !name.starts_with(FROM_TEXT);
        let index = self.parts.iter().position(|part| part.part == name);
        let index = index.unwrap_or_else(|| {
            let part = name.to_owned();
            self.parts.push(ComparedPart {
                part,
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
        for (token, hash) in case.hashes("token_hash128")? {
            report.compare(case, "token_hash128", hash, java.hash128(&token)?);
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
                let mut recipe = Recipe::python_simhash();
                if case.has("reg") {
                    recipe = (recipe.with_characters(case.text("reg")?))
                        .with_context(|| format!("line {}", case.line))?;
                }
                let python = Fingerprinter::new(recipe);
                if case.has("features") {
                    let features = case.texts("features")?.join(" ");
                    report.compare(case, "features", features, repeated(&python, text)?);
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
    // One recipe at a time, because each has a dictionary in memory.
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

/// Compares words, hashes, and fingerprints of keywords in the file.
fn compare_given_words(cases: &[Case], report: &mut CaseReport) -> Result<()> {
    let cppjieba = Fingerprinter::new(Recipe::cppjieba());
    for case in cases {
        for (token, hash) in case.hashes("hash")? {
            report.compare(case, "hash", hash, cppjieba.hash(&token).into());
        }
        for top in case.ends_of_names("keywords_") {
            let keywords = case.weights(&format!("keywords_{top}"))?;
            let made = cppjieba.fingerprint_tokens(&keywords)?.fingerprint;
            let expected = case.bits(&format!("simhash_{top}"))?;
            report.compare(case, "keywords to simhash", expected, made.bits().into());
        }
        if case.has("cut") {
            // The original keeps white space as words, so single characters are left out.
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

/// Keywords with their full weights.
fn shown(keywords: Vec<(String, f64)>) -> String {
    let keywords = keywords
        .iter()
        .map(|(word, weight)| format!("{word} {weight}"));
    keywords.collect::<Vec<_>>().join(", ")
}

/// The sorted tokens of a text, repeated as often as they occur.
fn repeated(fingerprinter: &Fingerprinter, text: &str) -> Result<String> {
    let features = fingerprinter.features(text)?.into_iter();
    let tokens = features.flat_map(|f| std::iter::repeat_n(f.token, f.weight as usize));
    let mut tokens: Vec<_> = tokens.collect();
    tokens.sort_unstable();
    Ok(tokens.join(" "))
}
