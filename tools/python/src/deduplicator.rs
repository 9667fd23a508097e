//! Texts that an earlier text covers, and all pairs of similar texts.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods as _};
use pyo3::prelude::*;
use rayon::prelude::*;
use simdb::containment::Verdict;
use simdb::in_memory::{PreparedText, SimilarIndex, SimilarText};
use simdb::{Decision, Document, Fingerprint, OnExtended, Outcome, Similar, SimilarRule};

use crate::arguments::max_pairs_of;
use crate::comparison::is_compared;
use crate::error::{Failure, invalid_argument};
use crate::fingerprinter::part_length;
use crate::interruptible::{call, check, pool, run};
use crate::matches::words;
use crate::source::SimilarOptions;
use crate::table::Table;
use crate::texts::{Texts, copied};

/// Decides about texts in order: a text is removed if a kept text covers it.
#[pyclass(frozen, module = "simdb._simdb")]
pub struct Deduplicator(Mutex<simdb::in_memory::Deduplicator>);

/// A removed text: its number and the number of its keeper, the verdict about the removed text (a)
/// and its keeper (b), the words that are missing in the keeper, edit similarity and Jaccard index.
pub type Removal = (
    u64,
    u64,
    Option<&'static str>,
    Vec<(String, f64)>,
    Option<f64>,
    f64,
);

#[pymethods]
impl Deduplicator {
    #[new]
    #[pyo3(signature = (edit_similarity=None, jaccard=None, decision="contained"))]
    fn new(
        py: Python<'_>,
        edit_similarity: Option<f64>,
        jaccard: Option<f64>,
        decision: &str,
    ) -> PyResult<Self> {
        let least = Decision::join_likeness;
        let options = SimilarOptions::new(py, edit_similarity, jaccard, decision, least)?;
        let rule = SimilarRule {
            decision: options.decision,
            likeness: options.likeness,
            on_extended: OnExtended::KeepBoth,
        };
        let deduplicator = call(py, || Ok(simdb::in_memory::Deduplicator::new(rule)?))?;
        Ok(Self(Mutex::new(deduplicator.stopping_at_first())))
    }

    /// Decides about the next texts, which are the records of these numbers, and returns the
    /// removed texts in order. An empty text is not compared. With keep=False, the texts
    /// are compared with the kept texts only, and no more texts are kept.
    fn decide(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        numbers: PyReadonlyArray1<'_, u64>,
        keep: bool,
    ) -> PyResult<Vec<Removal>> {
        let numbers = copied(&numbers)?;
        let name = |index: usize| {
            let number = numbers.get(index);
            number.map_or(format!("text {index}"), |number| format!("record {number}"))
        };
        let texts = Texts::named(texts, &name)?;
        let texts = texts.borrow(py)?;
        if numbers.len() != texts.len() {
            return Err(invalid_argument(py, "a number for each text is expected"));
        }
        run(py, None, || {
            let (mut removals, mut done) = (Vec::new(), 0);
            let (mut rest, mut pace) = (&texts[..], Pace::default());
            while !rest.is_empty() {
                check("deciding", done as u64, None)?;
                let part = pace.take(&mut rest);
                let documents: Vec<Document> = (numbers[done..].iter().zip(part))
                    .filter(|(_, text)| is_compared(text))
                    .map(|(number, text)| Document::new(*number, NO_FINGERPRINT).with_text(*text))
                    .collect();
                done += part.len();
                // Not held by `check`, which may run a signal handler that reads `kept`.
                let deduplicator = &mut *self.lock();
                let removed = pace.measure(|| {
                    pool().install(|| match keep {
                        true => Ok(removed(deduplicator.decide(&documents)?)),
                        false => deduplicator.covered(&documents),
                    })
                })?;
                let removed = documents.iter().zip(removed);
                removals.extend(removed.filter_map(|(text, keeper)| Some(removal(text, keeper?))));
            }
            Ok(removals)
        })
    }

    /// The number of kept texts.
    #[getter]
    fn kept(&self, py: Python<'_>) -> usize {
        py.detach(|| self.lock().kept())
    }

    /// The bytes of memory that the kept texts take.
    #[getter]
    fn len_bytes(&self, py: Python<'_>) -> usize {
        py.detach(|| self.lock().len_bytes())
    }
}

