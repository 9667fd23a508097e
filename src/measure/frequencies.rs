//! [`DocumentFrequencies`]: how rare terms are in a collection.

use std::collections::BTreeMap;

use super::tokens::sorted_set;

/// In how many documents of a collection each term occurs.
///
/// For a collection that is at hand, such as the candidates of a query. The frequencies of Chinese
/// words in general come with [`Words::idf`](super::Words::idf).
///
/// # Cost
/// A copy of each distinct term, and a look-up in an ordered map for each distinct term of each
/// document.
///
/// # Source
/// K. Spärck Jones, *A statistical interpretation of term specificity and its application in
/// retrieval*, Journal of Documentation 28, 1972. Of the many formulas this is the smoothed one of
/// scikit-learn: as if there were one more document that has every term. The plain one, ln(N / n),
/// weighs what all documents have with 0, so that of a collection of two texts nothing that they
/// share would count.
///
/// # Examples
///
/// ```
/// use simdb::measure::{DocumentFrequencies, tokens};
///
/// let quotes = ["海内存知己", "天涯若比邻", "海上生明月，天涯共此时"];
/// let frequencies = DocumentFrequencies::of(quotes.map(tokens));
/// assert_eq!(frequencies.documents(), 3);
/// // 1 + ln((1 + 3) / (1 + 2)), and 1 + ln(4 / 2), 1 + ln(4 / 1) for what fewer have.
/// assert!(frequencies.idf("海") < frequencies.idf("月"));
/// assert!(frequencies.idf("月") < frequencies.idf("雪"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentFrequencies {
    documents: u64,
    having: BTreeMap<String, u64>,
}

impl DocumentFrequencies {
    /// The frequencies in a collection of documents, each given by its terms.
    pub fn of<T, D>(documents: impl IntoIterator<Item = D>) -> Self
    where
        T: AsRef<str>,
        D: IntoIterator<Item = T>,
    {
        let mut frequencies = Self::default();
        for document in documents {
            frequencies.documents += 1;
            let terms: Vec<T> = document.into_iter().collect();
            for term in sorted_set(terms.iter().map(AsRef::as_ref)) {
                match frequencies.having.get_mut(term) {
                    Some(documents) => *documents += 1,
                    None => drop(frequencies.having.insert(term.to_owned(), 1)),
                }
            }
        }
        frequencies
    }

    /// How many documents there are.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The inverse document frequency of a term: 1 + ln((1 + N) / (1 + n)), where n of N documents
    /// have it. From 1, all have it, up to 1 + ln(1 + N) for a term that none has.
    pub fn idf(&self, term: &str) -> f64 {
        let having = self.having.get(term).copied().unwrap_or(0);
        // The logarithm of `libm` is the same on every platform.
        1.0 + libm::log((1 + self.documents) as f64 / (1 + having) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_counts_once_a_document() {
        let frequencies = DocumentFrequencies::of([vec!["a", "b", "a"], vec!["a"], vec![]]);
        let idf = |having: f64| 1.0 + (4.0 / (1.0 + having)).ln();
        for (term, having) in [("a", 2.0), ("b", 1.0), ("c", 0.0)] {
            assert!(
                (frequencies.idf(term) - idf(having)).abs() < 1e-12,
                "{term}"
            );
        }
    }

    #[test]
    fn without_documents_all_terms_weigh_the_same() {
        let frequencies = DocumentFrequencies::of(Vec::<Vec<&str>>::new());
        assert_eq!(frequencies, DocumentFrequencies::default());
        assert_eq!(frequencies.idf("a"), 1.0);
    }
}
