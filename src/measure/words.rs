//! [`Words`]: the words of a text as terms, and how much each says.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use crate::feature::{Idf, WEIGHT_UNIT};
use crate::text::{Normaliser, Words as Segmenter};

/// Finds the words of Chinese and English texts, with the dictionary of jieba-rs, and knows in how
/// few documents of a large collection each occurs.
///
/// Words are those that the recipe `jieba` chooses its keywords from: of two characters and more,
/// normalised, none left out but stop words when they are weighed. So 你妈妈喊你回家吃饭哦 gives 妈妈,
/// 回家 and 吃饭. Single characters are mostly function words (的, 了, 在); who wants them, or a text
/// in a script that jieba-rs does not know, takes [`tokens`](super::tokens).
///
/// # Cost
/// To make one: about a tenth of a second and 60 MB, so make one and share it. It has no mutable
/// state and can serve all threads. Finding words takes time in proportion to the text.
///
/// # Examples
///
/// ```
/// use simdb::measure::{Vector, Words};
///
/// let words = Words::new();
/// let one = words.find("你妈妈喊你回家吃饭哦，回家罗回家罗");
/// assert_eq!(one, ["妈妈", "回家", "吃饭", "回家", "回家"]);
/// let other = words.find("你妈妈叫你回家吃饭啦，回家罗回家罗");
///
/// // By the words alone these are the same text.
/// let [one, other] = [one, other].map(|found| Vector::of(found).weighed(|word| words.idf(word)));
/// assert_eq!(one.cosine(&other), 1.0);
/// ```
pub struct Words {
    normaliser: Normaliser,
    segmenter: Segmenter,
    idf: Idf,
}

impl Words {
    /// Loads the dictionary and the frequencies.
    pub fn new() -> Self {
        Self {
            normaliser: Normaliser::new(),
            segmenter: Segmenter::new(&[]),
            idf: Idf::new(None, None),
        }
    }

    /// The words of a text, in its order.
    pub fn find(&self, text: &str) -> Vec<String> {
        let normalised = self.normaliser.sentences(text);
        let mut words = Vec::new();
        self.segmenter.for_each(&normalised, |range| {
            let word = &normalised[range];
            // Characters that connect, such as `--`, are no word by themselves.
            if word
                .chars()
                .any(|c| !c.is_ascii() || c.is_ascii_alphanumeric())
            {
                words.push(word.to_owned());
            }
        });
        words
    }

    /// The inverse document frequency of a normalised word, in the large collection of Chinese texts
    /// that jieba's table was made of: 0 for a stop word, about 12 for a word that the table
    /// does not have.
    pub fn idf(&self, word: &str) -> f64 {
        let hash = xxh3_64(word.as_bytes());
        let weight = self.idf.weight(hash, self.idf.first_slot(hash));
        weight.unwrap_or(0) as f64 / WEIGHT_UNIT as f64
    }
}

impl Default for Words {
    fn default() -> Self {
        Self::new()
    }
}

/// The tables are the same for all.
impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Vector;

    #[test]
    fn words_are_normalised_and_say_something() {
        let words = Words::new();
        let found = words.find("美國“５１區”雇員 -- CSDN博客, 3.14!");
        assert_eq!(found, ["美国", "51", "雇员", "csdn", "博客", "3.14"]);
        assert!(words.find("").is_empty());
        assert!(words.find("的 -- a").is_empty());
    }

    #[test]
    fn rare_words_say_more_and_stop_words_nothing() {
        let words = Words::new();
        assert_eq!(words.idf("我们"), 0.0);
        assert!(words.idf("美国") < words.idf("飞碟"));
        let vector = Vector::of(words.find("我们 飞碟")).weighed(|word| words.idf(word));
        assert_eq!(
            vector.weights().map(|(word, _)| word).collect::<Vec<_>>(),
            ["飞碟"]
        );
    }
}