impl Deduplicator {
    fn lock(&self) -> MutexGuard<'_, simdb::in_memory::Deduplicator> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Texts are compared, and no fingerprints.
const NO_FINGERPRINT: Fingerprint = Fingerprint::from_bits(0);

/// The keeper of each removed text.
fn removed(outcomes: Vec<Outcome>) -> Vec<Option<Similar>> {
    let keeper = |outcome| match outcome {
        Outcome::Similar(keeper) => Some(keeper),
        _ => None,
    };
    outcomes.into_iter().map(keeper).collect()
}

fn removal(removed: &Document, keeper: Similar) -> Removal {
    let verdict = keeper.verdict().map(Verdict::name);
    let missing = keeper.containment.map(|found| words(found.missing_in_b));
    (
        removed.id.0,
        keeper.id.0,
        verdict,
        missing.unwrap_or_default(),
        keeper.resemblance.edit_similarity,
        keeper.resemblance.jaccard,
    )
}

/// The number of texts that are worked on between two checks for signals. A text with many similar
/// texts takes a thousand times as long as another.
struct Pace {
    texts: usize,
}

/// The least and the largest number of texts.
const PART_LENGTHS: [usize; 2] = [16, 4096];
/// The time for which the numbers of texts are chosen.
const PART_TIME: Duration = Duration::from_millis(25);

impl Default for Pace {
    fn default() -> Self {
        Self { texts: 64 }
    }
}

impl Pace {
    /// Splits off the next texts.
    fn take<'t>(&self, rest: &mut &'t [&'t str]) -> &'t [&'t str] {
        let fitting = part_length(rest.iter().map(|text| text.len()));
        let (part, others) = rest.split_at(fitting.min(self.texts));
        *rest = others;
        part
    }

    /// Doubles the number after fast work, and halves the number after slow work.
    fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        let [least, most] = PART_LENGTHS;
        if start.elapsed() > PART_TIME {
            self.texts = (self.texts / 2).max(least);
        } else if start.elapsed() < PART_TIME / 2 {
            self.texts = (self.texts * 2).min(most);
        }
        result
    }
}

impl SimilarOptions {
    fn empty_index(&self) -> simdb::Result<SimilarIndex> {
        SimilarIndex::new(self.likeness, self.decision)
    }
}

/// Removals as a table, by columns. `first_column` names the column of the removed texts; a verdict
/// is an index of `VERDICTS`; an edit similarity that is not known is no number; `missing` has the
/// rows with missing words.
#[pyfunction]
pub fn removal_table(
    first_column: &str,
    removed: PyReadonlyArray1<'_, u64>,
    keeper: PyReadonlyArray1<'_, u64>,
    verdict: PyReadonlyArray1<'_, u8>,
    edit_similarity: PyReadonlyArray1<'_, f64>,
    jaccard: PyReadonlyArray1<'_, f64>,
    missing: HashMap<usize, Vec<String>>,
) -> PyResult<Table> {
    let mut words = ListBuilder::new(StringBuilder::new());
    for row in 0..removed.len() {
        for word in missing.get(&row).into_iter().flatten() {
            words.values().append_value(word);
        }
        words.append(true);
    }
    let numbers =
        |column| -> PyResult<ArrayRef> { Ok(Arc::new(UInt64Array::from(copied(column)?))) };
    let name = |index: &u8| {
        VERDICTS
            .get(usize::from(*index))
            .map(|verdict| verdict.name())
    };
    let verdicts: StringArray = copied(&verdict)?.iter().map(name).collect();
    let known = |value: &f64| (!value.is_nan()).then_some(*value);
    let edit: Float64Array = copied(&edit_similarity)?.iter().map(known).collect();
    let jaccard = Float64Array::from(copied(&jaccard)?);
    Table::in_memory(vec![
        (first_column, numbers(&removed)?),
        ("keeper", numbers(&keeper)?),
        ("verdict", Arc::new(verdicts)),
        ("missing", Arc::new(words.finish())),
        ("edit_similarity", Arc::new(edit)),
        ("jaccard", Arc::new(jaccard)),
    ])
}

/// The verdicts about a removed text and its keeper, in the order of `_VERDICTS` in `corpus.py`.
const VERDICTS: [Verdict; 3] = [Verdict::Same, Verdict::AInB, Verdict::SameBody];

/// All pairs of similar texts as a table: the numbers a and b of their records, a < b, with the
/// verdict, edit similarity and Jaccard index. The numbers ascend. An empty text is not compared.
#[pyfunction]
#[pyo3(signature = (texts, numbers, edit_similarity, jaccard, decision, max_pairs, progress))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn similar_pairs(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    numbers: PyReadonlyArray1<'_, u64>,
    edit_similarity: Option<f64>,
    jaccard: Option<f64>,
    decision: &str,
    #[pyo3(from_py_with = max_pairs_of)] max_pairs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Table> {
    let least = Decision::join_likeness;
    let options = SimilarOptions::new(py, edit_similarity, jaccard, decision, least)?;
    let numbers = copied(&numbers)?;
    let number = |index: usize| numbers.get(index).copied().unwrap_or(index as u64);
    let texts = Texts::named(texts, &|index| format!("record {}", number(index)))?;
    let compared = texts.borrow(py)?.into_iter().enumerate();
    let (numbers, texts): (Vec<u64>, Vec<&str>) = compared
        .filter(|(_, text)| is_compared(text))
        .map(|(index, text)| (number(index), text))
        .unzip();
    let number = |position: u64| numbers[position as usize];
    let pairs = run(py, progress, || find_pairs(&texts, &options, max_pairs))?;
    let Some(pairs) = pairs else {
        let message = format!(
            "there are more than {max_pairs} pairs; call clusters, which takes memory for each text and \
             not for each pair, or give a larger max_pairs"
        );
        return Err(invalid_argument(py, &message));
    };
    let position = |position: fn(&(u64, SimilarText)) -> u64| {
        let positions = pairs.iter().map(position);
        Arc::new(UInt64Array::from_iter_values(positions.map(number)))
    };
    let verdicts: StringArray = pairs
        .iter()
        .map(|(_, found)| found.verdict().map(Verdict::name))
        .collect();
    let edit: Float64Array = pairs
        .iter()
        .map(|(_, found)| found.resemblance.edit_similarity)
        .collect();
    let jaccard: Float64Array = pairs
        .iter()
        .map(|(_, found)| Some(found.resemblance.jaccard))
        .collect();
    Table::in_memory(vec![
        ("a", position(|(_, found)| found.position.into())),
        ("b", position(|(b, _)| *b)),
        ("verdict", Arc::new(verdicts)),
        ("edit_similarity", Arc::new(edit)),
        ("jaccard", Arc::new(jaccard)),
    ])
}

