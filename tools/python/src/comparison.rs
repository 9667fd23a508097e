//! The comparison of two texts, word by word.

use std::fmt::Write as _;
use std::sync::LazyLock;

use pyo3::prelude::*;
use simdb::Normaliser;
use simdb::containment::{AlignedWord, Alignment, Containment, Weights};

use crate::interruptible::call;
use crate::matches::{Resemblance, words};
use crate::repr::number_or_none;
use crate::texts::Text;

/// Made once: a normaliser loads its tables.
pub static NORMALISER: LazyLock<Normaliser> = LazyLock::new(Normaliser::new);

/// The decision about two texts.
#[pyclass(frozen, get_all, eq, module = "simdb")]
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// "same", "a_in_b", "b_in_a", "template" or "different".
    pub verdict: &'static str,
    /// The words of a that b lacks, with their weights in nats.
    pub missing_in_b: Vec<(String, f64)>,
    /// The words of b that a lacks, with their weights in nats.
    pub missing_in_a: Vec<(String, f64)>,
    /// The similarity of the texts.
    pub resemblance: Resemblance,
}

#[pymethods]
impl Comparison {
    fn __repr__(&self) -> String {
        format!(
            "Comparison('{}', missing_in_b={}, missing_in_a={}, edit_similarity={}, jaccard={:.3})",
            self.verdict,
            shown(&self.missing_in_b),
            shown(&self.missing_in_a),
            number_or_none(self.resemblance.edit_similarity),
            self.resemblance.jaccard,
        )
    }
}

fn shown(missing: &[(String, f64)]) -> String {
    let words: Vec<&str> = missing.iter().map(|(word, _)| word.as_str()).collect();
    format!("{words:?}")
}

/// Returns `true` for a text that is not empty. An empty text duplicates no text, as in the command
/// line.
pub fn is_compared(text: &str) -> bool {
    !text.trim().is_empty()
}

/// Compares two texts: may one be deleted for the other, and which words would be lost?
#[pyfunction]
pub fn compare(py: Python<'_>, a: Text, b: Text) -> PyResult<Comparison> {
    call(py, || {
        let (found, resemblance) =
            Containment::with_resemblance(&NORMALISER, Weights::builtin(), &a, &b);
        Ok(Comparison {
            verdict: found.verdict.name(),
            missing_in_b: words(found.missing_in_b),
            missing_in_a: words(found.missing_in_a),
            resemblance: resemblance.into(),
        })
    })
}

/// A word of a text: the word, its weight in nats if the other text lacks it, and the index of the
/// word of the other text with which it is aligned.
type Word = (String, f64, Option<usize>);

/// The alignment of two texts. str() writes both texts, with the missing words in brackets.
#[pyclass(frozen, get_all, eq, module = "simdb")]
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// "same", "a_in_b", "b_in_a", "template" or "different".
    pub verdict: &'static str,
    /// The words of a: word, weight, index of the counterpart in b.
    pub a: Vec<Word>,
    /// The words of b: word, weight, index of the counterpart in a.
    pub b: Vec<Word>,
}

#[pymethods]
impl Explanation {
    fn __str__(&self) -> String {
        format!(
            "{}\na: {}\nb: {}",
            self.verdict,
            line(&self.a),
            line(&self.b)
        )
    }

    fn __repr__(&self) -> String {
        format!("<Explanation {}>", self.__str__().replace('\n', " | "))
    }
}

/// A text with its missing words in brackets, and their weights.
fn line(words: &[Word]) -> String {
    let mut line = String::new();
    for (word, weight, _) in words {
        let space = if line.is_empty() { "" } else { " " };
        // To write into a string cannot fail.
        if *weight > 0.0 {
            write!(line, "{space}[{word} {weight:.1}]").unwrap_or_default();
        } else {
            write!(line, "{space}{word}").unwrap_or_default();
        }
    }
    line
}

/// Aligns two texts word by word, to show why `compare` decides as it does.
#[pyfunction]
pub fn explain(py: Python<'_>, a: Text, b: Text) -> PyResult<Explanation> {
    let to_words = |words: Vec<AlignedWord>| {
        let word = |word: AlignedWord| (word.word, word.weight, word.counterpart);
        words.into_iter().map(word).collect()
    };
    call(py, || {
        let found = Alignment::new(&NORMALISER, Weights::builtin(), &a, &b);
        Ok(Explanation {
            verdict: found.containment.verdict.name(),
            a: to_words(found.a),
            b: to_words(found.b),
        })
    })
}