/// The pairs, in order of the later text; `None` if there are more than `max_pairs`. The verdict is
/// that about the earlier text, A, and the later text, B.
fn find_pairs(
    texts: &[&str],
    options: &SimilarOptions,
    max_pairs: usize,
) -> Result<Option<Vec<(u64, SimilarText)>>, Failure> {
    let (pool, total) = (pool(), Some(2 * texts.len() as u64));
    let mut index = options.empty_index()?;
    let (mut rest, mut pace) = (texts, Pace::default());
    while !rest.is_empty() {
        check("pairing", index.len() as u64, total)?;
        let part = pace.take(&mut rest);
        pace.measure(|| pool.install(|| index.extend(part)));
    }
    let mut pairs = Vec::new();
    let mut next: u32 = 0;
    (rest, pace) = (texts, Pace::default());
    while !rest.is_empty() {
        check("pairing", (texts.len() + next as usize) as u64, total)?;
        let part = pace.take(&mut rest);
        let search = || -> Vec<Vec<_>> {
            let search_one = |(offset, text): (usize, &&str)| {
                let own = next + offset as u32;
                let mut found = Vec::new();
                // At most `max_pairs` for each text: the sum is checked below.
                let _ended = index.visit(&PreparedText::new(text), 0..own, |mut earlier| {
                    earlier.containment =
                        earlier.containment.map(|found| Box::new(found.swapped()));
                    found.push((u64::from(own), earlier));
                    match found.len() > max_pairs {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                });
                found.sort_unstable_by_key(|(_, earlier)| earlier.position);
                found
            };
            pool.install(|| part.par_iter().enumerate().map(search_one).collect())
        };
        let found = pace.measure(search);
        pairs.extend(found.into_iter().flatten());
        if pairs.len() > max_pairs {
            return Ok(None);
        }
        next += part.len() as u32;
    }
    check("pairing", 2 * texts.len() as u64, total)?;
    Ok(Some(pairs))
}
